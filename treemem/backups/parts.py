"""Locks what is being written to a backup, names moments, and says that a disk is full.

Tested in tests/backups/test_files.py and tests/faults/test_backup_kills.py.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

from treemem.errors import BackupError, DiskFullError
from treemem.store.file import aside, modes

# How often a file is opened again that another process has just renamed.
_TRIES = 10
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def new(part: Path, what: str) -> Iterator[None]:
    """Creates a private, empty file that is not complete yet, and holds a lock on it; removes it at
    the end, unless it has been given its name.

    what: is said to be running if another process has one of this name. One that was left by a
    process that was killed is removed. Subtle: never emptied, since a process that was killed in
    aside.place() has left a second name of a file that is complete.
    """
    if part.exists():
        with locked(part, what):
            aside.remove(part)
    try:
        os.close(modes.create_file(part))
    except FileExistsError:
        raise BackupError(f"{what} has just begun. Wait until it has ended.") from None
    with locked(part, what):
        try:
            yield
        finally:
            aside.remove(part)


@contextlib.contextmanager
def locked(path: Path, what: str, *, shared: bool = False) -> Iterator[None]:
    """Opens or creates a private file and holds a lock on it, as long as its name leads to it.

    what: is said to be running if another process has the lock. shared: with others that only
    read; then a file that is missing or cannot be opened is no obstacle. Where files cannot be
    locked, goes on without. Raises BackupError and OSError.
    """
    try:
        descriptor = _opened(path, create=not shared)
    except OSError:
        if not shared:
            raise
        yield
        return
    try:
        if fcntl is not None:
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BackupError(f"{what} is running already. Wait until it has ended.") from None
            except OSError:  # as on some network folders
                pass
        if not shared and not _leads_to(path, descriptor):
            raise BackupError(f"{what} has just ended. Try again.")
        yield
    finally:
        os.close(descriptor)


def _opened(path: Path, *, create: bool) -> int:
    flags = os.O_RDWR if create else os.O_RDONLY
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    for _ in range(_TRIES):
        if create:
            with contextlib.suppress(FileExistsError):
                return modes.create_file(path)
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, flags)
        if not create:
            break
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def _leads_to(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False


def name_of(ms: int) -> str:
    """A moment in UTC as part of a file name.

    Example:
        >>> name_of(1_764_000_000_000)
        '20251124T160000Z'
    """
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y%m%dT%H%M%SZ}"


@contextlib.contextmanager
def room_for(folder: Path, what: str) -> Iterator[None]:
    """Says in one sentence that a disk is full, or that a folder cannot be written. what: the thing
    that is written, such as "the backup"."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise _no_room(folder, what) from error
        place_ = error.filename or folder
        raise BackupError(f"{place_}: {error.strerror}. No part of {what} was left.") from error
    except DiskFullError as error:  # SQLite's, which speaks of the memory
        raise _no_room(folder, what) from error


def _no_room(folder: Path, what: str) -> DiskFullError:
    return DiskFullError(
        f"There is no room for {what} in {folder}. No part of it was left there, and what was "
        "there before is unchanged. Free some space and try again."
    )
