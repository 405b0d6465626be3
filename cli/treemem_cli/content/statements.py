"""Prints statements in a table: kind, text, speaker and cited messages.

Tested in tests/cli/test_main.py.
"""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from treemem import Statement
from treemem_cli.render import clip, is_terminal, short

CITED_SHOWN = 2

_KIND_STYLES = {
    "gist": "bold", "decision": "green", "constraint": "yellow", "open": "cyan",
    "error": "red", "fact": "",
}  # fmt: skip


def statements_view(statements: tuple[Statement, ...], width: int) -> Table:
    """A row for each statement, whose words come last and are wrapped on a terminal. width: of the
    terminal, in columns."""
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim")
    table.add_column("kind", no_wrap=True)
    table.add_column("said by", no_wrap=True, max_width=16 if is_terminal() else None)
    table.add_column("cites", no_wrap=True)
    table.add_column("statement")
    for statement in statements:
        cited = " ".join(short(message.id or "") for message in statement.messages[:CITED_SHOWN])
        more = len(statement.messages) - CITED_SHOWN
        table.add_row(
            Text(statement.kind, style=_KIND_STYLES[statement.kind]),
            Text(clip(_speaker(statement), 16), style="dim"),
            Text(cited + (f" +{more}" if more > 0 else ""), style="dim"),
            _with_later(statement, max(200, width * 3)),
        )
    return table


def _speaker(statement: Statement) -> str:
    """Who said it; with the origin if it is attributed to the user, who did not type it."""
    speaker = statement.speaker or ""
    is_foreign = speaker == "user" and statement.origin != "typed"
    return f"{speaker} ({statement.origin})" if is_foreign else speaker


def _with_later(statement: Statement, width: int) -> Text:
    """The statement, and below it the later statement that closed or superseded it."""
    text = Text(clip(statement.text, width))
    if statement.grade in ("entailed", "unproven"):
        score = "" if statement.score is None else f" {statement.score:.2f}"
        mark = f"≈{score} " if statement.grade == "entailed" else f"?{score} "
        text = Text.assemble((mark, "magenta"), text)
    for label, later in (("closed by", statement.closed_by),
                         ("superseded by", statement.superseded_by)):  # fmt: skip
        if later is not None:
            cited = " ".join(short(message_id) for message_id in later.message_ids[:CITED_SHOWN])
            text.append(f"\n{label}: {clip(later.text, 160)}  {cited}", style="dim")
    return text
