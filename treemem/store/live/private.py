"""Says what of live sessions is private to other agents: whole sessions, and in the others what the
user said of themselves, with the answers to it.

It keeps agents that share a file out of each other's way. Whoever opens the file without the name
of an agent reads all of it.

Tested in tests/sessions/test_boundary.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from treemem.store.database import Database, Row, json_list
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
_CITED = """
SELECT statement_seq, message_seq FROM citation
WHERE statement_seq IN (SELECT value FROM json_each(?))
"""
_STATEMENTS = """
SELECT DISTINCT statement_seq FROM citation
WHERE message_seq IN (SELECT value FROM json_each(?))
"""
_ENTRIES = """
SELECT DISTINCT e.id FROM json_each(?) j JOIN citation c ON c.message_seq = j.value
JOIN statement st ON st.seq = c.statement_seq JOIN entry e ON e.seq = st.entry_seq
"""
# What decides which messages are private to others: the sessions, and how long they are.
_STATE = """
SELECT ls.seq, ls.is_private, ls.shares_facts, ls.agent,
  (SELECT max(position) FROM turn t WHERE t.session_seq = ls.seq),
  CASE WHEN ls.is_private = 1 THEN
    (SELECT count(*) FROM source_message sm WHERE sm.source_seq = ls.source_seq) END
FROM live_session ls WHERE ls.agent IS NOT ? ORDER BY ls.seq
"""


class Private:
    """What an agent does not read. sources: ids of sessions; message_seqs: of all messages, those
    of the sources too; message_ids: the same; told: the other sources in which the user speaks of
    themselves."""

    def __init__(
        self, sources: frozenset[str] = frozenset(), message_seqs: frozenset[int] = frozenset(),
        message_ids: frozenset[str] = frozenset(), told: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.sources = sources
        self.message_seqs = message_seqs
        self.message_ids = message_ids
        self.told = told
        self._listed = json_list(message_seqs)

    def __bool__(self) -> bool:
        return bool(self.sources or self.message_seqs)

    def citing(self, database: Database, statement_seqs: Iterable[int]) -> frozenset[int]:
        """Those of these statements that cite something private."""
        if not self:
            return frozenset()
        rows = database.rows(_CITED, (json_list(statement_seqs),))
        return frozenset(statement for statement, seq in rows if seq in self.message_seqs)

    def statement_seqs(self, database: Database) -> frozenset[int]:
        """All statements that cite something private."""
        return self._kept(database, _STATEMENTS)

    def entry_ids(self, database: Database) -> frozenset[str]:
        """All entries of the ledger that something private says."""
        return self._kept(database, _ENTRIES)

    def headline(self, scope: Scope, line: str) -> str:
        """The headline of a scope; "" if it may quote what is private, as those above several
        sources do at times."""
        is_open = scope.kind == "source" and scope.key not in self.sources | self.told
        return line if is_open or not self else ""

    def _kept(self, database: Database, sql: str) -> frozenset[Any]:
        def read() -> frozenset[Any]:
            return frozenset(row[0] for row in database.rows(sql, (self._listed,)))

        return memo.kept(database, (sql, id(self)), read) if self else frozenset()


NOTHING = Private()
_known: WeakKeyDictionary[Database, dict[str, tuple[Sequence[Row], Private]]] = WeakKeyDictionary()


def private_to_others(database: Database, agent: str | None) -> Private:
    """What is private to other agents; nothing for the user, who is no agent. It is read again only
    after one of their sessions has changed."""
    if agent is None:
        return NOTHING
    state = database.rows(_STATE, (agent,))
    known = _known.setdefault(database, {})
    if agent in known and known[agent][0] == state:
        return known[agent][1]
    found = _read(database, agent)
    if not database.is_writing:  # what is written may be rolled back
        known[agent] = state, found
    return found


def _read(database: Database, agent: str) -> Private:
    sources = frozenset(row[0] for row in database.rows(_SOURCES, (agent,)))
    told = frozenset(row[0] for row in database.rows(_TOLD, (agent,)))
    seqs = frozenset(row[0] for row in database.rows(_MESSAGES, {"agent": agent}))
    ids = frozenset(row[0] for row in database.rows(_MESSAGE_IDS, (json_list(seqs),)))
    return Private(sources, seqs, ids, told) if sources or seqs else NOTHING
