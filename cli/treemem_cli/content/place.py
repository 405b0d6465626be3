"""treemem open, treemem resume: lead from a passage or an id to its log and to its own tool.

Tested in tests/cli/content/test_place.py.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.completion import ids
from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option

if TYPE_CHECKING:
    from treemem import Memory

# A longer number is the beginning of an id.
_HIT_DIGITS = 3


@click.command("open")
@click.argument("name", metavar="HIT|ID", shell_complete=ids("source"))
@click.option("--print", "only_print", is_flag=True,
              help="Print FILE:LINE instead, or with --page the address.")  # fmt: skip
@click.option("--page", "on_page", is_flag=True,
              help="Open it on the page that treemem serve serves.")  # fmt: skip
@json_option
@click.pass_context
def open_command(
    context: click.Context, name: str, only_print: bool, on_page: bool, as_json: bool
) -> None:
    """Open the log where something was said.

    HIT is the number of a passage of the last search that was printed. ID is the id of a message, a
    node, a source or a session, or the beginning of one. The log is opened at its line with VISUAL
    or EDITOR, else with a pager; without a terminal FILE:LINE is printed. With --page, the message,
    the node or the source is opened in the browser, on the page of the running treemem serve.

    \b
    Example:
      treemem open 2
      treemem open 1a2b3c4d --print
    """
    if on_page:
        _open_page(context, name, only_print=only_print)
        return
    with open_memory(context) as memory:
        location = memory.places.find(name)
        path = None if as_json else memory.places.log_path(location)
    if path is None:
        print_json(location)
        return
    line = location.place.line
    from treemem_cli.content import editor

    program = None if only_print else editor.chosen()
    if program is None:
        _print_place(path, line)
        return
    if line is None and location.message_id is not None:
        note(
            f"The line of the message is not found for sure in {path}, which may have changed. The "
            f"message is stored: treemem message show {location.message_id[:12]}"
        )
    editor.run(program, path, line)


@click.command("resume")
@click.argument("name", metavar="HIT|ID", shell_complete=ids("source"))
@json_option
@click.pass_context
def resume_command(context: click.Context, name: str, as_json: bool) -> None:
    """Print the command that continues a session in its own tool.

    HIT and ID are as in treemem open. The command is for a shell; it first enters the folder in
    which the session ran, where that is known.

    \b
    Example:
      treemem resume 2
    """
    with open_memory(context) as memory:
        location = memory.places.find(name)
        command = None if as_json else memory.places.resume_command(location)
    if command is None:
        print_json(location)
    else:
        click.echo(command)


def _open_page(context: click.Context, name: str, *, only_print: bool) -> None:
    """Opens the page of what a name stands for, or prints its address without a terminal."""
    import webbrowser

    from treemem import NotFoundError
    from treemem.serving import running

    with open_memory(context) as memory:
        path, below = memory.path, _page_of(memory, name)
    address = running.found(path)
    if address is None:
        raise NotFoundError(
            f"No page is served for {path}. Start one in another terminal: treemem serve, and open "
            "the address that it prints once."
        )
    click.echo(address + below)
    if not only_print and sys.stdout.isatty():
        webbrowser.open(address + below)


def _page_of(memory: Memory, name: str) -> str:
    """The path of the page of a passage, a message, a node or a source."""
    from urllib.parse import quote

    from treemem import NotFoundError

    if not (name.isdecimal() and len(name) <= _HIT_DIGITS):
        try:
            return f"/node/{memory.node(name).id}"
        except NotFoundError:
            pass  # the id of something else
    location = memory.places.find(name)
    if location.message_id is not None:
        return f"/message/{location.message_id}"
    return f"/source/{quote(location.source_id, safe='')}"


def _print_place(path: Path, line: int | None) -> None:
    """Prints FILE:LINE: to a pipe as it is, to a terminal as a shell takes it."""
    from treemem_cli.render import shell_word

    name = str(path.absolute())
    if sys.stdout.isatty():
        name = shell_word(name)
    # Subtle: bytes, since a name may be no text, and since click removes from a text in a pipe what
    # looks like an escape sequence.
    click.echo(os.fsencode(name if line is None else f"{name}:{line}"))
