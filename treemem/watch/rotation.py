"""Logs that are moved or copied away when a new one is begun in their place.

A log without ids belongs to the place it lies in; read at another place it would be stored a
second time. So a watcher remembers how each file began, and knows it again where it went.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from treemem.importers.common.base import LogFile

_PIECE_BYTES = 512
STARTS_MAX = 20_000


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


class _Read(NamedTuple):
    """How far a log was read. end: a digest of the last bytes up to there."""

    size_bytes: int
    end: bytes


@dataclass(slots=True)
class Rotation:
    """Tells a log that was moved or copied away from a new one, by what it holds.

    starts: the beginnings of the logs that were read, the latest STARTS_MAX of them; for each
    the places of those that begin so, and how far they were read. A file that begins as another
    one did, which itself begins otherwise now, and goes on as that one did, is that one: what
    was added to it last belongs to its history, and what it held before is stored already.
    """

    starts: OrderedDict[bytes, dict[str, _Read]] = field(default_factory=OrderedDict)

    def file(self, path: Path) -> LogFile:
        """The file as the log that it is."""
        plain = LogFile(str(path), path, found=True)
        start = _piece(path, 0)
        known = {} if start is None else self.starts.get(start, {})
        if plain.place in known:
            return plain
        for was, read in known.items():
            # Subtle: many files may begin alike, such as pages with the same head.
            goes_on = _piece(path, read.size_bytes - _PIECE_BYTES) == read.end
            if goes_on and _piece(Path(was), 0) != start:
                return Moved(str(path), path, found=True, was=was)
        return plain

    def was_read(self, path: Path, file: LogFile) -> None:
        """Remembers how it begins, how far it was read, and as whose log."""
        start = _piece(path, 0)
        if start is None or file.place is None:
            return
        size_bytes = path.stat().st_size
        end = _piece(path, size_bytes - _PIECE_BYTES)
        if end is not None:
            self.starts.setdefault(start, {})[file.place] = _Read(size_bytes, end)
            self.starts.move_to_end(start)
            if len(self.starts) > STARTS_MAX:
                self.starts.popitem(last=False)


def _piece(path: Path, at: int) -> bytes | None:
    """A digest of a piece of a file; None for one that is too short to tell, or gone."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, at))
            piece = stream.read(_PIECE_BYTES)
    except OSError:
        return None
    return hashlib.blake2b(piece, digest_size=16).digest() if len(piece) == _PIECE_BYTES else None
