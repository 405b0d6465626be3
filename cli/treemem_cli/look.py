"""treemem tree, node and source: looking at what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, note, open_memory, print_json

if TYPE_CHECKING:
    from treemem import Memory, Message, Node, Scope, Tree


BEHIND = (
    "What was stored last is not in it yet: ingest, watch and work let it follow, at most every "
    "15 minutes."
)


# -- tree ------------------------------------------------------------------------------


@click.command("tree")
@click.argument("source", required=False)
@click.option("--topic", metavar="ID", help="The tree of a topic, not of a source.")
@click.option("--depth", type=click.IntRange(min=0), help="Show so many levels below the root.")
@json_option
@click.pass_context
def tree_command(
    context: click.Context,
    source: str | None,
    topic: str | None,
    depth: int | None,
    as_json: bool,
) -> None:
    """Draw the summary tree of a source or a topic, or the one over everything.

    SOURCE is its id or an unambiguous part of it. Each node shows its id, its size, when it
    was said, and its gist in the words of the log. The tree over everything follows its sources
    at most every 15 minutes.

    \b
    Example:
      treemem tree --depth 1
    """
    if source is not None and topic is not None:
        raise click.UsageError("Give a source or a topic, not both.")
    with open_memory(context) as memory:
        tree = memory.tree(_scope(memory, source, topic), cite=as_json)
        roots = {view.root_id: view.source.id for view in memory.sources()}
        is_behind = source is None and topic is None and memory.is_behind("global")
    if as_json:
        print_json([_tree_json(tree)])
        return
    from treemem_cli.render import console, safe, tree_view

    if tree.root_id is None and is_behind:
        note("No tree stands over what is stored yet. Make it: treemem work")
        return
    if tree.root_id is None:
        note("Nothing is stored yet. See: treemem ingest --help, treemem work --help")
        return
    screen = console()
    screen.print(safe(str(tree.scope)), style="bold", markup=False)
    screen.print(tree_view(tree, depth, screen.width, roots))
    if is_behind:
        note(BEHIND)


def _scope(memory: Memory, source: str | None, topic: str | None) -> Scope:
    from treemem import Scope

    if topic is not None:
        return Scope.topic(topic)
    if source is not None:
        return Scope.source(memory.source(source).source.id)
    return Scope.everything()


def _tree_json(tree: Tree) -> dict[str, object]:
    return {
        "scope": {"kind": tree.scope.kind, "key": tree.scope.key},
        "root_id": tree.root_id,
        "nodes": [_node_json(node) for node in tree.nodes()],
    }


def _node_json(node: Node) -> dict[str, object]:
    return {
        "id": node.id, "level": node.level, "tokens": node.tokens,
        "message_count": node.message_count, "started_at": node.started_at,
        "ended_at": node.ended_at, "provisional": node.provisional, "child_ids": node.child_ids,
        "statements": [
            {"kind": s.kind, "text": s.text, "speaker": s.speaker, "producer": s.producer,
             "message_ids": [message.id for message in s.messages],
             "external_ids": [message.external_id for message in s.messages],
             "closed_by": s.closed_by, "superseded_by": s.superseded_by}
            for s in node.statements
        ],
        "summaries": node.summaries,
    }  # fmt: skip


# -- node ------------------------------------------------------------------------------


@click.group("node")
def node_command() -> None:
    """Look at one node of a tree.

    \b
    Example:
      treemem node show --help
    """


@node_command.command("show")
@click.argument("node_id", metavar="ID")
@click.option("--producer", metavar="NAME", help="Show this producer's view, not the best one.")
@click.option("--rejected", is_flag=True, help="Also show what the checks refused, and why.")
@json_option
@click.pass_context
def show_node(
    context: click.Context, node_id: str, producer: str | None, rejected: bool, as_json: bool
) -> None:
    """Show a node's statements with the messages they cite, and who made its views.

    ID may be cut short as long as it is unambiguous.

    \b
    Example:
      treemem node show 1a2b3c4d
    """
    with open_memory(context) as memory:
        node = memory.node(node_id, producer=producer)
    if as_json:
        print_json(_node_json(node))
        return
    _print_node(node, rejected=rejected)


def _print_node(node: Node, *, rejected: bool) -> None:
    from treemem_cli.render import clip, console, period, safe, short, size, statements_view

    screen = console()
    kind = "leaf" if node.is_leaf else f"level {node.level}"
    state = " (still growing)" if node.provisional else ""
    screen.print(f"{node.id}  {kind}{state}", style="bold", markup=False)
    screen.print(
        f"{size(node.tokens)} in {node.message_count:,} messages  "
        f"{period(node.started_at, node.ended_at)}", style="dim", markup=False,
    )  # fmt: skip
    if node.child_ids:
        children = " ".join(short(child) for child in node.child_ids)
        screen.print(f"covers {children}", style="dim", markup=False)
    screen.print()
    if node.statements:
        screen.print(statements_view(node.statements, screen.width))
    else:
        screen.print("No statements: nothing here was speech.", style="dim")
    screen.print()
    for view in node.summaries:
        mark = "shown" if view.shown else "kept for comparison" if view.kept else "not used"
        screen.print(
            f"{view.producer}: {view.kept} statements, {view.offered} offered, "
            f"{len(view.rejections)} refused ({mark})", style="dim", markup=False,
        )  # fmt: skip
        for refused in view.rejections if rejected else ():
            screen.print(f"  refused, {refused.reason}: {clip(safe(refused.text), 160)}",
                         style="dim", markup=False)  # fmt: skip


@node_command.command("list")
@click.option("--source", metavar="NAME", help="Only nodes of this source's tree.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(min=1))
@json_option
@click.pass_context
def list_nodes(context: click.Context, source: str | None, limit: int, as_json: bool) -> None:
    """List the nodes that a model, or a better one, could still summarize.

    Their summary is only picked out, not written, or was made by a model that did worse in its
    exam than the one in use. They are summarized by: treemem work --upgrade

    \b
    Example:
      treemem node list --limit 20
    """
    with open_memory(context) as memory:
        nodes = memory.upgradable(source)
    if as_json:
        print_json(nodes[:limit])
        return
    if not nodes:
        note("Every node has the best summary that there is for it.")
        return
    from rich.table import Table
    from rich.text import Text

    from treemem_cli.render import clip, console, short

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("node", "level", "source", "shown view", "why"):
        table.add_column(name, overflow="fold")
    for node in nodes[:limit]:
        table.add_row(
            Text(short(node.id), style="cyan"), str(node.level), Text(clip(node.source_id, 50)),
            Text(clip(node.producer, 40)), node.reason,
        )  # fmt: skip
    console().print(table)
    if len(nodes) > limit:
        note(f"{len(nodes) - limit:,} more; show them with --limit {len(nodes)}.")


@node_command.command("expand")
@click.argument("node_id", metavar="ID")
@json_option
@click.pass_context
def expand_node(context: click.Context, node_id: str, as_json: bool) -> None:
    """Show what lies below a node: its children, or a leaf's messages word for word.

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
        print_json([*map(_node_json, nodes), *map(message_json, messages)])
        return
    from treemem_cli.render import clip, console, message_view, period, short, size

    screen = console()
    for node in nodes:
        screen.print(
            f"{short(node.id)}  {size(node.tokens)}  {period(node.started_at, node.ended_at)}",
            style="bold cyan", markup=False,
        )  # fmt: skip
        for statement in node.statements[:5]:
            screen.print(f"  {statement.kind}: {clip(statement.text, 160)}", markup=False)
    for message in messages:
        screen.print(message_view(message))
        screen.print()


