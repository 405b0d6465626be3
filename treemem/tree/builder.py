"""Stores the nodes of trees: leaves, groups and roots, as computed by sealing and layout.

Works for trees of any scope, in the caller's transaction. Makes no summaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treemem import ids
from treemem.store import json_text, messages, summaries
from treemem.store.database import Database, Row, json_list
from treemem.text import tokens
from treemem.tree import layout, sealing
from treemem.types import Span, TreeShape

# One call of seal reads the tokens of at most about this many leaves.
OPEN_LEAVES_MAX = 64


@dataclass(frozen=True, slots=True)
class TreeRow:
    """The tree of a scope. root_seq: None if it has no root. tail_seq: None if it has no open
    tail."""

    seq: int
    scope: str
    key: str
    root_seq: int | None
    tail_seq: int | None


_TREE_ENSURE = """
INSERT INTO tree (scope, key) VALUES (?, ?)
ON CONFLICT (scope, key) DO UPDATE SET key = excluded.key
RETURNING seq, scope, key, root_seq, tail_seq
"""
_TREE_FIND = """
SELECT seq, scope, key, root_seq, tail_seq FROM tree WHERE scope = ? AND key = ?
"""


def ensure_tree(database: Database, scope: str, key: str) -> TreeRow:
    """Returns the tree of a scope, and creates it if it is missing."""
    row = database.row(_TREE_ENSURE, (scope, key))
    assert row is not None
    return TreeRow(*row)


def find_tree(database: Database, scope: str, key: str) -> TreeRow | None:
    """The tree of a scope; None if it is missing."""
    row = database.row(_TREE_FIND, (scope, key))
    return None if row is None else TreeRow(*row)


# -- sealing a source ------------------------------------------------------------------

_OPEN_ROWS = """
SELECT m.seq, m.id, sm.position, sm.open_from, m.chars, m.tokens, m.extras,
  CASE WHEN m.tokens > :limit THEN m.text END
FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = :source AND sm.state = 'active' AND sm.open_from IS NOT NULL
  AND sm.position >= (SELECT open_position FROM source WHERE seq = :source)
ORDER BY sm.position
"""
_CLOSE = "UPDATE source_message SET open_from = ? WHERE source_seq = ? AND position = ?"
_OPEN_POSITION = """
UPDATE source SET open_position = coalesce(
  (SELECT min(position) FROM source_message WHERE source_seq = :source AND position >= :from
   AND state = 'active' AND open_from IS NOT NULL), :next)
WHERE seq = :source
"""


def seal(database: Database, source_seq: int, source_id: str, shape: TreeShape) -> int:
    """Seals the full leaves at the head of a source's open tail and adds them to its tree.

    Returns the number of leaves; 0 means that sealing is complete. The caller repeats the call in
    new transactions, to keep each one short.
    """
    pieces = _open_pieces(database, source_seq, shape)
    whole_chars = {piece.position: piece.end for piece in pieces}
    leaves = list(sealing.seal(pieces, shape.leaf_tokens_max))
    if not leaves:
        return 0
    sealed_to: dict[int, int] = {}
    leaf_seqs = []
    for leaf in leaves:
        leaf_seqs.append(_put_leaf(database, [_span_of(piece) for piece in leaf]))
        sealed_to.update((piece.position, piece.end) for piece in leaf)
    rows = [
        (None if end == whole_chars[position] else end, source_seq, position)
        for position, end in sealed_to.items()
    ]
    database.many(_CLOSE, rows)
    first = min(sealed_to)
    next_position = messages.next_position(database, source_seq)
    database.execute(_OPEN_POSITION, {"source": source_seq, "from": first, "next": next_position})
    extend(database, ensure_tree(database, "source", source_id), leaf_seqs, shape)
    return len(leaves)


def _open_pieces(database: Database, source_seq: int, shape: TreeShape) -> list[sealing.Piece]:
    """The first pieces of the open tail, in order, for about OPEN_LEAVES_MAX leaves. Splits
    messages that are too long for a leaf."""
    limit = shape.leaf_tokens_max
    pieces: list[sealing.Piece] = []
    token_count = 0
    for row in database.execute(_OPEN_ROWS, {"source": source_seq, "limit": limit}):
        pieces += _pieces_of(row, limit)
        token_count += row[5]
        if token_count >= OPEN_LEAVES_MAX * limit and len(pieces) > sealing.LEAF_PIECES_MAX:
            break
    return pieces


def _pieces_of(row: Row, limit: int) -> list[sealing.Piece]:
    """The open pieces of a message. What is sealed of a long one ends where a piece does."""
    _, message_id, position, open_from, chars, token_count, extras, long_text = row
    tool_ids = json_text.object_of(extras)
    is_long = long_text is not None
    whole = sealing.Piece(
        position, message_id, open_from if is_long else 0, chars, token_count,
        tuple(tool_ids.get("uses", ())), tuple(tool_ids.get("results", ())),
    )  # fmt: skip
    return sealing.split(whole, long_text, limit, tokens.cut) if is_long else [whole]


def _span_of(piece: sealing.Piece) -> Span:
    return Span(piece.message_id, piece.start, piece.end, piece.tokens)


def put_sealed(
    database: Database, source_id: str, leaves: Iterable[Sequence[Span]], shape: TreeShape
) -> None:
    """Stores leaves that were sealed elsewhere, in order, and the groups that they fill."""
    leaf_seqs = [_put_leaf(database, spans) for spans in leaves]
    extend(database, ensure_tree(database, "source", source_id), leaf_seqs, shape)


# -- nodes -----------------------------------------------------------------------------

_NODE_FIND = "SELECT seq, provisional FROM node WHERE id = ?"
_NODE_INSERT = """
INSERT INTO node (id, level, tokens, message_count, started_at_ms, ended_at_ms, provisional)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_SPAN_INSERT = """
INSERT INTO leaf_span (node_seq, ordinal, message_seq, start, "end", tokens)
VALUES (?, ?, ?, ?, ?, ?)
"""
_CHILD_INSERT = "INSERT INTO node_child (node_seq, ordinal, child_seq) VALUES (?, ?, ?)"
_CHILDREN = """
SELECT seq, id, level, tokens, message_count, started_at_ms, ended_at_ms FROM node
WHERE seq IN ({marks})
"""


