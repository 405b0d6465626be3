"""Writes files so that their names never hold half of them: aside first, then renamed.

What is written is private, follows no link, and is on the disk before it has its name.

Tested in tests/store/file/test_aside.py.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from treemem.store.file import modes
from treemem.store.file.sidecars import SUFFIXES

# Ends the name of a file that is not complete.
PART = ".part"


@contextlib.contextmanager
def written(target: Path, *, replacing: bool = True) -> Iterator[Path]:
    """Creates an empty file, gives its path to be written, and gives it its name at the end,
    durably. Removes it if that fails, and one that a killed process has left.

    The caller keeps others from writing the same target meanwhile. replacing: as in place().
    Raises OSError.
    """
    part = target.with_name(target.name + PART)
    remove(part)
    os.close(modes.create_file(part))
    try:
        yield part
        place(part, target, replacing=replacing)
    finally:
        remove(part)


def write(path: Path, data: bytes, *, mode: int = modes.PRIVATE_FILE, durable: bool = True) -> None:
    """Writes a file, in place of one of this name; several processes may do so at once. The caller
    syncs the folder. mode: of the file. durable: False for one that may be lost in a power cut.
    Raises OSError."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}{PART}")
    descriptor = modes.create_file(part)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        if mode != modes.PRIVATE_FILE:
            part.chmod(mode)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Makes the bytes of a file survive a power cut."""
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def place(part: Path, target: Path, *, replacing: bool) -> None:
    """Gives a complete file its name, durably. replacing: False raises FileExistsError if there is
    a file of this name, wherever the file system can tell."""
    sync(part)
    if replacing:
        part.replace(target)
    else:
        try:
            os.link(part, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without links, such as that of most memory sticks
            if target.exists():
                raise FileExistsError(errno.EEXIST, "File exists", str(target)) from None
            part.replace(target)
        else:
            part.unlink()
    modes.sync_folder(target.parent)


def remove(part: Path) -> None:
    """Removes the name of a file that is not complete, and what SQLite may have put beside it."""
    for suffix in SUFFIXES:
        with contextlib.suppress(OSError):
            part.with_name(part.name + suffix).unlink(missing_ok=True)
