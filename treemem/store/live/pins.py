"""Stores what was pinned in live sessions, and their checkpoints. Owns the tables pin_change and
checkpoint.

Tested in tests/sessions/test_pins.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from treemem.store.database import Database

PinKind = Literal["goal", "task", "constraint"]


class PinRow(NamedTuple):
    """A row of pin_change."""

    seq: int
    kind: PinKind
    text: str
    is_pinned: bool
    changed_at_ms: int
    turns: int = 0


def changes(database: Database, session_seq: int) -> list[PinRow]:
    """All changes of a session's pins, in order."""
    sql = ("SELECT seq, kind, text, is_pinned, changed_at_ms, turns FROM pin_change "
           "WHERE session_seq = ? ORDER BY seq")  # fmt: skip
    return [
        PinRow(seq, kind, text, bool(is_pinned), at, turns)
        for seq, kind, text, is_pinned, at, turns in database.rows(sql, (session_seq,))
    ]


def add_change(
    database: Database, session_seq: int, kind: PinKind, text: str, *, is_pinned: bool, turns: int,
    now_ms: int,
) -> None:  # fmt: skip
    """Stores that a text was pinned or unpinned, when the session had so many turns."""
    database.execute(
        "INSERT INTO pin_change (session_seq, kind, text, is_pinned, turns, changed_at_ms) "
        "VALUES (?, ?, ?, ?, ?, ?)", (session_seq, kind, text, is_pinned, turns, now_ms),
    )  # fmt: skip


def texts(database: Database) -> Sequence[tuple[int, str]]:
    """(row number, text) of each change."""
    return database.rows("SELECT seq, text FROM pin_change")


def rewrite_text(database: Database, seq: int, text: str) -> None:
    database.execute("UPDATE pin_change SET text = ? WHERE seq = ?", (text, seq))


# -- checkpoints -----------------------------------------------------------------------


class CheckpointRow(NamedTuple):
    """A row of checkpoint. files: JSON."""

    id: str
    session_seq: int
    turns: int
    files: str
    made_at_ms: int
    expires_at_ms: int


_COLUMNS = "SELECT id, session_seq, turns, files, made_at_ms, expires_at_ms FROM checkpoint"


def add_checkpoint(database: Database, row: CheckpointRow) -> None:
    """Stores a checkpoint."""
    database.execute(
        "INSERT INTO checkpoint (id, session_seq, turns, files, made_at_ms, expires_at_ms) "
        "VALUES (?, ?, ?, ?, ?, ?)", row,
    )  # fmt: skip


def checkpoints(database: Database, session_seq: int) -> list[CheckpointRow]:
    """The checkpoints of a session, the latest first."""
    sql = f"{_COLUMNS} WHERE session_seq = ? ORDER BY made_at_ms DESC, seq DESC"
    return [CheckpointRow(*row) for row in database.rows(sql, (session_seq,))]


def checkpoints_from(database: Database, start: str) -> list[CheckpointRow]:
    """Up to two checkpoints whose ids begin with this."""
    sql = f"{_COLUMNS} WHERE id >= ? AND id < ? ORDER BY id LIMIT 2"
    return [CheckpointRow(*row) for row in database.rows(sql, (start, start + "\U0010ffff"))]


def delete_expired(database: Database, now_ms: int) -> int:
    """Deletes the checkpoints that have expired, and returns their number. Their turns stay."""
    return database.changed("DELETE FROM checkpoint WHERE expires_at_ms <= ?", (now_ms,))


def files(database: Database) -> Sequence[tuple[str, str]]:
    """(id, files) of each checkpoint."""
    return database.rows("SELECT id, files FROM checkpoint")


def rewrite_files(database: Database, checkpoint_id: str, text: str) -> None:
    database.execute("UPDATE checkpoint SET files = ? WHERE id = ?", (text, checkpoint_id))
