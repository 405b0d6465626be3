"""Finds where a node is: the trees that contain it, the way to it from a root, and its neighbours.

Sources may share nodes, and a leaf is in the trees of its source, of topics and of everything, so
a node may have several parents. Callers read in one transaction.
Tested in tests/web/reading/test_paths.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from treemem.store import summaries
from treemem.store.database import Database
from treemem.types import Scope

# Steps up from a node that are followed, over all its parents.
STEPS_MAX = 20_000
# More than the levels of any tree.
LEVELS_MAX = 64

_UP = f"""
WITH RECURSIVE up (seq) AS (
  SELECT :node UNION SELECT nc.node_seq FROM up JOIN node_child nc ON nc.child_seq = up.seq
  LIMIT {STEPS_MAX})
"""  # noqa: S608
_STEPS = f"""{_UP}
SELECT nc.node_seq, nc.child_seq FROM up JOIN node_child nc ON nc.child_seq = up.seq
ORDER BY nc.node_seq, nc.ordinal
"""  # noqa: S608
# A source's own tree before a topic's, and that of everything last.
_TREES = f"""{_UP}
SELECT t.scope, t.key, t.root_seq FROM up JOIN tree t ON t.root_seq = up.seq
ORDER BY t.scope = 'global', t.scope = 'topic', t.seq LIMIT :most
"""  # noqa: S608


class Place(NamedTuple):
    """A tree that contains a node. scope: whose tree it is. root_seq: its root."""

    scope: Scope
    root_seq: int


def kind_of(scope: Scope) -> str:
    """The name of a scope in the table of trees."""
    return "global" if scope.kind == "everything" else scope.kind


def trees_with(database: Database, node_seq: int, most: int) -> list[Place]:
    """The trees that contain a node, those of sources first. most: how many at most."""
    rows = database.rows(_TREES, {"node": node_seq, "most": most})
    return [
        Place(Scope.everything() if kind == "global" else Scope(kind, key), root_seq)
        for kind, key, root_seq in rows
    ]


def path_between(database: Database, root_seq: int, node_seq: int) -> list[int]:
    """The nodes from a root down to a node, the shortest and first way; empty if the node is not
    below the root."""
    if root_seq == node_seq:
        return [root_seq]
    below: dict[int, list[int]] = {}
    for parent, child in database.rows(_STEPS, {"node": node_seq}):
        below.setdefault(parent, []).append(child)
    ways = [[root_seq]]
    seen = {root_seq}
    for way in ways:
        if way[-1] == node_seq:
            return way
        for child in below.get(way[-1], ()):
            if child not in seen:
                seen.add(child)
                ways.append([*way, child])
    return []


def neighbour(database: Database, path: Sequence[int], step: int) -> int | None:
    """The node after the last one of a path from a root (step 1) or before it (step -1); None at
    the end of the tree.

    Of a leaf it is the next leaf. Of a group it is the next node as many steps below the root, or
    the nearest above that, since trees are uneven.
    """
    is_leaf = not summaries.child_seqs(database, path[-1])
    for at in range(len(path) - 1, 0, -1):
        beside = summaries.child_seqs(database, path[at - 1])
        index = beside.index(path[at]) + step
        if 0 <= index < len(beside):
            depth = LEVELS_MAX if is_leaf else len(path) - 1 - at
            return _down(database, beside[index], depth, step)
    return None


def _down(database: Database, seq: int, depth: int, step: int) -> int:
    """The first node (step 1) or the last one (step -1) at most so far below a node."""
    for _ in range(depth):
        below = summaries.child_seqs(database, seq)
        if not below:
            break
        seq = below[0 if step > 0 else -1]
    return seq