def _put_leaf(database: Database, spans: Sequence[Span], *, provisional: bool = False) -> int:
    """Stores a leaf with these spans unless it exists, since sources may share leaves."""
    leaf_id = ids.leaf_id(spans)
    existing = _existing(database, leaf_id, provisional=provisional)
    if existing is not None:
        return existing
    seq_of = messages.seqs_by_id(database, [span.message_id for span in spans])
    started, ended = _message_times(database, list(seq_of.values()))
    node_seq = database.insert(
        _NODE_INSERT,
        (leaf_id, 0, sum(s.tokens for s in spans), len(spans), started, ended, int(provisional)),
    )
    database.many(
        _SPAN_INSERT,
        [(node_seq, ordinal, seq_of[span.message_id], span.start, span.end, span.tokens)
         for ordinal, span in enumerate(spans)],
    )  # fmt: skip
    return node_seq


def _put_group(
    database: Database, child_seqs: Sequence[int], level: int, *, provisional: bool = False
) -> int:
    """Stores a group with these children, in order, unless it exists."""
    marks = ",".join("?" * len(child_seqs))
    rows = {row[0]: row for row in database.rows(_CHILDREN.format(marks=marks), tuple(child_seqs))}
    children = [rows[seq] for seq in child_seqs]
    node_id = ids.group_id(level, [row[1] for row in children])
    existing = _existing(database, node_id, provisional=provisional)
    if existing is not None:
        return existing
    starts = [row[5] for row in children if row[5] is not None]
    ends = [row[6] for row in children if row[6] is not None]
    node_seq = database.insert(
        _NODE_INSERT,
        (node_id, level, sum(row[3] for row in children), sum(row[4] for row in children),
         min(starts, default=None), max(ends, default=None), int(provisional)),
    )  # fmt: skip
    children_rows = [(node_seq, ordinal, seq) for ordinal, seq in enumerate(child_seqs)]
    database.many(_CHILD_INSERT, children_rows)
    return node_seq


def _existing(database: Database, node_id: str, *, provisional: bool) -> int | None:
    row = database.row(_NODE_FIND, (node_id,))
    if row is None:
        return None
    if row[1] and not provisional:
        # An open tail that was exactly full is sealed with the same content and id.
        database.execute("UPDATE node SET provisional = 0 WHERE seq = ?", (row[0],))
    return int(row[0])


def _message_times(database: Database, seqs: Sequence[int]) -> tuple[int | None, int | None]:
    sql = "SELECT min(sent_at_ms), max(sent_at_ms) FROM message WHERE seq IN ({marks})"
    marks = ",".join("?" * len(seqs))
    row = database.row(sql.format(marks=marks), tuple(seqs))
    assert row is not None
    return row[0], row[1]


_LEAVES_BELOW = """
WITH RECURSIVE below (seq) AS (
  SELECT ? UNION SELECT nc.child_seq FROM below JOIN node_child nc ON nc.node_seq = below.seq)
SELECT n.seq FROM below JOIN node n ON n.seq = below.seq WHERE n.level = 0 ORDER BY n.seq
"""


