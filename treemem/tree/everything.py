"""Lays out the tree over everything, whose members are the roots of all sources by their start.

Most changes are at its end: a session of today comes, or grows. So the members from the first
change on are laid out again, and what is before them stays as it is: the cost depends on what has
changed, not on how many sources there are. A source knows which root of it the tree has.

Owns the columns tree.members and tree.laid_root. Tested in tests/worker/test_collection_jobs.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from treemem.store.database import Database, json_list
from treemem.tree import builder
from treemem.tree.builder import TreeRow
from treemem.types import TreeShape

# Members that are laid out again in one transaction, at most; of more, all are, in steps.
MEMBERS_MAX = 256

# Sources without times come before those that have them. Subtle: of those that begin at the same
# moment the order is that of their ids, since that of their rows depends on which was read first.
_ROOTS = """
SELECT n.seq FROM tree t{these} JOIN source s ON s.id = t.key JOIN node n ON n.seq = t.root_seq
WHERE t.scope = 'source'{are}
GROUP BY n.seq ORDER BY n.started_at_ms, min(s.id)
"""
_THESE = " INDEXED BY tree_root"
_ARE = " AND t.root_seq IN (SELECT value FROM json_each(?))"


def roots(database: Database) -> list[int]:
    """The roots of all sources, ordered by start time. They may be on different levels. Sources
    with the same content share a root."""
    return [seq for (seq,) in database.rows(_ROOTS.format(these="", are=""))]


# -- noting what the tree covers -------------------------------------------------------

_NOTE_MEMBERS = "UPDATE tree SET members = ? WHERE scope = 'global'"
_NOTE_ROOTS = """
UPDATE tree INDEXED BY tree_not_laid SET laid_root = root_seq
WHERE scope = 'source' AND root_seq IS NOT laid_root
"""


def note(database: Database, members: int | None) -> None:
    """Notes, in the transaction that lays the tree out, that it covers this many members, which are
    the roots of all sources; None if it covers only some of them."""
    database.execute(_NOTE_MEMBERS, (members,))
    if members is not None:
        database.execute(_NOTE_ROOTS)


def forget(database: Database) -> None:
    """Lets the tree be laid out from all members the next time."""
    database.execute(_NOTE_MEMBERS, (None,))


# -- laying out from the first change on -----------------------------------------------

_MEMBERS = "SELECT members FROM tree WHERE scope = 'global'"
_CHANGED = """
SELECT t.root_seq, now.started_at_ms, t.laid_root, was.started_at_ms
FROM tree t INDEXED BY tree_not_laid
LEFT JOIN node now ON now.seq = t.root_seq LEFT JOIN node was ON was.seq = t.laid_root
WHERE t.scope = 'source' AND t.root_seq IS NOT t.laid_root LIMIT ?
"""
_CHILDREN = """
SELECT n.seq, n.started_at_ms FROM node_child nc JOIN node n ON n.seq = nc.child_seq
WHERE nc.node_seq = ? ORDER BY nc.ordinal
"""


def lay_out_end(database: Database, tree: TreeRow, shape: TreeShape) -> list[int] | None:
    """Lays out again the members from the first change on, in the caller's transaction. Returns the
    groups above them, children before parents; None if all have to be laid out."""
    members = database.value(_MEMBERS)
    changed = database.rows(_CHANGED, (MEMBERS_MAX + 1,))
    if members is None or tree.root_seq is None or len(changed) > MEMBERS_MAX:
        return None
    if not changed:
        return []
    started = [
        at for root, now, laid, was in changed
        for seq, at in ((root, now), (laid, was)) if seq is not None
    ]  # fmt: skip
    if not started or None in started:
        return None
    parts = _Parts(database, min(started), shape.fanout)
    if not parts.divide(tree.root_seq, members):
        return None
    these = {*parts.after, *(root for root, *_ in changed if root is not None)}
    after = _members(database, these)
    groups = builder.lay_out_after(database, tree, parts.before, after, shape)
    note(database, parts.size_before + len(after))
    return groups


def _members(database: Database, seqs: Iterable[int]) -> list[int]:
    """Those of these nodes that are roots of sources, in the order of the tree."""
    rows = database.rows(_ROOTS.format(these=_THESE, are=_ARE), (json_list(seqs),))
    return [seq for (seq,) in rows]


@dataclass
class _Parts:
    """The members of the tree in two parts. before: those that begin before a time, as for
    layout.layers_after. after: the others in order, the first of which may begin before it."""

    database: Database
    from_ms: int
    fanout: int
    before: list[list[int]] = field(default_factory=list)
    after: list[int] = field(default_factory=list)

    @property
    def size_before(self) -> int:
        return sum(self.fanout**height * len(seqs) for height, seqs in enumerate(self.before))

    def divide(self, root_seq: int, members: int) -> bool:
        """Divides the tree with this root and number of members. Returns False if it is not one of
        so many members, or too many come after that time."""
        heights: list[int] = []
        height = 0
        while members:
            heights = [height] * (members % self.fanout) + heights
            members //= self.fanout
            height += 1
        self.before = [[] for _ in range(height)]
        if len(heights) == 1:
            return self._divide([(root_seq, self._started(root_seq))], heights)
        return self._divide(self._children(root_seq), heights)

    def _divide(self, nodes: Sequence[tuple[int, int | None]], heights: Sequence[int]) -> bool:
        if len(nodes) != len(heights):
            return False
        earlier = [at for at, (_, ms) in enumerate(nodes) if ms is None or ms < self.from_ms]
        last = max(earlier, default=-1)
        for at in range(last):
            self.before[heights[at]].append(nodes[at][0])
        if last >= 0:
            seq, height = nodes[last][0], heights[last]
            if height == 0:
                self.before[0].append(seq)
            elif not self._divide(self._children(seq), [height - 1] * self.fanout):
                return False
        later = zip(nodes[last + 1 :], heights[last + 1 :], strict=True)
        return all(self._add_all(seq, height) for (seq, _), height in later)

    def _add_all(self, seq: int, height: int) -> bool:
        """Adds the members below a node to those after the time."""
        if height == 0:
            self.after.append(seq)
            return len(self.after) <= MEMBERS_MAX
        children = self._children(seq)
        return len(children) == self.fanout and all(
            self._add_all(child, height - 1) for child, _ in children
        )

    def _children(self, seq: int) -> list[tuple[int, int | None]]:
        return [(child, ms) for child, ms in self.database.rows(_CHILDREN, (seq,))]

    def _started(self, seq: int) -> int | None:
        ms: int | None = self.database.value("SELECT started_at_ms FROM node WHERE seq = ?", (seq,))
        return ms
