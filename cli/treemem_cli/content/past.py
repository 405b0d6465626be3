"""Shows what was known at a past time: --as-of, for the commands that read.

Tested in tests/cli/content/test_as_of.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from treemem_cli.context import for_shell, note, open_memory, print_json, stderr_is_terminal

if TYPE_CHECKING:
    from treemem import Entry, Memory, Scope, SearchResult, Tree

as_of_option = click.option(
    "--as-of", metavar="WHEN", help="Show what was known at the end of this day, or at this time.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AsOf:
    """What a command prints with --as-of. as_of: the time, in ISO 8601. result: what it prints
    without --as-of, of the memory as it was then."""

    as_of: str
    result: SearchResult | list[Tree] | list[Entry] | Entry


@contextmanager
def seen(
    memory: Memory, as_of: str | None, scope: Scope | None = None, *, with_topics: bool = True
) -> Iterator[Memory]:
    """The memory as of a time, or as it is if there is none. See Memory.as_of."""
    if as_of is None:
        yield memory
        return
    with _making() as progress:
        past = memory.as_of(as_of, scope, with_topics=with_topics, progress=progress)
    with past:
        for notice in past.notices:
            note(for_shell(notice))
        yield past


@contextmanager
def open_seen(
    context: click.Context, as_of: str | None, scope: Scope | None = None, *,
    with_topics: bool = True,
) -> Iterator[Memory]:  # fmt: skip
    """Opens the memory that --db names, as of a time."""
    with open_memory(context) as memory, seen(memory, as_of, scope, with_topics=with_topics) as it:
        yield it


def say_when(memory: Memory) -> None:
    """Prints a line above results that are those of a past time."""
    if memory.as_of_at is not None:
        note(f"As of {memory.as_of_at[:16].replace('T', ' ')}.")


def print_json_of(memory: Memory, value: Any, *, full: bool = True) -> None:
    """Prints a result as JSON, with its time if that is past."""
    at = memory.as_of_at
    print_json(value if at is None else AsOf(at, value), full=full)


@contextmanager
def _making() -> Iterator[Callable[[int, int], None] | None]:
    """Shows progress on stderr; yields None if stderr is not a terminal."""
    if not stderr_is_terminal():
        yield None
        return
    from treemem_cli.render import console

    with console(stderr=True).status("Reading messages …") as status:
        yield lambda done, total: status.update(f"Read {done:,} of {total:,} messages")
