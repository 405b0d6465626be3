"""What an importer is: a name, a way to recognize its files, and a stream of events.

An importer never writes: it turns one file into Source, Message and Skipped events, in
the file's own order, holding no more of the file in memory than one record at a time.
Every record that it reads ends in exactly one event, so that the ingest report balances.
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
# With the usual 8 KiB every fourth record of a log would wait for the system.
_BUFFER_BYTES = 131_072

__all__ = ["HEAD_BYTES", "Event", "Importer", "LogFile", "Skipped"]

Event = Source | Message | Skipped


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file to import, readable as often as the importer likes.

    label: the path as the user gave it, for reports. path: None where the bytes came from
    standard input, an archive or memory; then data holds them, or the file spool does.
    found: the user named a folder or an archive that holds it, not the file itself.
    """

    label: str
    path: Path | None = None
    data: bytes | None = None
    spool: Path | None = None
    found: bool = False

    def open(self) -> BinaryIO:
        """The bytes from the beginning. Raises ImportFileError if the file cannot be opened."""
        held = self.path or self.spool
        if held is None:
            return io.BytesIO(self.data or b"")
        try:
            return held.open("rb", buffering=_BUFFER_BYTES)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ImportFileError(f"{self.label} cannot be read: {reason}.") from error

    def head(self) -> bytes:
        """The first 64 KiB, for format detection."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    @property
    def size_bytes(self) -> int:
        held = self.path or self.spool
        return len(self.data or b"") if held is None else held.stat().st_size

    @property
    def place(self) -> str | None:
        """What tells it from every other file, on this machine; None for bytes without a place."""
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
        """The name of the folder it lies in; "" for bytes without a place."""
        return "" if self.path is None else self.path.resolve().parent.name

    def neighbour(self, *steps: str) -> LogFile | None:
        """The file that is reached from this one's folder by steps: ".." or a name each.

        None if there is no such file. A name may come from a log: one that is no plain name
        leads nowhere.
        """
        if self.path is None or not are_plain(steps):
            return None
        # Subtle: not resolved, so that a link to one file does not lead out of its folder.
        path = Path(os.path.normpath(self.path.parent.joinpath(*steps)))
        if not path.is_file():
            return None
        return LogFile(str(path), path, found=True)

    def neighbours(self, *steps: str) -> list[LogFile]:
        """The files of the folder that is reached by steps, in the order of their names."""
        if self.path is None or not are_plain(steps):
            return []
        folder = Path(os.path.normpath(self.path.parent.joinpath(*steps)))
        if not folder.is_dir():
            return []
        return [LogFile(str(path), path, found=True) for path in sorted(folder.iterdir())
                if path.is_file()]  # fmt: skip

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """A path that holds its bytes, for readers that need one; a copy where there is none."""
        held = self.path or self.spool
        if held is not None:
            yield held
            return
        with tempfile.TemporaryDirectory(prefix="treemem-") as folder:
            copy = Path(folder) / "copy"
            with self.open() as stream, copy.open("wb") as target:
                shutil.copyfileobj(stream, target)
            yield copy


def are_plain(steps: Iterable[str]) -> bool:
    """Whether each step is ".." or a name, none of them a path of its own."""
    return all(step not in ("", ".") and not set("/\\\0") & set(step) for step in steps)


class Importer(ABC):
    """One log format.

    name is what --format takes and what the source ids begin with; version counts up when
    the same bytes would yield other messages. kept and dropped say in a few words what
    becomes of a file's content. places: where the tool keeps its logs, as patterns below the
    home folder, "/" between the steps; empty for what has no place of its own. beside: where it
    keeps what is read together with those, if that is most of it. is_document: a file is written
    anew as a whole, and its sources are snapshots.
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
        """How sure it is that the file is of its format, 0 (no) to 1, from the head alone."""

    @abstractmethod
    def read(self, file: LogFile) -> Iterator[Event]:
        """The file's events in its own order. Raises ImportFileError for what cannot be read."""

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """Other files that read(file) depends on: if one changed, the file is read again."""
        del file
        return ()
