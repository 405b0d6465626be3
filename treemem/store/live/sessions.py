"""Stores live sessions and their compactions. Owns the tables live_session and compaction.

Tested in tests/sessions/test_session.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from treemem.store.database import Database

_COLUMNS = """
SELECT ls.seq, s.id, ls.source_seq, ls.agent, ls.is_private, ls.shape, ls.window_tokens,
  ls.reserve_tokens, ls.tokenizer, ls.system, ls.correction, ls.told_seq, ls.failures,
  ls.created_at_ms, ls.used_at_ms, s.project, ls.shares_facts
FROM live_session ls JOIN source s ON s.seq = ls.source_seq
"""


class LiveSession(NamedTuple):
    """A row of live_session, with the id and the project of its source."""

    seq: int
    source_id: str
    source_seq: int
    agent: str | None
    is_private: bool
    shape: str | None
    window_tokens: int
    reserve_tokens: int
    tokenizer: str
    system: str
    correction: float
    told_seq: int
    failures: int
    created_at_ms: int
    used_at_ms: int
    project: str | None
    shares_facts: bool = False


def of_source(database: Database, source_id: str) -> LiveSession | None:
    """The session of a source; None if it has none."""
    row = database.row(f"{_COLUMNS} WHERE s.id = ?", (source_id,))
    return None if row is None else LiveSession(*row)


def by_seq(database: Database, seq: int) -> LiveSession:
    """A session by its row number."""
    row = database.row(f"{_COLUMNS} WHERE ls.seq = ?", (seq,))
    if row is None:  # only if it was deleted meanwhile
        raise LookupError(seq)
    return LiveSession(*row)


def all_of(database: Database) -> list[LiveSession]:
    """All sessions, the one used last first."""
    return [LiveSession(*row) for row in
            database.rows(f"{_COLUMNS} ORDER BY ls.used_at_ms DESC, ls.seq DESC")]  # fmt: skip


_CREATE = """
INSERT INTO live_session (source_seq, agent, is_private, window_tokens, reserve_tokens, tokenizer,
  system, created_at_ms, used_at_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
"""


def create(
    database: Database, source_seq: int, *, agent: str | None, is_private: bool,
    window_tokens: int, reserve_tokens: int, tokenizer: str, system: str, now_ms: int,
) -> int:  # fmt: skip
    """Stores a session and returns its row number."""
    return database.insert(
        _CREATE, (source_seq, agent, is_private, window_tokens, reserve_tokens, tokenizer, system,
                  now_ms),
    )  # fmt: skip


_UPDATE = """
UPDATE live_session SET shape = :shape, window_tokens = :window_tokens,
  reserve_tokens = :reserve_tokens, tokenizer = :tokenizer, system = :system,
  correction = :correction, told_seq = :told_seq, failures = :failures, used_at_ms = :used_at_ms,
  is_private = :is_private, shares_facts = :shares_facts
WHERE seq = :seq
"""


def update(database: Database, session: LiveSession) -> None:
    """Stores the values of a session that can change."""
    fields = (
        "shape", "window_tokens", "reserve_tokens", "tokenizer", "system", "correction", "told_seq",
        "failures", "used_at_ms", "is_private", "shares_facts", "seq",
    )  # fmt: skip
    database.execute(_UPDATE, {name: getattr(session, name) for name in fields})


# -- compactions -----------------------------------------------------------------------


class Compacted(NamedTuple):
    """A row of compaction. boundary: the position of the first turn that contexts show. turns: of
    the session when it was made. head, past: texts. report: JSON."""

    seq: int
    boundary: int
    turns: int
    head: str
    past: str
    report: str
    made_at_ms: int


_LAST = """
SELECT seq, boundary, turns, head, past, report, made_at_ms FROM compaction
WHERE session_seq = ? ORDER BY seq DESC LIMIT ?
"""
_PUT = """
INSERT INTO compaction (session_seq, boundary, turns, head, past, report, made_at_ms)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""


def last_compactions(database: Database, session_seq: int, limit: int = 1) -> list[Compacted]:
    """The last compactions of a session, the latest first."""
    return [Compacted(*row) for row in database.rows(_LAST, (session_seq, limit))]


def add_compaction(database: Database, session_seq: int, made: Compacted) -> int:
    """Stores a compaction and returns its row number; made.seq is not used."""
    return database.insert(_PUT, (session_seq, *made[1:]))


# -- texts, for a scrub ----------------------------------------------------------------


def systems(database: Database) -> Sequence[tuple[int, str]]:
    """(row number, system prompt) of each session."""
    return database.rows("SELECT seq, system FROM live_session WHERE system <> ''")


def rewrite_system(database: Database, seq: int, text: str) -> None:
    database.execute("UPDATE live_session SET system = ? WHERE seq = ?", (text, seq))


def heads(database: Database) -> Sequence[tuple[int, str]]:
    """(row number, head) of each compaction."""
    return database.rows("SELECT seq, head FROM compaction WHERE head <> ''")


def rewrite_head(database: Database, seq: int, text: str) -> None:
    database.execute("UPDATE compaction SET head = ? WHERE seq = ?", (text, seq))


def pasts(database: Database) -> Iterable[tuple[int, str]]:
    """(row number, past) of each compaction."""
    return database.rows("SELECT seq, past FROM compaction WHERE past <> ''")


def rewrite_past(database: Database, seq: int, text: str) -> None:
    database.execute("UPDATE compaction SET past = ? WHERE seq = ?", (text, seq))


def reports(database: Database) -> Iterable[tuple[int, str]]:
    """(row number, report) of each compaction."""
    return database.rows("SELECT seq, report FROM compaction")


def rewrite_report(database: Database, seq: int, text: str) -> None:
    database.execute("UPDATE compaction SET report = ? WHERE seq = ?", (text, seq))
