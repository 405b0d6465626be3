"""Checks that live sessions are whole: their turns, and what contexts are made from.

Tested in tests/diagnostics/test_session_check.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from treemem.store.database import Database

_SESSIONS = """
SELECT ls.seq, s.id,
  (SELECT count(*) FROM turn t WHERE t.session_seq = ls.seq),
  (SELECT coalesce(max(position) + 1, 0) FROM turn t WHERE t.session_seq = ls.seq)
FROM live_session ls JOIN source s ON s.seq = ls.source_seq ORDER BY ls.seq
"""
# What is wrong with a session of so many turns, in sentences.
_WRONG = """
SELECT 'turn ' || position || ' is no message in JSON' FROM turn
  WHERE session_seq = :session
    AND CASE WHEN json_valid(content) THEN json_type(content) <> 'object' ELSE 1 END
UNION ALL SELECT 'turn ' || position || ' is shown in a way that is no JSON' FROM turn
  WHERE session_seq = :session
    AND NOT (json_valid(coalesce(shown, '[]')) AND json_valid(coalesce(attached, '[]')))
UNION ALL SELECT 'turn ' || t.position || ' has words that are not in its source' FROM turn t
  JOIN live_session ls ON ls.seq = t.session_seq
  WHERE t.session_seq = :session AND t.message_seq IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM source_message sm
    WHERE sm.source_seq = ls.source_seq AND sm.message_seq = t.message_seq)
UNION ALL SELECT 'a compaction begins at turn ' || boundary || ' of ' || turns FROM compaction
  WHERE session_seq = :session AND NOT (0 <= boundary AND boundary <= turns AND turns <= :turns)
UNION ALL SELECT 'the fold ' || quote(title) || ' has turns ' || first_position || ' to '
    || end_position || ' of ' || :turns FROM fold
  WHERE session_seq = :session
    AND NOT (0 <= first_position AND first_position < end_position AND end_position <= :turns)
UNION ALL SELECT 'the checkpoint ' || id || ' has ' || turns || ' turns of ' || :turns
  FROM checkpoint WHERE session_seq = :session AND turns > :turns
"""


def findings(database: Database) -> Iterator[str]:
    """A sentence for everything that is wrong with a session, "" for a session that is right."""
    yield ""
    for seq, source_id, count, end in database.rows(_SESSIONS):
        if count != end:
            yield f"the session {source_id} has {count} turns at {end} positions"
        wrong = database.rows(_WRONG, {"session": seq, "turns": end})
        for (finding,) in wrong:
            yield f"the session {source_id}: {finding}"
        if count == end and not wrong:
            yield ""
