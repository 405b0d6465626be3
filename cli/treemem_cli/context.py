"""Opens the memory file, prints notes and JSON, and handles Ctrl-C, for every command.

Tested in tests/cli/test_main.py.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.start import INTERRUPTED

NOTHING_STORED = (
    "Nothing is stored yet. To store the logs of your AI tools: treemem discover --ingest. Any "
    "others: treemem ingest PATH."
)

if TYPE_CHECKING:
    from treemem import Memory


def open_memory(
    context: click.Context, *, create: bool = False, with_lasting: bool = False,
    agent: str | None = None,
) -> Memory:  # fmt: skip
    """Opens the memory that --db names, and prints its notices on stderr, new ones at the end.

    create: create the file if it is missing. Only commands that store something do; a wrong path
    must not look like an empty memory. with_lasting: also notices of what lasts, such as that
    others may read the file, which is else said once, when the file is created. agent: as in
    Memory.open.
    """
    from treemem import DatabaseError, Memory, default_database_path

    given = (context.obj or {}).get("db")
    path = given or default_database_path()
    is_new = not path.exists()
    if is_new and given is None and not create:
        raise DatabaseError(f"{NOTHING_STORED} {path} does not exist.")
    ask_for_key(path)
    memory = Memory.open(given, must_exist=not create, agent=agent)
    if is_new and (context.obj or {}).get("is_db_typed"):  # perhaps mistyped
        note(f"New memory file: {path.absolute()}")
    printed = memory.notices
    for notice in printed:
        if with_lasting or is_new or not is_lasting(notice):
            note(f"Note: {for_shell(notice)}")

    def print_new() -> None:
        for notice in memory.notices[len(printed) :]:
            note(f"Note: {for_shell(notice)}")

    context.call_on_close(print_new)
    return memory


def ask_for_key(path: Path) -> None:
    """Asks for the key of an encrypted memory file, if nothing gives it and there is somebody to
    ask. It is set as TREEMEM_KEY in this process, which may open the file more than once."""
    import treemem

    if sys.stdin.isatty() and treemem.is_encrypted(path) and treemem.configured_key() is None:
        os.environ["TREEMEM_KEY"] = click.prompt(f"Key of {path}", hide_input=True, err=True)


def for_shell(sentence: str) -> str:
    """A sentence of the library, with commands in place of methods."""
    from treemem import Notice

    return sentence.for_shell() if isinstance(sentence, Notice) else sentence


def is_lasting(sentence: str) -> bool:
    """Whether a sentence of the library is not worth to be repeated."""
    from treemem import Notice

    return isinstance(sentence, Notice) and sentence.is_lasting


def open_or_empty(context: click.Context) -> Memory:
    """Opens the memory that --db names, or an empty one in memory if the file is missing."""
    from treemem import Memory, default_database_path

    path = (context.obj or {}).get("db") or default_database_path()
    return open_memory(context) if path.exists() else Memory.open(":memory:")


def note(text: str) -> None:
    """Prints a line for the user on stderr, apart from the data."""
    from treemem_cli.render import safe

    click.echo(safe(text), err=True)


def print_json(value: object, *, full: bool = True) -> None:
    """Prints one JSON value on stdout. full: with whole messages."""
    from treemem_cli.forms import json_text

    click.echo(json_text(value, full=full))


def is_verbose() -> bool:
    """Whether -v was given."""
    return bool((click.get_current_context().obj or {}).get("verbose"))


def stderr_is_terminal() -> bool:
    """Whether progress may be drawn on stderr, which takes escape sequences."""
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return sys.stderr.isatty() and not is_plain


class NobodyToAskError(click.ClickException):
    """A question without a terminal: the command was right, so its usage is not shown."""

    exit_code = 2


def confirm(question: str, *, yes: bool) -> bool:
    """Asks before what changes much or cannot be undone. yes: the user has agreed, by --yes.
    Raises NobodyToAskError if there is nobody to ask."""
    if not yes and not sys.stdin.isatty():
        raise NobodyToAskError(f"{question} There is no terminal to answer at; add --yes.")
    return yes or click.confirm(question, err=True)


def exit_if_interrupted(context: click.Context, interrupted: threading.Event) -> None:
    """Ends with the exit code of Ctrl-C if it was pressed."""
    if interrupted.is_set():
        context.exit(INTERRUPTED)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """The first Ctrl-C sets the event, the second raises KeyboardInterrupt."""
    interrupted = threading.Event()

    def on_interrupt(_: int, __: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()
        note("Stopping after the current step. Press Ctrl-C again to stop at once.")

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)
