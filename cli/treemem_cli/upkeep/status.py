"""treemem status: shows what is stored, queued and missing.

Tested in tests/cli/models/test_embed.py and tests/cli/upkeep/test_status.py.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from treemem_cli.context import for_shell, is_verbose, open_memory, print_json
from treemem_cli.parameters import json_option

if TYPE_CHECKING:
    from treemem import Calibration, EntryKind, ProducerStatus, Space, Status

REASONS_SHOWN = 5

# Of the tables by size, so many are shown, and the rest is summed up.
TABLES_SHOWN = 12

# The nouns of the kinds of entries that are counted.
LEDGER_NOUNS: dict[EntryKind, str] = {
    "constraint": "rule", "decision": "decision", "open": "open point", "error": "error",
    "fact": "fact",
}  # fmt: skip


@click.command("status")
@click.option("--space", is_flag=True, help="Show which tables take the bytes of the file.")
@json_option
@click.pass_context
def status_command(context: click.Context, space: bool, as_json: bool) -> None:
    """Show what is stored, queued and missing.

    \b
    Example:
      treemem status
      treemem status --space
    """
    with open_memory(context, with_lasting=True) as memory:
        status = memory.status(space=space)
    if as_json:
        print_json(status)
        return
    if status.space is not None:
        _print_space(status.space)
        return
    from treemem_cli.render import safe

    for name, value in _rows(status):
        click.echo(_on_screen(f"{name:12} {safe(value)}"))


def _print_space(space: Space) -> None:
    from treemem_cli.render import file_size
    from treemem_cli.tables import Column, Table

    def size(name: str, drop: int) -> Column:
        return Column(name, lambda value: file_size(value) if value else "", drop=drop, right=True)

    about = "about " if space.estimated else ""
    sizes = map(file_size, (space.size_bytes, space.text_bytes, space.free_bytes))
    click.echo(about + "{}, of which {} are texts of messages; {} in free pages".format(*sizes))
    table = Table(
        Column("table"), size("size", 0),
        Column("of the file", lambda value: f"{value:.1%}", right=True),
        Column("per byte of text", lambda value: f"{value:.3f}", right=True, drop=1),
        size("indexes", 3), size("full text", 2), size("unused", 4),
    )  # fmt: skip
    shown = len(space.tables) if is_verbose() else TABLES_SHOWN
    for used in space.tables[:shown]:
        table.add(
            used.name, used.size_bytes, used.share, used.per_text, used.index_bytes,
            used.full_text_bytes, used.unused_bytes,
        )  # fmt: skip
    table.print()
    if rest := space.tables[shown:]:
        size_bytes = sum(used.size_bytes for used in rest)
        click.echo(f"{len(rest)} smaller tables: {file_size(size_bytes)}; with -v they are shown")


def _on_screen(row: str) -> str:
    """The row as lines of words below its value, if it is too long for a terminal."""
    from treemem_cli.render import is_terminal

    if not is_terminal():
        return row
    return textwrap.fill(
        row, shutil.get_terminal_size().columns, subsequent_indent=" " * 13,
        break_long_words=False, break_on_hyphens=False, drop_whitespace=True,
    )  # fmt: skip


def _rows(status: Status) -> Iterator[tuple[str, str]]:
    """Yields label and text of each line; a line that belongs to the one above has no label."""
    from treemem.reports import count_of

    yield "file", f"{status.path}, {status.size_bytes / 1e6:.1f} MB, SQLite {status.sqlite_version}"
    messages = count_of(status.messages, "message")
    if status.abandoned:
        messages += f" ({status.abandoned:,} abandoned or replaced, in no tree)"
    yield "stored", ", ".join((
        count_of(status.sources, "source"), messages, count_of(status.tokens, "token"),
    ))  # fmt: skip
    if is_verbose():
        yield from _tree_rows(status)
    else:
        yield "topics", f"{status.topics:,}"
    yield (
        "ledger",
        " · ".join(count_of(status.ledger[kind], noun) for kind, noun in LEDGER_NOUNS.items()),
    )
    yield "summarizer", status.summarizer or "none"
    if status.served is not None:
        for url in status.served.urls:
            yield "", f"  {url}, {count_of(status.served.slots, 'concurrent call')}"
    if status.exam is not None:
        use = {"retell": "retells sentences", "notes": "takes notes", None: "not used"}
        yield (
            "",
            (
                f"  {use[status.exam.mode]}, {status.exam.points} of 1000 points in its exam on "
                f"{status.exam.taken_at[:10]}"
            ),
        )
    yield "checker", status.checker or "none"
    if status.checker is not None and status.calibration is not None:
        yield "", f"  {precision_of(status.calibration)}"
    if status.reranker is not None:
        yield "reranker", status.reranker
    if status.chat is not None:
        yield "chat", status.chat
    yield "embedder", status.embedder or "none"
    for embedder in status.embedders:
        share = 100 * embedder.nodes // max(1, embedder.of)
        mark = "" if embedder.in_use else ", not in use"
        nodes = count_of(embedder.of, "node")
        yield "vectors", f"{embedder.name}: {embedder.nodes:,} of {nodes} ({share} %){mark}"
    for producer in status.producers if is_verbose() else ():
        yield from _producer_rows(producer)
    for kind, states in status.jobs.items():
        waiting = {state: number for state, number in states.items() if state != "done"}
        if waiting:
            text = ", ".join(f"{number:,} {state}" for state, number in waiting.items())
            yield "queue", f"{kind}: {text}"
    for kind, reason in status.paused.items():
        yield "paused", f"{kind}: {reason}"
    for sentence in status.missing:
        yield "missing", for_shell(sentence)


def _tree_rows(status: Status) -> Iterator[tuple[str, str]]:
    from treemem.reports import count_of

    yield (
        "tree",
        (
            f"{count_of(status.leaves, 'leaf')}, {count_of(status.groups, 'group')}, "
            f"{count_of(status.open_messages, 'message')} not in a leaf yet (already searchable)"
        ),
    )
    yield (
        "topics",
        f"{status.topics:,}, {count_of(status.leaves_without_topic, 'leaf')} without one",
    )


def precision_of(result: Calibration) -> str:
    """What a checker's calibration promises of a line that it accepted."""
    right = round(100 * result.measured.precision)
    return (
        f"about {right} of 100 such lines were right in our test on {result.taken_at[:10]}; "
        f"it kept {result.measured.kept} of {result.measured.true} true ones"
    )


def _producer_rows(producer: ProducerStatus) -> Iterator[tuple[str, str]]:
    from treemem.reports import count_of

    refused = sum(producer.refused.values())
    detail = ""
    if refused:
        detail = f", {refused:,} of {count_of(producer.offered, 'statement')} rejected"
    nodes = count_of(producer.nodes, "node")
    yield "summaries", f"{producer.name}: {producer.usable:,} of {nodes}{detail}"
    for reason, number in list(producer.refused.items())[:REASONS_SHOWN]:
        yield "", f"  {number:,} x {reason}"
