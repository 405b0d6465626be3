"""Recognizes a log that was renamed, moved or rotated away, and may have grown since.

A log without ids is identified by its path, so under a new path it would be stored a second time.
A file continues another one if it begins with all the content that the other had when it was last
read, and the other is no longer where it was. It then keeps the other's place, and with it its
sources. A copy that grows beside its original is a log of its own.

The closing brackets of a JSON document do not count, since a document that has grown has them
elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePath

from treemem.errors import ImportFileError
from treemem.importers import Importer
from treemem.importers.common.base import LogFile
from treemem.importers.streams.compressed import SUFFIXES
from treemem.store import log_files
from treemem.store.database import Database
from treemem.store.log_files import LogFileRow

# Content of fewer bytes proves nothing: many chats begin with the same greeting.
SIZE_BYTES_MIN = 48
# Files whose first bytes differ are not compared further.
_START_BYTES = 1_024
_CLOSING = b"]} \t\r\n\0"
_BLOCK_BYTES = 1 << 20
_DIGEST_BYTES = 16


class Continuation:
    """One reading of a file: pass its bytes to update(), then ask which file it continues.

    database: the memory file in which the earlier readings are stored.
    """

    def __init__(self, database: Database, file: LogFile, importer: Importer) -> None:
        self._database, self._importer = database, importer
        self._original = file
        self._path = file.place if _is_storable(file.place) else None
        self._rows = {row.content: row for row in self._known_rows()}
        self._content = Content(row.size_bytes for row in self._rows.values())
        self._continued: list[LogFileRow] = []
        self.file = file

    def update(self, data: bytes) -> None:
        """Takes the next bytes of the file."""
        if self._path is not None:
            self._content.update(data)

    def finish(self) -> LogFile:
        """The file, with the place of the one that it continues. Call after the last byte."""
        digests = self._content.digests
        self._continued = [
            row for row in self._rows.values() if digests.get(row.size_bytes) == row.content
        ]
        here = [row for row in self._continued if row.path == self._path]
        gone = (row for row in self._continued if row.path != self._path)
        rows = here or [row for row in gone if not _is_still_there(row, self._importer)]
        place = max(rows, key=lambda row: row.size_bytes).place if rows else self._moved_place()
        self._continued = list(rows)
        if place is not None and place != self._path:
            self.file = replace(self._original, known_place=place)
        return self.file

    def remember(self, database: Database) -> None:
        """Stores what the next readings need. Call when the messages of the file are stored."""
        start, content = self._content.start, self._content.content
        if self._path is None or content.size_bytes < SIZE_BYTES_MIN:
            return
        row = LogFileRow(
            content.digest, self._importer.name, self._path, self.file.place or self._path,
            content.size_bytes, start.digest, start.size_bytes,
        )  # fmt: skip
        same = self._rows.get(row.content)
        if same is not None and same not in self._continued:
            return  # a copy of a file that is still there
        superseded = self._continued
        if self._importer.is_document:
            superseded = [*superseded, *(r for r in self._rows.values() if r.path == self._path)]
        if row not in superseded or len(superseded) > 1:
            log_files.put(database, row, superseded)

    def _known_rows(self) -> Iterable[LogFileRow]:
        """The files that were at this path, or that begin alike."""
        if self._path is None:
            return
        name = self._importer.name
        yield from log_files.at_path(self._database, name, self._path)
        with self._original.open() as stream:
            beginning = stream.read(_START_BYTES)
        starts = [
            (size_bytes, _digest(beginning[:size_bytes]))
            for size_bytes in log_files.start_sizes(self._database)
            if size_bytes <= len(beginning)
        ]
        if starts:
            yield from log_files.with_starts(self._database, name, starts)

    def _moved_place(self) -> str | None:
        """The place of a new file in a folder that was moved, of a format whose sources extend
        over the files of a folder."""
        if self._path is None or not self._importer.spans_files:
            return None
        name = self._original.name
        folder = self._path.removesuffix(name)
        if not folder.endswith(("/", "\\")):
            return None
        for moved in log_files.moved_below(self._database, self._importer.name, folder):
            place = str(PurePath(moved.place).with_name(name))
            is_near = str(PurePath(moved.path).with_name(name)) == self._path
            if is_near and place != self._path and not _exists(Path(place)):
                return place
        return None


class _Piece:
    """A digest of the first bytes of a file."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._state = hashlib.blake2b(digest_size=_DIGEST_BYTES)

    def update(self, data: bytes) -> None:
        self._state.update(data)
        self.size_bytes += len(data)

    @property
    def digest(self) -> str:
        return self._state.hexdigest()


class Content:
    """The digests of a file's content, at its end and at the sizes of known files.

    content, start: without the closing brackets and blanks at the end.
    """

    def __init__(self, sizes: Iterable[int]) -> None:
        self.digests: dict[int, str] = {}
        self.content, self.start = _Piece(), _Piece()
        self._all = _Piece()
        self._sizes = sorted(set(sizes), reverse=True)
        self._closing = b""

    def update(self, data: bytes) -> None:
        self._note_sizes(data)
        data = self._closing + data
        kept = data.rstrip(_CLOSING)
        self._closing = data[len(kept) :]
        self.start.update(kept[: _START_BYTES - self.start.size_bytes])
        self.content.update(kept)

    def _note_sizes(self, data: bytes) -> None:
        """Notes the digest wherever a known file ended."""
        while self._sizes and self._sizes[-1] <= self._all.size_bytes + len(data):
            size_bytes = self._sizes.pop()
            piece, data = _split(data, size_bytes - self._all.size_bytes)
            self._all.update(piece)
            self.digests[size_bytes] = self._all.digest
        self._all.update(data)


def _split(data: bytes, at: int) -> tuple[bytes, bytes]:
    return data[:at], data[at:]


def _digest(data: bytes) -> str:
    piece = _Piece()
    piece.update(data)
    return piece.digest


def _is_storable(place: str | None) -> bool:
    """Whether a path can be stored as text; a name that is not UTF-8 cannot."""
    try:
        return place is not None and bool(place.encode())
    except UnicodeEncodeError:
        return False


def _is_still_there(row: LogFileRow, importer: Importer) -> bool:
    """Whether a file is where it was: it begins as it did, or it cannot be read.

    A document that has changed is still there, since its content need not begin as before.
    """
    archive = row.path.partition("!")[0]
    if archive != row.path and _exists(Path(archive)):
        return True
    for path in (Path(row.path), *(Path(row.path + suffix) for suffix in SUFFIXES)):
        if _exists(path) and (importer.is_document or _begins_with(path, row)):
            return True
    return False


def _begins_with(path: Path, row: LogFileRow) -> bool:
    piece = _Piece()
    try:
        with LogFile(str(path), path).open() as stream:
            while (left := row.size_bytes - piece.size_bytes) > 0:
                if not (data := stream.read(min(left, _BLOCK_BYTES))):
                    return False
                piece.update(data)
    except (ImportFileError, OSError):
        return True
    return piece.digest == row.content


def _exists(path: Path) -> bool:
    """Whether there is a file; True if permissions prevent the check."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True
