"""Recognizes a memory file and the files beside it, which must never be read as logs.

Subtle: opens none of them. Closing any of them would drop the POSIX locks that SQLite holds for the
whole process, and other processes would treat the database as unused.
"""

from __future__ import annotations

import os
from pathlib import Path

WAL = "-wal"
SHM = "-shm"
JOURNAL = "-journal"
# What the command line printed last, by which it knows what "the second hit" is.
LAST_SEARCH = "-last-search"
SUFFIXES = ("", WAL, SHM, JOURNAL, "-open", "-open.new", LAST_SEARCH)
# Follows the name of a memory file in the names of files that save its content.
RESCUED = ".rescued-"
# The same, of what restore has replaced.
FORMER = ".before-restore-"
# The same, of copies of an earlier version; the number of its schema follows.
BEFORE = ".schema-"
COPIES = (RESCUED, FORMER, BEFORE)


def real_path(memory: Path) -> Path:
    """Where a path leads. SQLite follows links and names its files after the real file."""
    return Path(os.path.realpath(memory))


def beside(memory: Path) -> list[Path]:
    """The memory file and the files that may exist beside it, also beside the file that a link
    leads to."""
    files = [memory, real_path(memory)] if memory.is_symlink() else [memory]
    return [file.with_name(file.name + suffix) for file in files for suffix in SUFFIXES]


def wal_of(memory: Path) -> Path:
    """The path of its -wal file."""
    return memory.with_name(memory.name + WAL)


def is_own(memory: Path, path: Path) -> bool:
    """Whether a path leads to one of these files, or to a rescued or kept one, by whatever name or
    link."""
    try:
        status = path.stat()
    except OSError:
        return False
    if any(_is(own, status.st_dev, status.st_ino) for own in beside(memory)):
        return True
    if RESCUED not in path.name and BEFORE not in path.name:
        return False
    real = real_path(memory)
    begins = path.name.startswith((real.name + RESCUED, real.name + BEFORE))
    return begins and real_path(path).parent == real.parent


def _is(own: Path, device: int, inode: int) -> bool:
    try:
        status = own.stat()
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == (device, inode)
