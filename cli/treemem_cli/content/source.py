"""treemem source: lists the stored sources and shows one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.content.message import message_json, message_view
from treemem_cli.content.tree import tree_json
from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option

if TYPE_CHECKING:
    from rich.table import Table

    from treemem import SourceView, Tree

# Below this width, in columns, only the day of a time is shown.
NARROW = 100


@click.group("source")
def source_command() -> None:
    """Show the stored sources.

    \b
    Example:
      treemem source list
    """


@source_command.command("list")
@json_option
@click.pass_context
def list_sources(context: click.Context, as_json: bool) -> None:
    """List every source, the most recent first.

    \b
    Example:
      treemem source list --json
    """
    with open_memory(context) as memory:
        sources = memory.sources()
    if as_json:
        print_json(sources)
        return
    from treemem_cli.render import console

    if sources:
        screen = console()
        screen.print(_table(sources, screen.width))
    else:
        note("Nothing is stored yet. See: treemem ingest --help")


@source_command.command("show")
@click.argument("source")
@click.option("--messages", "with_messages", is_flag=True, help="Print all messages word for word.")
@click.option("--by-model", is_flag=True, help="Show only statements by a model, with citations.")
@json_option
@click.pass_context
def show_source(
    context: click.Context, source: str, with_messages: bool, by_model: bool, as_json: bool
) -> None:
    """Show one source: its summary, or all its messages.

    SOURCE is an id or an unambiguous part of it; treemem source list shows the ids.

    \b
    Example:
      treemem source show claude-code/5c0375b4
    """
    from treemem import Scope

    with open_memory(context) as memory:
        view = memory.source(source)
        tree = memory.tree(Scope.source(view.source.id), cite=by_model or as_json)
        messages = memory.messages(view.source.id) if with_messages else []
    if as_json:
        print_json({"source": view, "tree": tree_json(tree),
                    "messages": [message_json(message) for message in messages]})  # fmt: skip
        return
    if by_model:
        _print_by_model(tree)
        return
    from treemem_cli.content.statements import statements_view
    from treemem_cli.render import console, safe

    screen = console()
    screen.print(_table([view], screen.width))
    if view.source.origin:
        screen.print(f"read from {safe(view.source.origin)}", style="dim", markup=False)
    screen.print()
    screen.print(statements_view(tree.statements, screen.width))
    for message in messages:
        screen.print()
        screen.print(message_view(message))


def _print_by_model(tree: Tree) -> None:
    """Prints each statement that a model wrote once, above the messages that it cites."""
    from treemem_cli.render import clip, console, safe, short

    screen = console()
    shown: set[int] = set()
    for node in tree.nodes():
        for statement in node.statements:
            if statement.producer.startswith("extractive/") or statement.id in shown:
                continue
            shown.add(statement.id)
            screen.print(f"{statement.kind}: {safe(statement.text)}", style="bold", markup=False)
            for message in statement.messages:
                text = clip(f"{message.speaker}: {message.text}", 240)
                screen.print(f"  {short(message.id or '')}  {text}", style="dim", markup=False)
    if not shown:
        note("No model statement here passed the checks. For the reasons: treemem status")


def _table(sources: list[SourceView], width: int) -> Table:
    """A row for each source: its title, and below it the whole id, which other commands take."""
    from rich.text import Text

    from treemem_cli.render import clip, new_table, period, safe

    digits = len("2026-11-08") if width < NARROW else None
    table = new_table(
        "source", "messages", "leaves", "tokens", "time",
        numbers=("messages", "leaves", "tokens"), whole=("time",),
    )  # fmt: skip
    for view in sources:
        label = Text(safe(view.source.id), style="cyan")
        if view.source.title:
            label = Text.assemble(clip(view.source.title, 60), "\n", label)
        table.add_row(
            label, f"{view.messages:,}", f"{view.leaves:,}", f"{view.tokens:,}",
            Text(
                period((view.started_at or "")[:digits], (view.ended_at or "")[:digits]),
                style="dim",
            ),
        )  # fmt: skip
    return table
