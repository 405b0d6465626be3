"""Takes sealed leaves back out of the trees, when words in them have changed.

A leaf ends where the next message no longer fits, so from the first changed leaf on a source is
sealed anew. Nodes that come out the same keep their summaries and vectors; those that held the
changed words, and everything above them, are deleted with all that was made of them. All of it
is one transaction of the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from treemem.store import vectors
from treemem.store.database import Database
from treemem.tree import builder
from treemem.types import TreeShape
from treemem.worker import collection_jobs, source_jobs

_SOURCES = """
SELECT DISTINCT s.seq, s.id FROM source_message sm JOIN source s ON s.seq = sm.source_seq
WHERE sm.message_seq IN (SELECT value FROM json_each(?)) ORDER BY s.seq
"""
# The leaves that hold the messages, and all that stands above them.
_DOOMED = """
WITH RECURSIVE doomed (seq) AS (
  SELECT node_seq FROM leaf_span WHERE message_seq IN (SELECT value FROM json_each(?))
  UNION SELECT nc.node_seq FROM doomed JOIN node_child nc ON nc.child_seq = doomed.seq)
SELECT n.seq FROM doomed JOIN node n ON n.seq = doomed.seq ORDER BY n.level DESC, n.seq
"""
# A root stands above all that its tree holds, but there is none while jobs for it wait.
_TREES = """
SELECT seq, scope, key, root_seq, tail_seq FROM tree t
WHERE root_seq IN (SELECT value FROM json_each(:doomed))
   OR tail_seq IN (SELECT value FROM json_each(:doomed))
   OR EXISTS (SELECT 1 FROM tree_node tn WHERE tn.tree_seq = t.seq
              AND tn.node_seq IN (SELECT value FROM json_each(:doomed)))
"""
_FIRST = """
SELECT min(position) FROM tree_node
WHERE tree_seq = ? AND level = 0 AND node_seq IN (SELECT value FROM json_each(?))
"""
_OPENED = """
SELECT ls.message_seq, min(ls.start) FROM tree_node tn
JOIN leaf_span ls ON ls.node_seq = tn.node_seq
WHERE tn.tree_seq = ? AND tn.level = 0 AND tn.position >= ? GROUP BY ls.message_seq
"""
_OPEN = """
UPDATE source_message SET open_from = ? WHERE source_seq = ? AND message_seq = ?
"""
_OPEN_POSITION = """
UPDATE source SET open_position = min(open_position, coalesce(
  (SELECT min(position) FROM source_message WHERE source_seq = :source
   AND state = 'active' AND open_from IS NOT NULL), open_position)) WHERE seq = :source
"""
_TAKE_OUT = """
DELETE FROM tree_node WHERE tree_seq = ? AND level = ? AND position >= ? RETURNING node_seq
"""
_UNROOT = "UPDATE tree SET root_seq = NULL, tail_seq = NULL WHERE seq = ?"
_BELOW = """
SELECT DISTINCT child_seq FROM node_child WHERE node_seq IN (SELECT value FROM json_each(?))
"""
# A name that was found in the words of leaves may hold one of theirs.
_UNNAME = """
UPDATE topic SET name = NULL WHERE named = 0 AND seq IN (
  SELECT topic_seq FROM topic_leaf WHERE node_seq IN (SELECT value FROM json_each(?)))
"""
_LEAVE_TOPICS = "DELETE FROM topic_leaf WHERE node_seq IN (SELECT value FROM json_each(?))"
_DELETE = "DELETE FROM node WHERE seq IN (SELECT value FROM json_each(?))"
# What was not sealed again goes as soon as nothing holds it: at once, or with its topic.
_LOOSEN = """
UPDATE node SET provisional = 1 WHERE seq IN (SELECT value FROM json_each(?))
  AND NOT EXISTS (SELECT 1 FROM tree_node tn WHERE tn.node_seq = node.seq)
"""


def sources_of(database: Database, message_seqs: Iterable[int]) -> list[tuple[int, str]]:
    """Numbers and ids of the sources that have any of these messages."""
    return [(row[0], row[1]) for row in database.rows(_SOURCES, (_json(message_seqs),))]


def nodes_of(database: Database, message_seqs: Iterable[int]) -> list[int]:
    """The nodes that rest on any of these messages, the highest first."""
    return [seq for (seq,) in database.rows(_DOOMED, (_json(message_seqs),))]


def reseal(database: Database, message_seqs: Sequence[int], now_ms: int, shape: TreeShape) -> int:
    """Seals the sources of these messages anew from the first leaf that holds one of them, and
    asks for the summaries and the trees above. The messages have their new words already.

    Returns how many nodes rested on them; those are gone.
    """
    doomed = nodes_of(database, message_seqs)
    seq_of = {source_id: seq for seq, source_id in sources_of(database, message_seqs)}
    gone = _json(doomed)
    loose = {seq for (seq,) in database.rows(_BELOW, (gone,))}
    for row in database.rows(_TREES, {"doomed": gone}):
        tree = builder.TreeRow(*row)
        if tree.scope == "source":
            loose.update(_open(database, tree, seq_of[tree.key], gone, shape))
        loose.update(seq for seq in (tree.root_seq, tree.tail_seq) if seq is not None)
        database.execute(_UNROOT, (tree.seq,))
    for sql in (_UNNAME, _LEAVE_TOPICS, _DELETE):
        database.execute(sql, (gone,))
    for source_id, seq in seq_of.items():
        while builder.seal(database, seq, source_id, shape):
            continue
        source_jobs.admit_seal(database, source_id, now_ms)
    loose.difference_update(doomed)
    database.execute(_LOOSEN, (_json(loose),))
    for seq in loose:
        builder.release(database, seq)
    vectors.remove_gone(database)
    collection_jobs.admit(database, now_ms, at_once=True)
    return len(doomed)


def _open(
    database: Database, tree: builder.TreeRow, source_seq: int, doomed: str, shape: TreeShape
) -> list[int]:
    """Opens a source from the first leaf that changed. Returns the nodes that its tree lost."""
    first = database.value(_FIRST, (tree.seq, doomed))
    if first is None:  # all of the messages lie in the open tail, or on abandoned branches
        return []
    opened = database.rows(_OPENED, (tree.seq, first))
    database.many(_OPEN, [(start, source_seq, seq) for seq, start in opened])
    database.execute(_OPEN_POSITION, {"source": source_seq})
    lost = []
    for level in range(len(builder.level_counts(database, tree))):
        from_here = (tree.seq, level, first // shape.fanout**level)
        lost += [seq for (seq,) in database.rows(_TAKE_OUT, from_here)]
    return lost


def _json(values: Iterable[object]) -> str:
    return orjson.dumps(list(values)).decode()
