"""treemem node: shows nodes, what is below them, and which could be summarized better.

Tested in tests/cli/content/test_tree.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.completion import ids
from treemem_cli.content.message import message_view
from treemem_cli.context import is_verbose, note, open_memory, print_json
from treemem_cli.parameters import json_option, plain_option, utc_option

if TYPE_CHECKING:
    from treemem import Node


@click.group("node")
def node_command() -> None:
    """Show the nodes of a tree.

    \b
    Example:
      treemem node list --limit 20
    """


@node_command.command("show")
@click.argument("node_id", metavar="ID", shell_complete=ids("node"))
@click.option("--producer", metavar="NAME", help="Show this producer's summary, not the best one.")
@click.option("--unproven", is_flag=True, help="Also show what a model wrote and nothing proves.")
@click.option("--rejected", is_flag=True, help="Also show rejected statements with the reason.")
@utc_option
@json_option
@click.pass_context
def show_node(
    context: click.Context,
    node_id: str,
    producer: str | None,
    unproven: bool,
    rejected: bool,
    as_json: bool,
) -> None:
    """Show a node's statements and summaries.

    ID is a node id or an unambiguous prefix of it. Each statement is shown with the messages
    that it cites.

    \b
    Example:
      treemem node show 1a2b3c4d
    """
    with open_memory(context) as memory:
        node = memory.node(node_id, producer=producer)
    if as_json:
        print_json(node, full=unproven)
    else:
        _print_node(node, unproven=unproven, rejected=rejected)


def _print_node(node: Node, *, unproven: bool, rejected: bool) -> None:
    from treemem.reports import count_of
    from treemem_cli.content.statements import statements_view
    from treemem_cli.render import clip, console, period, safe, short

    screen = console()
    screen.print(node.id, style="bold", markup=False)
    parts = (node_size(node), period(node.started_at, node.ended_at))
    screen.print("  ".join(filter(None, parts)), style="dim", markup=False)
    if node.child_ids:
        children = " ".join(short(child) for child in node.child_ids)
        screen.print(f"children {children}", style="dim", markup=False)
    screen.print()
    if node.statements:
        screen.print(statements_view(node.statements, screen.width))
    else:
        screen.print("No statements: this node contains no speech.", style="dim")
    if unproven and node.unproven:
        screen.print()
        screen.print("Unproven: no checker accepted these.", style="bold")
        screen.print(statements_view(node.unproven, screen.width))
    is_all = rejected or is_verbose() or len(node.summaries) > 1
    if is_all:
        screen.print()
    for summary in node.summaries if is_all else ():
        use = "shown" if summary.shown else "stored for comparison" if summary.kept else "not used"
        screen.print(
            f"{summary.producer}: {count_of(summary.kept, 'statement')} of "
            f"{summary.offered:,} offered, {len(summary.rejections):,} rejected ({use})",
            style="dim", markup=False,
        )  # fmt: skip
        for rejection in summary.rejections if rejected else ():
            screen.print(
                f"  rejected, {rejection.reason}: {clip(safe(rejection.text), 160)}",
                style="dim", markup=False,
            )  # fmt: skip


def node_size(node: Node) -> str:
    """How many messages are below a node, and whether more may come; with -v its tokens and its
    place in the tree, too."""
    from treemem.reports import count_of

    parts = [count_of(node.message_count, "message")]
    if is_verbose():
        parts += ["leaf" if node.is_leaf else f"level {node.level}",
                  count_of(node.tokens, "token")]  # fmt: skip
    return ", ".join(parts) + (" (still growing)" if node.provisional and node.is_leaf else "")


@node_command.command("list")
@click.option(
    "--source", metavar="ID", shell_complete=ids("source"), help="Only nodes of this source's tree."
)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(min=1))
@utc_option
@plain_option
@json_option
@click.pass_context
def list_nodes(
    context: click.Context, source: str | None, limit: int, plain: bool, as_json: bool
) -> None:
    """List nodes that could get a better summary.

    Their summary is extractive, or made by a model that scored lower in its exam than the one in
    use. To summarize them: treemem work --upgrade

    \b
    Example:
      treemem node list --limit 20
    """
    with open_memory(context) as memory:
        nodes = memory.upgradable(source)
        titles = memory.titles({node.source_id for node in nodes[:limit]})
    if as_json:
        print_json(nodes[:limit])
        return
    if not nodes:
        note("Nothing to upgrade.")
        return
    from treemem_cli.render import SHORT_ID
    from treemem_cli.tables import NAME, Column, Table, identifier, number

    table = Table(
        identifier("node", length=SHORT_ID), Column("reason"), Column("source", wide=NAME),
        Column("source id", style="dim", drop=1),
        *((number("level"), Column("summary by")) if plain or is_verbose() else ()),
    )  # fmt: skip
    for node in nodes[:limit]:
        more = (node.level, node.producer) if plain or is_verbose() else ()
        table.add(node.id, node.reason, titles.get(node.source_id, node.source_id),
                  node.source_id, *more)  # fmt: skip
    table.print(plain=plain)
    if len(nodes) > limit:
        note(f"{len(nodes) - limit:,} more; to show all: --limit {len(nodes)}")


@node_command.command("expand")
@click.argument("node_id", metavar="ID", shell_complete=ids("node"))
@utc_option
@json_option
@click.pass_context
def expand_node(context: click.Context, node_id: str, as_json: bool) -> None:
    """Show a node's children, or a leaf's messages.

    \b
    Example:
      treemem node expand 1a2b3c4d
    """
    from treemem import Message

    with open_memory(context) as memory:
        below = memory.expand(node_id)
    messages = [item for item in below if isinstance(item, Message)]
    nodes = [item for item in below if not isinstance(item, Message)]
    if as_json:
        print_json(below)
        return
    from treemem_cli.render import clip, console, period, short

    screen = console()
    for node in nodes:
        screen.print(
            f"{short(node.id)}  {node_size(node)}  "
            f"{period(node.started_at, node.ended_at)}".rstrip(), style="bold cyan", markup=False,
        )  # fmt: skip
        for statement in node.statements[:5]:
            screen.print(f"  {statement.kind}: {clip(statement.text, 160)}", markup=False)
    for message in messages:
        screen.print(message_view(message))
        screen.print()
