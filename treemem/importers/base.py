"""What an importer is: a name, a way to recognize its files, and a stream of events.

An importer never writes: it turns one file into Source, Message and Skipped events, in
the file's own order, holding no more of the file in memory than one record at a time.
Every record that it reads ends in exactly one event, so that the ingest report balances.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from treemem.errors import ImportFileError
from treemem.model import Message, Source

HEAD_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Skipped:
    """One record that became no message, and why.

    reason: a short stable phrase, the key under which the report counts it.
    line: 1-based, or None where lines mean nothing. problem: True for damage that the user
    should hear of, False for records that are no messages by design. detail: what exactly
    was found, for the report; never more than a line.
    """

    reason: str
    line: int | None = None
    problem: bool = False
    detail: str | None = None


Event = Source | Message | Skipped


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file to import, readable as often as the importer likes.

    label: the path as the user gave it, for reports. path: None where the bytes came from
    standard input or memory; then data holds them, or the file spool does.
    """

    label: str
    path: Path | None = None
    data: bytes | None = None
    spool: Path | None = None

    def open(self) -> BinaryIO:
        """The bytes from the beginning. Raises ImportFileError if the file cannot be opened."""
        held = self.path or self.spool
        if held is None:
            return io.BytesIO(self.data or b"")
        try:
            return held.open("rb")
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ImportFileError(f"{self.label} cannot be read: {reason}.") from error

    def head(self) -> bytes:
        """The first 64 KiB, for format detection."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    @property
    def stem(self) -> str:
        return self.path.stem if self.path is not None else Path(self.label).stem or "stdin"

    @property
    def suffix(self) -> str:
        return (self.path or Path(self.label)).suffix.lower()


class Importer(Protocol):
    """One log format.

    name is what --format takes and what the source ids begin with; version counts up when
    the same bytes would yield other messages. recognizes returns how sure it is that the
    file is of its format, 0 (no) to 1 (certain), from the head alone.
    """

    name: str
    version: int
    description: str

    def recognizes(self, file: LogFile, head: bytes) -> float: ...

    def read(self, file: LogFile) -> Iterator[Event]: ...
