"""treemem topic: looking at topics, and saying what they are called and what belongs together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, note, open_memory, print_json
from treemem_cli.look import BEHIND

if TYPE_CHECKING:
    from treemem import Tree
    from treemem.topic_api import TopicView


@click.group("topic")
def topic_command() -> None:
    """Look at the topics that were found, name them, and put them together.

    A topic has leaves of any source that are about the same. Topics are found when logs are
    stored, without a model; what you name, pin or merge stays so.

    \b
    Example:
      treemem topic list
    """


@topic_command.command("list")
@json_option
@click.pass_context
def list_topics(context: click.Context, as_json: bool) -> None:
    """List all topics, the largest first.

    \b
    Example:
      treemem topic list --json
    """
    with open_memory(context) as memory:
        topics = memory.topics.list()
        waiting = memory.status().leaves_without_topic
        is_behind = memory.is_behind("topics")
    if as_json:
        print_json(topics)
        return
    _print(topics)
    if not topics:
        note("No topic was found yet: too few leaves belong together.")
    elif waiting:
        note(f"{waiting:,} leaves are in no topic.")
    if is_behind:
        note(BEHIND)


@topic_command.command("show")
@click.argument("topic_id", metavar="ID")
@json_option
@click.pass_context
def show_topic(context: click.Context, topic_id: str, as_json: bool) -> None:
    """Show a topic: what was said about it, and the sources it comes from.

    ID may be cut short as long as it is unambiguous. The tree below it is drawn by: treemem tree
    --topic ID

    \b
    Example:
      treemem topic show t1a2b3c4
    """
    from treemem import Scope

    with open_memory(context) as memory:
        topic = memory.topics.show(topic_id)
        tree = memory.tree(Scope.topic(topic.id))
    if as_json:
        print_json({"topic": topic, "statements": tree.statements})
        return
    _print_one(topic, tree)


def _print_one(topic: TopicView, tree: Tree) -> None:
    from treemem_cli.render import clip, console, statements_view

    screen = console()
    _print([topic])
    for source_id in topic.source_ids:
        screen.print(clip(f"from {source_id}", 110), style="dim", markup=False)
    if topic.aliases:
        screen.print(f"has taken in {', '.join(topic.aliases)}", style="dim", markup=False)
    screen.print()
    screen.print(statements_view(tree.statements, screen.width))


@topic_command.command("rename")
@click.argument("topic_id", metavar="ID")
@click.argument("name")
@json_option
@click.pass_context
def rename_topic(context: click.Context, topic_id: str, name: str, as_json: bool) -> None:
    """Give a topic a name of yours. It stays, whatever the topic comes to hold.

    \b
    Example:
      treemem topic rename t1a2b3c4 "October settlement"
    """
    with open_memory(context) as memory:
        _show([memory.topics.rename(topic_id, name)], as_json)


@topic_command.command("pin")
@click.argument("topic_id", metavar="ID")
@click.option("--off", is_flag=True, help="Let a rebuild change it again.")
@json_option
@click.pass_context
def pin_topic(context: click.Context, topic_id: str, off: bool, as_json: bool) -> None:
    """Let every rebuild leave a topic as it is.

    New leaves still join it.

    \b
    Example:
      treemem topic pin t1a2b3c4
    """
    with open_memory(context) as memory:
        _show([memory.topics.pin(topic_id, pinned=not off)], as_json)


@topic_command.command("merge")
@click.argument("into", metavar="INTO")
@click.argument("topic_ids", metavar="ID...", nargs=-1, required=True)
@json_option
@click.pass_context
def merge_topics(
    context: click.Context, into: str, topic_ids: tuple[str, ...], as_json: bool
) -> None:
    """Give the leaves of other topics to the topic INTO. Their ids lead there from now on.

    \b
    Example:
      treemem topic merge t1a2b3c4 t5d6e7f8
    """
    with open_memory(context) as memory:
        for topic_id in topic_ids:
            memory.topics.merge(into, topic_id)
        _show([memory.topics.show(into)], as_json)


@topic_command.command("rebuild")
@json_option
@click.pass_context
def rebuild_topics(context: click.Context, as_json: bool) -> None:
    """Find all topics anew, from all leaves at once.

    A topic that is still there keeps its id. Pinned topics stay as they are; your names and
    merges stay.

    \b
    Example:
      treemem topic rebuild
    """
    with open_memory(context) as memory:
        _show(memory.topics.rebuild(), as_json)


def _show(topics: list[TopicView], as_json: bool) -> None:
    if as_json:
        print_json(topics)
    else:
        _print(topics)


def _print(topics: list[TopicView]) -> None:
    """One line a topic."""
    from rich.table import Table
    from rich.text import Text

    from treemem_cli.render import clip, console, period

    if not topics:
        return
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("topic", no_wrap=True)
    table.add_column("name", ratio=1, overflow="fold")
    for column in ("leaves", "sources", "tokens"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("when", no_wrap=True)
    for topic in topics:
        name = Text(clip(topic.name, 80))
        if topic.pinned:
            name.append("  pinned", "dim")
        table.add_row(
            Text(topic.id, style="cyan"), name, f"{len(topic.leaf_ids):,}",
            f"{len(topic.source_ids):,}", f"{topic.tokens:,}",
            Text(period(topic.started_at, topic.ended_at), style="dim"),
        )  # fmt: skip
    console().print(table)
