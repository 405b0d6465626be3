"""Keeps the last long message that was read, since each of its leaves needs a stretch of its text.

A message of 31 MB has some thousand leaves. Reading and decoding it for each of them would take
time that grows with the square of its length.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from weakref import WeakKeyDictionary

from treemem.store.database import Database
from treemem.types import Message, Part

# Characters of a message that is worth keeping: it has a dozen leaves or more.
LONG_CHARS_MIN = 100_000
# Changes when another connection commits, which may have replaced the text.
_DATA_VERSION = "PRAGMA data_version"


@dataclass(frozen=True, slots=True)
class Kept:
    """A long message of a file. parts: in order. ends: for each part, the last end up to it."""

    seq: int
    data_version: int
    message: Message
    parts: Sequence[Part]
    ends: Sequence[int]

    @classmethod
    def of(cls, seq: int, data_version: int, message: Message) -> Kept:
        parts = sorted(message.parts, key=lambda part: (part.start, part.end))
        ends = list(accumulate((part.end for part in parts), max))
        return cls(seq, data_version, message, parts, ends)

    def within(self, start: int, end: int) -> Message:
        """The message with only those parts that overlap a stretch."""
        first = bisect_right(self.ends, start)
        after = bisect_left(self.parts, end, key=lambda part: part.start)
        overlapping = (part for part in self.parts[first:after] if part.end > start)
        return replace(self.message, parts=tuple(overlapping))


_LAST: WeakKeyDictionary[Database, Kept] = WeakKeyDictionary()


def keep(database: Database, seq: int, message: Message) -> None:
    """Keeps a message that was just read, if it is long."""
    if len(message.text) >= LONG_CHARS_MIN:
        _LAST[database] = Kept.of(seq, database.value(_DATA_VERSION), message)


def kept(database: Database, seq: int, start: int, end: int) -> Message | None:
    """A kept message, with only the parts that overlap the stretch from start to end; None if it is
    not kept, or if another process has written to the file since."""
    last = _LAST.get(database)
    if last is None or last.seq != seq or last.data_version != database.value(_DATA_VERSION):
        return None
    return last.within(start, end)


def forget(database: Database, seq: int) -> None:
    """Drops a kept message, as its text is about to change."""
    last = _LAST.get(database)
    if last is not None and last.seq == seq:
        del _LAST[database]
