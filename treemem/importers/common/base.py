"""Defines an importer: a name, a way to recognize its files, and a stream of events.

An importer never writes. It turns one file into Source, Message and Skipped events in the order of
the file and holds one record at a time in memory. Every record ends in exactly one event, so that
the counts of the ingest report add up.

Tested in tests/importers/common/test_archives.py and tests/importers/test_detection.py.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from treemem.errors import ImportFileError
from treemem.reports import Skipped
from treemem.types import Message, Source

HEAD_BYTES = 65_536
# Bytes read at once. With the default of 8 KiB every fourth record of a log needs a system call.
_BUFFER_BYTES = 131_072

__all__ = ["HEAD_BYTES", "Event", "Importer", "LogFile", "Skipped"]

Event = Source | Message | Skipped


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file to import, which can be opened repeatedly.

    label: the path as the user gave it, for reports. path: None for standard input, an archive
    member or bytes in memory; then the bytes are in data or in the file spool. found: the user
    named a folder or an archive that contains it, not the file itself.
    """

    label: str
    path: Path | None = None
    data: bytes | None = None
    spool: Path | None = None
    found: bool = False

    def open(self) -> BinaryIO:
        """Opens the file at its beginning. Raises ImportFileError if it cannot be opened."""
        stored = self.path or self.spool
        if stored is None:
            return io.BytesIO(self.data or b"")
        try:
            return stored.open("rb", buffering=_BUFFER_BYTES)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ImportFileError(f"{self.label} cannot be read: {reason}.") from error

    def head(self) -> bytes:
        """The first 64 KiB, for format detection."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    @property
    def size_bytes(self) -> int:
        stored = self.path or self.spool
        return len(self.data or b"") if stored is None else stored.stat().st_size

    @property
    def place(self) -> str | None:
        """Identifies the file on this machine; None for bytes without a path."""
        return None if self.path is None else str(self.path.resolve())

    @property
    def name(self) -> str:
        return (self.path or PurePosixPath(self.label)).name

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem or "stdin"

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix.lower()

    @property
    def folder(self) -> str:
        """The name of its folder; "" for bytes without a path."""
        return "" if self.path is None else self.path.resolve().parent.name

    def neighbour(self, *steps: str) -> LogFile | None:
        """The file reached from this file's folder by steps, each of them ".." or a name.

        None if there is no such file. Names may come from a log, so a step that contains a
        separator is refused.
        """
        if self.path is None or not are_plain(steps):
            return None
        # Subtle: not resolved, so that a symlink to one file does not lead out of its folder.
        path = Path(os.path.normpath(self.path.parent.joinpath(*steps)))
        if not path.is_file():
            return None
        return LogFile(str(path), path, found=True)

    def neighbours(self, *steps: str) -> list[LogFile]:
        """The files of the folder reached by steps, in the order of their names."""
        if self.path is None or not are_plain(steps):
            return []
        folder = Path(os.path.normpath(self.path.parent.joinpath(*steps)))
        if not folder.is_dir():
            return []
        return [LogFile(str(path), path, found=True) for path in sorted(folder.iterdir())
                if path.is_file()]  # fmt: skip

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """A path with its bytes, for readers that need one; a temporary copy if there is none."""
        stored = self.path or self.spool
        if stored is not None:
            yield stored
            return
        with tempfile.TemporaryDirectory(prefix="treemem-") as folder:
            copy = Path(folder) / "copy"
            with self.open() as stream, copy.open("wb") as target:
                shutil.copyfileobj(stream, target)
            yield copy


def are_plain(steps: Iterable[str]) -> bool:
    """Whether each step is ".." or a plain name without separators."""
    return all(step not in ("", ".") and not set("/\\\0") & set(step) for step in steps)


class Importer(ABC):
    """Reads one log format.

    name: the value of --format and the prefix of source ids. version: increased when the same bytes
    would yield other messages. kept, dropped: short lists of the content that is imported and
    ignored. places: glob patterns below the home folder for the tool's logs; empty if the tool has
    no fixed place. beside: patterns for files that are read together with those. is_document: the
    file is rewritten as a whole, so its sources are snapshots.
    """

    name: str
    version: int
    description: str
    kept: str
    dropped: str
    places: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    is_document: bool = False

    @abstractmethod
    def recognizes(self, file: LogFile, head: bytes) -> float:
        """Returns how certain it is, from 0 (no) to 1, that the file has this format."""

    @abstractmethod
    def read(self, file: LogFile) -> Iterator[Event]:
        """Yields the file's events in order. Raises ImportFileError if the file cannot be read."""

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """Other files that read() depends on: if one of them changes, the file is read again."""
        del file
        return ()
