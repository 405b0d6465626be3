"""The files that a session referred to: which they are, how they are now, and what changed since.

Paths come from tool calls, so they may be anything. Only regular files are read, and only to hash
them, within limits; nothing is followed into a device, a pipe or a network share.

Tested in tests/sessions/test_files.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from treemem.patterns import lazy_regex
from treemem.sessions.shapes import Turn

PATHS_MAX = 200
HASHED_BYTES_MAX = 64 << 20
_HASHED_BYTES_ALL_MAX = 512 << 20
_LOOKED_AT_MAX = 20_000
_CANDIDATES_MAX = 200
_PATH_CHARS_MAX = 1_000
_DEPTH_MAX = 6
_CHUNK_BYTES = 1 << 20
# The names under which the tools of agents take a file: Claude Code, Cursor, Gemini, MCP's server
# of files, OpenHands and others.
_PATH_KEYS = frozenset(
    {"file_path", "filepath", "path", "filename", "file_name", "file", "notebook_path",
     "target_file", "absolute_path", "relative_path", "old_path", "new_path", "source_path",
     "destination", "paths", "files", "file_paths"}
)  # fmt: skip
_PATCH_HEADER = lazy_regex(
    r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\n]+?)[ \t\r]*$", re.MULTILINE
)
_NO_PATH = lazy_regex(r"[\x00-\x1f*?\"<>|]|://|^[\\/]{2}|^-")
_SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".mypy_cache", ".tox"}
)
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

FileKind = Literal["file", "folder", "other", "missing", "unreadable"]
ChangeKind = Literal["changed", "deleted", "moved", "created"]


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was at one time.

    path: absolute. kind: "other" for a device, a pipe or a socket; "unreadable" for what cannot be
    looked at, such as links in a circle. size_bytes, modified_ns: 0 without a file or folder.
    digest: SHA-256 of its content in hex; empty for a file over 64 MiB, for those beyond 512 MiB
    of all files together, and for one that may not be read: these are compared by size and time.
    """

    path: str
    kind: FileKind
    size_bytes: int = 0
    modified_ns: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What happened to a file. moved_to: the path of a moved one, else empty. "created": it was
    missing when the session referred to it."""

    path: str
    kind: ChangeKind
    moved_to: str = ""


def referenced(turns: Sequence[Turn], paths_max: int = PATHS_MAX) -> list[str]:
    """The paths in tool calls as they are written there, the one used last first.

    They are arguments with the name of a path, and the headers of patches. Shell commands are not
    read: what is a file in them depends on the command.

    Example:
        >>> from treemem.sessions.shapes import parse
        >>> use = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "a.py"}}
        >>> referenced([parse({"role": "assistant", "content": [use]}, "anthropic")])
        ['a.py']
    """
    found: dict[str, None] = {}
    for turn in reversed(turns):
        for part in reversed(turn.uses):
            for path in reversed(list(_paths_in(part.text))):
                found.setdefault(path)
                if len(found) == paths_max:
                    return list(found)
    return list(found)


def manifest(paths: Sequence[str], folder: Path) -> list[FileState]:
    """How files are now, in order, each once. folder: where relative paths begin."""
    root = folder.absolute()
    whole = dict.fromkeys(os.path.normpath(root / _at_home(path)) for path in paths)
    reader = _Reader()
    return [reader.state(path) for path in whole]


def changes(before: Sequence[FileState], folder: Path | None = None) -> list[FileChange]:
    """What happened to files since, in order; nothing for those that are as they were.

    folder: where a file that is gone is looked for, by its content under any name, or by name,
    size and time if it was not hashed: among at most 20,000 entries, without following links.
    """
    reader = _Reader()
    now = {state.path: reader.state(state.path) for state in before}
    gone = [state for state in before if state.kind == "file" and now[state.path].kind == "missing"]
    moved = _moved(gone, folder, set(now), reader) if folder is not None and gone else {}
    found = []
    for state in before:
        kind = _change(state, now[state.path])
        if state.path in moved:
            found.append(FileChange(state.path, "moved", moved[state.path]))
        elif kind is not None:
            found.append(FileChange(state.path, kind))
    return found


def _change(before: FileState, now: FileState) -> ChangeKind | None:
    if before.kind == "missing" or now.kind == "missing":
        if before.kind == now.kind:
            return None
        return "created" if before.kind == "missing" else "deleted"
    if before.kind != now.kind:
        return "changed"
    if before.kind != "file":
        return None
    if before.digest and now.digest:
        return "changed" if before.digest != now.digest else None
    is_same = (before.size_bytes, before.modified_ns) == (now.size_bytes, now.modified_ns)
    return None if is_same else "changed"


# -- paths in calls --------------------------------------------------------------------


def _paths_in(arguments: str) -> Iterator[str]:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        value = arguments
    yield from filter(_is_path, _strings_in(value, is_path=False, depth=_DEPTH_MAX))


def _strings_in(value: object, is_path: bool, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        if is_path:
            yield value
        yield from _PATCH_HEADER.findall(value)
    elif isinstance(value, dict) and depth:
        for key, inner in value.items():
            is_named = key.replace("-", "_").lower() in _PATH_KEYS
            yield from _strings_in(inner, is_named, depth - 1)
    elif isinstance(value, list) and depth:
        for inner in value:
            yield from _strings_in(inner, is_path, depth - 1)


def _is_path(text: str) -> bool:
    return 0 < len(text) <= _PATH_CHARS_MAX and _NO_PATH.search(text) is None


def _at_home(path: str) -> Path:
    return Path(path).expanduser() if path.startswith(("~/", "~\\")) else Path(path)


# -- states ----------------------------------------------------------------------------


class _Reader:
    """Looks at files, and hashes them until all together are too many bytes."""

    def __init__(self) -> None:
        self._bytes_left = _HASHED_BYTES_ALL_MAX

    def state(self, path: str) -> FileState:
        try:
            found = Path(path).stat()
        except (FileNotFoundError, NotADirectoryError):
            return FileState(path, "missing")
        except (OSError, ValueError):  # links in a circle, no permission; a name that cannot be
            return FileState(path, "unreadable")
        if stat.S_ISDIR(found.st_mode):
            return FileState(path, "folder", modified_ns=found.st_mtime_ns)
        if not stat.S_ISREG(found.st_mode):
            return FileState(path, "other")
        digest = self.digest(path, found.st_size)
        return FileState(path, "file", found.st_size, found.st_mtime_ns, digest)

    def digest(self, path: str, size_bytes: int) -> str:
        """The hash of a regular file; empty if it is too large or may not be read."""
        if size_bytes > min(HASHED_BYTES_MAX, self._bytes_left):
            return ""
        limit = min(HASHED_BYTES_MAX, self._bytes_left)
        hashed, seen = hashlib.sha256(), 0
        try:
            # Subtle: it may have become a pipe since, so opening must not wait for a writer.
            with os.fdopen(os.open(path, _OPEN_FLAGS), "rb", buffering=0) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return ""
                while (chunk := file.read(_CHUNK_BYTES)) != b"":
                    seen += len(chunk or b"")
                    # It has nothing to read yet, or grows while it is read: it is none of a disk.
                    if chunk is None or seen > limit:
                        return ""
                    hashed.update(chunk)
        except OSError:
            return ""
        finally:
            self._bytes_left -= seen
        return hashed.hexdigest()


# -- moved files -----------------------------------------------------------------------


def _moved(gone: list[FileState], folder: Path, known: set[str], reader: _Reader) -> dict[str, str]:
    """Where files are that are gone, by their old path. known: paths that were there before."""
    by_size: dict[int, list[FileState]] = {}
    for state in gone:
        by_size.setdefault(state.size_bytes, []).append(state)
    moved: dict[str, str] = {}
    candidates = 0
    for path, found in _files_in(folder.absolute()):
        waiting = [state for state in by_size.get(found.st_size, ())
                   if not _same_name(moved.get(state.path), state)]  # fmt: skip
        if not waiting or path in known or candidates == _CANDIDATES_MAX:
            continue
        candidates += 1
        digest = reader.digest(path, found.st_size)
        for state in waiting:
            if _is_same(state, path, digest, found.st_mtime_ns):
                moved[state.path] = path
                break
    return moved


def _same_name(path: str | None, state: FileState) -> bool:
    return path is not None and Path(path).name == Path(state.path).name


def _is_same(state: FileState, path: str, digest: str, modified_ns: int) -> bool:
    has_name = _same_name(path, state)
    if not state.digest:
        return has_name and modified_ns == state.modified_ns
    return digest == state.digest and (has_name or state.size_bytes > 0)


def _files_in(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Regular files below a folder with their state, by sorted name; not what links lead to."""
    looked_at = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _SKIPPED_FOLDERS)
        looked_at += len(folders)
        for name in sorted(names):
            looked_at += 1
            if looked_at > _LOOKED_AT_MAX:
                return
            path = Path(root, name)
            try:
                found = path.lstat()
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode):
                yield str(path), found
