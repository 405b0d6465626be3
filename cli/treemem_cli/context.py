"""What every command shares: the memory file, --json, and how errors end a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from treemem import Memory

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def open_memory(context: click.Context) -> Memory:
    """The memory of this run, with its notices on stderr."""
    from treemem import Memory

    memory = Memory.open((context.obj or {}).get("db"))
    for notice in memory.notices:
        note(f"Note: {notice}")
    return memory


def note(text: str) -> None:
    """A word to the person, on stderr, so that it never gets into the data."""
    from treemem_cli.render import safe

    click.echo(safe(text), err=True)


def print_json(value: object) -> None:
    """One JSON value on stdout, ASCII only, so that nothing in it can steer a terminal."""
    click.echo(json.dumps(value, indent=2, default=_plain))


def _plain(value: object) -> object:
    from dataclasses import asdict, is_dataclass
    from pathlib import Path

    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, set | tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def stderr_is_terminal() -> bool:
    return sys.stderr.isatty()
