"""Reads on a log that has grown at its end, from the last mark in it.

What stands before the end of the last reading must be as it was. All of it is compared, by hashes
of its blocks, or for a log that a watcher has read and seen to grow, its beginning, its end, and
some blocks in between, which are others each time. What is stored of a mark is stored when the
messages before it are, never earlier, and the hashes are those of bytes that were read before the
messages were: so a log that is changed at any time is read from its start.

Tested in tests/ingest/test_growth.py.
"""

from __future__ import annotations

import hashlib
import json
import random
from array import array
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

from treemem import importers
from treemem.errors import TreememError
from treemem.importers import Importer
from treemem.importers.common.base import LogFile
from treemem.importers.streams import compressed, utf16
from treemem.importers.streams.marks import GrowingImporter, Mark
from treemem.privacy.policy import Redaction
from treemem.reports import FileReport
from treemem.store import json_text, log_files
from treemem.store.database import Database
from treemem.store.log_files import MarkRow

# A smaller log is read from its start: that takes less time than to find out what is known of it.
SIZE_BYTES_MIN = 65_536
_BLOCK_BYTES = 1 << 20
_HASH_BYTES = 16
# How many blocks between the first and the last two are compared of a log that is read repeatedly.
_SAMPLED_BLOCKS = 6
# A log that has grown by this factor is hashed as a whole, so that it is recognized if it is moved.
_GROWTH_MAX = 1.25
# Files of more sources and branches, such as collections of chats, are read from their start.
_THINGS_MAX = 200
# The marks of logs that did not change for so long are forgotten: most are of finished sessions.
_KEPT_MS = 30 * 24 * 3600 * 1_000


@dataclass(slots=True)
class Before:
    """What one reading of a log found before its mark.

    messages: their number; the other counts are those of the report. own_calls: the sources with
    messages, and whether each holds treemem's own model calls. last_ids: the id of the last message
    of each source. ends: the records that end sources, as in Skipped.end.
    """

    sources: list[str] = field(default_factory=list)
    records: int = 0
    messages: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    own_calls: dict[str, bool] = field(default_factory=dict)
    last_ids: dict[str, str] = field(default_factory=dict)
    ends: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, report: FileReport) -> Before:
        """What a report says of the records so far, whose messages are perhaps not stored yet."""
        skipped = sum(report.skipped.values())
        return cls(
            list(report.sources), report.records, report.records - skipped, dict(report.skipped),
            list(report.problems), report.problem_count,
        )  # fmt: skip

    def fill_in(self, report: FileReport) -> None:
        """Counts these records in a new report; their messages are known."""
        report.sources, report.records, report.known = (
            list(self.sources),
            self.records,
            self.messages,
        )
        report.skipped, report.problems = dict(self.skipped), list(self.problems)
        report.problem_count = self.problem_count


class Hashes:
    """The hashes of the blocks of a file, of which the last may be shorter. Takes it in pieces."""

    def __init__(self, hashes: bytes = b"") -> None:
        self._whole = bytearray(hashes)
        self._block = hashlib.blake2b(digest_size=_HASH_BYTES)
        self._block_bytes = 0

    @property
    def size_bytes(self) -> int:
        return len(self._whole) // _HASH_BYTES * _BLOCK_BYTES + self._block_bytes

    @property
    def value(self) -> bytes:
        """The hashes of all blocks, one after the other."""
        return bytes(self._whole) + (self._block.digest() if self._block_bytes else b"")

    def update(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            piece = view[: _BLOCK_BYTES - self._block_bytes]
            self._block.update(piece)
            self._block_bytes += len(piece)
            view = view[len(piece) :]
            if self._block_bytes == _BLOCK_BYTES:
                self._whole += self._block.digest()
                self._block = hashlib.blake2b(digest_size=_HASH_BYTES)
                self._block_bytes = 0


class Seen:
    """The keys that stand before a mark, loaded when they are first needed."""

    def __init__(self, database: Database, path: str) -> None:
        self._database, self._path = database, path

    @cached_property
    def _counts(self) -> Counter[int]:
        keys = array("q")
        for _, data in log_files.mark_keys(self._database, self._path):
            keys.frombytes(data)
        return Counter(keys)

    def __contains__(self, key: object) -> bool:
        return key in self._counts

    def count(self, key: int) -> int:
        """How often the key was noted."""
        return self._counts[key]


class KnownLog(NamedTuple):
    """A log whose beginning is known. hashes: of all its blocks. hashed_bytes: its size when it
    was last hashed as a whole. is_unchanged: nothing is new.
    is_much_larger: it should be hashed as a whole."""

    file: LogFile
    importer: GrowingImporter
    mark: Mark
    seen: Seen
    before: Before
    at_end: Before
    hashes: Hashes
    hashed_bytes: int
    is_unchanged: bool
    is_much_larger: bool


def known_log(
    database: Database, file: LogFile, named: Importer | None, reading: str
) -> KnownLog | None:
    """Returns what is known of a log, or None if it has to be read from its start.

    named: the importer that reads it; None for the one that its format has. reading: how messages
    are read. Of a file that has been seen to grow, only some of the known blocks are compared.
    """
    path = _path_of(file)
    row = None if path is None else log_files.mark_at(database, path)
    if row is None or path is None or file.path is None:
        return None
    importer = _importer_of(row, named)
    if importer is None or row.reading != _reading_of(importer, reading):
        return None
    with file.path.open("rb") as stream:
        hashes = _compared(stream, row, is_sampled=file.grown)
    state = json_text.object_of(row.state)
    if hashes is None or not state:
        return None
    mark = Mark(row.offset, row.line, state["importer"])
    before, at_end = Before(**state["before"]), Before(**state["at_end"])
    return KnownLog(
        file if row.place == path else replace(file, known_place=row.place),
        importer, mark, Seen(database, path), before, at_end, hashes, row.hashed_bytes,
        hashes.size_bytes == row.size_bytes, hashes.size_bytes > row.hashed_bytes * _GROWTH_MAX,
    )  # fmt: skip


def _importer_of(row: MarkRow, named: Importer | None) -> GrowingImporter | None:
    try:
        importer = importers.by_name(row.format)
    except TreememError:
        return None
    is_other = named is not None and named is not importer
    return importer if isinstance(importer, GrowingImporter) and not is_other else None


def _reading_of(importer: Importer, reading: str) -> str:
    words = f"{importer.name}/{importer.version} {reading}"  # of these, some may be secrets
    return hashlib.blake2b(words.encode(), digest_size=_HASH_BYTES).hexdigest()


def _path_of(file: LogFile) -> str | None:
    """The path by which a log's mark is stored; None for one that cannot be read on."""
    path = None if file.path is None else str(file.path.resolve())
    try:
        return path if path is None or path.encode() else None
    except UnicodeEncodeError:  # it cannot be stored as text
        return None


def _compared(stream: BinaryIO, row: MarkRow, *, is_sampled: bool) -> Hashes | None:
    """The hashes of all blocks of a file, or None if its known bytes have changed."""
    whole = row.size_bytes // _BLOCK_BYTES
    numbers = set(range(whole))
    if is_sampled and whole > _SAMPLED_BLOCKS + 2:
        chosen = random.Random(row.size_bytes).sample(range(1, whole - 1), _SAMPLED_BLOCKS)
        numbers = {0, whole - 1, *chosen}
    for number in sorted(numbers):
        stream.seek(number * _BLOCK_BYTES)
        if _hash(stream.read(_BLOCK_BYTES)) != _hash_in(row, number):
            return None
    hashes = Hashes(row.hashes[: whole * _HASH_BYTES])
    stream.seek(whole * _BLOCK_BYTES)
    rest = stream.read(row.size_bytes - whole * _BLOCK_BYTES)
    if rest and _hash(rest) != _hash_in(row, whole):
        return None
    hashes.update(rest)
    if hashes.size_bytes != row.size_bytes:
        return None
    while data := stream.read(_BLOCK_BYTES):
        hashes.update(data)
    return hashes


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_HASH_BYTES).digest()


