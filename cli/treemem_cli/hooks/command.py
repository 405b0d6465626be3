"""treemem hooks: what Claude Code calls, its place in the settings, and how it went.

Tested in tests/hooks/test_install.py.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.config_change import command_here, make_change
from treemem_cli.context import note, print_json
from treemem_cli.parameters import json_option, yes_option

if TYPE_CHECKING:
    from treemem.hooks.settings import HookScope, SettingsFile

# The runs that status shows.
RUNS = 8
_scope = click.option(
    "--scope", type=click.Choice(("user", "project", "local")), default="user",
    help="user: all your projects. project: this folder's, with all who work on it. local: this "
    "folder's, for you alone. Default: user.",
)  # fmt: skip


@click.group("hooks")
def hooks_command() -> None:
    """Let Claude Code use the memory by itself, at the beginning and the end of sessions.

    A session that begins gets the rules, the digest and the open points of its project; one that
    ends, or is about to be compacted, is stored.

    \b
    Example:
      treemem hooks install --print
    """


@hooks_command.command("install")
@_scope
@click.option(
    "--print", "only_print", is_flag=True, help="Print what belongs there; change nothing."
)
@yes_option
@click.pass_context
def install_command(
    context: click.Context, scope: HookScope, only_print: bool, yes: bool
) -> None:  # fmt: skip
    """Put the hooks into the settings of Claude Code.

    Shows what would change, asks, and keeps a copy of the file before.

    \b
    Example:
      treemem hooks install --print
    """
    from treemem.hooks import settings

    groups = settings.groups_of(command_here(context, *settings.ARGUMENTS))
    if only_print:
        click.echo(settings.snippet(groups), nl=False)
        return
    then = "Sessions that begin from now on have it."
    if scope == "project":
        then += " It names Python on this machine; where that is missing, each session says so."
    make_change(settings.added(_path(scope), groups), already="the hooks", then=then, yes=yes)


@hooks_command.command("uninstall")
@_scope
@yes_option
def uninstall_command(scope: HookScope, yes: bool) -> None:
    """Take the hooks out of the settings of Claude Code.

    Shows what would change, asks, and keeps a copy of the file before.

    \b
    Example:
      treemem hooks uninstall
    """
    from treemem import NotFoundError
    from treemem.hooks import settings

    try:
        change = settings.removed(_path(scope))
    except NotFoundError as error:
        note(f"{error.message} Nothing was changed.")
        return
    make_change(change, already="", then="", yes=yes)


@hooks_command.command("status")
@json_option
def status_command(as_json: bool) -> None:
    """Show where the hooks are installed, and how the last ones went.

    \b
    Example:
      treemem hooks status
    """
    from treemem.hooks import record, settings

    files = [settings.state_of(scope, _path(scope)) for scope in settings.SCOPES]
    runs = record.last(RUNS)
    if as_json:
        from treemem_cli.hooks.views import HooksStatus

        print_json(HooksStatus(files, runs))
        return
    from treemem_cli.render import safe

    for file in files:
        click.echo(safe(f"{file.scope:8} {_state(file):13}  {file.path}"))
        if file.error:
            note(file.error)
    if not runs:
        click.echo("No hook has run yet.")
    for run in runs:
        failed = "failed: " if run.failed else ""
        session = run.session[:8]
        head = f"{run.at[:16]}  {run.event:12} {session:8} {run.ms:>6,} ms"
        click.echo(safe(f"{head}  {failed}{run.note}"))


@hooks_command.command("run")
@click.pass_context
def run_command(context: click.Context) -> None:
    """Answer an event of Claude Code, which is on standard input.

    Always ends with exit code 0, so that nothing holds a session up. What failed is in status.

    \b
    Example:
      treemem hooks run < event.json
    """
    from treemem.hooks import running

    database = _database(context)

    def store(log: Path, session: str) -> None:
        from treemem.assistants.config_files import own_command
        from treemem.hooks import ending

        whole = ["--db", str(running.memory_path(database)), "hooks", "store", str(log), session]
        ending.start(own_command(whole))

    answer, problem = running.respond(sys.stdin.fileno(), database, store)
    if answer:
        click.echo(answer)
    if problem:
        note(problem)


@hooks_command.command("store")
@click.argument("log", type=click.Path(path_type=Path))
@click.argument("session", default="")
@click.pass_context
def store_command(context: click.Context, log: Path, session: str) -> None:
    """Store the log of a session, as run starts it.

    \b
    Example:
      treemem hooks store ~/.claude/projects/shop/0b1c.jsonl
    """
    from treemem.hooks import running

    problem = running.stored(log.absolute(), session, _database(context))
    if problem:
        note(problem)
        context.exit(1)


def _database(context: click.Context) -> Path | None:
    path: Path | None = (context.obj or {}).get("db")
    return path


def _path(scope: HookScope) -> Path:
    from treemem.hooks import settings

    return settings.settings_path(scope, Path.home(), Path.cwd(), os.environ)


def _state(file: SettingsFile) -> str:
    if file.error:
        return "unreadable"
    if not file.commands:
        return "not installed"
    return "turned off" if file.turned_off else "installed"
