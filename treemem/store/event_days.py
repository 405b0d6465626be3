"""Stores which days messages are about, such as the 4th for "yesterday" in a message of the 5th.

Owns the table event_day, a view: it can be made again from the messages, and a search without it
finds messages by the days on which they were sent. Times in UTC are taken for times of the zone of
the machine that stores them. Tested in tests/store/test_event_days.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, tzinfo
from typing import Any, NamedTuple

from treemem import times
from treemem.store.database import Database

# Step 7 of the schema.
TABLE = """
CREATE TABLE event_day (            -- days that words of a message mean, such as "yesterday"
  message_seq INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
  start INTEGER NOT NULL,           -- first character of the words that name the days
  first_day INTEGER NOT NULL,       -- in days since 1970-01-01
  last_day INTEGER NOT NULL,        -- inclusive
  precision TEXT NOT NULL CHECK (precision IN ('day','week','month','season','year')),
  PRIMARY KEY (message_seq, start)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_day_first ON event_day (first_day);
"""

# Messages of a batch when all days are made again.
_BATCH = 2_000
# No event is longer.
LONGEST_DAYS = 400
# The most rows that a search reads: those that say most exactly when something was.
READ_MAX = 3_000

_IS_THERE = "SELECT 1 FROM sqlite_master WHERE name = 'event_day'"
_INSERT = """
INSERT OR IGNORE INTO event_day (message_seq, start, first_day, last_day, precision)
VALUES (?, ?, ?, ?, ?)
"""
_WITHIN = """
SELECT message_seq, start, first_day, last_day FROM event_day
WHERE first_day BETWEEN :first - :longest AND :last AND last_day >= :first
ORDER BY last_day - first_day, message_seq LIMIT :limit
"""
_SOURCES = """
SELECT seq, role, kind, sent_at, text FROM message
WHERE seq > ? AND sent_at_ms IS NOT NULL ORDER BY seq LIMIT ?
"""
_EPOCH = date(1970, 1, 1).toordinal()
# The first and the last day that a search without such a limit looks for.
_FIRST, _LAST = -1_000_000, 10_000_000

# A row of event_day.
Row = tuple[int, int, int, int, str]
# Of a message: seq, role, kind, sent_at and text.
Source = tuple[int, str, str, str | None, str]


class EventDay(NamedTuple):
    """Days that words in a message mean. start: the first character of the words. share: of these
    days, those that were asked for."""

    message_seq: int
    start: int
    share: float


def day_number(day: date) -> int:
    """The number of a day: 0 is 1 January 1970."""
    return day.toordinal() - _EPOCH


def rows_of(message: Source, zone: tzinfo | None) -> Iterator[Row]:
    """Yields the rows of a message. What tools and documents say has no day of its own.

    zone: of the reader, for times in UTC.
    """
    seq, role, kind, sent_at, text = message
    if kind != "said" or role not in ("user", "assistant", "other"):
        return
    sent = times.wall_clock(sent_at, zone)
    if sent is None:
        return
    from treemem.dates import events  # which reading commands do not need

    for event in events.find(text, sent):
        first, last = day_number(event.first), day_number(event.last)
        yield seq, event.start, first, last, event.precision


def add(database: Database, messages: Iterable[Source]) -> None:
    """Stores the days of messages, in the caller's transaction."""
    zone = times.local_zone()
    database.many(_INSERT, [row for message in messages for row in rows_of(message, zone)])


def replace(database: Database, message: Source) -> None:
    """Stores the days of a message whose text has changed, in the caller's transaction."""
    database.execute("DELETE FROM event_day WHERE message_seq = ?", message[:1])
    add(database, [message])


def rebuild(database: Database) -> None:
    """Makes all days again, in the caller's transaction."""
    database.execute("DELETE FROM event_day")
    last = 0
    while rows := database.rows(_SOURCES, (last, _BATCH)):
        add(database, rows)
        last = rows[-1][0]


def create(connection: Any) -> None:
    """Creates the table, and makes the days of all messages, on a connection of the driver."""
    for sql in filter(str.strip, TABLE.split(";")):
        connection.execute(sql)
    zone = times.local_zone()
    for message in connection.execute(_SOURCES, (0, -1)):
        connection.executemany(_INSERT, rows_of(message, zone))


def within(database: Database, first: date | None, last: date | None) -> list[EventDay]:
    """The events that overlap a range of days, the most exact first; None is an open end."""
    if not database.rows(_IS_THERE):
        return []
    since = _FIRST if first is None else day_number(first)
    until = _LAST if last is None else day_number(last)
    rows = database.rows(_WITHIN, {"first": since, "last": until, "longest": LONGEST_DAYS,
                                   "limit": READ_MAX})  # fmt: skip
    return [
        EventDay(seq, start, (min(until, end) - max(since, begin) + 1) / (end - begin + 1))
        for seq, start, begin, end in rows
    ]
