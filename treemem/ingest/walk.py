"""Finds the files below the paths that the user named.

Reads none of them. What may not be opened is not skipped but returned like a file, so that reading
it reports the error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from treemem.errors import UsageError
from treemem.importers.common.base import LogFile

# Names that are no logs: skipped silently in a folder, unless they are named themselves.
IGNORED_FOLDERS = {".git", "node_modules", "__pycache__", ".venv"}


def find_files(paths: Iterable[str | Path]) -> Iterator[LogFile]:
    """The files at and below the paths, ordered by name in each folder. Raises UsageError at once,
    before the first file is read, for a path that does not exist."""
    checked = [Path(path) for path in paths]
    for path in checked:
        _check(path)
    return (file for path in checked for file in _below(path))


def is_folder(path: Path) -> bool:
    """Whether it is a folder. False where its state may not be read."""
    try:
        return path.is_dir()
    except OSError:
        return False


def may_be_file(path: Path) -> bool:
    """Whether it is a regular file, or its state may not be read."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _check(path: Path) -> None:
    if is_folder(path) or may_be_file(path):
        return
    if path.exists():
        # A pipe can be read only once, and some devices never end.
        raise UsageError(f"{path} is not a regular file. Pipe it in instead: treemem ingest -")
    raise UsageError(f"{path} does not exist.")


def _below(path: Path) -> Iterator[LogFile]:
    if is_folder(path):
        yield from (LogFile(str(file), file, found=True) for file in sorted(_walk(path)))
    else:
        yield LogFile(str(path), path)


def _walk(path: Path) -> Iterator[Path]:
    """The files below a folder, and the folders that may not be read."""
    unreadable: list[Path] = []
    for folder, folders, names in os.walk(path, onerror=lambda error: _note(error, unreadable)):
        folders[:] = [name for name in folders if name not in IGNORED_FOLDERS]
        for name in names:
            file = Path(folder, name)
            if name not in IGNORED_FOLDERS and may_be_file(file):
                yield file
    yield from unreadable


def _note(error: OSError, unreadable: list[Path]) -> None:
    """Notes a folder that may not be read. One that was removed in the meantime is ignored."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        unreadable.append(Path(error.filename))
