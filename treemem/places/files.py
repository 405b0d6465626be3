"""Finds the log file that has a message, and the line in it, by reading the files again.

A source has the path of the file that it was first read from. Some have several: a folder of
Slack has a file a day, OpenCode one a message, and a task of Cline is told in two. So a message
whose id is not in the first file is looked for in the others. Where it is not found for sure, such
a source gives no path, since a wrong one is worse than none.
Tested in tests/places/test_files.py.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from treemem.errors import TreememError
from treemem.formats.table import FORMATS
from treemem.places import lines
from treemem.places.lines import Span
from treemem.store.database import Database, storable_text
from treemem.types import Message, Place

# The most bytes of logs that are read to find one message, and for all passages of a search, whose
# reader waits: 32 MB take some 40 ms. Logs beyond it have no line.
ONE_BYTES_MAX = 256 << 20
SEARCH_BYTES_MAX = 32 << 20
# The most other files of a source that are looked at.
_FILES_MAX = 400
# The bytes of a file by which text is told from databases and archives.
_HEAD_BYTES = 4_096
# Formats of which a source is read from several files together. Their importers name these files;
# importing all of them takes longer than a search.
COMPANION_FORMATS = frozenset(row.name for row in FORMATS if row.files != "one")
# Those of them whose messages are in the several files. In an archive, these are not read again.
_FORMATS_OF_PARTS = frozenset(row.name for row in FORMATS if row.files == "parts")

_FORMAT = "SELECT format FROM source WHERE id = ?"
# Whether two files, or two states of one, had messages of a source; its id is given in quotes.
_READ_TWICE = "SELECT 1 FROM imported_file WHERE instr(source_ids, ?) LIMIT 1 OFFSET 1"
_SAME_FOLDER = """
SELECT path FROM log_file WHERE format = :format AND path > :folder AND path < :end
  AND instr(substr(path, length(:folder) + 1), :separator) = 0 ORDER BY path LIMIT :limit
