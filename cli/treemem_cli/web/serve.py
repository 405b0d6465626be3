"""treemem serve: serves the page that shows the memory, to the user of this machine.

Tested in tests/cli/web/test_serve.py.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from treemem_cli.context import note, open_memory
from treemem_cli.render import safe

if TYPE_CHECKING:
    import socket

# Of no service that is registered.
PORT = 8642


@click.command("serve")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True,
              help="Listen at this address of the machine.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65_535), metavar="N",
              help=f"Default: {PORT}, or any if that is taken; 0 takes any.")  # fmt: skip
@click.option(
    "--token-env", metavar="NAME",
    help="The variable with the token. Default: make one at each start.",
)  # fmt: skip
@click.option("--open/--no-open", "opens", default=None,
              help="Open the page in the browser. Default: on a terminal.")  # fmt: skip
@click.option("--typed", is_flag=True,
              help="Clients of /v1 send as the user only what you typed.")  # fmt: skip
@click.option("--idle", "idle_minutes", type=click.FloatRange(min=0, min_open=True),
              metavar="MINUTES", help="Stop when nothing was asked for so long.")  # fmt: skip
@click.pass_context
def serve_command(
    context: click.Context,
    host: str,
    port: int | None,
    token_env: str | None,
    opens: bool | None,
    idle_minutes: float | None,
    typed: bool,
) -> None:
    """Serve a page that shows the memory, on this machine only.

    Programs that speak OpenAI's API chat at /v1 with the chat model in use; the token is their key.
    The page's address has a token, so that nobody else opens it. Ctrl-C stops. Needs the packages
    of the extra web.

    \b
    Example:
      treemem serve
      treemem serve --no-open --port 8642
    """
    import os
    import sys
    import webbrowser

    require_packages()
    from treemem.serving import guard, listening, running
    from treemem.web.app import address_of, make_app

    token, _ = guard.token_of(token_env, os.environ)
    with open_memory(context) as memory:
        path = memory.path
    listener = _listener(host, port)
    app = make_app(
        partial(open_memory, context),
        listening.names_of(listener),
        token,
        safe(path.name),
        typed=typed,
    )
    own = f"http://{listening.name_of(listener)}"
    address = address_of(own, token)

    def started() -> None:
        click.echo(address)
        note("Open this address in your browser. Ctrl-C stops.")
        if not listening.is_loopback(listener):
            note("Note: what is sent is not encrypted, and whoever has the address can read all.")
        if opens or (opens is None and sys.stdout.isatty()):
            webbrowser.open(address_of(own, app.code()))

    with listener, running.announced(path, own):
        idle_seconds = None if idle_minutes is None else idle_minutes * 60
        listening.serve(app, listener, started, app.stop, idle_seconds)


def require_packages() -> None:
    """Raises UsageError with the command that installs the extra web, if a package of it is
    missing."""
    from importlib.util import find_spec

    from treemem import UsageError
    from treemem.packages import extra_command

    missing = [name for name in ("starlette", "jinja2", "uvicorn") if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"The page needs the package {missing[0]}. Install it: {extra_command('web')}"
        )


def _listener(host: str, port: int | None) -> socket.socket:
    """A socket at the port, or at any that is free if none was named and the usual one is taken."""
    from treemem import UsageError
    from treemem.serving.listening import bound_socket

    try:
        return bound_socket(host, PORT if port is None else port)
    except UsageError:
        if port is not None:
            raise
        return bound_socket(host, 0)
