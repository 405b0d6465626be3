"""Which files are a memory file, or stand beside it: they are no logs.

Subtle: that is found out without opening them. Closing any of them drops the locks that SQLite
holds for the whole process, and then others would take the database for one that nobody uses.
"""

from __future__ import annotations

from pathlib import Path

WAL = "-wal"
SUFFIXES = ("", WAL, "-shm", "-journal", "-open")


def beside(memory: Path) -> list[Path]:
    """The memory file and those that may stand beside it."""
    return [memory.with_name(memory.name + suffix) for suffix in SUFFIXES]


def is_own(memory: Path, path: Path) -> bool:
    """Whether a path leads to one of them, by whatever name or link."""
    try:
        found = path.stat()
    except OSError:
        return False
    return any(_is(own, found.st_dev, found.st_ino) for own in beside(memory))


def _is(own: Path, device: int, inode: int) -> bool:
    try:
        found = own.stat()
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (device, inode)