def leaves_below(database: Database, node_seq: int) -> list[int]:
    """The leaves below a node; for a leaf, the leaf itself."""
    return [seq for (seq,) in database.rows(_LEAVES_BELOW, (node_seq,))]


# -- growing a source's tree -----------------------------------------------------------

_LAST_POSITION = "SELECT max(position) FROM tree_node WHERE tree_seq = ? AND level = ?"
_LEVEL_FROM = """
SELECT node_seq FROM tree_node WHERE tree_seq = ? AND level = ? AND position >= ? ORDER BY position
"""
_TREE_NODE_INSERT = """
INSERT INTO tree_node (tree_seq, level, position, node_seq) VALUES (?, ?, ?, ?)
"""


def extend(database: Database, tree: TreeRow, member_seqs: Sequence[int], shape: TreeShape) -> None:
    """Appends leaves to a source's tree, and stores the groups that they fill."""
    levels = frontier(database, tree, shape)
    growth = layout.grow(
        [_ids_of(database, level) for level in levels],
        _ids_of(database, member_seqs),
        shape.fanout,
    )
    for seq in member_seqs:
        _append(database, tree, 0, seq)
    for group in growth.groups:
        child_seqs = [_seq_of(database, child_id) for child_id in group.child_ids]
        _append(database, tree, group.level, _put_group(database, child_seqs, group.level))


def frontier(database: Database, tree: TreeRow, shape: TreeShape) -> list[list[int]]:
    """The nodes that are in no full group, lowest level first."""
    counts = level_counts(database, tree)
    levels = []
    for height, _ in enumerate(counts):
        grouped = counts[height + 1] if height + 1 < len(counts) else 0
        parameters = (tree.seq, height, grouped * shape.fanout)
        levels.append([row[0] for row in database.rows(_LEVEL_FROM, parameters)])
    return levels


def level_counts(database: Database, tree: TreeRow) -> list[int]:
    """The number of sealed nodes on each level of a tree, lowest first."""
    counts: list[int] = []
    while True:
        last = database.value(_LAST_POSITION, (tree.seq, len(counts)))
        if last is None:
            return counts
        counts.append(last + 1)


def _append(database: Database, tree: TreeRow, level: int, node_seq: int) -> None:
    last = database.value(_LAST_POSITION, (tree.seq, level))
    position = 0 if last is None else last + 1
    database.execute(_TREE_NODE_INSERT, (tree.seq, level, position, node_seq))


def _ids_of(database: Database, seqs: Sequence[int]) -> list[str]:
    return [database.value("SELECT id FROM node WHERE seq = ?", (seq,)) for seq in seqs]


def _seq_of(database: Database, node_id: str) -> int:
    return int(database.value("SELECT seq FROM node WHERE id = ?", (node_id,)))


# -- the root --------------------------------------------------------------------------

_SET_ROOT = "UPDATE tree SET root_seq = ?, tail_seq = ? WHERE seq = ?"
_DROP_PROVISIONAL = """
DELETE FROM node WHERE seq = :seq AND provisional = 1
  AND NOT EXISTS (SELECT 1 FROM tree WHERE root_seq = :seq OR tail_seq = :seq)
  AND NOT EXISTS (SELECT 1 FROM node_child WHERE child_seq = :seq)
  AND NOT EXISTS (SELECT 1 FROM topic_leaf WHERE node_seq = :seq)
"""


def refresh_root(
    database: Database, tree: TreeRow, source_seq: int | None, shape: TreeShape
) -> int | None:
    """Renews the root of a source's tree, so that it covers the frontier and the open tail.

    source_seq: None for a tree without an open tail. Deletes provisional nodes that no tree needs
    any more, with their summaries. Returns the root; None for an empty tree.
    """
    pieces = [] if source_seq is None else _open_pieces(database, source_seq, shape)
    if any(sealing.seal(pieces, shape.leaf_tokens_max)):
        return tree.root_seq  # more was appended since; the job that seals it is queued
    tail_seq = None
    if pieces:
        tail_seq = _put_leaf(database, [_span_of(piece) for piece in pieces], provisional=True)
    ordered = layout.root_children(frontier(database, tree, shape), tail_seq)
    root_seq = _root_over(database, ordered)
    if (root_seq, tail_seq) != (tree.root_seq, tree.tail_seq):
        database.execute(_SET_ROOT, (root_seq, tail_seq, tree.seq))
        for old in (tree.root_seq, tree.tail_seq):
            release(database, old)
    return root_seq


