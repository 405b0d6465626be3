"""Removes nodes whose messages have changed from their trees, so that they can be sealed again.

A leaf ends where the next message does not fit, so a source is unsealed from the first changed leaf
on. The caller runs these steps in one transaction: detach, delete, seal (builder.py), release.

Tested in tests/privacy/test_scrub.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from treemem.store import messages
from treemem.store.database import Database, json_list
from treemem.tree import builder
from treemem.types import TreeShape

_ABOVE = """
WITH RECURSIVE above (seq) AS (
  SELECT node_seq FROM leaf_span WHERE message_seq IN (SELECT value FROM json_each(?))
  UNION SELECT nc.node_seq FROM above JOIN node_child nc ON nc.child_seq = above.seq)
SELECT n.seq FROM above JOIN node n ON n.seq = above.seq ORDER BY n.level DESC, n.seq
"""
# The root would cover all nodes of its tree, but a tree has none while jobs for it wait.
_TREES = """
SELECT seq, scope, key, root_seq, tail_seq FROM tree t
WHERE root_seq IN (SELECT value FROM json_each(:nodes))
   OR tail_seq IN (SELECT value FROM json_each(:nodes))
   OR EXISTS (SELECT 1 FROM tree_node tn WHERE tn.tree_seq = t.seq
              AND tn.node_seq IN (SELECT value FROM json_each(:nodes)))
"""
_FIRST_POSITION = """
SELECT min(position) FROM tree_node
WHERE tree_seq = ? AND level = 0 AND node_seq IN (SELECT value FROM json_each(?))
"""
_STARTS = """
SELECT ls.message_seq, min(ls.start) FROM tree_node tn
JOIN leaf_span ls ON ls.node_seq = tn.node_seq
WHERE tn.tree_seq = ? AND tn.level = 0 AND tn.position >= ? GROUP BY ls.message_seq
"""
_TAKE_OUT = """
DELETE FROM tree_node WHERE tree_seq = ? AND level = ? AND position >= ? RETURNING node_seq
"""
_UNROOT = "UPDATE tree SET root_seq = NULL, tail_seq = NULL WHERE seq = ?"
_BELOW = """
SELECT DISTINCT child_seq FROM node_child WHERE node_seq IN (SELECT value FROM json_each(?))
"""
_DELETE = "DELETE FROM node WHERE seq IN (SELECT value FROM json_each(?))"
_LOOSEN = """
UPDATE node SET provisional = 1 WHERE seq IN (SELECT value FROM json_each(?))
  AND NOT EXISTS (SELECT 1 FROM tree_node tn WHERE tn.node_seq = node.seq)
"""


def nodes_above(database: Database, message_seqs: Iterable[int]) -> list[int]:
    """The leaves that contain any of these messages, and all nodes above them, highest first."""
    return [seq for (seq,) in database.rows(_ABOVE, (json_list(message_seqs),))]


def detach(
    database: Database, node_seqs: Iterable[int], source_seqs: Mapping[str, int], shape: TreeShape
) -> set[int]:
    """Removes nodes, and the nodes after them in sources, from their trees, and unseals their
    messages. source_seqs: the row numbers of the sources with these nodes, by source id.

    Returns the nodes that may no longer be in any tree, for release.
    """
    nodes = json_list(node_seqs)
    loose = {seq for (seq,) in database.rows(_BELOW, (nodes,))}
    for row in database.rows(_TREES, {"nodes": nodes}):
        tree = builder.TreeRow(*row)
        if tree.scope == "source":
            loose.update(_unseal(database, tree, source_seqs[tree.key], nodes, shape))
        loose.update(seq for seq in (tree.root_seq, tree.tail_seq) if seq is not None)
        database.execute(_UNROOT, (tree.seq,))
    return loose


def delete(database: Database, node_seqs: Iterable[int]) -> None:
    """Deletes nodes that are in no tree, with their summaries, statements and paid answers."""
    database.execute(_DELETE, (json_list(node_seqs),))


def release(database: Database, node_seqs: Iterable[int]) -> None:
    """Makes the nodes that were not sealed again provisional, and deletes those that belong to no
    tree or topic."""
    seqs = list(node_seqs)
    database.execute(_LOOSEN, (json_list(seqs),))
    for seq in seqs:
        builder.release(database, seq)


def _unseal(
    database: Database, tree: builder.TreeRow, source_seq: int, nodes: str, shape: TreeShape
) -> list[int]:
    """Unseals a source from the first of these nodes on. Returns the nodes removed from its
    tree."""
    first = database.value(_FIRST_POSITION, (tree.seq, nodes))
    if first is None:  # the messages are in the open tail or on abandoned branches
        return []
    messages.reopen(database, source_seq, database.rows(_STARTS, (tree.seq, first)))
    lost = []
    for level in range(len(builder.level_counts(database, tree))):
        from_here = (tree.seq, level, first // shape.fanout**level)
        lost += [seq for (seq,) in database.rows(_TAKE_OUT, from_here)]
    return lost
