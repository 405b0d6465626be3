"""treemem session: shows live sessions, and pins, folds, checkpoints and resumes them.

Commands that read change nothing: context shows what is in force and compacts nothing.

Tested in tests/cli/live/test_session.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.completion import ids, paths
from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option, no_pager_option, plain_option, utc_option

if TYPE_CHECKING:
    from treemem import Memory, Pins, Session

NO_SESSIONS = (
    "There are no live sessions yet. A program begins one with memory.session(name); for those of "
    "your tools' logs: treemem source list"
)
session_argument = click.argument("name", metavar="SESSION", shell_complete=ids("live session"))


@click.group("session")
def session_command() -> None:
    """Show and steer the live sessions of assistants.

    A live session is a conversation whose assistant takes its context from this memory. SESSION is
    its name, a part of it that no other has, or "latest". The sessions in logs of tools are
    sources: treemem source list

    \b
    Example:
      treemem session list
    """


def opened(memory: Memory, name: str) -> Session:
    """The live session that a name fits, which is never begun here. Raises NotFoundError."""
    return memory.session(memory.find_session(name).source_id)


@session_command.command("list")
@utc_option
@plain_option
@json_option
@click.pass_context
def list_sessions(context: click.Context, plain: bool, as_json: bool) -> None:
    """List the live sessions, the one used last first.

    \b
    Example:
      treemem session list --json
    """
    with open_memory(context) as memory:
        found = memory.sessions()
    if as_json:
        print_json(found)
        return
    from treemem_cli.live import views

    if not found:
        note(NO_SESSIONS)
        return
    views.print_sessions(found, plain=plain)


@session_command.command("show")
@session_argument
@utc_option
@no_pager_option
@json_option
@click.pass_context
def show_session(context: click.Context, name: str, as_json: bool) -> None:
    """Show what is pinned, blocks, folds and checkpoints.

    A block is a request with everything that came of it. To read one: treemem session recall

    \b
    Example:
      treemem session show latest
    """
    from treemem_cli.live import views

    with open_memory(context) as memory:
        view = memory.find_session(name)
        session = memory.session(view.source_id)
        shown = views.SessionShown(
            view, session.pins, session.pin_changes, session.catalog(), session.folds,
            session.checkpoints(), session.last_compaction,
        )  # fmt: skip
    if as_json:
        print_json(shown)
    else:
        views.print_session(shown)


@session_command.command("context")
@session_argument
@click.option("--query", metavar="TEXT", help="Search the memory for this, as the next turn may.")
@utc_option
@no_pager_option
@json_option
@click.pass_context
def show_context(context: click.Context, name: str, query: str | None, as_json: bool) -> None:
    """Show the context that a model would get.

    Its tokens by part, and its messages. Nothing is changed: no compaction is made, and what is
    found for --query is not kept. With --json, "messages" is ready to send; Anthropic takes
    "system" apart.

    \b
    Example:
      treemem session context latest
      treemem session context latest --query "the port of the proxy" --json
    """
    with open_memory(context) as memory:
        made = opened(memory, name).peek(query or "")
    if as_json:
        print_json(made)
        return
    from treemem_cli.live import views

    views.print_context(made)
    for sentence in made.notes:
        note(f"Note: {sentence}")


@session_command.command("pin")
@session_argument
@click.option("--goal", metavar="TEXT", help="What the session is for; replaces the one before.")
@click.option("--task", metavar="TEXT", help="What is being done now; replaces the one before.")
@click.option(
    "--constraint", "constraints", metavar="TEXT", multiple=True,
    help="What must always hold. May be given several times.",
)  # fmt: skip
@json_option
@click.pass_context
def pin(
    context: click.Context, name: str, goal: str | None, task: str | None,
    constraints: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Pin a goal, a task or constraints.

    Contexts show them word for word until they are unpinned.

    \b
    Example:
      treemem session pin latest --constraint "Never touch prod."
    """
    if goal is None and task is None and not constraints:
        raise click.UsageError("Give what to pin: --goal, --task or --constraint.")
    with open_memory(context) as memory:
        pins = opened(memory, name).pin(goal=goal, active_task=task, constraints=constraints)
    _print_pins(pins, as_json=as_json)


@session_command.command("unpin")
@session_argument
@click.option("--goal", is_flag=True, help="End the goal.")
@click.option("--task", is_flag=True, help="End the task.")
@click.option(
    "--constraint", "constraints", metavar="TEXT", multiple=True,
    help="End this constraint: its words, or a part that no other has.",
)  # fmt: skip
@json_option
@click.pass_context
def unpin(
    context: click.Context, name: str, goal: bool, task: bool, constraints: tuple[str, ...],
    as_json: bool,
) -> None:  # fmt: skip
    """End what is pinned.

    \b
    Example:
      treemem session unpin latest --task --constraint "touch prod"
    """
    if not (goal or task or constraints):
        raise click.UsageError("Give what to unpin: --goal, --task or --constraint.")
    with open_memory(context) as memory:
        session = opened(memory, name)
        meant = [_meant(session.pins.constraints, text) for text in constraints]
        pins = session.unpin(goal=goal, active_task=task, constraints=meant)
    _print_pins(pins, as_json=as_json)


