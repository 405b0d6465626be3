"""Stores the turns of live sessions, and what was folded. Owns the tables turn and fold.

Tested in tests/sessions/test_session.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from treemem.store.database import Database

_COLUMNS = """
SELECT position, content, tokens, message_seq, is_request, brief, shown, shown_tokens, attached,
  is_personal
FROM turn WHERE session_seq = :session
"""


class StoredTurn(NamedTuple):
    """A row of turn. content, shown, attached: JSON, see the schema."""

    position: int
    content: str
    tokens: int
    message_seq: int | None
    is_request: bool
    brief: str
    shown: str | None = None
    shown_tokens: int | None = None
    attached: str | None = None
    is_personal: bool = False


_ADD = """
INSERT INTO turn (session_seq, position, content, tokens, message_seq, is_request, brief,
  is_personal)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""


def add(database: Database, session_seq: int, turns: Iterable[StoredTurn]) -> None:
    """Stores new turns."""
    database.many(_ADD, [(session_seq, *turn[:6], turn.is_personal) for turn in turns])


def count(database: Database, session_seq: int) -> int:
    """The number of turns of a session, which is the position of its next one."""
    sql = "SELECT coalesce(max(position) + 1, 0) FROM turn WHERE session_seq = ?"
    return int(database.value(sql, (session_seq,)))


def between(
    database: Database, session_seq: int, first: int, end: int | None = None
) -> list[StoredTurn]:
    """The turns of a session from first up to end, exclusive; None for all after it."""
    sql = f"{_COLUMNS} AND position >= :first AND (:end IS NULL OR position < :end) ORDER BY 1"
    parameters = {"session": session_seq, "first": first, "end": end}
    return [StoredTurn(*row) for row in database.rows(sql, parameters)]


def put_shown(database: Database, session_seq: int, turns: Iterable[StoredTurn]) -> None:
    """Stores how contexts show these turns: shown, shown_tokens and attached."""
    database.many(
        "UPDATE turn SET shown = ?, shown_tokens = ?, attached = ? "
        "WHERE session_seq = ? AND position = ?",
        [(turn.shown, turn.shown_tokens, turn.attached, session_seq, turn.position)
         for turn in turns],
    )  # fmt: skip


class BlockRow(NamedTuple):
    """A block: a request and what came of it, up to the next one. first, end: positions, end
    exclusive. tokens: of its turns. request: the first words of the request. outcome: those of
    its last turn. sent_at_ms: of its first turn."""

    first: int
    end: int
    tokens: int
    request: str
    outcome: str
    sent_at_ms: int | None


_BLOCKS = """
WITH t AS (
  SELECT position, tokens, brief, message_seq, sum(is_request) OVER (ORDER BY position) AS number
  FROM turn WHERE session_seq = :session AND position < :end),
b AS (SELECT number, min(position) AS first, max(position) AS last, sum(tokens) AS tokens
      FROM t GROUP BY number)
SELECT b.first, b.last + 1, b.tokens, f.brief, CASE WHEN b.last > b.first THEN l.brief ELSE '' END,
  m.sent_at_ms
FROM b JOIN t f ON f.position = b.first JOIN t l ON l.position = b.last
LEFT JOIN message m ON m.seq = f.message_seq ORDER BY b.first
"""


def blocks(database: Database, session_seq: int, end: int) -> list[BlockRow]:
    """The blocks of the turns before end, in order. Turns before the first request are a block."""
    rows = database.rows(_BLOCKS, {"session": session_seq, "end": end})
    return [BlockRow(*row) for row in rows]


_REQUEST = """
SELECT position FROM turn WHERE session_seq = ? AND is_request = 1 AND position <= ?
ORDER BY position DESC LIMIT 1
"""


def request_at(database: Database, session_seq: int, position: int) -> int:
    """The position of the request that a turn belongs to; 0 before the first request."""
    found = database.value(_REQUEST, (session_seq, position))
    return 0 if found is None else int(found)


def is_last_request_personal(database: Database, session_seq: int) -> bool:
    """Whether the user speaks of themselves in the last request of a session."""
    sql = ("SELECT is_personal FROM turn WHERE session_seq = ? AND is_request = 1 "
           "ORDER BY position DESC LIMIT 1")  # fmt: skip
    return bool(database.value(sql, (session_seq,)))


# -- folds -----------------------------------------------------------------------------


class FoldRow(NamedTuple):
    """A row of fold. end: exclusive."""

    first: int
    end: int
    title: str
    text: str
    folded_at_ms: int


_FOLDS = """
SELECT first_position, end_position, title, text, folded_at_ms FROM fold
WHERE session_seq = ? AND end_position > ? ORDER BY first_position
"""
_ADD_FOLD = """
INSERT INTO fold (session_seq, first_position, end_position, title, text, folded_at_ms)
VALUES (?, ?, ?, ?, ?, ?)
"""


def folds(database: Database, session_seq: int, first: int = 0) -> list[FoldRow]:
    """The folds of a session that have turns from first on, in order."""
    return [FoldRow(*row) for row in database.rows(_FOLDS, (session_seq, first))]


def add_fold(database: Database, session_seq: int, fold: FoldRow) -> None:
    """Stores a fold."""
    database.execute(_ADD_FOLD, (session_seq, *fold))


# -- texts, for a scrub ----------------------------------------------------------------


def texts(database: Database, column: str) -> Sequence[tuple[tuple[int, int], str]]:
    """((session, position), text) of a column of turns with text."""
    sql = f"SELECT session_seq, position, {column} FROM turn WHERE {column} IS NOT NULL"  # noqa: S608
    return [((session, position), text) for session, position, text in database.rows(sql)]


def rewrite(column: str, database: Database, key: tuple[int, int], text: str) -> None:
    """Stores a new text in a column of a turn."""
    sql = f"UPDATE turn SET {column} = ? WHERE session_seq = ? AND position = ?"  # noqa: S608
    database.execute(sql, (text, *key))


def fold_texts(database: Database, column: str) -> Sequence[tuple[int, str]]:
    """(row number, text) of a column of folds with text."""
    return database.rows(f"SELECT seq, {column} FROM fold")  # noqa: S608


def rewrite_fold(column: str, database: Database, seq: int, text: str) -> None:
    database.execute(f"UPDATE fold SET {column} = ? WHERE seq = ?", (text, seq))  # noqa: S608
