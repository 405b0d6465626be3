"""treemem encrypt, treemem decrypt: encrypt a memory file, change its key, and decrypt it.

A key is never an argument, since every user of the machine can list those of a process.

Tested in tests/cli/upkeep/test_encrypt.py.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from treemem_cli.context import confirm, note

_KEY_ADVICE = (
    "Nothing can be read without the key, and nobody can bring it back: keep a copy elsewhere. Set "
    "TREEMEM_KEY, TREEMEM_KEY_FILE or TREEMEM_KEY_COMMAND for all programs that use the memory."
)


@click.command("encrypt")
@click.pass_context
def encrypt_command(context: click.Context) -> None:
    """Encrypt the memory file, or change its key.

    The key is that of TREEMEM_KEY, TREEMEM_KEY_FILE or TREEMEM_KEY_COMMAND; without any, you are
    asked for it. For a file that is encrypted, the new key is that of TREEMEM_NEW_KEY, or asked
    for. End all treemem processes first. Needs the extra encrypted.

    \b
    Example:
      treemem encrypt
    """
    import treemem

    path = _path(context)
    is_change = treemem.is_encrypted(path)
    key = os.environ.get("TREEMEM_NEW_KEY") if is_change else treemem.configured_key()
    if not key:
        key = _ask("New key", "TREEMEM_NEW_KEY" if is_change else "TREEMEM_KEY", twice=True)
    old_key = None
    if is_change and treemem.configured_key() is None:
        old_key = _ask("Present key", "TREEMEM_KEY", twice=False)
    overwritten = treemem.encrypt_file(path, key, old_key=old_key)
    note(f"{path} {'has a new key' if is_change else 'is encrypted'}. {_KEY_ADVICE}")
    if is_change:
        return
    note(
        "The plain file was overwritten, but an SSD, a snapshot and a backup keep what was in it."
        if overwritten
        else "The plain file has other names, which still lead to it: delete them."
    )
    with treemem.Memory.open(path, key=key) as memory:
        plain = [copy.path for copy in memory.copies()
                 if copy.is_there and not treemem.is_encrypted(copy.path)]  # fmt: skip
    if plain:
        from treemem_cli.render import safe

        note(f"Not encrypted, since they were made before: {safe(', '.join(plain))}")


@click.command("decrypt")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def decrypt_command(context: click.Context, yes: bool) -> None:
    """Make the encrypted memory file a plain one.

    End all treemem processes first.

    \b
    Example:
      treemem decrypt --yes
    """
    import treemem

    path = _path(context)
    if not confirm(f"Store {path} without encryption?", yes=yes):
        return
    key = None if treemem.configured_key() else _ask("Key", "TREEMEM_KEY", twice=False)
    treemem.decrypt_file(path, key)
    note(f"{path} is not encrypted any more. Unset the variable of its key.")


def _path(context: click.Context) -> Path:
    import treemem

    return Path((context.obj or {}).get("db") or treemem.default_database_path())


def _ask(what: str, variable: str, *, twice: bool) -> str:
    """A key that the user types, which the terminal does not show."""
    if not _is_terminal():
        raise click.UsageError(f"There is no key, and no terminal to ask at. Set {variable}.")
    return str(click.prompt(what, hide_input=True, confirmation_prompt=twice, err=True))


def _is_terminal() -> bool:
    return sys.stdin.isatty()