def _hash_in(row: MarkRow, number: int) -> bytes:
    return row.hashes[number * _HASH_BYTES : (number + 1) * _HASH_BYTES]


class MarkKeeper:
    """Keeps the mark of one reading. known: what was known of the log; None if it is read from its
    start. hashes: of its blocks, taken before that."""

    def __init__(
        self, importer: Importer, reading: str, hashes: Hashes, known: KnownLog | None
    ) -> None:
        self._importer, self._reading = importer, _reading_of(importer, reading)
        self._hashes, self._known = hashes, known
        self._mark = None if known is None else known.mark
        self._before = None if known is None else known.before
        self._keys = array("q")

    def take(self, mark: Mark, before: Before, keys: array[int]) -> None:
        """Takes the mark of the reading. keys: of the messages between the mark before and it."""
        things = len(before.sources) + len(before.ends)
        if mark.offset <= self._hashes.size_bytes and things <= _THINGS_MAX:
            self._mark, self._before, self._keys = mark, before, mark.keys + keys

    def store(
        self, database: Database, file: LogFile, at_end: Before, redaction: Redaction, now_ms: int
    ) -> None:
        """Stores the mark, in the transaction that records the log as read."""
        path = _path_of(file)
        if path is None or file.path is None or not isinstance(self._importer, GrowingImporter):
            return
        row = self._row(path, file.path, file.place or path, at_end)
        is_recent = row is not None and row.modified_ms > now_ms - _KEPT_MS
        # The state has texts of the log, such as paths, which are used as they are.
        if row is None or not is_recent or redaction.text(row.state) != row.state:
            log_files.forget_mark(database, path)
            return
        log_files.forget_marks(database, before_ms=now_ms - _KEPT_MS)
        log_files.put_mark(database, row, self._keys.tobytes(), goes_on=self._known is not None)

    def _row(self, path: str, real: Path, place: str, at_end: Before) -> MarkRow | None:
        mark, size_bytes = self._mark, self._hashes.size_bytes
        if (
            mark is None
            or self._before is None
            or size_bytes < SIZE_BYTES_MIN
            or not _is_plain(real)
        ):
            return None
        known = self._known
        was_hashed = known is not None and not known.is_much_larger
        state = {"importer": mark.state, "before": asdict(self._before), "at_end": asdict(at_end)}
        return MarkRow(
            path, self._importer.name, self._reading, place,
            known.hashed_bytes if known is not None and was_hashed else size_bytes,
            size_bytes, real.stat().st_mtime_ns // 1_000_000, mark.offset, mark.line,
            self._hashes.value, json.dumps(state),
        )  # fmt: skip


def _is_plain(path: Path) -> bool:
    """Whether a file's bytes are read as they are stored."""
    with path.open("rb") as stream:
        start = stream.read(max(utf16.START_BYTES, compressed.START_BYTES))
    return compressed.method_of(start) is None and utf16.encoding_of(start) is None
