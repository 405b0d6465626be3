"""Recognizes logs that were moved or copied away when a new log was started in their place.

A log without ids is identified by its path, so under a new path it would be stored a second
time. A watcher therefore remembers how each file begins, and recognizes it by that.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from treemem.importers.common.base import LogFile

# The bytes at the start and at the end of a log by which it is recognized.
_PIECE_BYTES = 512
# How many starts are remembered.
STARTS_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Moved(LogFile):
    """A log that was moved or copied away; it is still the log of its former place.

    was: its LogFile.place before.
    """

    was: str = ""

    @property
    def place(self) -> str | None:
        return self.was

    @property
    def name(self) -> str:
        return Path(self.was).name


class _Read(NamedTuple):
    """How far a log was read. end: a digest of the last bytes before size_bytes."""

    size_bytes: int
    end: bytes


@dataclass(slots=True)
class Rotation:
    """Distinguishes moved or copied logs from new ones by their content.

    A file is the moved log of another place if it starts as that log did, continues as that log
    did where its last reading ended, and the file at that place starts differently now. Its new
    messages then belong to that log.

    starts: by the digest of a log's start, how far the log was read, by place. Only the latest
    STARTS_MAX starts are kept.
    """

    starts: OrderedDict[bytes, dict[str, _Read]] = field(default_factory=OrderedDict)

    def file(self, path: Path) -> LogFile:
        """The file as a LogFile: Moved if it is a log that was moved or copied away."""
        plain = LogFile(str(path), path, found=True)
        start = _piece(path, 0)
        places = {} if start is None else self.starts.get(start, {})
        if plain.place in places:
            return plain
        for was, read in places.items():
            # Subtle: many files may start alike, such as pages with the same head.
            continues = _piece(path, read.size_bytes - _PIECE_BYTES) == read.end
            if continues and _piece(Path(was), 0) != start:
                return Moved(str(path), path, found=True, was=was)
        return plain

    def was_read(self, path: Path, file: LogFile) -> None:
        """Records the start of a file that was read, and how far it was read."""
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
    """A digest of _PIECE_BYTES of a file; None if it is gone or shorter."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, at))
            piece = stream.read(_PIECE_BYTES)
    except OSError:
        return None
    return hashlib.blake2b(piece, digest_size=16).digest() if len(piece) == _PIECE_BYTES else None
