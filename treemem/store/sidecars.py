"""Recognizes a memory file and the files beside it, which must never be read as logs.

Subtle: opens none of them. Closing any of them would drop the POSIX locks that SQLite holds for the
whole process, and other processes would treat the database as unused.
"""

from __future__ import annotations

from pathlib import Path

WAL = "-wal"
SUFFIXES = ("", WAL, "-shm", "-journal", "-open")


def beside(memory: Path) -> list[Path]:
    """The memory file and the files that may exist beside it."""
    return [memory.with_name(memory.name + suffix) for suffix in SUFFIXES]


def is_own(memory: Path, path: Path) -> bool:
    """Whether a path leads to one of these files, by whatever name or link."""
    try:
        status = path.stat()
    except OSError:
        return False
    return any(_is(own, status.st_dev, status.st_ino) for own in beside(memory))


def _is(own: Path, device: int, inode: int) -> bool:
    try:
        status = own.stat()
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == (device, inode)
