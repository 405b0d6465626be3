"""Logs that are moved or copied away when a new one is begun in their place.

A log without ids belongs to the place it lies in; read at another place it would be stored a
second time. So a watcher remembers how each file began, and knows it again where it went.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from treemem.importers.base import LogFile

_HEAD_BYTES = 512


@dataclass(frozen=True, slots=True)
class Moved(LogFile):
    """A log that was renamed or copied away when a new one was begun in its place: it is still
    the log of that place. was: its LogFile.place before."""

    was: str = ""

    @property
    def place(self) -> str | None:
        return self.was

    @property
    def name(self) -> str:
        return Path(self.was).name


@dataclass(slots=True)
class Rotation:
    """Tells a log that was moved or copied away from a new one, by how it begins.

    starts: the beginning of every file that was read, and its place. A file that begins as
    another one did, which itself begins otherwise now, is that one: what was added to it last
    belongs to its history, and what it held before is stored already.
    """

    starts: dict[bytes, str] = field(default_factory=dict)

    def file(self, path: Path) -> LogFile:
        """The file as the log that it is."""
        plain = LogFile(str(path), path, found=True)
        start = _start(path)
        if start is None:
            return plain
        was = self.starts.get(start)
        if was is not None and was != plain.place and _start(Path(was)) != start:
            return Moved(str(path), path, found=True, was=was)
        return plain

    def was_read(self, path: Path, file: LogFile) -> None:
        """Remembers how it begins, and as whose log it was read."""
        start = _start(path)
        if start is not None and file.place is not None:
            self.starts.setdefault(start, file.place)


def _start(path: Path) -> bytes | None:
    """A digest of how a file begins; None for one that is too short to tell, or gone."""
    try:
        with path.open("rb") as stream:
            start = stream.read(_HEAD_BYTES)
    except OSError:
        return None
    return hashlib.blake2b(start, digest_size=16).digest() if len(start) == _HEAD_BYTES else None
