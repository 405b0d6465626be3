"""Remembers the passages that were printed last, so that "2" can stand for the second of them.

The file beside the memory file has the ids of a message and its source for each passage, and the
offsets of its best part, but no text. In a folder that may not be written there is none.

Tested in tests/cli/content/test_place.py.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from treemem import Location, Memory, NotFoundError, Passage
from treemem.places.finding import best_of
from treemem.store.file.sidecars import LAST_SEARCH, real_path

# A longer number is the beginning of an id.
_DIGITS_MAX = 3


def remember(memory: Path, passages: list[Passage]) -> None:
    """Stores which message each printed passage is about, in the order of their numbers."""
    best = [(one, *best_of(one)) for one in passages if one.messages]
    hits = [[message.id, one.source_id, *span] for one, message, span in best]
    path = _path(memory)
    if len(hits) < len(passages) or not memory.exists():
        return
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                json.dump(hits, file)
            new.replace(path)
        except OSError:
            new.unlink(missing_ok=True)
            raise


def is_number(name: str) -> bool:
    """Whether a name is the number of a passage, not an id.

    Example:
        >>> is_number("2"), is_number("2024"), is_number("0a")
        (True, False, False)
    """
    return name.isdecimal() and name.isascii() and len(name) <= _DIGITS_MAX


def hit(memory: Memory, number: int) -> Location:
    """The place of a passage of the last search. Raises NotFoundError."""
    hits = _read(_path(memory.path))
    if hits is None:
        raise NotFoundError('No search has been made yet. See: treemem search "WORDS"')
    if not 1 <= number <= len(hits):
        passages = "1 passage" if len(hits) == 1 else f"{len(hits)} passages"
        raise NotFoundError(f"The last search had {passages}; there is no passage {number}.")
    message_id, source_id, *span = hits[number - 1]
    return memory.places.find(message_id, source_id=source_id, span=(span[0], span[1]))


def _path(memory: Path) -> Path:
    real = real_path(memory)
    return real.with_name(real.name + LAST_SEARCH)


def _read(path: Path) -> list[tuple[str, str, int, int]] | None:
    """The hits; None if there is no file, or not such a file."""
    try:
        if not path.is_file():
            return None
        rows = json.loads(path.read_text())
        if not isinstance(rows, list):
            return None
        return [(str(message), str(source), int(start), int(end))
                for message, source, start, end in rows]  # fmt: skip
    except (OSError, ValueError, TypeError):
        return None
