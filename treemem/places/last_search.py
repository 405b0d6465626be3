"""Remembers the passages that were printed last, so that "2" can stand for the second of them.

The file beside the memory file has the ids of a message and its source for each passage, and the
offsets of its best part, but no text. In a folder that may not be written there is none.

Tested in tests/cli/content/test_place.py.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from treemem.errors import Hint, NotFoundError
from treemem.reports import count_of
from treemem.store.file import aside
from treemem.store.file.sidecars import LAST_SEARCH, real_path

_SEARCH = Hint('See: memory.search("words")', 'See: treemem search "WORDS"')


class Hit(NamedTuple):
    """What a passage was about: a message of a source, and the part of it from start to end.

    file: the other memory file that it is in, when several were searched; else empty.
    """

    message_id: str
    source_id: str
    start: int
    end: int
    file: str = ""


def remember(memory: Path, hits: Iterable[Hit]) -> None:
    """Stores what each printed passage is about, in the order of their numbers."""
    path = _path(memory)
    if not memory.exists():  # a memory without a file
        return
    with contextlib.suppress(OSError):
        shown = [hit if hit.file else hit[:-1] for hit in hits]
        aside.write(path, json.dumps(shown).encode(), durable=False)


def hit(memory: Path, number: int) -> Hit:
    """What a passage of the last search was about. Raises NotFoundError."""
    hits = _read(_path(memory))
    if hits is None:
        raise NotFoundError("No search has been made yet.", hint=_SEARCH)
    if not 1 <= number <= len(hits):
        passages = count_of(len(hits), "passage")
        raise NotFoundError(f"The last search had {passages}; there is no passage {number}.")
    chosen = hits[number - 1]
    if chosen.file:
        raise NotFoundError(
            f"Passage {number} of the last search is in another memory file: {chosen.file}.",
            hint=Hint("Open that one.", f"Add --db {shlex.quote(chosen.file)}"),
        )
    return chosen


def _path(memory: Path) -> Path:
    real = real_path(memory)
    return real.with_name(real.name + LAST_SEARCH)


def _read(path: Path) -> list[Hit] | None:
    """The hits; None if there is no file, or not such a file."""
    try:
        if not path.is_file():
            return None
        rows = json.loads(path.read_text())
        if not isinstance(rows, list):
            return None
        return [Hit(str(message), str(source), int(start), int(end), *map(str, file))
                for message, source, start, end, *file in rows]  # fmt: skip
    except (OSError, ValueError, TypeError):
        return None
