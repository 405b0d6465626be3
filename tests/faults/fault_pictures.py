"""Compares the contents of two memory files, apart from row numbers and clocks."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from treemem.store.database import Database
from treemem.topics import store as topic_store

Rows = list[tuple[Any, ...]]

_MESSAGES = """
SELECT id, identity, external_id, role, kind, sent_at, text, tokens, extras FROM message ORDER BY id
"""
_HISTORIES = """
SELECT s.id, m.id, l.id, sm.state, sm.open_from FROM source_message sm
LEFT JOIN log_session l ON l.seq = sm.session_seq
JOIN source s ON s.seq = sm.source_seq JOIN message m ON m.seq = sm.message_seq
ORDER BY s.id, sm.position
"""
_FILES = "SELECT digest, source_ids, records, messages, skipped FROM imported_file ORDER BY digest"
_NODES = """
SELECT n.id, n.level, n.tokens, n.message_count, n.provisional,
  (SELECT group_concat(below, ' ') FROM (
     SELECT c.id AS below FROM node_child nc JOIN node c ON c.seq = nc.child_seq
     WHERE nc.node_seq = n.seq ORDER BY nc.ordinal)),
  (SELECT group_concat(below, ' ') FROM (
     SELECT m.id || '[' || ls.start || ':' || ls."end" || ']' AS below
     FROM leaf_span ls JOIN message m ON m.seq = ls.message_seq
     WHERE ls.node_seq = n.seq ORDER BY ls.ordinal))
FROM node n ORDER BY n.id
"""
_TREES = """
SELECT t.scope, t.key, tn.level, tn.position, n.id FROM tree_node tn
JOIN tree t ON t.seq = tn.tree_seq JOIN node n ON n.seq = tn.node_seq
ORDER BY t.scope, t.key, tn.level, tn.position
"""
_ROOTS = """
SELECT t.scope, t.key, root.id, tail.id FROM tree t
LEFT JOIN node root ON root.seq = t.root_seq LEFT JOIN node tail ON tail.seq = t.tail_seq
ORDER BY t.scope, t.key
"""
_SUMMARIES = """
SELECT n.id, p.name, s.offered, s.kept, s.usable, s.tokens, s.rejections FROM summary s
JOIN node n ON n.seq = s.node_seq JOIN producer p ON p.seq = s.producer_seq ORDER BY n.id, p.name
"""
_STATEMENTS = """
SELECT n.id, p.name, ss.ordinal, st.kind, st.text, st.speaker, st.importance,
  (SELECT group_concat(cited, ' ') FROM (
     SELECT coalesce(m.external_id, m.id) AS cited
     FROM citation c JOIN message m ON m.seq = c.message_seq
     WHERE c.statement_seq = st.seq ORDER BY c.ordinal))
FROM summary_statement ss JOIN stated st ON st.seq = ss.statement_seq
JOIN summary s ON s.seq = ss.summary_seq JOIN node n ON n.seq = s.node_seq
JOIN producer p ON p.seq = s.producer_seq ORDER BY n.id, p.name, ss.ordinal
"""
# What must not be in the file when all work is done.
_LEFT_OVER = """
SELECT 'job ' || dedupe_key || ' is ' || state FROM job WHERE state <> 'done'
UNION ALL SELECT 'answer ' || key || ' belongs to no summary' FROM model_output
UNION ALL SELECT 'kind ' || kind || ' failed: ' || reason FROM breaker
UNION ALL SELECT 'node ' || n.id || ' has no extractive summary' FROM node n
  WHERE NOT EXISTS (SELECT 1 FROM summary s JOIN producer p ON p.seq = s.producer_seq
                    WHERE s.node_seq = n.seq AND p.name LIKE 'extractive/%')
UNION ALL SELECT 'the model has not seen node ' || n.id FROM node n
  WHERE NOT EXISTS (SELECT 1 FROM summary s JOIN producer p ON p.seq = s.producer_seq
                    WHERE s.node_seq = n.seq AND p.name LIKE 'fake@%')
    AND NOT EXISTS (SELECT 1 FROM tree t WHERE t.tail_seq = n.seq)
    AND (EXISTS (SELECT 1 FROM tree_node tn WHERE tn.node_seq = n.seq)
      OR EXISTS (SELECT 1 FROM tree t WHERE t.root_seq = n.seq))
UNION ALL SELECT 'message ' || m.id || ' is stored twice in ' || sm.source_seq
  FROM source_message sm JOIN message m ON m.seq = sm.message_seq
  GROUP BY m.id, sm.source_seq HAVING count(*) > 1
UNION ALL SELECT 'message with the external id ' || external_id || ' is stored twice'
  FROM message WHERE external_id IS NOT NULL GROUP BY external_id, text HAVING count(*) > 1
"""


class _TakenError(Exception):
    """Raised to undo the changes made for the picture."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that two runs over the same logs must have in common.

    Topics are left out: they depend on the leaves there were when the first one was created.
    Doctor checks their trees.
    """

    messages: Rows
    histories: Rows
    files: Rows
    nodes: Rows
    trees: Rows
    roots: Rows
    summaries: Rows
    statements: Rows
    left_over: Rows

    @classmethod
    def of(cls, path: Path) -> Picture:
        database = Database(path)
        parts: list[Rows] = []
        left_over = database.rows(_LEFT_OVER)
        with contextlib.suppress(_TakenError), database.transaction():
            for topic in topic_store.topics(database):
                topic_store.remove(database, topic.id)
            wanted = (
                _MESSAGES,
                _HISTORIES,
                _FILES,
                _NODES,
                _TREES,
                _ROOTS,
                _SUMMARIES,
                _STATEMENTS,
            )
            parts += map(database.rows, wanted)
            raise _TakenError
        database.close()
        return cls(*parts, left_over)

    def differences(self, other: Picture) -> list[str]:
        """A sentence for each part that differs, with the first row that does."""
        sentences = []
        for part in fields(self):
            mine, others = getattr(self, part.name), getattr(other, part.name)
            if mine != others:
                missing = [row for row in mine if row not in others]
                added = [row for row in others if row not in mine]
                sentences.append(
                    f"{part.name}: {len(mine)} rows, now {len(others)}; {len(missing)} missing "
                    f"{_first(missing)}, {len(added)} new {_first(added)}"
                )
        return sentences


def _first(rows: Rows) -> str:
    return f"(as {rows[0]!r:.300})" if rows else ""
