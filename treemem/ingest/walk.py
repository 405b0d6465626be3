"""The files below a path, and which of them are looked at.

Nothing is read here, and nothing that may not be looked at is passed over: it is found like a
file, so that whoever reads it is told why that is not possible.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from treemem.errors import UsageError
from treemem.importers.common.base import LogFile

# What is in a folder but is no log: skipped without a word unless it is named itself.
IGNORED_FOLDERS = {".git", "node_modules", "__pycache__", ".venv"}


def find_files(paths: Iterable[str | Path]) -> Iterator[LogFile]:
    """The files under the paths, folders walked in name order. Raises UsageError at once, before
    the first of them is read, for a path that does not exist."""
    named = [Path(name) for name in paths]
    for path in named:
        _check(path)
    return (file for path in named for file in _below(path))


def is_folder(path: Path) -> bool:
    """False as well where that may not be looked at."""
    try:
        return path.is_dir()
    except OSError:
        return False


def may_be_file(path: Path) -> bool:
    """Whether it is a regular file, or may not be looked at."""
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
        raise UsageError(f"{path} is no regular file. Pipe it in instead: treemem ingest -")
    raise UsageError(f"{path} does not exist.")


def _below(path: Path) -> Iterator[LogFile]:
    if is_folder(path):
        yield from (LogFile(str(found), found, found=True) for found in sorted(_walk(path)))
    else:
        yield LogFile(str(path), path)


def _walk(path: Path) -> Iterator[Path]:
    closed: list[Path] = []
    for folder, folders, names in os.walk(path, onerror=lambda error: _note(error, closed)):
        folders[:] = [name for name in folders if name not in IGNORED_FOLDERS]
        for name in names:
            found = Path(folder, name)
            if name not in IGNORED_FOLDERS and may_be_file(found):
                yield found
    yield from closed


def _note(error: OSError, closed: list[Path]) -> None:
    """A folder that went away in the meantime is none."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        closed.append(Path(error.filename))
