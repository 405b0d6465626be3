"""treemem open, treemem resume: lead from a passage or an id to its log and to its own tool.

Tested in tests/cli/content/test_place.py.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option

if TYPE_CHECKING:
    from treemem import Location, Memory


@click.command("open")
@click.argument("name", metavar="HIT|ID")
@click.option("--print", "only_print", is_flag=True, help="Print FILE:LINE instead.")
@json_option
@click.pass_context
def open_command(context: click.Context, name: str, only_print: bool, as_json: bool) -> None:
    """Open the log where something was said.

    HIT is the number of a passage of the last search that was printed. ID is the id of a message, a
    node, a source or a session, or the beginning of one. The log is opened at its line with VISUAL
    or EDITOR, else with a pager; without a terminal FILE:LINE is printed.

    \b
    Example:
      treemem open 2
      treemem open 1a2b3c4d --print
    """
    with open_memory(context) as memory:
        location = located(memory, name)
    if as_json:
        print_json(location)
        return
    path = readable(location)
    line = location.place.line
    from treemem_cli.content import editor

    program = None if only_print else editor.chosen()
    if program is None:
        _print_place(path, line)
        return
    if line is None and location.message_id is not None:
        note(f"The message is not found in {path}; it may have changed. {_stored(location)}")
    editor.run(program, path, line)


@click.command("resume")
@click.argument("name", metavar="HIT|ID")
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
        location = located(memory, name)
        tool = memory.source(location.source_id).source.format
    if as_json:
        print_json(location)
    elif location.place.resume is not None:
        click.echo(location.place.resume)
    else:
        note(f"Error: {_why_not(location, tool)}")
        context.exit(1)


def located(memory: Memory, name: str) -> Location:
    """What a number of a passage or an id stands for. Raises NotFoundError, AmbiguousIdError."""
    from treemem_cli.content import last_search

    if last_search.is_number(name):
        return last_search.hit(memory, int(name))
    return memory.places.find(name)


def readable(location: Location) -> Path:
    """The path of a log that can be opened. Raises NotFoundError, which names what is stored."""
    from treemem import NotFoundError
    from treemem.places.files import is_text

    stored = _stored(location)
    given = location.place.path
    if given is None:
        raise NotFoundError(f"{location.source_id} has no log file that is known. {stored}")
    path = Path(given)
    if path.is_file():
        if is_text(path):
            return path
        raise NotFoundError(f"{given} is not a text file. {stored}")
    archive = Path(given.partition("!")[0])
    if archive != path and archive.is_file():
        raise NotFoundError(f"{given} is in an archive. {stored}")
    raise NotFoundError(f"{given} does not exist any more. {stored}")


def _stored(location: Location) -> str:
    """Where the stored words are."""
    if location.message_id is not None:
        return f"The message is stored: treemem message show {location.message_id[:12]}"
    source = shlex.quote(location.source_id)
    return f"Its messages are stored: treemem source show {source} --messages"


def _print_place(path: Path, line: int | None) -> None:
    """Prints FILE:LINE, to a pipe as it is, to a terminal without control characters."""
    from treemem_cli.render import safe

    text = str(path.absolute()) + ("" if line is None else f":{line}")
    click.echo(safe(text).replace("\n", "␊") if sys.stdout.isatty() else text)


def _why_not(location: Location, tool: str) -> str:
    from treemem.places.resuming import COMMANDS

    if tool in COMMANDS:
        return f"The id of {location.source_id} is not one that {tool} could continue."
    return f"{location.source_id} is from {tool}, which has no command to continue a session."
