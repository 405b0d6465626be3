"""treemem source: lists the stored sources and shows one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.content.message import message_json, message_view
from treemem_cli.content.tree import tree_json
from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option, utc_option

if TYPE_CHECKING:
    from rich.console import Console

    from treemem import SourceView, Tree

# Below this width, in columns, only the last day of a source is shown, and not its kind.
NARROW = 100
# The columns of a title, at least.
TITLE_WIDTH_MIN = 20


@click.group("source")
def source_command() -> None:
    """Show the stored sources.

    \b
    Example:
      treemem source list
    """


@source_command.command("list")
@utc_option
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
        _print_sources(console(), sources)
    else:
        note("Nothing is stored yet. See: treemem ingest --help")


@source_command.command("show")
@click.argument("source")
@click.option("--messages", "with_messages", is_flag=True, help="Print all messages word for word.")
@click.option("--by-model", is_flag=True, help="Show only statements by a model, with citations.")
@utc_option
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
        digest = memory.digest(Scope.source(view.source.id))
        messages = memory.messages(view.source.id) if with_messages else []
    if as_json:
        print_json({"source": view, "digest": digest, "tree": tree_json(tree),
                    "messages": [message_json(message) for message in messages]})  # fmt: skip
        return
    if by_model:
        _print_by_model(tree)
        return
    from treemem_cli.content.digest import print_digest
    from treemem_cli.render import console, safe

    screen = console()
    _print_sources(screen, [view])
    if view.source.origin:
        screen.print(f"read from {safe(view.source.origin)}", style="dim", markup=False)
    screen.print()
    print_digest(screen, digest)
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


def _print_sources(screen: Console, sources: list[SourceView]) -> None:
    """Prints two lines for each source: its title and counts, and the whole id, which other
    commands take. An id is never broken."""
    from rich.cells import cell_len
    from rich.text import Text

    from treemem_cli.render import day, fitted, period, safe

    is_narrow = screen.width < NARROW
    if is_narrow:
        times = [day(view.ended_at) for view in sources]
    else:
        times = [period(view.started_at, view.ended_at) for view in sources]
    columns = {
        "messages": [f"{view.messages:,}" for view in sources],
        "leaves": [f"{view.leaves:,}" for view in sources],
        "tokens": [f"{view.tokens:,}" for view in sources],
    }
    kinds = [view.kind or "" for view in sources]
    if is_narrow:
        del columns["leaves"]
        kinds = [""] * len(sources)
    widths = [max(map(len, [name, *cells])) for name, cells in columns.items()]
    kind_width = max(map(len, kinds))
    taken = sum(widths) + 2 * len(widths) + kind_width + max(map(len, ["time", *times])) + 4
    longest = max(cell_len(view.title) for view in sources)
    room = max(TITLE_WIDTH_MIN, min(longest, screen.width - taken))

    def line(title: str, kind: str, cells: list[str], time: str) -> str:
        numbers = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        middle = f"{kind:<{kind_width}}  " if kind_width else ""
        return f"{fitted(title, room)}  {middle}{numbers}  {time}".rstrip()

    named = "" if is_narrow else "kind"
    head = line("source", named, list(columns), "last" if is_narrow else "time")
    screen.print(head, style="dim", soft_wrap=True)
    for number, view in enumerate(sources):
        cells = [values[number] for values in columns.values()]
        screen.print(Text(line(view.title, kinds[number], cells, times[number])), soft_wrap=True)
        screen.print(Text(f"  {safe(view.source.id)}", style="cyan"), soft_wrap=True)
