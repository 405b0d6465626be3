"""treemem mcp install and uninstall: put the server into an assistant's program, and out again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import confirm, note
from treemem_cli.parameters import yes_option

if TYPE_CHECKING:
    from treemem.mcp_server.clients import Change, ClientName

_NAMES = ("claude-code", "claude-desktop", "cursor", "vscode", "codex")
_client = click.argument("client", type=click.Choice(_NAMES), metavar="CLIENT")


@click.command("install")
@_client
@click.option("--write", is_flag=True, help="Let assistants remember and pin, too.")
@click.option("--agent", metavar="NAME", help="As of treemem mcp.")
@click.option(
    "--print", "only_print", is_flag=True, help="Print what belongs there; change nothing."
)
@yes_option
@click.pass_context
def install_client(
    context: click.Context, client: ClientName, write: bool, agent: str | None, only_print: bool,
    yes: bool,
) -> None:  # fmt: skip
    """Let an assistant's program start the server.

    CLIENT is claude-code, claude-desktop, cursor, vscode or codex. Shows what would change in the
    program's configuration, asks, and keeps a copy of the file before.

    \b
    Example:
      treemem mcp install claude-code --print
    """
    from treemem.mcp_server import clients
    from treemem_cli.mcp.server import require_package

    require_package()
    models = os.environ.get("TREEMEM_MODELS")
    environ = {"TREEMEM_MODELS": str(Path(models).absolute())} if models else None
    entry = clients.entry_of(client, _command(context, write, agent), environ)
    if only_print:
        click.echo(clients.snippet(client, entry), nl=False)
        return
    path = clients.config_path(client, Path.home(), os.environ)
    _change(lambda: clients.added(client, path, entry), clients.TITLES[client], yes=yes)


@click.command("uninstall")
@_client
@yes_option
def uninstall_client(client: ClientName, yes: bool) -> None:
    """Take the server out of an assistant's program.

    CLIENT is as of install. Shows what would change, asks, and keeps a copy of the file before.

    \b
    Example:
      treemem mcp uninstall claude-code
    """
    from treemem import NotFoundError
    from treemem.mcp_server import clients

    path = clients.config_path(client, Path.home(), os.environ)
    try:
        _change(lambda: clients.removed(client, path), clients.TITLES[client], yes=yes)
    except NotFoundError as error:
        note(f"{error.message} Nothing was changed.")


def _command(context: click.Context, write: bool, agent: str | None) -> list[str]:
    """The command that starts the server from any folder, without the PATH of this shell."""
    database = (context.obj or {}).get("db")
    return [
        sys.executable, "-m", "treemem",
        *([] if database is None else ["--db", str(database.absolute())]),
        "mcp", *(["--write"] if write else []), *([] if agent is None else ["--agent", agent]),
    ]  # fmt: skip


def _change(prepare: Callable[[], Change], title: str, *, yes: bool) -> None:
    """Shows a change of a file, asks, and makes it."""
    from treemem.mcp_server import clients
    from treemem_cli.render import safe

    change = prepare()
    if change.after == change.before:
        note(f"{change.path} has the server already. Nothing was changed.")
        return
    note(f"{change.path}{'' if change.before is not None else ', a new file'}:")
    for line in clients.difference(change):
        note(f"  {safe(line)}")
    if not confirm("Write this?", yes=yes):
        note("Nothing was changed.")
        return
    copy = clients.apply(change, datetime.now().astimezone())
    kept = "" if copy is None else f" The file before is {copy}."
    note(f"Written.{kept} Restart {title} to use it.")
