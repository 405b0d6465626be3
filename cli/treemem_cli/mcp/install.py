"""treemem mcp install and uninstall: put the server into an assistant's program, and out again.

Tested in tests/cli/mcp/test_install.py.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.config_change import command_here, make_change
from treemem_cli.context import note
from treemem_cli.parameters import yes_option

if TYPE_CHECKING:
    from treemem.mcp_server.clients import ClientName

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
    options = [*(["--write"] if write else []), *([] if agent is None else ["--agent", agent])]
    entry = clients.entry_of(client, command_here(context, "mcp", *options), environ)
    if only_print:
        click.echo(clients.snippet(client, entry), nl=False)
        return
    path = clients.config_path(client, Path.home(), os.environ)
    make_change(
        clients.added(client, path, entry), already="the server", then=_restart(client), yes=yes
    )


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
        change = clients.removed(client, path)
    except NotFoundError as error:
        note(f"{error.message} Nothing was changed.")
        return
    make_change(change, already="", then=_restart(client), yes=yes)


def _restart(client: ClientName) -> str:
    from treemem.mcp_server import clients

    return f"Restart {clients.TITLES[client]} to use it."
