"""Reads a message with what stands around it: its source, its neighbours, its leaves.

Callers read in one transaction. Tested in tests/web/reading/test_said.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from treemem.places import resuming
from treemem.sessions.boundary import limited
from treemem.store.database import Database
from treemem.store.live.private import Private
from treemem.tree import browse
from treemem.types import Message, Place, Scope, Statement
from treemem.web.reading import nodes

# Leaves of a long message, and statements that cite a message, which are named.
LEAVES_MAX = 20
STATEMENTS_MAX = 20

# Where it is in a history rather than on an abandoned branch, and not in a sub-agent's.
_SOURCE = """
SELECT s.seq, s.id, sm.position, sm.state, m.seq FROM message m
JOIN source_message sm ON sm.message_seq = m.seq JOIN source s ON s.seq = sm.source_seq
WHERE m.id = ? ORDER BY sm.state <> 'active', s.parent_id IS NOT NULL, s.seq LIMIT 1
"""
_BESIDE = """
SELECT m.id FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = :source AND sm.state = 'active' AND sm.position {} :position
ORDER BY sm.position {} LIMIT 1
"""
_LEAVES = """
SELECT n.id, ls.start, ls."end" FROM leaf_span ls JOIN node n ON n.seq = ls.node_seq
WHERE ls.message_seq = ? ORDER BY ls.start, n.seq LIMIT ?
"""
# Those of leaves, in the views that are shown.
_CITING = """
SELECT st.seq, st.kind, st.text, p.name, st.grade, st.score, n.id FROM citation c
JOIN stated st ON st.seq = c.statement_seq JOIN summary s ON s.seq = st.summary_seq
JOIN producer p ON p.seq = s.producer_seq JOIN node n ON n.seq = s.node_seq
WHERE c.message_seq = ? AND s.usable = 1 AND st.kept_back = 0 AND st.grade <> 'unproven'
ORDER BY n.level, st.importance DESC LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message and what stands around it.

    source_id, title: of a source that has it. is_active: whether it is in the history, not on a
    branch that was left. before, after: the ids of its neighbours there. leaves: the nodes with
    its words, each with the first character and the one after the last. statements: what leaves
    picked from it, each with the id of its node.
    """

    message: Message
    source_id: str
    title: str
    is_active: bool
    place: Place
    before: str | None
    after: str | None
    leaves: tuple[tuple[str, int, int], ...]
    statements: tuple[tuple[Statement, str], ...]


def message_view(database: Database, private: Private, prefix: str) -> MessageView:
    """A message and what stands around it. prefix: an unambiguous beginning of its id. Raises
    NotFoundError, AmbiguousIdError."""
    message = limited(browse.message(database, prefix), database, private)
    row = database.row(_SOURCE, (message.id,))
    assert row is not None, "every message has a source"
    source_seq, source_id, position, state, seq = row
    at = {"source": source_seq, "position": position}
    before = _seen(database.value(_BESIDE.format("<", "DESC"), at), private)
    after = _seen(database.value(_BESIDE.format(">", "ASC"), at), private)
    rows = database.rows(_CITING, (seq, STATEMENTS_MAX))
    hidden = private.citing(database, [row[0] for row in rows])
    statements = tuple(
        (Statement(statement, kind, text, producer, None, (message,), grade=grade, score=score),
         node_id)
        for statement, kind, text, producer, grade, score, node_id in rows
        if statement not in hidden
    )  # fmt: skip
    return MessageView(
        message, source_id, nodes.name_of(database, private, Scope.source(source_id)),
        state == "active", resuming.place_of(database, source_seq, seq), before, after,
        tuple((leaf, start, end) for leaf, start, end in database.rows(_LEAVES, (seq, LEAVES_MAX))),
        statements,
    )  # fmt: skip


def _seen(message_id: str | None, private: Private) -> str | None:
    return None if message_id in private.message_ids else message_id
