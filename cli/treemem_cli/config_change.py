"""Shows a change of another program's configuration, asks, and makes it.

Tested in tests/cli/mcp/test_install.py and tests/hooks/test_install.py.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from treemem_cli.context import confirm, note

if TYPE_CHECKING:
    from treemem.assistants.config_files import Change


def command_here(context: click.Context, *arguments: str) -> list[str]:
    """The command that starts treemem with this memory, from any folder."""
    from treemem.assistants.config_files import own_command

    database = (context.obj or {}).get("db")
    chosen = [] if database is None else ["--db", str(database.absolute())]
    return own_command([*chosen, *arguments])


def make_change(change: Change, *, already: str, then: str, yes: bool) -> None:
    """Shows the lines that change, asks, and writes the file. already: what the file has if nothing
    changes. then: what to do afterwards."""
    from treemem.assistants import config_files
    from treemem_cli.render import safe

    if change.after == change.before:
        note(f"{change.path} has {already} already. Nothing was changed.")
        return
    note(f"{change.path}{'' if change.before is not None else ', a new file'}:")
    for line in config_files.difference(change):
        note(f"  {safe(line)}")
    if not confirm("Write this?", yes=yes):
        note("Nothing was changed.")
        return
    copy = config_files.apply(change, datetime.now().astimezone())
    kept = "" if copy is None else f" The file before is {copy}."
    note(f"Written.{kept} {then}".rstrip())
