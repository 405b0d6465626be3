"""treemem source: lists the stored sources and shows one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.completion import ids
from treemem_cli.content.message import message_view
from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option, plain_option, utc_option

if TYPE_CHECKING:
    from treemem import SourceView, Tree


@click.group("source")
def source_command() -> None:
    """Show the stored sources.

    \b
    Example:
      treemem source list
    """


@source_command.command("list")
@utc_option
@plain_option
@json_option
@click.pass_context
def list_sources(context: click.Context, plain: bool, as_json: bool) -> None:
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
    if sources:
        _print_sources(sources, plain=plain)
    else:
        note("Nothing is stored yet. See: treemem ingest --help")


@source_command.command("show")
@click.argument("source", shell_complete=ids("source"))
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
        print_json({"source": view, "digest": digest, "tree": tree, "messages": messages})
        return
    if by_model:
        _print_by_model(tree)
        return
    from treemem_cli.content.digest import print_digest
    from treemem_cli.render import console, safe

    screen = console()
    _print_sources([view])
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


def _print_sources(sources: list[SourceView], *, plain: bool = False) -> None:
    """Prints a row for each source. The id is last on a screen: the longest ones exceed it, and
    are shown whole. It is first with --plain."""
    from treemem_cli.render import day
    from treemem_cli.tables import NAME, Column, Table, identifier, number

    columns = [
        identifier("id"), Column("title", wide=NAME), number("messages", drop=2),
        number("tokens", drop=3), Column("kind", drop=4), Column("first", day, drop=5),
        Column("last", day, drop=1),
    ]  # fmt: skip
    if not plain:
        columns = [*columns[1:], columns[0]]
    table = Table(*columns)
    for view in sources:
        values = (view.source.id, view.title, view.messages, view.tokens, view.kind,
                  view.started_at, view.ended_at)  # fmt: skip
        table.add(*(values if plain else (*values[1:], values[0])))
    table.print(plain=plain)
