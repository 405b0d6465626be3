"""Keeps logs from bringing back what was forgotten.

A tombstone is a keyed hash of what a message is known by when its log is read again. It tells
nothing of the message to somebody who has not the message itself. Owns the tables forgetting and
tombstone.

Tested in tests/forgetting/test_tombstones.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import orjson

from treemem.privacy import policy
from treemem.store.database import Database
from treemem.store.messages import PreparedMessage
from treemem.types import Message

# A text without a time or an id of its own is known by its words alone only from this length on:
# "ok" in another chat is another message.
TEXT_CHARS_MIN = 64
_MARK_BYTES = 16

_IS_MARKED = "SELECT EXISTS (SELECT 1 FROM tombstone WHERE mark IN ({}))"
ADD = "INSERT OR IGNORE INTO tombstone (mark, forgetting_seq) VALUES (?, ?)"


class Tombstones:
    """The tombstones of one memory file. Without any, nothing is hashed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._key = b""
        if database.value("SELECT EXISTS (SELECT 1 FROM tombstone)"):
            self._key = policy.key_of(database, keep=False)

    def __bool__(self) -> bool:
        return bool(self._key)

    def has_message(self, item: PreparedMessage, alias: str) -> bool:
        """Whether a message of a log was forgotten, in this or another version. alias: see
        PreparedMessage."""
        message_ids = [item.id] if item.log_id is None else [item.id, item.log_id]
        is_dated = item.sent_at_ms is not None
        names = names_of(item.identity, message_ids, item.message, [alias], is_dated=is_dated)
        return self.has_any(names)

    def has_id(self, message_id: str) -> bool:
        """Whether a message with this id was forgotten."""
        return bool(self._key) and self.has_any([f"id:{message_id}"])

    def has_identity(self, identity: str) -> bool:
        """Whether a message with this identity was forgotten, in any version."""
        return bool(self._key) and self.has_any([f"identity:{identity}"])

    def has_source(self, source_id: str) -> bool:
        """Whether messages of a source were forgotten, so that its title may tell of them."""
        return bool(self._key) and self.has_any([f"source:{source_id}"])

    def has_any(self, names: Iterable[str]) -> bool:
        """Whether something with one of these names was forgotten; see names_of."""
        marks = tuple(mark_of(name, self._key) for name in names)
        sql = _IS_MARKED.format(",".join("?" * len(marks)))
        return bool(self._database.value(sql, marks))


def mark_of(name: str, key: bytes) -> bytes:
    """The mark of a name such as "id:5f…" under the key of a memory file."""
    data = name.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, key=key, digest_size=_MARK_BYTES, person=b"forgotten").digest()


def names_of(
    identity: str | None,
    message_ids: Iterable[str],
    message: Message,
    aliases: Iterable[str] = (),
    *,
    is_dated: bool,
) -> Iterator[str]:
    """Yields what a message is known by. One with an id of its own is known by that in all its
    versions. One without, and without a time, is known by a long text wherever that stands.
    aliases: by which it is known however its secrets are redacted."""
    if identity is not None:
        yield f"identity:{identity}"
    for message_id in message_ids:
        yield f"id:{message_id}"
    for alias in aliases:
        yield f"alias:{alias}"
    if identity is None and not is_dated and len(message.text) >= TEXT_CHARS_MIN:
        yield f"text:{message.role}:{message.text}"


def put(database: Database, forgetting_seq: int, names: Iterable[str]) -> None:
    """Stores a tombstone for each name, in the caller's transaction."""
    key = policy.key_of(database, keep=True)
    database.many(ADD, ((mark_of(name, key), forgetting_seq) for name in names))


# -- the record ------------------------------------------------------------------------


class ForgettingRow(NamedTuple):
    """A row of the table forgetting; see Forgotten in reports.py."""

    seq: int
    at_ms: int
    chosen_by: Sequence[str]
    messages: int
    sources: int
    nodes: int
    is_done: bool
    undone_at_ms: int | None


_RECORD = """
INSERT INTO forgetting (at_ms, chosen_by, messages, sources, nodes) VALUES (?, ?, ?, ?, ?)
RETURNING seq
"""
_RECORDS = """
SELECT seq, at_ms, chosen_by, messages, sources, nodes, is_done, undone_at_ms FROM forgetting
"""


def record(
    database: Database, now_ms: int, chosen_by: Sequence[str], counts: tuple[int, int, int]
) -> int:
    """Records that something is forgotten, in the caller's transaction; returns the row number.
    counts: messages, sources and nodes."""
    return int(database.value(_RECORD, (now_ms, orjson.dumps(chosen_by).decode(), *counts)))


def records(database: Database) -> list[ForgettingRow]:
    """What was forgotten, the earliest first."""
    return [
        ForgettingRow(seq, at_ms, orjson.loads(chosen_by), count, of, nodes, bool(done), undone)
        for seq, at_ms, chosen_by, count, of, nodes, done, undone in database.rows(_RECORDS)
    ]


def unfinished(database: Database) -> list[int]:
    """The row numbers of what an interrupted process had begun to forget."""
    rows = database.rows("SELECT seq FROM forgetting WHERE is_done = 0 ORDER BY seq")
    return [seq for (seq,) in rows]


def finish(database: Database) -> None:
    """Records that all that was begun is forgotten."""
    database.execute("UPDATE forgetting SET is_done = 1 WHERE is_done = 0")


def lift(database: Database, forgetting_seq: int, now_ms: int) -> int:
    """Deletes the tombstones of a row, in the caller's transaction. Returns how many there were."""
    sql = "DELETE FROM tombstone WHERE forgetting_seq = ? RETURNING 1"
    count = len(database.rows(sql, (forgetting_seq,)))
    database.execute(
        "UPDATE forgetting SET undone_at_ms = ? WHERE seq = ?", (now_ms, forgetting_seq)
    )
    return count