def message_json(message: Message) -> dict[str, object]:
    return {
        "id": message.id, "external_id": message.external_id, "role": message.role,
        "author": message.author, "sent_at": message.sent_at, "session": message.session,
        "kind": message.kind, "text": message.text, "tokens": message.tokens,
        "tool_use_ids": message.tool_use_ids, "tool_result_ids": message.tool_result_ids,
        "blobs": message.blobs,
    }  # fmt: skip


# -- source ----------------------------------------------------------------------------


@click.group("source")
def source_command() -> None:
    """Look at the sources that are stored.

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
    from treemem_cli.render import console, sources_view

    if sources:
        screen = console()
        screen.print(sources_view(sources, screen.width))
    else:
        note("Nothing is stored yet. See: treemem ingest --help")


@source_command.command("show")
@click.argument("source")
@click.option("--messages", "with_messages", is_flag=True, help="Print the history word for word.")
@click.option("--by-model", is_flag=True, help="Show only what a model wrote, and what it cites.")
@json_option
@click.pass_context
def show_source(
    context: click.Context, source: str, with_messages: bool, by_model: bool, as_json: bool
) -> None:
    """Show one source: its root's statements, everything that was said, or what a model wrote.

    \b
    Example:
      treemem source show claude-code
    """
    from treemem import Scope

    with open_memory(context) as memory:
        view = memory.source(source)
        tree = memory.tree(Scope.source(view.source.id), cite=by_model or as_json)
        history = memory.messages(view.source.id) if with_messages else []
    if as_json:
        print_json({"source": view, "tree": _tree_json(tree),
                    "messages": [message_json(message) for message in history]})  # fmt: skip
        return
    if by_model:
        _print_by_model(tree)
        return
    from treemem_cli.render import console, message_view, safe, sources_view, statements_view

    screen = console()
    screen.print(sources_view([view], screen.width))
    if view.source.origin:
        screen.print(f"read from {safe(view.source.origin)}", style="dim", markup=False)
    screen.print()
    screen.print(statements_view(tree.statements, screen.width))
    for message in history:
        screen.print()
        screen.print(message_view(message))


def _print_by_model(tree: Tree) -> None:
    """Each statement that a model wrote, once, above the words that it was checked against."""
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
                words = clip(f"{message.speaker}: {message.text}", 240)
                screen.print(f"  {short(message.id or '')}  {words}", style="dim", markup=False)
    if not shown:
        note("No model wrote anything here that passed the checks. See why: treemem status")
