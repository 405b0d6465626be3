"""treemem without a command: shows on a terminal what is stored, what is new, and what to do next.

Prints plain text without Rich, which would take as long as all else.

Tested in tests/cli/upkeep/test_overview.py.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from treemem_cli.context import open_memory

if TYPE_CHECKING:
    from treemem import Overview

# Commands and what they do.
_Commands = list[tuple[str, str]]
_INGEST = ("treemem ingest FILE", "store a file or a folder")
_SEARCH = ('treemem search "WORDS"', "find what was said")
_FORMATS = ("treemem formats", "list the formats that are read")


def show_overview(context: click.Context) -> None:
    """Prints the overview."""
    from treemem import Overview, default_database_path

    path = (context.obj or {}).get("db") or default_database_path()
    if path.exists():
        with open_memory(context) as memory:
            overview = memory.overview()
            title = memory.titles([overview.latest]).get(overview.latest) if overview.latest else ""
    else:
        overview, title = Overview.without_memory(path), ""
    for line in lines(overview, title or "", shutil.get_terminal_size().columns):
        click.echo(line)


def lines(overview: Overview, title: str, width: int) -> Iterator[str]:
    """The lines of the overview, each cut to a width but for paths. title: of the source that was
    added last."""
    from treemem.reports import count_of
    from treemem_cli.render import day, file_size, safe, shorten

    if overview.messages:
        held = f"{count_of(overview.sources, 'source')}, {count_of(overview.messages, 'message')}"
        days = dict.fromkeys(filter(None, (day(overview.started_at), day(overview.ended_at))))
        yield shorten(", ".join(filter(None, (held, " – ".join(days)))), width)
        yield f"{file_size(overview.size_bytes)} in {safe(overview.path)}"
    else:
        yield "Nothing is stored yet."
    yield ""
    yield from (shorten(line, width) for line in _news(overview, title))
    yield ""
    commands = _next(overview)
    column = max(len(command) for command, _ in commands)
    yield from (_cut(f"  {command:{column}}  {help_}", width) for command, help_ in commands)
    yield shorten("All commands: treemem --help", width)


def _cut(line: str, width: int) -> str:
    """A line of our own, cut at its end; its spaces are kept."""
    return line if len(line) <= width else line[: width - 1] + "…"


def _news(overview: Overview, title: str) -> Iterator[str]:
    from treemem.reports import count_of
    from treemem_cli.render import moment

    least = "" if overview.is_complete else "at least "
    new, grown = sum(overview.new_logs.values()), sum(overview.grown_logs.values())
    if new:
        are = "is" if new == 1 else "are"
        yield f"New: {least}{count_of(new, 'log')} {are} not stored ({_by(overview.new_logs)})"
    if grown:
        have = "has" if grown == 1 else "have"
        logs = f"{least}{count_of(grown, 'log')} {have} grown since"
        yield f"New: {logs} ({_by(overview.grown_logs)})"
    if not new and not grown and overview.messages:
        yield f"Added last, {moment(overview.latest_at)}: {title}"
    elif not new and not overview.messages:
        yield "No logs of known AI tools were found in their folders."


def _by(formats: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in formats.items())


def _next(overview: Overview) -> _Commands:
    """The three commands that fit this state."""
    new = overview.new_logs or overview.grown_logs
    if not overview.messages and not new:
        return [_INGEST, _FORMATS, ("treemem discover", "look for logs again")]
    if not overview.messages:
        return [
            ("treemem discover", "list these logs"),
            ("treemem discover --ingest", "store them; asks for each tool"),
            _INGEST,
        ]
    read = ("treemem tree --depth 1", "read the summary of everything")
    if importlib.util.find_spec("textual") is not None:
        read = ("treemem browse", "read what is stored")
    if new:
        return [("treemem discover --ingest", "store what is new"), _SEARCH, read]
    return [_SEARCH, read, ("treemem ledger open", "list the open points")]
