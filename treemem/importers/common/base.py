"""Defines an importer: a name, a way to recognize its files, and a stream of events.

An importer never writes. It turns a file into Source, Message and Skipped events in file order, and
holds one record at a time in memory. Every record is accounted for by a Message or a Skipped, so
that the counts of the ingest report add up.

Tested in tests/importers/common/test_archives.py and tests/importers/test_detection.py.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import BinaryIO

from treemem.errors import ImportFileError
from treemem.importers.streams import compressed, utf16
from treemem.importers.streams.heads import HEAD_BYTES, Head, read_head
from treemem.reports import Skipped
from treemem.types import Message, Source

# Buffer size in bytes. With the default of 8 KiB, every fourth record of a log needs a system call.
_BUFFER_BYTES = 131_072

_FULL_DISK_ACCESS = (
    " macOS may keep it from this program: allow your terminal Full Disk Access in System Settings,"
    " Privacy & Security."
)

__all__ = ["HEAD_BYTES", "Event", "ForkedSource", "Importer", "LogFile", "PartialSource", "Skipped"]

Event = Source | Message | Skipped


@dataclass(frozen=True, slots=True)
class ForkedSource(Source):
    """A session whose log begins with the records of another one, under the time of the fork.

    forked_from: the id of the other source. If it is stored first, its messages have their times.
    """

    forked_from: str = ""


@dataclass(frozen=True, slots=True)
class PartialSource(Source):
    """A part of what a session's own log has, as in a list of all prompts.

    whole: the id of the session's source. If it is stored or forgotten, nothing of this is stored.
    """

    whole: str = ""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file to import, which can be opened repeatedly.

    label: the path as the user gave it, for reports. path: None for standard input, an archive
    member or bytes in memory; then the bytes are in data or in the file spool. found: whether the
    user named a folder or an archive that contains it instead of the file itself. known_place: the
    place of the file before it was renamed or moved, by which its sources are named. grown: the
    caller has read this file before and has seen it grow since. opened: called with each stream of
    the file's stored bytes, whose position says how far a reading is.
    """

    label: str
    path: Path | None = None
    data: bytes | None = None
    spool: Path | None = None
    found: bool = False
    known_place: str | None = None
    grown: bool = False
    opened: Callable[[BinaryIO], object] | None = field(default=None, compare=False, repr=False)

    def open(self) -> BinaryIO:
        """Opens the file for reading, decompressed and in UTF-8 if it is text in UTF-16. Raises
        ImportFileError if that fails."""
        stream = self.open_encoded()
        start = stream.read(utf16.START_BYTES)
        stream.seek(0)
        encoding = utf16.encoding_of(start)
        return stream if encoding is None else utf16.recoded(stream, *encoding)

    def open_encoded(self) -> BinaryIO:
        """Opens the file for reading, decompressed, in its own encoding."""
        stream = self._open_stored()
        start = stream.read(compressed.START_BYTES)
        stream.seek(0)
        method = compressed.method_of(start)
        if method is None:
            return stream
        return compressed.decompressed(stream, method, self.label)

    def _open_stored(self) -> BinaryIO:
        """Opens the bytes as they are stored."""
        stored = self.path or self.spool
        if stored is None:
            return io.BytesIO(self.data or b"")
        try:
            stream = stored.open("rb", buffering=_BUFFER_BYTES)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            advice = _FULL_DISK_ACCESS if _is_kept_by_macos(error) else ""
            raise ImportFileError(f"{self.label} cannot be read: {reason}.{advice}") from error
        if self.opened is not None:
            self.opened(stream)
        return stream

    def head(self, head_bytes: int = HEAD_BYTES) -> Head:
        """The beginning of the file, for format detection; in JSON with shortened strings."""
        with self.open() as stream:
            return read_head(stream, head_bytes)

    @property
    def size_bytes(self) -> int:
        """The size of the file; of a compressed one, that of its content, which is counted."""
        if self.is_compressed:
            with self.open_encoded() as stream:
                return stream.seek(0, 2)
        stored = self.path or self.spool
        return len(self.data or b"") if stored is None else stored.stat().st_size

    @property
    def is_compressed(self) -> bool:
        """Whether its first bytes are those of a compressed file."""
        with self._open_stored() as stream:
            return compressed.method_of(stream.read(compressed.START_BYTES)) is not None

    @property
    def place(self) -> str | None:
        """Identifies the file on this machine; None for bytes without a path. A compressed file
        has the place that it had before, unless there is another file now."""
        if self.known_place is not None or self.path is None:
            return self.known_place
        path = self.path.resolve()
        plain = path.with_name(self._plain_name(path.name))
        return str(path if plain != path and plain.exists() else plain)

    @property
    def name(self) -> str:
        """The file's name, without the suffix of a compressed file."""
        if self.known_place is not None:
            return PurePath(self.known_place).name
        return self._plain_name((self.path or PurePosixPath(self.label)).name)

    def _plain_name(self, name: str) -> str:
        plain = compressed.plain_name(name)
        if plain == name:
            return name
        try:
            return plain if self.is_compressed else name
        except (ImportFileError, OSError):  # reading it reports the reason
            return name

    @property
    def stem(self) -> str:
        """The name without its last suffix; "stdin" if it has none."""
        return PurePosixPath(self.name).stem or "stdin"

    @property
    def suffix(self) -> str:
        """The last suffix of the name in lower case, such as ".jsonl"; "" without one."""
        return PurePosixPath(self.name).suffix.lower()

    @property
    def folder(self) -> str:
        """The name of the folder that contains it; "" for bytes without a path."""
        if self.known_place is not None:
            return PurePath(self.known_place).parent.name
        return "" if self.path is None else self.path.resolve().parent.name

    def neighbour(self, *steps: str) -> LogFile | None:
        """The file at a relative path from this file's folder; each step is ".." or a name.

        Returns None if there is no such file, or if a step contains a separator, since names may
        come from a log.
        """
        if self.path is None or not are_plain(steps):
            return None
        # Subtle: not resolved, so that a symlink's neighbours are those in the link's folder.
        path = Path(os.path.normpath(self.path.parent.joinpath(*steps)))
        if not path.is_file():
            return None
        return LogFile(str(path), path, found=True)

    def neighbours(self, *steps: str) -> list[LogFile]:
        """The files of the folder at a relative path, sorted by name."""
        if self.path is None or not are_plain(steps):
            return []
        folder = Path(os.path.normpath(self.path.parent.joinpath(*steps)))
        if not folder.is_dir():
            return []
        return [LogFile(str(path), path, found=True) for path in sorted(folder.iterdir())
                if path.is_file()]  # fmt: skip

    def names_below(self, *steps: str) -> list[str]:
        """The names of the files at any depth below the folder at a relative path."""
        if self.path is None or not are_plain(steps):
            return []
        folder = Path(os.path.normpath(self.path.parent.joinpath(*steps)))
        return [name for _, _, names in os.walk(folder) for name in names]

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Yields a path for readers that need one; a temporary copy if the file has none."""
        stored = self.path or self.spool
        if stored is not None and not self.is_compressed:
            yield stored
            return
        with tempfile.TemporaryDirectory(prefix="treemem-") as folder:
            copy = Path(folder) / "copy"
            with self.open_encoded() as stream, copy.open("wb") as target:
                shutil.copyfileobj(stream, target)
            yield copy


def _is_kept_by_macos(error: OSError) -> bool:
    """Whether macOS may have refused a file to every program that the user has not allowed it."""
    return str(sys.platform) == "darwin" and isinstance(error, PermissionError)


def are_plain(steps: Iterable[str]) -> bool:
    """Whether each step is ".." or a plain name without separators."""
    return all(step not in ("", ".") and not set("/\\\0") & set(step) for step in steps)


class Importer(ABC):
    """Reads one log format.

    name: the value of --format and the prefix of source ids. version: increased when the same bytes
    yield different messages. kept, dropped: short lists of the content that is imported and
    ignored. places: glob patterns below the home folder for the tool's logs; empty if the tool has
    no fixed place; those of treemem's own are in formats/table.py. beside: patterns for the files
    read together with those. is_document: the file is rewritten as a whole, so its sources are
    snapshots. spans_files: a source is named after the folder and continues over its files. marks:
    the keys that one kind of its records has, or its tables or the columns of one; they name the
    format that an unknown file is nearest to.
    """

    name: str
    version: int
    description: str
    kept: str
    dropped: str
    places: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    is_document: bool = False
    spans_files: bool = False
    marks: tuple[tuple[str, ...], ...] = ()

    @abstractmethod
    def recognizes(self, file: LogFile, head: bytes) -> float:
        """Scores, from 0 (no) to 1 (certain), whether the file has this format."""

    @abstractmethod
    def read(self, file: LogFile) -> Iterator[Event]:
        """Yields the file's events in order. Raises ImportFileError if it cannot be read."""

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """Other files that read() depends on; a change in one causes the file to be read again."""
        del file
        return ()

    def more_places(self, environ: Mapping[str, str], home: Path) -> Iterable[tuple[Path, str]]:
        """Folders of the tool's logs that are nowhere fixed, since the tool keeps a list of them,
        each with a glob pattern below it."""
        del environ, home
        return ()

    def needs(self) -> tuple[str, str] | None:
        """If a package is missing without which none of its files can be read: what the files are,
        and the command that installs it."""
        return None

    def needs_of(self, name: str) -> tuple[str, str] | None:
        """The same of a file with this name: what such files are, and the command, or a sentence on
        what to do."""
        del name
        return self.needs()

    def retells(self, file: LogFile) -> bool:
        """Whether the file only tells again what a file beside it has, so no message is from it."""
        del file
        return False