def release(database: Database, node_seq: int | None) -> None:
    """Deletes a provisional node that nothing refers to, and the provisional nodes below it that
    only it referred to."""
    pending = [] if node_seq is None else [node_seq]
    while pending:
        seq = pending.pop()
        below = summaries.child_seqs(database, seq)
        if database.changed(_DROP_PROVISIONAL, {"seq": seq}):
            pending += below


def _root_over(database: Database, child_seqs: Sequence[int]) -> int | None:
    """Returns the root above these nodes, and stores it if needed. A single node is its own
    root."""
    if len(child_seqs) <= 1:
        return child_seqs[0] if child_seqs else None
    marks = ",".join("?" * len(child_seqs))
    highest = database.value(
        f"SELECT max(level) FROM node WHERE seq IN ({marks})",  # noqa: S608
        tuple(child_seqs),
    )
    return _put_group(database, child_seqs, highest + 1, provisional=True)


# -- trees above the sources -----------------------------------------------------------


def lay_out(
    database: Database, tree: TreeRow, member_seqs: Sequence[int], shape: TreeShape
) -> list[int]:
    """Lays out a topic's tree or the global tree over these members, in order, without duplicates.
    Returns its groups, children before parents.

    All groups are provisional. Deletes groups that no tree needs any more. Changes nothing if the
    tree already covers exactly these members.
    """
    return lay_out_after(database, tree, (), member_seqs, shape)


def lay_out_after(
    database: Database,
    tree: TreeRow,
    before: Sequence[Sequence[int]],
    member_seqs: Sequence[int],
    shape: TreeShape,
) -> list[int]:
    """Like lay_out, for a tree whose first members stay as they are. before: as for
    layout.layers_after. member_seqs: those after them. Returns the groups above these."""
    grouped = [_members(database, level) for level in before]
    members, seqs = _members(database, member_seqs)
    groups, root_id = layout.layers_after([own for own, _ in grouped], members, shape.fanout)
    for _, known in grouped:
        seqs |= known
    seqs |= _stored(database, groups)
    for group in groups:
        if group.id not in seqs:
            child_seqs = [seqs[child_id] for child_id in group.child_ids]
            seqs[group.id] = _put_group(database, child_seqs, group.level, provisional=True)
    root_seq = None if root_id is None else seqs[root_id]
    if root_seq != tree.root_seq:
        database.execute(_SET_ROOT, (root_seq, None, tree.seq))
        release(database, tree.root_seq)
    return [seqs[group.id] for group in groups]


def drop(database: Database, tree: TreeRow) -> None:
    """Deletes a tree above the sources, and the groups that only it needs."""
    database.execute("DELETE FROM tree WHERE seq = ?", (tree.seq,))
    release(database, tree.root_seq)


def affordable(
    database: Database, member_seqs: Sequence[int], groups_max: int, shape: TreeShape
) -> int:
    """The number of leading members to lay out so that at most groups_max new groups are needed on
    the lowest level. The levels above need a fraction of that."""
    members, _ = _members(database, member_seqs)
    starts = range(0, len(members) - shape.fanout + 1, shape.fanout)
    groups = [
        group for start in starts
        for group in layout.layers(members[start : start + shape.fanout], shape.fanout)
    ]  # fmt: skip
    stored = _stored(database, groups)
    new = [start for start, group in zip(starts, groups, strict=True) if group.id not in stored]
    return new[groups_max] if len(new) > groups_max else len(members)


def _stored(database: Database, groups: Iterable[layout.Group]) -> dict[str, int]:
    """Those of these groups that are stored, with their seqs."""
    sql = "SELECT n.id, n.seq FROM json_each(?) j JOIN node n ON n.id = j.value"
    return dict(database.rows(sql, (json_list(group.id for group in groups),)))


def root_id_over(database: Database, member_seqs: Sequence[int], shape: TreeShape) -> str | None:
    """The id that the root of a tree over these members has; None without members."""
    members, _ = _members(database, member_seqs)
    return layout.root_id(members, shape.fanout)


def _members(
    database: Database, seqs: Sequence[int]
) -> tuple[list[tuple[str, int]], dict[str, int]]:
    """(id, level) of these nodes in the given order, and their seqs by id."""
    sql = "SELECT n.seq, n.id, n.level FROM json_each(?) j JOIN node n ON n.seq = j.value"
    rows = database.rows(sql, (json_list(seqs),))
    node_of = {seq: (node_id, level) for seq, node_id, level in rows}
    return [node_of[seq] for seq in seqs], {node_id: seq for seq, (node_id, _) in node_of.items()}
