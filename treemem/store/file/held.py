"""Holds files of a memory open for reading without losing SQLite's locks.

Closing any descriptor of a file drops all POSIX locks that the process holds on it, SQLite's too.
So one descriptor is shared by all connections of the process, and closed after the last.

Tested in tests/store/file/test_guard.py and tests/store/file/test_btree.py.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path


class HeldFile:
    """A file of one connection to a memory, opened when it is first read and then held open.

    Every connection has a value for each file that any of them may read. Raises OSError if the file
    cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _lock:
            status = path.stat()
            self._key = (status.st_dev, status.st_ino)
            _users[self._key] = _users.get(self._key, 0) + 1

    def read(self, size: int, offset: int) -> bytes:
        """The bytes from an offset on, fewer at the end of the file."""
        with _lock:
            descriptor = _open[self._key] if self._key in _open else self._opened()
            if not hasattr(os, "pread"):
                os.lseek(descriptor, offset, os.SEEK_SET)
                return os.read(descriptor, size)
        return os.pread(descriptor, size, offset)

    def _opened(self) -> int:
        flags = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self._path, os.O_RDONLY | flags)
        status = os.fstat(descriptor)
        key = (status.st_dev, status.st_ino)
        if key in _users:  # for another file that is in use at the path, too
            _open.setdefault(key, descriptor)
        if key != self._key:
            raise FileNotFoundError(f"{self._path} was replaced")
        return descriptor

    def close(self) -> None:
        """Call it after the connection was closed, since it may drop the connection's locks."""
        with _lock:
            _users[self._key] -= 1
            if _users[self._key] == 0:
                del _users[self._key]
                if self._key in _open:
                    os.close(_open.pop(self._key))


def is_held(path: Path) -> bool:
    """Whether a connection of this process has the file open."""
    with _lock:
        try:
            status = path.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) in _users


_lock = threading.Lock()
# The descriptors of files, by device and inode, and the number of HeldFile values for each.
_open: dict[tuple[int, int], int] = {}
_users: dict[tuple[int, int], int] = {}
