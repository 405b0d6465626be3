"""Stores what programs keep beside the messages, and change and delete at will. Owns the table
program_state.

Tested in tests/store/live/test_program_state.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from treemem.store.database import Database


class StateRow(NamedTuple):
    """A row of program_state. value: JSON. message_id: of the message with its words; None without
    one."""

    key: str
    value: str
    message_id: str | None
    created_at_ms: int
    updated_at_ms: int


_SELECT = """
SELECT s.key, s.value, m.id, s.created_at_ms, s.updated_at_ms
FROM program_state s LEFT JOIN message m ON m.seq = s.message_seq
WHERE s.owner = :owner AND s.place = :place
"""
_PUT = """
INSERT INTO program_state (owner, place, key, value, message_seq, created_at_ms, updated_at_ms)
VALUES (:owner, :place, :key, :value, (SELECT seq FROM message WHERE id = :message), :now, :now)
ON CONFLICT (owner, place, key) DO UPDATE SET
  value = excluded.value, message_seq = excluded.message_seq, updated_at_ms = excluded.updated_at_ms
"""
_PLACES = """
SELECT DISTINCT place FROM program_state
WHERE owner = ? AND place >= ? AND substr(place, 1, length(?)) = ? ORDER BY place
"""


def put(
    database: Database, owner: str, place: str, key: str, value: str, now_ms: int,
    message_id: str | None = None,
) -> None:  # fmt: skip
    """Stores a value, which is JSON, in place of the one that the key had."""
    parameters = {"owner": owner, "place": place, "key": key, "value": value, "now": now_ms,
                  "message": message_id}  # fmt: skip
    database.execute(_PUT, parameters)


def get(database: Database, owner: str, place: str, key: str) -> StateRow | None:
    """What a key has; None if it has nothing."""
    sql = f"{_SELECT} AND s.key = :key"
    row = database.row(sql, {"owner": owner, "place": place, "key": key})
    return None if row is None else StateRow(*row)


def of_place(database: Database, owner: str, place: str, last: int | None = None) -> list[StateRow]:
    """The rows of a place in the order of their keys, all or the last ones."""
    sql = f"{_SELECT} ORDER BY s.key DESC LIMIT :last"
    parameters = {"owner": owner, "place": place, "last": -1 if last is None else max(last, 0)}
    return [StateRow(*row) for row in reversed(database.rows(sql, parameters))]


def keys(database: Database, owner: str, place: str) -> list[str]:
    """The keys of a place, in order."""
    sql = "SELECT key FROM program_state WHERE owner = ? AND place = ? ORDER BY key"
    return [key for (key,) in database.rows(sql, (owner, place))]


def places(database: Database, owner: str, start: str = "") -> list[str]:
    """The places of an owner that begin with start, in order."""
    return [place for (place,) in database.rows(_PLACES, (owner, start, start, start))]


def delete(database: Database, owner: str, place: str, key: str | None = None) -> int:
    """Deletes what a key has, or all of a place, and returns the number of rows."""
    sql = "DELETE FROM program_state WHERE owner = :owner AND place = :place"
    parameters = {"owner": owner, "place": place, "key": key}
    return database.changed(sql if key is None else f"{sql} AND key = :key", parameters)


# -- texts, for a scrub ----------------------------------------------------------------


def texts(database: Database) -> Iterator[tuple[int, str]]:
    """(row number, value) of each row, one at a time: values may be large."""
    for (seq,) in database.rows("SELECT seq FROM program_state"):
        yield seq, database.value("SELECT value FROM program_state WHERE seq = ?", (seq,))


def rewrite(database: Database, seq: int, text: str) -> None:
    """Stores a new value in a row."""
    database.execute("UPDATE program_state SET value = ? WHERE seq = ?", (text, seq))
