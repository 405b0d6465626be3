"""Orders log files so that the newest sessions are stored first, but after those they come from.

A tree of logs may take an hour to read, and what its user looks for is mostly of the last days. The
files of one session keep the order in which they were written, whatever their dates: a copy that
was resumed goes on where the first one ended, and a channel has a file a day. So which of two
orders the files come in changes no message, tree or entry.

Tested in tests/ingest/test_order.py.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from treemem.forgetting.tombstones import Tombstones
from treemem.importers.common.base import ForkedSource, LogFile, PartialSource
from treemem.patterns import lazy_regex
from treemem.store import sources
from treemem.store.database import Database
from treemem.types import Source

TOLD_WHOLE = "part of a session that is stored whole, or forgotten"

# The id of a session, in the name of its file or of a folder for what belongs to it.
_UUID = lazy_regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# How far above its file such a folder may be; one farther up is that of all files.
_FOLDERS_UP = 3
_NUMBERS = lazy_regex(r"[\d._-]+")


def newest_first(files: Iterable[LogFile]) -> list[LogFile]:
    """The files, those of the session that was written to last first.

    The files of a session stay together: those with its id in their names by age, before those in
    a folder of that name; those of one folder whose names differ in numbers alone as given. Reads
    names and dates, but no file. A file without a path, such as standard input, is the newest.
    """
    families: dict[object, list[tuple[float, LogFile]]] = {}
    for file in files:
        families.setdefault(_family(file), []).append((_changed_at(file.path), file))
    ordered = sorted(families.items(), key=lambda item: -max(age for age, _ in item[1]))
    return [file for key, members in ordered for file in _in_order(key, members)]


def _family(file: LogFile) -> object:
    """What the files of one session have in common: an id, or a folder and a name."""
    if file.path is None:
        return None, file.label
    if session := _session_of(file.path):
        return session
    return file.path.parent, _NUMBERS.sub("", file.path.stem)


def _session_of(path: Path) -> str | None:
    for name in (path.name, *(parent.name for parent in path.parents[:_FOLDERS_UP])):
        if found := _UUID.search(name.lower()):
            return found[0]
    return None


def _in_order(key: object, members: Sequence[tuple[float, LogFile]]) -> Iterator[LogFile]:
    if not isinstance(key, str):
        return (file for _, file in members)
    by_age = sorted(members, key=lambda item: (not _is_named(item[1].path, key), item[0]))
    return (file for _, file in by_age)


def _is_named(path: Path | None, session: str) -> bool:
    """Whether the id of the session is in the name of the file, not in that of a folder."""
    return path is not None and session in path.name.lower()


def _changed_at(path: Path | None) -> float:
    """When a file was written last; now, if there is none, and never, if it cannot be said."""
    if path is None:
        return float("inf")
    try:
        return os.stat(path).st_mtime  # noqa: PTH116 - for tens of thousands of files
    except OSError:
        return 0.0


class HeldBackError(Exception):
    """The parent of a file's source is not stored yet, so the file is read later."""


class ParentsFirst:
    """Yields files, and those of sub-agents and forks again, once their parents are stored.

    A sub-agent's log may repeat words of the user's from its parent's log. They are known as the
    user's only if the parent's is stored; its own task is an agent's words. A fork's log may repeat
    messages under other times. Files wait only in a list, in which one that is still to come is
    named after their parent, itself or by its folder. waits: False yields all as they come.
    """

    def __init__(self, database: Database, files: Iterable[LogFile], *, waits: bool) -> None:
        self._database = database
        self._files = files
        self._at = 0
        self._last_at: dict[str, int] = {}
        if waits and isinstance(files, Sequence):
            for at, file in enumerate(files):
                self._last_at.update(dict.fromkeys(_names(file), at))
        # By the id of the parent.
        self._held: dict[str, list[LogFile]] = {}
        self._freed: deque[LogFile] = deque()

    def __iter__(self) -> Iterator[LogFile]:
        for at, file in enumerate(self._files):
            self._at = at
            yield file
            while self._freed:
                yield self._freed.popleft()
        self._last_at.clear()
        while self._held:  # what is named after their parents is not their log
            yield from self._held.pop(next(iter(self._held)))

    def hold_back(self, file: LogFile, source: Source) -> None:
        """Raises HeldBackError for the first source of a file if its parent's file comes later."""
        forked_from = source.forked_from if isinstance(source, ForkedSource) else None
        parent = source.parent_id or forked_from
        if not parent or self._last_at.get(parent.rpartition("/")[2], -1) <= self._at:
            return
        if sources.seq_of(self._database, parent) is None:
            self._held.setdefault(parent, []).append(file)
            raise HeldBackError

    def stored(self, source_ids: Iterable[str]) -> None:
        """Frees the files that wait for these sources."""
        for source_id in source_ids:
            self._freed.extend(self._held.pop(source_id, ()))


def _names(file: LogFile) -> Iterator[str]:
    """What a session may be called whose log this is."""
    if file.path is not None:
        yield from (file.path.stem, file.path.parent.name)
        if session := _UUID.search(file.path.name.lower()):
            yield session[0]


def has_whole(database: Database, tombstones: Tombstones, source: Source) -> bool:
    """Whether a source is a part of a session that is stored, or was and is forgotten."""
    if not isinstance(source, PartialSource):
        return False
    is_stored = sources.seq_of(database, source.whole) is not None
    return is_stored or tombstones.has_source(source.whole)
