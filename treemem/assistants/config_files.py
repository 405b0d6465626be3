"""Changes the configuration file of another program in one place, and keeps the file before.

Everything else has the same values after a change, which is checked before anything is written,
and in JSON every other character is the same.

Tested in tests/mcp_server/test_clients.py and tests/hooks/test_install.py.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from treemem.errors import UsageError
from treemem.store.file import aside, modes


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file that is not made yet. path: of the file. before: its text; None if there
    is none. after: the text that it gets."""

    path: Path
    before: str | None
    after: str


def own_command(arguments: Sequence[str]) -> list[str]:
    """The command that starts treemem from any folder, without the PATH of this shell."""
    # Subtle: without -P, Python looks for modules in the folder where the command is started first,
    # which is that of any project, with any treemem.py in it.
    return [sys.executable, "-P", "-m", "treemem", *arguments]


def difference(change: Change) -> list[str]:
    """The lines that a change adds and takes away, with "+" and "-" before them. Lines beside them
    are not shown, since they may have secrets; so JSON is compared with a line for each value."""
    before, after = (_in_lines(change.path, text or "") for text in (change.before, change.after))
    lines = difflib.unified_diff(before, after, lineterm="", n=0)
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def apply(change: Change, now: datetime) -> Path | None:
    """Writes the file, and returns the copy of the one before; None if there was none. Raises
    UsageError if somebody else has changed the file meanwhile."""
    path = Path(os.path.realpath(change.path))  # a link to a file of settings stays one
    path.parent.mkdir(parents=True, exist_ok=True)
    if read(path) != change.before:
        raise UsageError(f"{path} was changed just now; close the program, and try again.")
    copy = None
    if change.before is not None:
        copy = _copy_of(path, now)
    mode = modes.PRIVATE_FILE if copy is None else stat.S_IMODE(path.stat().st_mode)
    aside.write(path, change.after.encode(), mode=mode)
    modes.sync_folder(path.parent)
    return copy


def read(path: Path) -> str | None:
    """The text of a file, with its line breaks; None if there is none. Raises UsageError."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise by_hand(path, "it is not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error


def parsed_json(path: Path, text: str) -> dict[str, Any]:
    """The object that a JSON file has; an empty file has none. Raises UsageError."""
    if not text.strip():
        return {}
    try:
        data = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        reason = f"it is not plain JSON: it may have comments ({error})"
        raise by_hand(path, reason) from None
    if not isinstance(data, dict):
        raise by_hand(path, "it is not an object")
    return data


def by_hand(path: Path, reason: str) -> UsageError:
    """The error for a file that cannot be changed safely."""
    return UsageError(
        f"{path} is left as it is: {reason}. Change it by hand; --print shows what belongs there."
    )


# -- parts -----------------------------------------------------------------------------


def _in_lines(path: Path, text: str) -> list[str]:
    if path.suffix == ".json" and text.strip():
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return text.splitlines()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is repeated")
    return found


def _copy_of(path: Path, now: datetime) -> Path:
    """A new copy of a file beside it."""
    copy = path.with_name(f"{path.name}.before-treemem-{now:%Y%m%d-%H%M%S}")
    number = 1
    while copy.exists():
        number += 1
        copy = path.with_name(f"{path.name}.before-treemem-{now:%Y%m%d-%H%M%S}-{number}")
    shutil.copy2(path, copy)
    return copy
