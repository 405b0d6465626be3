"""Stores where each log file was and how its content began when it was last read.

By this, a file that was renamed and has grown since is recognized; see ingest/continuations.py. By
its mark, a file that has grown where it was is read on; see ingest/growth.py.

Tested in tests/ingest/test_continuations.py and test_growth.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from treemem.store.database import Database, json_list

_BY_PATH = """
SELECT content, format, path, place, size_bytes, start, start_bytes FROM log_file
WHERE format = ? AND path = ?
"""
_BY_START = """
SELECT f.content, f.format, f.path, f.place, f.size_bytes, f.start, f.start_bytes
FROM json_each(:starts) s CROSS JOIN log_file f
  ON f.start_bytes = json_extract(s.value, '$[0]') AND f.start = json_extract(s.value, '$[1]')
WHERE f.format = :format LIMIT :limit
"""
# Goes from one size to the next: DISTINCT would read the rows of all files for each file.
_START_SIZES = """
WITH RECURSIVE size (bytes) AS (
  SELECT min(start_bytes) FROM log_file
  UNION ALL SELECT (SELECT min(start_bytes) FROM log_file WHERE start_bytes > size.bytes)
  FROM size WHERE size.bytes IS NOT NULL)
SELECT bytes FROM size WHERE bytes IS NOT NULL
"""
_BELOW = """
SELECT content, format, path, place, size_bytes, start, start_bytes FROM log_file
WHERE format = ? AND path > ? AND path < ? AND path <> place LIMIT ?
"""
_DELETE = "DELETE FROM log_file WHERE content = ? AND format = ?"
_PUT = """
INSERT OR REPLACE INTO log_file (content, format, path, place, size_bytes, start, start_bytes)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
# How many files that begin alike are compared.
_ALIKE_MAX = 500


class LogFileRow(NamedTuple):
    """A file as it was last read.

    content: a digest of its first size_bytes bytes; start: of its first start_bytes bytes. path:
    where it was. place: the path by which its sources are named, which was its first one.
    """

    content: str
    format: str
    path: str
    place: str
    size_bytes: int
    start: str
    start_bytes: int


def at_path(database: Database, format_name: str, path: str) -> list[LogFileRow]:
    """The files that were at a path, the latest and earlier ones."""
    return [LogFileRow(*row) for row in database.rows(_BY_PATH, (format_name, path))]


def start_sizes(database: Database) -> list[int]:
    """The sizes of the stored starts, the smallest first."""
    return [size_bytes for (size_bytes,) in database.rows(_START_SIZES)]


def with_starts(
    database: Database, format_name: str, starts: Iterable[tuple[int, str]]
) -> list[LogFileRow]:
    """The files that begin with one of these. starts: the sizes and digests of beginnings."""
    parameters = {"starts": json_list(starts), "format": format_name, "limit": _ALIKE_MAX}
    return [LogFileRow(*row) for row in database.rows(_BY_START, parameters)]


def moved_below(database: Database, format_name: str, folder: str) -> list[LogFileRow]:
    """The files below a folder, given with its separator, whose place is another path."""
    end = folder[:-1] + chr(ord(folder[-1]) + 1)
    parameters = (format_name, folder, end, _ALIKE_MAX)
    return [LogFileRow(*row) for row in database.rows(_BELOW, parameters)]


def put(database: Database, row: LogFileRow, superseded: Iterable[LogFileRow]) -> None:
    """Stores a file in place of the rows that it continues."""
    with database.transaction():
        for old in superseded:
            database.execute(_DELETE, (old.content, old.format))
        database.execute(_PUT, row)


# -- marks -----------------------------------------------------------------------------

_MARK_AT = """
SELECT path, format, reading, place, hashed_bytes, size_bytes, modified_ms, offset, line, hashes,
  state FROM log_mark WHERE path = ?
"""
_PUT_MARK = """
INSERT INTO log_mark (path, format, reading, place, hashed_bytes, size_bytes, modified_ms, offset,
  line, hashes, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (path) DO UPDATE SET format = excluded.format, reading = excluded.reading,
  place = excluded.place, hashed_bytes = excluded.hashed_bytes, size_bytes = excluded.size_bytes,
  modified_ms = excluded.modified_ms, offset = excluded.offset, line = excluded.line,
  hashes = excluded.hashes, state = excluded.state
"""
_KEYS = "SELECT number, keys FROM log_mark_key WHERE path = ? ORDER BY number"
_LAST_KEYS = "SELECT number, keys FROM log_mark_key WHERE path = ? ORDER BY number DESC LIMIT 1"
_PUT_KEYS = "INSERT OR REPLACE INTO log_mark_key (path, number, keys) VALUES (?, ?, ?)"
# The size of a row of keys: only the last one is written again when there are more.
_KEYS_BYTES = 65_536


class MarkRow(NamedTuple):
    """From where a log can be read on; the columns are described in store/schema/additions.py."""

    path: str
    format: str
    reading: str
    place: str
    hashed_bytes: int
    size_bytes: int
    modified_ms: int
    offset: int
    line: int
    hashes: bytes
    state: str


def mark_at(database: Database, path: str) -> MarkRow | None:
    """The mark of the file at a path; None if it has none."""
    row = database.row(_MARK_AT, (path,))
    return None if row is None else MarkRow(*row)


def mark_keys(database: Database, path: str) -> Sequence[tuple[int, bytes]]:
    """(number, keys) of each row of keys of a file's mark, in order."""
    return database.rows(_KEYS, (path,))


def put_mark(database: Database, row: MarkRow, keys: bytes, *, goes_on: bool) -> None:
    """Stores a mark in the caller's transaction. keys: those between the stored mark and this one,
    if it goes_on from that one; else all."""
    if not goes_on:
        forget_mark(database, row.path)
    database.execute(_PUT_MARK, row)
    if not keys:
        return
    last = database.row(_LAST_KEYS, (row.path,)) or (0, b"")
    keys = last[1] + keys
    pieces = range(0, len(keys), _KEYS_BYTES)
    database.many(_PUT_KEYS, [
        (row.path, number, keys[at : at + _KEYS_BYTES]) for number, at in enumerate(pieces, last[0])
    ])  # fmt: skip


def forget_mark(database: Database, path: str) -> None:
    """Deletes the mark of a file, which is then read from its start."""
    database.execute("DELETE FROM log_mark_key WHERE path = ?", (path,))
    database.execute("DELETE FROM log_mark WHERE path = ?", (path,))


def forget_marks(database: Database, *, before_ms: int | None = None) -> None:
    """Deletes the marks of all files, or of those that have not changed since before_ms."""
    sql = "SELECT path FROM log_mark WHERE :ms IS NULL OR modified_ms < :ms"
    for (path,) in database.rows(sql, {"ms": before_ms}):
        forget_mark(database, path)
