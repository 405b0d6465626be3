"""treemem source: lists the stored sources and shows one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from treemem_cli.completion import ids
from treemem_cli.content.message import message_view
from treemem_cli.context import NOTHING_STORED, is_verbose, note, open_memory, print_json
from treemem_cli.parameters import (
    json_option,
    no_pager_option,
    plain_option,
    scope_options,
    utc_option,
)

if TYPE_CHECKING:
    from treemem import Scope, SourceView, Tree


# The sources that are listed on a terminal.
ON_SCREEN = 30
BELOW = "└ "
# The columns of a terminal for the ids; longer ones exceed it.
SHORT_ID_ROOM = 32
# What is left to a title beside a column that matters less: it tells one session from another.
TITLE_SPARE = 12


@click.group("source")
def source_command() -> None:
    """Show the stored sources.

    \b
    Example:
      treemem source list
    """


@source_command.command("list")
@scope_options("source", "tool", "project", "person")
@click.option("--since", metavar="TIME", help='Only with messages since then, or "last week".')
@click.option("--until", metavar="TIME", help="Only with messages up to then.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N",
    help=f"List at most N. Default: {ON_SCREEN} on a terminal, all otherwise.",
)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Show sub-agents below their sessions.")
@utc_option
@plain_option
@json_option
@click.pass_context
def list_sources(
    context: click.Context,
    scope: Scope,
    since: str | None,
    until: str | None,
    limit: int | None,
    every: bool,
    plain: bool,
    as_json: bool,
) -> None:
    """List the stored sources, the most recent first.

    Sub-agents are counted at the session that started them; --all and --source show them. Sessions
    in which hardly anything was said come last. -v shows their projects. --json has every source.
    Every command takes the ids that are shown, or a part of a title, or "latest".

    \b
    Example:
      treemem source list --since "last week"
      treemem source list --tool claude-code --project .
    """
    from treemem_cli.render import is_terminal

    if limit is None and is_terminal() and not plain and not as_json:
        limit = ON_SCREEN
    with open_memory(context) as memory:
        read = partial(memory.sources, scope, since=since, until=until)
        if as_json:
            print_json(read(limit=limit))
            return
        if every or scope.key is not None:
            shown = _in_order(read())
            count = len(shown)
        else:
            read = partial(read, with_agents=False)
            shown = read() if limit is None else _first(read, limit)
            shown.sort(key=lambda view: view.is_trivial)
            count = len(memory.source_ids(scope, since=since, until=until, with_agents=False))
        is_empty = memory.is_empty
    if is_empty:
        note(NOTHING_STORED)
        return
    if shown:
        _print_sources(shown[:limit], plain=plain)
    else:
        note("No source fits.")
        context.exit(1)
    if limit is not None and count > limit:
        note(f"{count - limit:,} more; to show all: --limit {count}")


def _first(read: Callable[..., list[SourceView]], limit: int) -> list[SourceView]:
    """The latest sources, until there are as many as the limit in which something was said."""
    found: list[SourceView] = []
    while views := read(limit=limit, offset=len(found)):
        found += views
        if sum(not view.is_trivial for view in found) >= limit:
            break
    return found


def in_groups(
    sources: list[SourceView],
) -> tuple[list[SourceView], dict[str, list[SourceView]]]:
    """The sessions in the order of a list, trivial ones last, and the sub-agents by the source that
    started them. A sub-agent without its session stands for itself."""
    below: dict[str, list[SourceView]] = {}
    ids = {view.source.id for view in sources}
    tops = []
    for view in sources:
        parent = view.source.parent_id
        if parent in ids and parent is not None:
            below.setdefault(parent, []).append(view)
        else:
            tops.append(view)
    tops.sort(key=lambda view: view.is_trivial)
    return tops, below


def _in_order(sources: list[SourceView]) -> list[SourceView]:
    """The sessions in the order of a list, each followed by its sub-agents."""
    tops, below = in_groups(sources)
    ordered, stack = [], tops[::-1]
    while stack:
        view = stack.pop()
        ordered.append(view)
        stack += below.pop(view.source.id, [])
    return ordered


@source_command.command("show")
@click.argument("source", shell_complete=ids("source"))
@click.option("--messages", "with_messages", is_flag=True, help="Print all messages word for word.")
@click.option("--by-model", is_flag=True, help="Show only statements by a model, with citations.")
@utc_option
@no_pager_option
@json_option
@click.pass_context
def show_source(
    context: click.Context, source: str, with_messages: bool, by_model: bool, as_json: bool
) -> None:
    """Show one source: its summary, or all its messages.

    SOURCE is a part of an id or a title that no other source has, or "latest".

    \b
    Example:
      treemem source show latest
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
    from treemem_cli.render import console, paged, safe

    screen = console()
    _print_sources([view])
    with paged(screen):
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
    """Prints a row for each source. On a terminal an id is cut to as much as commands need, and is
    last; it is whole in a pipe, and first with --plain."""
    from treemem_cli.render import day, is_terminal
    from treemem_cli.tables import NAME, Column, Table, identifier, number

    columns = [
        identifier("id", most=SHORT_ID_ROOM), Column("title", wide=NAME),
        number("messages", drop=2), number("tokens", drop=4, spare=TITLE_SPARE),
        Column("kind", drop=5, spare=TITLE_SPARE),
        Column("first", day, drop=6, spare=TITLE_SPARE), Column("last", day, drop=1),
        Column("agents", lambda count: f"+{count:,}", drop=3, right=True),
    ]  # fmt: skip
    with_project = is_verbose() and not plain
    if not plain:
        project = [Column("project", wide=NAME)] if with_project else []
        columns = [*columns[1:], *project, columns[0]]
    table = Table(*columns)
    is_short = is_terminal() and not plain
    listed: set[str | None] = set()
    for view in sources:
        is_below = view.source.parent_id in listed
        listed.add(view.source.id)
        title = f"{BELOW}{view.title}" if is_below and not plain else view.title
        values: tuple[object, ...] = (
                  title, view.messages, view.tokens, view.kind, view.started_at, view.ended_at,
                  view.agents or None)  # fmt: skip
        if with_project:
            values = (*values, view.source.project)
        source_id = view.short_id if is_short else view.source.id
        table.add(
            *((source_id, *values) if plain else (*values, source_id)),
            dim=view.is_trivial or is_below,
        )
    table.print(plain=plain)
