"""Formats text, numbers and times for a terminal.

Text from logs is untrusted: control characters, which could move the cursor, set the title
or hide output, are shown as symbols instead.
"""

from __future__ import annotations

import os
import shlex
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

# The width of output that does not go to a terminal, in columns: no line is wrapped there.
_PIPE_COLUMNS = 1_000_000
# Variables by which Rich is asked for styles in a pipe, too.
_STYLED_BY = ("FORCE_COLOR", "TTY_COMPATIBLE")
_INDENT = "  "
# The characters of an id that are shown; more are hardly ever needed.
SHORT_ID = 8
_ALLOWED_CONTROLS = "\n\t"
_CONTROL_PICTURES = 0x2400


def console(*, stderr: bool = False) -> Console:
    """Returns a Rich console as wide as the terminal; without styles if NO_COLOR is set."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(
        file=stream, highlight=False, soft_wrap=False, emoji=False,
        width=None if stream.isatty() else _PIPE_COLUMNS,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )  # fmt: skip


def text_screen() -> Console | Pipe:
    """Returns what prints texts on stdout: a Rich console, or in a pipe what does not load Rich,
    which takes as long as a search."""
    is_asked_for = any(os.environ.get(name) for name in _STYLED_BY)
    return console() if sys.stdout.isatty() or is_asked_for else Pipe()


@contextmanager
def paged(screen: Console) -> Iterator[None]:
    """Shows what is printed on the screen within the block, if it is longer than a terminal, in the
    pager that PAGER names. Not in a pipe, nor with --no-pager."""
    import click

    context = click.get_current_context(silent=True)
    is_off = bool(((context and context.obj) or {}).get("no_pager"))
    if is_off or not is_terminal() or screen.is_dumb_terminal or not sys.stdin.isatty():
        yield
        return
    with screen.capture() as capture:
        yield
    text = capture.get()
    if text.count("\n") < screen.height:
        click.echo(text, nl=False, color=True)
    else:
        with _styles_in_less():
            click.echo_via_pager(
                text, color=not screen.no_color and screen.color_system is not None
            )


@contextmanager
def _styles_in_less() -> Iterator[None]:
    """Asks less for styles, which it shows as "ESC[1m" otherwise. What the user has in LESS comes
    after it, so that it decides."""
    before = os.environ.get("LESS")
    os.environ["LESS"] = f"-R {before or ''}".rstrip()
    try:
        yield
    finally:
        if before is None:
            del os.environ["LESS"]
        else:
            os.environ["LESS"] = before


class Pipe:
    """Prints texts without styles, line by line as they are, for programs to read."""

    def print(
        self,
        text: str = "",
        *,
        style: str = "",  # noqa: ARG002
        markup: bool = False,
        soft_wrap: bool = True,  # noqa: ARG002
    ) -> None:
        """Prints a text without markup. The other arguments are those of a console."""
        if markup:
            raise ValueError("markup needs a console")
        sys.stdout.write(f"{text}\n")


class Indented:
    """A text from a log with its lines indented, also those that a terminal wraps, so that none
    of them can pass for a heading or a command of treemem's."""

    def __init__(self, text: str | Text) -> None:
        """text: a Text must be safe already."""
        self._text = safe(text) if isinstance(text, str) else text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.text import Text

        text = Text(self._text) if isinstance(self._text, str) else self._text
        for line in text.wrap(console, max(1, options.max_width - len(_INDENT))):
            line.rstrip()
            yield Text.assemble(_INDENT, line) if line else line


def safe(text: str) -> str:
    """Returns the text with all characters that could control a terminal made visible.

    Example:
        >>> safe("red \\x1b[31m")
        'red ␛[31m'
    """
    if text.isprintable():
        return text
    return "".join(map(_safe_character, text))


def _safe_character(character: str) -> str:
    if character in _ALLOWED_CONTROLS or character.isprintable():
        return character
    code = ord(character)
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if unicodedata.category(character) in ("Zs", "Zl", "Zp"):
        return " "
    if character in "\u200c\u200d":  # joiners inside words and emoji
        return character
    return "\ufffd"


def shell_word(text: str) -> str:
    """Quotes a text for a shell, with the bytes of what is not printable as octal escapes.

    Example:
        >>> shell_word("farm notes.md")
        "'farm notes.md'"
        >>> print(shell_word("red \x1b[31m.md"))
        $'red \\033[31m.md'
    """
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(map(_escaped, text))}'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(character))


def short(node_id: str) -> str:
    return node_id[:SHORT_ID]


def is_terminal() -> bool:
    """Whether the output goes to a terminal, where lines are cut and wrapped; not to a pipe."""
    return sys.stdout.isatty()


def clip(text: str, width: int) -> str:
    """Returns one line of at most width characters on a terminal; in a pipe it is whole."""
    return shorten(text, width if is_terminal() else sys.maxsize)


def shorten(text: str, width: int) -> str:
    """Returns one line of at most width characters.

    Example:
        >>> shorten("We ship on Friday.", 10)
        'We ship o…'
    """
    flat = " ".join(safe(text).split())
    return flat if len(flat) <= width else flat[: width - 1].rstrip() + "…"


def fitted(text: str, width: int) -> str:
    """Returns one line that takes exactly width columns of a terminal, cut or filled.

    Example:
        >>> fitted("予算の会議", 6), fitted("ab", 4)
        ('予算… ', 'ab  ')
    """
    from rich.cells import cell_len, set_cell_size

    flat = " ".join(safe(text).split())
    if cell_len(flat) > width:
        flat = set_cell_size(flat, max(0, width - 1)).rstrip() + "…"
    return set_cell_size(flat, width)


def file_size(size_bytes: int) -> str:
    """Returns a number of bytes in a decimal unit.

    Example:
        >>> file_size(912), file_size(1_400_000), file_size(91_726_912)
        ('912 B', '1.4 MB', '92 MB')
    """
    amount, unit = float(size_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1_000:
            break
        amount, unit = amount / 1_000, larger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"


def duration(seconds: float) -> str:
    """Returns a duration in a unit that fits.

    Example:
        >>> duration(80), duration(600), duration(360_000)
        ('80 s', '10 min', '4.2 days')
    """
    for limit, unit, name in ((90, 1, "s"), (5_400, 60, "min"), (172_800, 3_600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86_400:.1f} days"


def moment(time: str | None) -> str:
    """Returns a time in the reader's zone, to the minute; unchanged if it has no zone.

    Example:
        >>> moment("2026-11-03T10:00:00"), moment("late 2026"), moment(None)
        ('2026-11-03 10:00', 'late 2026', '')
    """
    if len(time or "") == len("2026-11-03"):  # a day of no zone
        return safe(time or "")
    try:
        parsed = datetime.fromisoformat(time or "")
        shown = parsed.astimezone() if parsed.tzinfo else parsed
    except (ValueError, OverflowError):
        return safe(time or "")[:16]
    return f"{shown:%Y-%m-%d %H:%M}"


def day(time: str | None) -> str:
    """Returns the day of a time in the reader's zone."""
    return moment(time)[:10]


def period(started_at: str | None, ended_at: str | None) -> str:
    """Returns start and end to the minute, the day only once if it is the same.

    Example:
        >>> period("2026-11-03T10:00:00", "2026-11-03T10:20:00")
        '2026-11-03 10:00 – 10:20'
    """
    start, end = moment(started_at), moment(ended_at)
    if not start or not end or end == start:
        return start
    return f"{start} – {end[11:]}" if end[:10] == start[:10] else f"{start} – {end}"
