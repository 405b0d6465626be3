"""Finds the files at and below the paths that the user named, and reads none of them.

A file or folder without read permission is returned like any file, so that reading it reports the
error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from treemem.errors import Hint, UsageError
from treemem.importers.common.base import LogFile

# Folders that contain no logs: skipped silently, unless the user names them.
IGNORED_FOLDERS = {".git", "node_modules", "__pycache__", ".venv"}


def find_files(paths: Iterable[str | Path]) -> Iterator[LogFile]:
    """The files at and below the paths, sorted within each path. Raises UsageError at the call, not
    during iteration, for a path that does not exist or is no regular file."""
    checked = list(map(_path, paths))
    for path in checked:
        _check(path)
    return (file for path in checked for file in _below(path))


def is_folder(path: Path) -> bool:
    """Whether the path is a folder; False if permissions prevent the check."""
    try:
        return path.is_dir()
    except OSError:
        return False


def may_be_file(path: Path) -> bool:
    """Whether the path is a regular file; True if permissions prevent the check."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _path(given: str | Path) -> Path:
    """A path. Raises UsageError for an empty one, such as that of a variable that is not set, which
    would otherwise mean the current folder."""
    if given == "":
        raise UsageError("A path is empty. Name a file or a folder, or . for the current one.")
    return Path(given)


def _check(path: Path) -> None:
    if is_folder(path) or may_be_file(path):
        return
    if path.exists():
        # A pipe can be read only once, and some devices never end.
        raise UsageError(
            f"{path} is not a regular file.",
            hint=Hint(
                "Read it, and pass its bytes: memory.ingest_files([LogFile(name, data=bytes)])",
                "Pipe it in instead: treemem ingest -",
            ),
        )
    raise UsageError(f"{path} does not exist.")


def _below(path: Path) -> Iterator[LogFile]:
    if is_folder(path):
        yield from (LogFile(str(file), file, found=True) for file in sorted(_walk(path)))
    else:
        yield LogFile(str(path), path)


def _walk(path: Path) -> Iterator[Path]:
    """Yields the files below a folder, and the folders that cannot be read."""
    unreadable: list[Path] = []
    for folder, folders, names in os.walk(path, onerror=lambda error: _note(error, unreadable)):
        folders[:] = [name for name in folders if name not in IGNORED_FOLDERS]
        for name in names:
            file = Path(folder, name)
            if name not in IGNORED_FOLDERS and may_be_file(file):
                yield file
    yield from unreadable


def _note(error: OSError, unreadable: list[Path]) -> None:
    """Records a folder that cannot be read, unless it was removed in the meantime."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        unreadable.append(Path(error.filename))
