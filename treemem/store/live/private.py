"""Says what of live sessions is private to other agents: whole sessions, and in the others what the
user said of themselves, with the answers to it.

It keeps agents that share a file out of each other's way. Whoever opens the file without the name
of an agent reads all of it.

Tested in tests/sessions/test_boundary.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from treemem.store.database import Database, json_list
from treemem.store.file import memo
from treemem.types import Scope

_SOURCES = """
SELECT s.id FROM live_session ls JOIN source s ON s.seq = ls.source_seq
WHERE ls.is_private = 1 AND ls.agent IS NOT ?
"""
_MESSAGES = """
SELECT sm.message_seq FROM live_session ls JOIN source_message sm ON sm.source_seq = ls.source_seq
WHERE ls.is_private = 1 AND ls.agent IS NOT :agent
UNION
SELECT t.message_seq FROM live_session ls JOIN turn t ON t.session_seq = ls.seq
WHERE t.is_personal = 1 AND t.message_seq IS NOT NULL
  AND ls.shares_facts = 0 AND ls.agent IS NOT NULL AND ls.agent IS NOT :agent
"""
_TOLD = """
SELECT DISTINCT s.id FROM live_session ls JOIN source s ON s.seq = ls.source_seq
JOIN turn t ON t.session_seq = ls.seq AND t.is_personal = 1
WHERE ls.shares_facts = 0 AND ls.agent IS NOT NULL AND ls.agent IS NOT ?
"""
_MESSAGE_IDS = "SELECT id FROM message WHERE seq IN (SELECT value FROM json_each(?))"
_STATEMENTS = """
SELECT DISTINCT statement_seq FROM citation
WHERE message_seq IN (SELECT value FROM json_each(?))
"""
_ENTRIES = """
SELECT DISTINCT e.id FROM json_each(?) j JOIN citation c ON c.message_seq = j.value
JOIN statement st ON st.seq = c.statement_seq JOIN entry e ON e.seq = st.entry_seq
"""


@dataclass(frozen=True, slots=True)
class Private:
    """What an agent does not read. sources: ids of sessions; message_seqs: of all messages, those
    of the sources too; message_ids: the same; statement_seqs, entry_ids: what cites them. told:
    the other sources in which the user speaks of themselves."""

    sources: frozenset[str] = frozenset()
    message_seqs: frozenset[int] = frozenset()
    message_ids: frozenset[str] = frozenset()
    statement_seqs: frozenset[int] = frozenset()
    entry_ids: frozenset[str] = frozenset()
    told: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.sources or self.message_seqs)

    def headline(self, scope: Scope, line: str) -> str:
        """The headline of a scope; "" if it may quote what is private, as those above several
        sources do at times."""
        is_open = scope.kind == "source" and scope.key not in self.sources | self.told
        return line if is_open or not self else ""


NOTHING = Private()


def private_to_others(database: Database, agent: str | None) -> Private:
    """What is private to other agents; nothing for the user, who is no agent. Reads the file again
    only after a change."""
    if agent is None:
        return NOTHING
    return memo.kept(database, ("private", agent), lambda: _read(database, agent))


def _read(database: Database, agent: str) -> Private:
    sources = frozenset(row[0] for row in database.rows(_SOURCES, (agent,)))
    seqs = frozenset(row[0] for row in database.rows(_MESSAGES, {"agent": agent}))
    if not seqs:
        return Private(sources)
    listed = (json_list(seqs),)
    ids, statements, entries = (
        frozenset(row[0] for row in database.rows(sql, listed))
        for sql in (_MESSAGE_IDS, _STATEMENTS, _ENTRIES)
    )
    told = frozenset(row[0] for row in database.rows(_TOLD, (agent,)))
    return Private(sources, seqs, ids, statements, entries, told)