"""


class LineFinder:
    """Finds files and lines of messages. Reads each file once, and at most bytes_max of all."""

    def __init__(self, database: Database, bytes_max: int) -> None:
        self._database = database
        self._left = bytes_max
        self._contents: dict[str, bytes | None] = {}

    def placed(self, place: Place, source_id: str, message: Message, span: Span) -> Place:
        """The place with the file and the line of a message of a source. Raises nothing.

        span: the characters of the message whose line is meant, where the file has its text."""
        if place.path is None:
            return place
        if "!" in place.path and not on_disk(place.path).exists():
            is_one = str(self._database.value(_FORMAT, (source_id,))) not in _FORMATS_OF_PARTS
            return place if is_one else replace(place, path=None)
        if not is_known(place.path) or not is_text(on_disk(place.path)):
            return place
        first = self._content(place.path)
        if first is not None and (line := lines.line_by_id(message, first, span)) is not None:
            return replace(place, line=line)
        name = str(self._database.value(_FORMAT, (source_id,)))
        others = self._others(place.path, source_id, name)
        path, *others = _not_retold([place.path, *others], name) if others else [place.path]
        if others:
            return self._among([path, *others], place, message, span)
        data = self._content(path)
        line = None if data is None else lines.line_by_text(message, data, span)
        return replace(place, path=path, line=line)

    def _among(self, paths: list[str], place: Place, message: Message, span: Span) -> Place:
        """The place in that of several files which has the message's id, or alone has its text."""
        found: list[tuple[str | None, int | None]] = []
        for path in paths:
            data = self._content(path)
            if data is None:  # not read, so it cannot be ruled out
                found.append((None, None))
            elif (line := lines.line_by_id(message, data, span)) is not None:
                return replace(place, path=path, line=line)
            elif lines.has_text(message, data):
                found.append((path, lines.line_by_text(message, data, span)))
        found_path, line = found[0] if len(found) == 1 else (None, None)
        return replace(place, path=found_path, line=line)

    def _others(self, path: str, source_id: str, name: str) -> list[str]:
        """The other files that may have messages of a source. name: its format."""
        paths = list(map(Path, self._read_beside(path, source_id, name)))
        if name in COMPANION_FORMATS:
            from treemem import importers
            from treemem.importers.common.base import LogFile

            with contextlib.suppress(TreememError, OSError):
                beside = importers.by_name(name).companions(LogFile(path, Path(path)))
                paths += [file.path for file in beside if file.path is not None]
        else:  # the session's id is in each of its files
            key = source_id.partition("/")[2]
            paths = [other for other in paths if self._names(other, key)]
        real = dict.fromkeys(path.resolve() for path in paths[:_FILES_MAX])
        real.pop(Path(path).resolve(), None)
        return [str(other) for other in real if is_text(other) or not other.exists()]

    def _names(self, path: Path, key: str) -> bool:
        """Whether a file has a session's id in its name or its content."""
        name = key.partition("/")[0]
        return name in path.name or name.encode("utf-8", "replace") in (
            self._content(str(path)) or b""
        )

    def _read_beside(self, path: str, source_id: str, format_name: str) -> Iterator[str]:
        """The files that were read from the same folder, if the source may be in several."""
        if self._database.value(_READ_TWICE, (json.dumps(source_id),)) is None:
            return
        folder = str(Path(path).resolve().parent)
        separator = "\\" if "\\" in folder else "/"
        parameters = {
            "format": format_name, "folder": folder + separator, "separator": separator,
            "end": folder + chr(ord(separator) + 1), "limit": _FILES_MAX,
        }  # fmt: skip
        yield from (row[0] for row in self._database.rows(_SAME_FOLDER, parameters))

    def _content(self, path: str) -> bytes | None:
        """The bytes of a file; None if it is gone or too large."""
        if path not in self._contents:
            self._contents[path] = data = _read(on_disk(path), self._left)
            self._left -= len(data or b"")
        return self._contents[path]


def _not_retold(paths: list[str], name: str) -> list[str]:
    """Those of several files of a format that do not only tell again what another one has."""
    from treemem import importers
    from treemem.importers.common.base import LogFile

    with contextlib.suppress(TreememError, OSError):
        importer = importers.by_name(name)
        return [path for path in paths if not importer.retells(LogFile(path, on_disk(path)))]
    return paths


def is_known(path: str) -> bool:
    """Whether the path of a log is whole. Standard input and members of archives have a name; so
    have files that earlier versions read by a relative path. In the current folder that is another
    file.

    Example:
        >>> is_known("/logs/a.md"), is_known("a.md")
        (True, False)
    """
    return Path(path).is_absolute()


def on_disk(path: str) -> Path:
    """The file at a stored path. U+FFFD in it stands for a byte that is not UTF-8: of such a name,
    the only one in its folder that is stored so; else the path as it is."""
    found = Path(Path(path).anchor)
    for step in Path(path).parts[bool(found.parts) :]:
        found = _named(found, step)
    return found


def _named(folder: Path, name: str) -> Path:
    exact = folder / name
    if "\ufffd" not in name or exact.exists():
        return exact
    with contextlib.suppress(OSError):
        alike = [other for other in folder.iterdir() if storable_text(other.name)[0] == name]
        if len(alike) == 1:
            return alike[0]
    return exact


def is_text(path: Path) -> bool:
    """Whether a path leads to a text file, not to a folder, a pipe or a database.

    Example:
        >>> is_text(Path(__file__)), is_text(Path(__file__).parent)
        (True, False)
    """
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return b"\0" not in file.read(_HEAD_BYTES)
    except (OSError, ValueError):  # a path with a NUL
        return False


def _read(path: Path, bytes_max: int) -> bytes | None:
    try:
        return None if path.stat().st_size > bytes_max else path.read_bytes()
    except (OSError, ValueError):
        return None
