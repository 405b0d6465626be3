"""Prepares the place of a memory file before SQLite opens it.

Creates the folder and the file with modes for their owner only, refuses what is no file, and sets
aside -wal and -journal files of a file that was replaced.

Tested in tests/store/file/test_opening.py.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

from treemem.errors import OTHER_FILE, DatabaseError, Hint
from treemem.store.file import modes, rescue
from treemem.store.file.open_marker import OpenMarker
from treemem.store.file.sidecars import JOURNAL, SHM, SUFFIXES, WAL

# How often a connection that waits for the creator of a file asks again.
_CREATOR_POLL_S = 0.01
# The ends of the names of files that may be memories.
MEMORY_SUFFIXES = (".sqlite3", ".sqlite", ".db")


@contextlib.contextmanager
def one_creator(real: Path, timeout_ms: int) -> Iterator[None]:
    """Lets one connection at a time, of all processes, make a memory of an empty file.

    The -journal file of a connection that is just creating the memory looks like one that a
    deleted memory has left, which set_aside_leftovers() renames. No stat() tells the two apart:
    a file has the time of a write before it has its size. Locks the folder, since SQLite's own
    locks are lost when the process closes a second descriptor of the file. Where folders cannot
    be locked, or the lock does not come free within the timeout, goes on without it.
    """
    descriptor = _lock_folder(real, timeout_ms) if _is_empty(real) else None
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _lock_folder(real: Path, timeout_ms: int) -> int | None:
    if fcntl is None:
        return None
    try:
        descriptor = os.open(real.parent, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if _is_empty(real) and time.monotonic() < deadline:
                time.sleep(_CREATOR_POLL_S)
                continue
        except OSError:
            pass
        else:
            return descriptor
        os.close(descriptor)
        return None


def _is_empty(real: Path) -> bool:
    try:
        return real.stat().st_size == 0
    except OSError:
        return False


def prepare(path: Path, real: Path, *, must_exist: bool) -> bool:
    """Creates the file if it is missing, and returns whether it had content.

    path: as the user wrote it; real: where it leads. must_exist: raise instead of creating it.
    Raises DatabaseError if there can be no memory file.
    """
    if path.is_dir():
        raise DatabaseError(f"{path} is a folder.", hint=OTHER_FILE)
    if real.is_symlink():
        raise DatabaseError(f"{path} is a link that leads back to itself.", hint=OTHER_FILE)
    if path.is_symlink() and not real.parent.is_dir():
        raise DatabaseError(f"{path} is a link to {real}, in a folder that does not exist.")
    try:
        status = real.stat()
    except (FileNotFoundError, NotADirectoryError):
        if must_exist:
            raise DatabaseError(
                f"File {path} does not exist; nothing is stored yet.{_similar(path)}",
                hint=Hint(
                    "Check the path, or open it without must_exist to create it.",
                    "Check --db, or store a log: treemem ingest FILE",
                ),
            ) from None
        _create(path, real)
        return False
    if not stat.S_ISREG(status.st_mode):
        raise DatabaseError(f"{path} is a {_kind(status.st_mode)}.", hint=OTHER_FILE)
    _refuse_odd_sidecars(real)
    return status.st_size > 0


def _similar(path: Path) -> str:
    """A sentence, after a space, with a memory file beside the path that has a similar name."""
    import difflib

    try:
        names = [file.name for file in path.parent.iterdir() if file.suffix in MEMORY_SUFFIXES]
    except OSError:
        return ""
    found = difflib.get_close_matches(path.name, names, 1)
    return f" There is {path.with_name(found[0])}." if found else ""


def _create(path: Path, real: Path) -> None:
    try:
        modes.create_folder(real.parent)
    except OSError as error:
        raise DatabaseError(
            f"The folder {path.parent} cannot be created ({error.strerror}). Choose another place.",
            hint=OTHER_FILE,
        ) from error
    _refuse_odd_sidecars(real)
    try:
        os.close(modes.create_file(real))
    except FileExistsError:  # by another process, meanwhile
        pass
    except OSError as error:
        raise DatabaseError(
            f"{path} cannot be created ({error.strerror}). Check the permissions of its folder.",
            hint=OTHER_FILE,
        ) from error


def _refuse_odd_sidecars(real: Path) -> None:
    """SQLite follows a link, and waits for a pipe."""
    for suffix in (WAL, SHM, JOURNAL):
        file = real.with_name(real.name + suffix)
        try:
            mode = file.lstat().st_mode
        except OSError:
            continue
        if not stat.S_ISREG(mode):
            raise DatabaseError(
                f"{file} is a {_kind(mode)}, but SQLite needs a file of this name. Move it away."
            )


def _kind(mode: int) -> str:
    names = {
        stat.S_IFDIR: "folder",
        stat.S_IFLNK: "link",
        stat.S_IFIFO: "named pipe",
        stat.S_IFSOCK: "socket",
    }
    return names.get(stat.S_IFMT(mode), "device")


def set_aside_leftovers(real: Path, marker: OpenMarker) -> list[str]:
    """Renames -wal and -journal files that belong to a file that was replaced, and returns a
    notice for each. Raises OSError."""
    notices = []
    for path in marker.leftovers():
        try:
            target = rescue.set_aside(path, real)
        except FileNotFoundError:  # another connection was faster
            continue
        if path.name.endswith(WAL):
            real.with_name(real.name + SHM).unlink(missing_ok=True)
        pid = marker.other()
        holder = (
            f"Process {pid} still has that file open and saves it at its next step. "
            if pid is not None
            else f"If you still have that file, put this one beside it as NAME{path.name[-4:]}. "
            if path.name.endswith(WAL)
            else ""
        )
        notices.append(
            f"{path.name} belongs to a file that was at {real} before, and was kept as "
            f"{target.name}. What was stored last in that file is not in this one. {holder}"
            "Or ingest the last logs again (nothing is stored twice)."
        )
    return notices


def mode_notices(real: Path) -> list[str]:
    """Notices for a memory file that other users may read, and for a folder of its own."""
    folders = [real.parent] if modes.is_shared(real.parent, real.name) else []
    files = [real.with_name(real.name + suffix) for suffix in SUFFIXES]
    # SQLite creates the others with the mode of the memory file.
    own = modes.notices([real], folders)
    return own or modes.notices(files, [])
