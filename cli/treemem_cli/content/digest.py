"""Prints a digest: its first line, gists, the entries that matter most, and what is left out.

Tested in tests/cli/content/test_digest.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from treemem_cli.render import clip, day, is_terminal, safe, shell_word, short

if TYPE_CHECKING:
    from rich.console import Console

    from treemem import Digest, Entry, EntryKind, Scope, Statement

# The heading of each kind, its word on the command line, and its style.
KINDS: dict[EntryKind, tuple[str, str, str]] = {
    "constraint": ("Rules", "rules", "yellow"),
    "decision": ("Decisions", "decisions", "green"),
    "open": ("Open", "open", "cyan"),
    "error": ("Errors", "errors", "red"),
    "fact": ("Facts", "facts", ""),
}
_NOUNS: dict[EntryKind, str] = {
    "constraint": "rule", "decision": "decision", "open": "open point", "error": "error",
    "fact": "fact",
}  # fmt: skip


def print_digest(screen: Console, digest: Digest) -> None:
    """Prints the digest of a scope."""
    if digest.headline:
        screen.print(safe(digest.headline), style="bold", markup=False)
    if digest.gists:
        screen.print()
        _print_rows(screen, [("", *_cells(gist)) for gist in digest.gists])
    counts = dict(digest.counts)
    for kind, (heading, word, style) in KINDS.items():
        shown = [entry for entry in digest.entries if entry.kind == kind]
        left = counts.get(kind, 0) - len(shown)
        if not shown and not left:
            continue
        screen.print()
        screen.print(f"{heading}", style=style or "bold", markup=False)
        _print_rows(screen, [(short(entry.id), Text(_words(entry)), _said(entry))
                             for entry in shown])  # fmt: skip
        if left:
            screen.print(_more(digest.scope, left, kind, word, any_shown=bool(shown)),
                         style="dim", markup=False, soft_wrap=True)  # fmt: skip


def _print_rows(screen: Console, rows: Sequence[tuple[str, Text, str]]) -> None:
    """Prints rows of an id, a sentence, and who said it when: in columns on a terminal, where the
    sentence is wrapped; a line each in a pipe."""
    if not is_terminal():
        for key, words, who in rows:
            parts = [Text(key), words, Text(who)] if who else [Text(key), words]
            screen.print(Text("  ").join(part for part in parts if part))
        return
    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim", no_wrap=True, width=8)
    table.add_column(ratio=1)
    table.add_column(style="dim", max_width=22)
    for key, words, who in rows:
        table.add_row(Text(key), words, Text(who))
    if rows:
        screen.print(table)


def counts_line(digest: Digest) -> str:
    """How many entries of each kind but facts hold, such as "3 rules · 1 open point"."""
    from treemem.reports import count_of

    return " · ".join(
        count_of(count, _NOUNS[kind]) for kind, count in digest.counts if count and kind != "fact"
    )


def _cells(gist: Statement) -> tuple[Text, str]:
    """A gist and who said it. One that only a checker judged is marked, with its score and the
    messages that it cites."""
    if gist.grade != "entailed":
        return Text(_words(gist)), clip(gist.speaker or "", 22)
    cited = " ".join(short(message.id or "") for message in gist.messages[:3])
    text = Text.assemble(("≈ ", "bold magenta"), clip(gist.text, 400), (f"  cites {cited}", "dim"))
    score = "" if gist.score is None else f"{gist.score:.2f} by "
    return text, f"{score}{clip(gist.checker or '', 40)}"


def _words(item: Statement | Entry) -> str:
    """What was said, without the fillers of speech."""
    from treemem import clean_verbatim

    return clip(clean_verbatim(item.text, item.origin), 400)


def _said(entry: Entry) -> str:
    """Who said it last, when, and how often."""
    who = entry.speaker or ""
    if who == "user" and entry.origin != "typed":
        who = f"user ({entry.origin})"
    often = f"{entry.mentions:,}×" if entry.mentions > 1 else ""
    return " ".join(filter(None, (clip(who, 22), day(entry.last_at), often)))


def _more(scope: Scope, left: int, kind: EntryKind, word: str, *, any_shown: bool) -> str:
    from treemem.reports import count_of

    # An id may come from a log, and the command is there to be pasted into a shell.
    option = f" --{scope.kind} {shell_word(scope.key)}" if scope.key else ""
    noun = count_of(left, f"more {_NOUNS[kind]}" if any_shown else _NOUNS[kind])
    return f"  {'and ' if any_shown else ''}{noun}: treemem ledger {word}{option}"
