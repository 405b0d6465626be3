"""Creates files and folders that only their owner may read, and finds those that others may.

Subtle: SQLite gives its -wal, -shm and -journal files the mode of the memory file, so the mode of
that file decides for all four.

Tested in tests/store/file/test_modes.py.
"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from treemem.errors import Notice

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
# All bits of a mode that give anything to anybody but the owner.
_OTHERS = 0o077
_OTHERS_WRITE = 0o022
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


def create_file(path: Path) -> int:
    """Creates a file with mode 0600, whatever the umask, and returns its open descriptor.

    Follows no link. Raises FileExistsError if anything has this name.
    """
    descriptor = os.open(path, _CREATE, PRIVATE_FILE)
    if os.name == "posix":
        os.fchmod(descriptor, PRIVATE_FILE)  # a umask may have taken bits away
    return descriptor


def create_folder(folder: Path) -> None:
    """Creates a folder and the folders above it that are missing, with mode 0700."""
    missing = []
    while not folder.exists() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        try:
            path.mkdir(PRIVATE_FOLDER)
        except FileExistsError:  # created by another process meanwhile, or not a folder
            if not path.is_dir():
                raise
        else:
            path.chmod(PRIVATE_FOLDER)
    if not missing and not folder.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(folder))


def notices(files: list[Path], folders: list[Path]) -> list[str]:
    """A sentence for each of these files that others may read or write, and for each of these
    folders that others may look into. Files that do not exist are left out."""
    if os.name != "posix":
        return []
    return [
        sentence
        for paths, wanted in ((files, PRIVATE_FILE), (folders, PRIVATE_FOLDER))
        for path in paths
        if (sentence := _notice(path, wanted))
    ]


def _notice(path: Path, wanted: int) -> str:
    try:
        # The files belong here themselves; a link is not followed, since it may lead anywhere.
        status = path.lstat() if wanted == PRIVATE_FILE else path.stat()
    except OSError:
        return ""
    mode = stat.S_IMODE(status.st_mode)
    expected = stat.S_ISREG if wanted == PRIVATE_FILE else stat.S_ISDIR
    if not mode & _OTHERS or not expected(status.st_mode):
        return ""
    what = "read and changed" if mode & _OTHERS_WRITE else "read"
    return Notice(
        f"{path} can be {what} by other users (mode {mode:04o}). Keep it to yourself: "
        f"chmod {wanted:o} {shlex.quote(str(path))}",
        is_lasting=True,
    )


def is_shared(folder: Path, name: str) -> bool:
    """Whether the mode of a folder concerns a memory file: the folder holds only files whose names
    begin with its name, or anybody may replace the file."""
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & _OTHERS_WRITE and not mode & stat.S_ISVTX:
            return True
        with os.scandir(folder) as entries:
            return all(entry.name.startswith(name) for entry in entries)
    except OSError:
        return False


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder survive a power cut. Does nothing where folders cannot be
    synced, as on Windows."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
