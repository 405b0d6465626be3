"""Stores where each log file was and how its content began when it was last read.

By this, a file that was renamed and has grown since is recognized; see ingest/continuations.py.

Tested in tests/ingest/test_continuations.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from treemem.store.database import Database

_BY_PATH = """
SELECT content, format, path, place, size_bytes, start, start_bytes FROM log_file
WHERE format = ? AND path = ?
"""
_BY_START = """
SELECT content, format, path, place, size_bytes, start, start_bytes FROM log_file
WHERE start_bytes = ? AND start = ? AND format = ? LIMIT ?
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
    """The sizes of the stored starts."""
    return [row[0] for row in database.rows("SELECT DISTINCT start_bytes FROM log_file")]


def with_start(
    database: Database, format_name: str, start: str, start_bytes: int
) -> list[LogFileRow]:
    """The files that begin with these bytes."""
    parameters = (start_bytes, start, format_name, _ALIKE_MAX)
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
