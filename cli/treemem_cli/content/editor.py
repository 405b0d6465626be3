"""Opens a file at a line: in the user's editor, or in a pager.

Subtle: no shell is used, since paths come from logs.

Tested in tests/cli/content/test_place.py.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path, PurePath

from treemem import UsageError

# How editors take a line, by the name of the program. Others get the file alone.
_PLUS = "+{line} {file}"
_GOTO = "--goto {file}:{line}"
_COLON = "{file}:{line}"
_OPTION = "--line {line} {file}"
_STYLES = {
    **dict.fromkeys("vi vim nvim gvim mvim view nano pico micro kak joe mg".split(), _PLUS),
    **dict.fromkeys("emacs emacsclient gedit less more most".split(), _PLUS),
    **dict.fromkeys("code code-insiders codium vscodium cursor windsurf".split(), _GOTO),
    **dict.fromkeys("subl zed zeditor hx helix".split(), _COLON),
    **dict.fromkeys("idea pycharm webstorm goland clion rustrover kate mate".split(), _OPTION),
}
_PAGERS = ("less", "more")
# Endings of programs on Windows.
_PROGRAMS = (".exe", ".cmd", ".bat")


def command(program: list[str], path: Path, line: int | None) -> list[str]:
    """The arguments by which a program opens a file at a line. program: with its own arguments.

    Example:
        >>> command(["code", "--wait"], Path("/logs/a b.jsonl"), 7)
        ['code', '--wait', '--goto', '/logs/a b.jsonl:7']
        >>> command(["ed"], Path("/logs/a.jsonl"), 7)
        ['ed', '/logs/a.jsonl']
    """
    name = PurePath(program[0]).name
    for ending in _PROGRAMS:
        name = name.removesuffix(ending)
    # Subtle: an absolute path does not begin with "-" or "+", so it is not taken for an option.
    file = str(path.absolute())
    style = _STYLES.get(name) if line is not None else None
    words = (style or "{file}").split(" ")
    return [*program, *(word.format(line=line, file=file) for word in words)]


def chosen() -> list[str] | None:
    """The program with its arguments: $VISUAL, else $EDITOR, else on a terminal a pager; None
    without any. Raises UsageError if the variable cannot be read."""
    for variable in ("VISUAL", "EDITOR"):
        if words := _words(variable):
            return words
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    if words := _words("PAGER"):
        return words
    return next(([name] for name in _PAGERS if shutil.which(name)), None)


def run(program: list[str], path: Path, line: int | None) -> None:
    """Opens a file and waits for the program. Raises UsageError if that fails."""
    try:
        code = subprocess.call(command(program, path, line))  # noqa: S603
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"{program[0]} cannot be started: {reason}. Set VISUAL or EDITOR to your editor, or "
            "use --print."
        ) from error
    if code:
        raise UsageError(f"{program[0]} ended with exit code {code}.")


def _words(variable: str) -> list[str]:
    value = os.environ.get(variable, "")
    try:
        return shlex.split(value)
    except ValueError as error:
        raise UsageError(f"${variable} is {value!r}: {error}.") from error
