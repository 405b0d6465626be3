"""treemem mcp: serves the memory to assistants, and is put into their configuration.

Tested in tests/cli/mcp/test_server.py.
"""

from __future__ import annotations

import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from treemem_cli.context import note, open_memory
from treemem_cli.mcp.install import install_client, uninstall_client

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

# Of no service that is registered.
PORT = 8641
WAITING = (
    "Waiting for an assistant's program on standard input. It starts this command itself once it "
    "is told to: treemem mcp install --help. Ctrl-C stops."
)


@click.group("mcp", invoke_without_command=True)
@click.option("--write", is_flag=True, help="Let assistants remember and pin, too.")
@click.option("--agent", metavar="NAME",
              help="Read as this agent, without what others keep to themselves.")  # fmt: skip
@click.option("--http", "over_http", is_flag=True, help="Serve over HTTP, not standard input.")
@click.option("--host", metavar="ADDRESS", help="With --http. Default: 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65_535), metavar="N",
              help=f"With --http. Default: {PORT}; 0 takes any that is free.")  # fmt: skip
@click.option(
    "--token-env", metavar="NAME",
    help="With --http: the variable with the token. Default: make and print one.",
)  # fmt: skip
@click.pass_context
def mcp_command(
    context: click.Context,
    write: bool,
    agent: str | None,
    over_http: bool,
    host: str | None,
    port: int | None,
    token_env: str | None,
) -> None:
    """Serve the memory to assistants by the Model Context Protocol.

    An assistant's program starts this command and speaks to it over standard input and output;
    "treemem mcp install" tells it to. Assistants can only read unless you give --write. Needs the
    package mcp.

    \b
    Example:
      treemem mcp install claude-code --print
      treemem mcp --http --port 8641
    """
    given = {"--host": host, "--port": port, "--token-env": token_env}
    if not over_http and (unused := [name for name, value in given.items() if value is not None]):
        raise click.UsageError(f"{unused[0]} needs --http.")
    if context.invoked_subcommand is not None:
        if write or over_http or agent is not None:
            raise click.UsageError("Options stand after the name of the sub-command.")
        return
    require_package()
    from treemem.mcp_server.server import make_server

    server = make_server(partial(open_memory, context, create=write, agent=agent), write=write)
    if over_http:
        _serve_http(server, host or "127.0.0.1", PORT if port is None else port, token_env)
        return
    if sys.stdin.isatty():
        note(WAITING)
    # Python would wait for the thread that reads standard input, which ends with the input alone.
    # What was acknowledged is in the file however the process ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server.run("stdio")


mcp_command.add_command(install_client)
mcp_command.add_command(uninstall_client)


def require_package() -> None:
    """Raises UsageError with the command that installs the package mcp, if it is missing."""
    from importlib.util import find_spec

    from treemem import UsageError
    from treemem.packages import extra_command

    try:
        is_there = find_spec("mcp.server.mcpserver") is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        raise UsageError(
            f"The server needs the package mcp, version 2. Install it: {extra_command('mcp')}"
        )


def _serve_http(server: MCPServer[Any], host: str, port: int, token_env: str | None) -> None:
    import os

    from treemem.mcp_server import http
    from treemem.serving import guard, listening

    token, is_new = guard.token_of(token_env, os.environ)
    listener = listening.bound_socket(host, port)

    def started() -> None:
        note(f"Serving at {http.url_of(listener)}. Ctrl-C stops.")
        if is_new:
            note(f"Token, which is not shown again: {token}")
        if not listening.is_loopback(listener):
            note("Note: what is sent is not encrypted, and whoever has the token can read all.")

    with listener:
        listening.serve(http.guarded_app(server, listener, token), listener, started)
