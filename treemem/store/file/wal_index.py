"""Reads from a -shm file how far checkpoints have come, and holds it open without losing locks.

A checkpoint is the only writer of a memory file in WAL mode. So a memory file that changes while
no checkpoint ran was changed by another program. The layout is documented in
sqlite.org/walformat.html, "The WAL-Index Header".

Tested in tests/store/file/test_guard.py.
"""

from __future__ import annotations

import os
import struct
import threading
from dataclasses import dataclass
from pathlib import Path

_BYTES = 132
_SALTS = slice(32, 40)
_BACKFILLED_AT = 96
_ATTEMPTED_AT = 128


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """How far checkpoints have come. salts: of the -wal file, which change when it begins anew.
    backfilled: the frames that a checkpoint has copied. attempted: those that it may have copied;
    more than backfilled while it runs, and after a process died in it."""

    salts: bytes
    backfilled: int
    attempted: int

    def explain_change(self, later: Checkpoints) -> bool:
        """Whether a checkpoint can have written between these two looks."""
        ran = (self.salts, self.attempted) != (later.salts, later.attempted)
        return ran or self.attempted > self.backfilled


class WalIndex:
    """A -shm file, held open. Raises OSError if it cannot be opened.

    Closing any descriptor of a file drops all POSIX locks that the process holds on it, SQLite's
    too. So one descriptor is shared by all connections of the process, and closed after the last.
    """

    def __init__(self, path: Path) -> None:
        with _lock:
            status = path.stat()
            self._key = (status.st_dev, status.st_ino)
            if self._key not in _open:
                descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
                opened = os.fstat(descriptor)
                self._key = (opened.st_dev, opened.st_ino)
                _open.setdefault(self._key, []).append(descriptor)
            _users[self._key] = _users.get(self._key, 0) + 1

    def checkpoints(self) -> Checkpoints | None:
        """None if the file is too short, as before the first read."""
        data = os.pread(_open[self._key][0], _BYTES, 0)
        if len(data) < _BYTES:
            return None
        (backfilled,) = struct.unpack_from("=I", data, _BACKFILLED_AT)
        (attempted,) = struct.unpack_from("=I", data, _ATTEMPTED_AT)
        return Checkpoints(data[_SALTS], backfilled, attempted)

    def close(self) -> None:
        """Call it after the connection was closed, since it may drop the connection's locks."""
        with _lock:
            _users[self._key] -= 1
            if _users[self._key] == 0:
                del _users[self._key]
                for descriptor in _open.pop(self._key):
                    os.close(descriptor)


_lock = threading.Lock()
# The descriptors of each file, by device and inode, and the number of WalIndex values that use it.
_open: dict[tuple[int, int], list[int]] = {}
_users: dict[tuple[int, int], int] = {}
