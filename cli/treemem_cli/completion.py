"""Completes ids, names of models and names of formats in a shell.

Ids come from logs, and a shell puts a completed word on the command line as it is. So only words
are offered that a shell takes as text.

Tested in tests/cli/test_completion.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

    from treemem import IdKind

# How many ids are read, and how much of what they are about is shown.
_ITEMS_MAX = 50
_ABOUT_CHARS_MAX = 60
_PLAIN = re.compile(r"[\w./@+%,:=-]+")

Complete = Callable[["click.Context", "click.Parameter", str], list["CompletionItem"]]


def ids(kind: IdKind) -> Complete:
    """What completes the ids of a kind from the memory file. Any failure completes nothing, since
    a message would be written into the command line."""

    def complete(
        context: click.Context, _: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from treemem import Memory, TreememError

        path = (context.find_object(dict) or {}).get("db")
        try:
            with Memory.open(path, must_exist=True) as memory:
                found = memory.ids(kind, incomplete, _ITEMS_MAX)
        except TreememError:
            return []
        items = [CompletionItem(name, help=_about(text)) for name, text in found if _is_plain(name)]
        # A shell replaces the word by what several items begin with, which may be less than it.
        begin = all(item.value.startswith(incomplete) for item in items)
        if begin or len(items) <= 1:
            return items
        # A session and its sub-agents, whose ids begin with that of the session.
        session = min(items, key=lambda item: len(item.value))
        is_one = all(item.value.startswith(f"{session.value}/") for item in items
                     if item is not session)  # fmt: skip
        return [session] if is_one else []

    return complete


def formats(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the name of a format."""
    from treemem.formats.table import BY_NAME
    from treemem.plugins import finding

    names = [plugin.name for plugin in finding.plugins("importer") if plugin.problem is None]
    return _beginning((*BY_NAME, *names), incomplete)


def paths(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Leaves files and folders to the shell, which would complete nothing otherwise."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def commands(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the name of a command."""
    from treemem_cli.main import COMMANDS

    return _beginning(COMMANDS, incomplete)


def models(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the name of a model of the catalog, or of an installed one; else a file."""
    from click.shell_completion import CompletionItem

    from treemem import model_names
    from treemem.plugins import finding

    names = [plugin.name for role in finding.GROUPS if role != "importer"
             for plugin in finding.plugins(role) if plugin.problem is None]  # fmt: skip
    items = _beginning([*model_names(), *names], incomplete)
    return items or [CompletionItem(incomplete, type="file")]


def _beginning(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names
            if name.startswith(incomplete) and _is_plain(name)]  # fmt: skip


def _is_plain(word: str) -> bool:
    return _PLAIN.fullmatch(word) is not None


def _about(text: str) -> str | None:
    from treemem_cli.render import shorten

    return shorten(text, _ABOUT_CHARS_MAX) or None


def settings(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the name of a setting."""
    from treemem_cli.upkeep.config import NAMES

    return _beginning(NAMES, incomplete)