def _meant(pinned: tuple[str, ...], text: str) -> str:
    """The constraint that a text is, or the only one that it is a part of."""
    parts = [one for one in pinned if text and text.casefold() in one.casefold()]
    return parts[0] if len(parts) == 1 and text not in pinned else text


def _print_pins(pins: Pins, *, as_json: bool) -> None:
    if as_json:
        print_json(pins)
        return
    from treemem_cli.live import views

    views.print_pins(pins)


@session_command.command("fold")
@session_argument
@click.argument("title")
@click.option(
    "--since", metavar="BLOCK",
    help="Its first block, such as b12. Default: what came after the active task was pinned, or "
    "after the last fold.",
)  # fmt: skip
@json_option
@click.pass_context
def fold(
    context: click.Context, name: str, title: str, since: str | None, as_json: bool
) -> None:  # fmt: skip
    """End a sub-task.

    Contexts then show what came of it in place of its turns. The turns stay: search finds them,
    and treemem session recall prints them.

    \b
    Example:
      treemem session fold latest "fixing the parser" --since b12
    """
    with open_memory(context) as memory:
        made = opened(memory, name).fold(title, since=since)
    if as_json:
        print_json(made)
        return
    from treemem_cli.live import views

    views.print_text(made.text)


@session_command.command("checkpoint")
@session_argument
@click.argument("files", metavar="[FILE]...", nargs=-1, shell_complete=paths)
@click.option(
    "--keep-days", type=click.FloatRange(min=0, min_open=True), metavar="N",
    help="Delete it after N days. Default: 90.",
)  # fmt: skip
@json_option
@click.pass_context
def checkpoint(
    context: click.Context, name: str, files: tuple[str, ...], keep_days: float | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Record where a session is.

    That is its turns so far, and the state of the files that they refer to. FILE is a further file
    to look after. To go on from it: treemem session resume CHECKPOINT

    \b
    Example:
      treemem session checkpoint latest Makefile
    """
    from pathlib import Path

    with open_memory(context) as memory:
        given = [str(Path(file).absolute()) for file in files]
        made = opened(memory, name).checkpoint(files=given, keep_days=keep_days)
    if as_json:
        print_json(made)
        return
    from treemem_cli.live import views

    views.print_checkpoints([made])
    note(f"To go on from it: treemem session resume {made.id}")


@session_command.command("resume")
@click.argument("checkpoint_id", metavar="CHECKPOINT", shell_complete=ids("checkpoint"))
@click.option(
    "--soft/--hard", "soft", default=None,
    help="Begin with the digest and the last request, or with all turns that fit. Default: soft "
    "if the session was not used for a day.",
)  # fmt: skip
@json_option
@click.pass_context
def resume(context: click.Context, checkpoint_id: str, soft: bool | None, as_json: bool) -> None:
    """Go on from a checkpoint.

    Says what has changed in its files since, and gets its session ready. CHECKPOINT is its id, or
    the beginning of it.

    \b
    Example:
      treemem session resume c0123456789a
    """
    from treemem_cli.live import views

    with open_memory(context) as memory:
        resumed = memory.resume(checkpoint_id, soft=soft)
        shown = views.ResumedShown(
            resumed.session.id, resumed.checkpoint, resumed.changes, resumed.turns_since,
            resumed.idle_seconds, resumed.is_soft, tuple(resumed.lines()), resumed.session.pins,
        )  # fmt: skip
    if as_json:
        print_json(shown)
        return
    views.print_resumed(shown)


@session_command.command("recall")
@session_argument
@click.argument("block", metavar="BLOCK")
@no_pager_option
@json_option
@click.pass_context
def recall(context: click.Context, name: str, block: str, as_json: bool) -> None:
    """Print the messages of a block word for word.

    BLOCK is an id of treemem session show, such as b12, or b0-b64 for several blocks.

    \b
    Example:
      treemem session recall latest b12
    """
    with open_memory(context) as memory:
        messages = opened(memory, name).recall(block)
    if as_json:
        print_json(messages)
        return
    from treemem_cli.live import views

    views.print_messages(messages)


@session_command.command("read")
@session_argument
@click.argument("handle")
@click.option(
    "--offset", type=click.IntRange(min=0), default=0, metavar="N",
    help="Begin at this character.",
)  # fmt: skip
@click.option(
    "--limit", type=click.IntRange(min=1, max=1_000_000), default=8_000, show_default=True,
    metavar="N", help="Print at most N characters.",
)  # fmt: skip
@json_option
@click.pass_context
def read(
    context: click.Context, name: str, handle: str, offset: int, limit: int, as_json: bool
) -> None:
    """Print a long text that a context shows in part.

    HANDLE is in the line that stands for what is left out, such as h12.0.

    \b
    Example:
      treemem session read latest h12.0 --offset 8000
    """
    with open_memory(context) as memory:
        part = opened(memory, name).read(handle, offset, limit)
    if as_json:
        print_json(part)
        return
    from treemem_cli.render import safe

    click.echo(safe(part.text))
    if not part.is_end:
        note(f"{part.total - part.next_offset:,} more characters: --offset {part.next_offset}")
