"""Defines places in a log from which it can be read on when it has grown at its end.

A mark stands before a record, and says what the importer has to know of everything before it. From
there on the log is read again: the last records, which new ones may complete or belong to, and the
new ones. If a new record belongs to one before the mark, or could, the whole log is read.

Tested in tests/ingest/test_growth.py.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.records import Record, read_records

# A mark has so many records behind it, or fewer of so many bytes together, if there is a place for
# it, and never more than the last number: what new records refer to is mostly this near.
_RECORDS_MIN = 50
_LARGE_RECORDS_MIN, _LARGE_BYTES = 5, 65_536
RECORDS_MAX = 2_000


class Counts(Protocol):
    """The keys that stand before a mark, and how often each was noted."""

    def __contains__(self, key: object, /) -> bool: ...

    def count(self, key: int, /) -> int: ...


NO_COUNTS: Counts = ()


class ReadWholeError(Exception):
    """A log cannot be read on from its mark: a new record may belong to one before it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place before a record, on a line of its own.

    offset: of the line, in bytes. line: how many lines are before it. state: what the importer has
    to know of the records before it, as JSON; always small. keys: hashes of the ids of the records
    between the mark before this one and this one, as key_of gives them.
    """

    offset: int
    line: int
    state: dict[str, Any]
    keys: array[int] = field(default_factory=lambda: array("q"))


class GrowingImporter(Importer):
    """Reads logs to which their tool only appends, so that only what is new has to be read."""

    def read(self, file: LogFile) -> Iterator[Event]:
        return (event for event in self.read_on(file) if not isinstance(event, Mark))

    @abstractmethod
    def read_on(
        self, file: LogFile, since: Mark | None = None, seen: Counts = NO_COUNTS
    ) -> Iterator[Event | Mark]:
        """Yields what read() does, and at most one mark, at its place.

        since: the mark from which to read; None to read the whole file. seen: the keys of all marks
        up to that one. The events are those that read() would yield from there on. Raises
        ReadWholeError before the first event if they cannot be told.
        """


def is_far_enough(records: int, size_bytes: int) -> bool:
    """Whether a mark with so many records behind it, of so many bytes, need not be farther back."""
    is_large = records >= _LARGE_RECORDS_MIN and size_bytes >= _LARGE_BYTES
    return records >= _RECORDS_MIN or is_large


def place_of_mark(
    lines: Sequence[int],
    ends: Sequence[int],
    lowest: Sequence[int],
    may_stand: Callable[[int], bool],
) -> int:
    """The ordinal of the record before which a mark is put; -1 if there is none.

    No record behind that one refers to one before it. lines, ends: the line of each record, and
    the offset after it. lowest: the first record that each one refers to, -1 for none. may_stand:
    whether a mark may be before a record that is alone on its line.
    """
    last, reached, place = len(lines) - 1, len(lines), -1
    for ordinal in range(last, max(0, last - RECORDS_MAX), -1):
        line = lines[ordinal]
        is_alone = ordinal == last or lines[ordinal + 1] > line
        is_alone = is_alone and lines[ordinal - 1] == line - 1
        if reached >= ordinal and is_alone and may_stand(ordinal):
            place = ordinal
            if is_far_enough(last - ordinal, ends[last] - ends[ordinal]):
                break
        if lowest[ordinal] != -1:
            reached = min(reached, lowest[ordinal])
    return place


def key_of(text: str) -> int:
    """A 64-bit hash of an id, the same in every process.

    Example:
        >>> key_of("msg_1") == key_of("msg_1"), key_of("msg_1") == key_of("msg_2")
        (True, False)
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def marked_records(
    file: LogFile,
    parse: Callable[[bytes], object],
    since: Mark | None = None,
    ends: array[int] | None = None,
) -> Iterator[Record | Skipped]:
    """The records of a file of JSON Lines from a mark on. ends: gets the offset after the line of
    each of them."""
    with file.open() as stream:
        if since is not None:
            stream.seek(since.offset)
        items = read_records(stream, parse, lines_before=0 if since is None else since.line)
        if ends is None:
            yield from items
            return
        for item in items:
            ends.append(stream.tell())
            yield item
