"""Writes messages, sources and places that were recovered into a new memory.

Tested in tests/recovery/test_recovering.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treemem.recovery.finding import Found
from treemem.recovery.layouts import Row
from treemem.recovery.places import Member
from treemem.recovery.verifying import Verified
from treemem.store import event_days, messages
from treemem.store.database import Database
from treemem.text.tokens import count_many
from treemem.worker import collection_jobs, source_jobs

_SOURCE = """
INSERT INTO source (seq, id, format, title, origin, parent_id, created_at_ms, project, is_mine)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SESSION = "INSERT OR IGNORE INTO log_session (seq, id) VALUES (?, ?)"
_SESSION_BY_ID = "INSERT OR IGNORE INTO log_session (id) VALUES (?)"
_MEMBER = """
INSERT INTO source_message (source_seq, position, message_seq, session_seq, state, open_from)
VALUES (?, ?, ?, ?, ?, 0)
"""
_ALIAS = "INSERT OR IGNORE INTO message_alias (alias, message_seq) VALUES (?, ?)"
# An earlier version of a message, and a later one, in the same source.
_REPLACED = """
UPDATE source_message SET state = 'replaced' WHERE source_seq = ? AND message_seq = ?
  AND EXISTS (
    SELECT 1 FROM message m JOIN message o ON o.identity = m.identity AND o.seq > m.seq
    JOIN source_message so ON so.message_seq = o.seq AND so.source_seq = source_message.source_seq
    WHERE m.seq = source_message.message_seq)
"""


def put_messages(database: Database, batch: Sequence[Verified]) -> None:
    """Stores messages under the row numbers that they had."""
    counts = count_many([item.text for item in batch])
    database.many(
        messages.MESSAGE_INSERT,
        [(item.seq, item.id, item.identity, item.message.external_id, item.message.role,
          item.message.author, item.message.kind, item.message.sent_at, item.sent_at_ms, item.text,
          item.exact, messages.search_text(item.message.author, item.text), len(item.text), tokens,
          item.extras, item.message.origin) for item, tokens in zip(batch, counts, strict=True)],
    )  # fmt: skip


def put_aliases(database: Database, found: Found, known: Mapping[int, str]) -> None:
    """Stores the aliases of the messages that are there."""
    rows = [row for row in found.rows("message_alias") if row[1] in known]
    database.many(_ALIAS, rows)


def put_sources(
    database: Database, names: Mapping[int, str], rows: Mapping[int, Row], now_ms: int
) -> None:
    """Stores sources by the row numbers that they had. rows: as far as they could be read."""
    for seq, source_id in sorted(names.items()):
        row = rows.get(seq)
        if row is None:
            values: tuple[object, ...] = (_format_of(source_id), None, None, None, now_ms, None, 0)
        else:
            _, _, format_, title, origin, parent_id, _, created_at_ms, project, is_mine = row
            values = (format_, title, origin, parent_id, created_at_ms, project, is_mine or 0)
        database.execute(_SOURCE, (seq, source_id, *values))


def _format_of(source_id: str) -> str:
    """The format of a source, of which only the id is known."""
    name, slash, _ = source_id.partition("/")
    return name if slash else "api"


def put_members(database: Database, found: Found, members: Sequence[Member]) -> int:
    """Stores which message is where. Returns how many of them may be on abandoned branches."""
    sessions = {seq: name for name, seq in found.rows("sqlite_autoindex_log_session_1")}
    sessions |= dict(found.rows("log_session"))
    database.many(_SESSION, sorted(sessions.items()))
    named = sorted({m.session for m in members if isinstance(m.session, str)})
    database.many(_SESSION_BY_ID, [(name,) for name in named])
    seqs: dict[Any, int] = dict(database.rows("SELECT id, seq FROM log_session"))
    known = {*seqs.values()}
    rows = []
    for source_seq, position, seq, state, session in members:
        session_seq = seqs.get(session, session if session in known else None)
        rows.append((source_seq, position, seq, session_seq, state or "active"))
    database.many(_MEMBER, rows)
    unsure = [(member.source_seq, member.message_seq) for member in members if member.state is None]
    database.many(_REPLACED, unsure)
    return len(unsure)


def finish(database: Database, now_ms: int) -> None:
    """Makes the full-text index and the days of messages, and admits the jobs of all sources."""
    messages.rebuild_index(database)
    event_days.rebuild(database)
    for (source_id,) in database.rows("SELECT id FROM source ORDER BY seq"):
        source_jobs.admit_seal(database, source_id, now_ms)
    collection_jobs.admit(database, now_ms, at_once=True)
