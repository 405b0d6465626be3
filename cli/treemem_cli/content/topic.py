"""treemem topic: lists topics, renames, pins and merges them, and undoes merges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from treemem_cli.completion import ids
from treemem_cli.content.tree import BEHIND
from treemem_cli.context import confirm, is_verbose, note, open_memory, print_json
from treemem_cli.parameters import json_option, plain_option, utc_option, yes_option

if TYPE_CHECKING:
    from treemem import Digest, TopicView


@click.group("topic")
def topic_command() -> None:
    """List, rename, pin and merge topics.

    A topic groups leaves about one subject, from any source. Topics are detected while logs are
    stored, without a model; your names, pins and merges are permanent.

    \b
    Example:
      treemem topic list
    """


@topic_command.command("list")
@utc_option
@plain_option
@json_option
@click.pass_context
def list_topics(context: click.Context, plain: bool, as_json: bool) -> None:
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
    _print(topics, plain=plain)
    if not topics:
        note("There are no topics yet: too little of what is stored is about the same.")
    elif waiting and is_verbose():
        from treemem.reports import count_of

        note(f"{count_of(waiting, 'leaf')} without a topic.")
    if is_behind:
        note(BEHIND)


@topic_command.command("show")
@click.argument("topic_id", metavar="ID", shell_complete=ids("topic"))
@utc_option
@json_option
@click.pass_context
def show_topic(context: click.Context, topic_id: str, as_json: bool) -> None:
    """Show a topic's statements and sources.

    ID is a topic id or an unambiguous prefix of it. To draw its tree: treemem tree --topic ID

    \b
    Example:
      treemem topic show t1a2b3c4
    """
    from treemem import Scope

    with open_memory(context) as memory:
        topic = memory.topics.show(topic_id)
        titles = memory.titles(topic.source_ids)
        digest = memory.digest(Scope.topic(topic.id))
    if as_json:
        print_json({"topic": topic, "titles": titles, "digest": digest})
        return
    _print_one(topic, digest, titles)


def _print_one(topic: TopicView, digest: Digest, titles: Mapping[str, str]) -> None:
    from treemem_cli.content.digest import print_digest
    from treemem_cli.render import clip, console, safe

    screen = console()
    _print([topic])
    for source_id in topic.source_ids:
        screen.print(clip(f"from {titles.get(source_id, source_id)}", screen.width), markup=False)
        screen.print(f"  {safe(source_id)}", style="dim", markup=False, soft_wrap=True)
    if topic.aliases:
        screen.print(f"merged from {', '.join(topic.aliases)}", style="dim", markup=False)
    screen.print()
    print_digest(screen, digest)


@topic_command.command("rename")
@click.argument("topic_id", metavar="ID", shell_complete=ids("topic"))
@click.argument("name")
@json_option
@click.pass_context
def rename_topic(context: click.Context, topic_id: str, name: str, as_json: bool) -> None:
    """Rename a topic. The name is permanent.

    \b
    Example:
      treemem topic rename t1a2b3c4 "October settlement"
    """
    with open_memory(context) as memory:
        _show([memory.topics.rename(topic_id, name)], as_json)


@topic_command.command("pin")
@click.argument("topic_id", metavar="ID", shell_complete=ids("topic"))
@click.option("--off", is_flag=True, help="Allow a rebuild to change it again.")
@json_option
@click.pass_context
def pin_topic(context: click.Context, topic_id: str, off: bool, as_json: bool) -> None:
    """Protect a topic from rebuilds.

    New leaves are still added to it.

    \b
    Example:
      treemem topic pin t1a2b3c4
    """
    with open_memory(context) as memory:
        _show([memory.topics.pin(topic_id, pinned=not off)], as_json)


@topic_command.command("merge")
@click.argument("into", metavar="INTO", shell_complete=ids("topic"))
@click.argument("topic_ids", metavar="ID...", nargs=-1, required=True, shell_complete=ids("topic"))
@yes_option
@json_option
@click.pass_context
def merge_topics(
    context: click.Context, into: str, topic_ids: tuple[str, ...], yes: bool, as_json: bool
) -> None:
    """Merge other topics into the topic INTO.

    Their ids refer to INTO from then on. To undo it: treemem topic unmerge ID

    \b
    Example:
      treemem topic merge t1a2b3c4 t5d6e7f8 --yes
    """
    from treemem import UsageError

    with open_memory(context) as memory:
        *others, target = (memory.topics.show(topic_id) for topic_id in (*topic_ids, into))
        if target in others:  # asked about nothing
            raise UsageError(f"{target.id} ({target.name}) cannot be merged with itself.")
        question = f"Merge {', '.join(topic.name for topic in others)} into {target.name}?"
        if not confirm(question, yes=yes):
            note("Nothing was changed.")
            return
        for topic_id in topic_ids:
            memory.topics.merge(into, topic_id)
        _show([memory.topics.show(into)], as_json)
    note(f"To undo it: treemem topic unmerge {' '.join(topic.id for topic in others)}")


@topic_command.command("unmerge")
@click.argument(
    "topic_ids", metavar="ID...", nargs=-1, required=True, shell_complete=ids("merged topic")
)
@json_option
@click.pass_context
def unmerge_topics(context: click.Context, topic_ids: tuple[str, ...], as_json: bool) -> None:
    """Undo a merge.

    Each ID, of a topic that was merged into another one, is a topic of its own again, with its
    name, its pin and its leaves. The merged topics are listed by: treemem topic show ID

    \b
    Example:
      treemem topic unmerge t5d6e7f8
    """
    with open_memory(context) as memory:
        restored = [memory.topics.unmerge(topic_id) for topic_id in topic_ids]
        _show([memory.topics.show(topic.id) for topic in restored], as_json)


@topic_command.command("rebuild")
@json_option
@click.pass_context
def rebuild_topics(context: click.Context, as_json: bool) -> None:
    """Detect all topics again, from all leaves at once.

    Topics that remain have the same id. Pinned topics do not change; your names and merges
    remain.

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


def _print(topics: list[TopicView], *, plain: bool = False) -> None:
    """Prints a row for each topic."""
    from treemem_cli.render import day
    from treemem_cli.tables import NAME, Column, Table, identifier, number

    if not topics:
        return
    table = Table(
        identifier("topic"), Column("name", wide=NAME),
        number("messages"), number("sources", drop=1),
        Column("from", day, style="dim", drop=2), Column("to", day, style="dim"),
        Column("pinned", lambda pinned: "pinned" if pinned else "", style="dim", drop=3),
        Column("who", wide=NAME, drop=4),
    )  # fmt: skip
    for topic in topics:
        table.add(
            topic.id, topic.name, topic.messages, len(topic.source_ids), topic.started_at,
            topic.ended_at, topic.pinned, ", ".join([*topic.people, *topic.agents]),
        )  # fmt: skip
    table.print(plain=plain)
