"""Reads nodes, trees and sources from the file as values of treemem.types.

Callers read in one transaction, see Database.reading.

Tested in tests/test_memory.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal
from weakref import WeakKeyDictionary

from treemem import times
from treemem.errors import SEE_MESSAGES, SEE_NODES, DatabaseCorruptError, NotFoundError
from treemem.store import lookup, messages, summaries
from treemem.store.database import Database, Row, json_list
from treemem.tree import builder, remembered
from treemem.types import Message, Node, Scope, Source, SourceKind, Statement, Tree

_NODE_COLUMNS = "n.seq, n.id, n.level, n.tokens, n.started_at_ms, n.ended_at_ms, n.provisional"
# Subtle: node.message_count counts stretches. A long message is in several leaves, and sources may
# share messages and leaves.
_MESSAGES_BELOW = """
WITH RECURSIVE down (seq) AS (
  SELECT ?
  UNION
  SELECT nc.child_seq FROM down JOIN node_child nc ON nc.node_seq = down.seq
)
SELECT count(DISTINCT ls.message_seq) FROM down JOIN leaf_span ls ON ls.node_seq = down.seq
"""
# Nodes whose messages are counted once only.
COUNTED_MAX = 100_000
_counted: WeakKeyDictionary[Database, dict[int, int]] = WeakKeyDictionary()
_SPANS = """
SELECT DISTINCT node_seq, message_seq FROM leaf_span
WHERE node_seq IN (SELECT value FROM json_each(?))
"""
_BY_PREFIX = f"SELECT {_NODE_COLUMNS} FROM node n WHERE n.id >= ? AND n.id < ? LIMIT 6"  # noqa: S608
_BY_SEQ = f"SELECT {_NODE_COLUMNS} FROM node n WHERE n.seq = ?"  # noqa: S608
_MESSAGE_BY_PREFIX = "SELECT seq, id FROM message WHERE id >= ? AND id < ? LIMIT 6"


def node_row(database: Database, prefix: str) -> Row:
    """The row of the only node whose id begins with prefix. Raises NotFoundError or
    AmbiguousIdError."""
    return lookup.only_row(database, _BY_PREFIX, prefix, "node", SEE_NODES)


def message(database: Database, prefix: str) -> Message:
    """The only message whose id begins with prefix. Raises NotFoundError or AmbiguousIdError."""
    row = lookup.only_row(database, _MESSAGE_BY_PREFIX, prefix, "message", SEE_MESSAGES)
    return messages.by_seq(database, [row[0]])[row[0]]


def node(database: Database, prefix: str, producer: str | None = None) -> Node:
    """A node with the statements of its best view, or of one producer's view."""
    row = node_row(database, prefix)
    if producer is None:
        return node_from(database, row, cite=True, all_views=True)
    sql = ("SELECT s.seq FROM summary s JOIN producer p ON p.seq = s.producer_seq "
           "WHERE s.node_seq = ? AND p.name = ?")  # fmt: skip
    summary_seq = database.value(sql, (row[0], producer))
    if summary_seq is None:
        producers = [summary.producer for summary in summaries.views_of(database, row[0])]
        raise NotFoundError(
            f"Node {row[1][:12]} has no view by {producer!r}. "
            f"It has: {', '.join(producers) or 'none yet'}"
        )
    return node_from(database, row, summary_seq=summary_seq, cite=True, all_views=True)


def node_from(
    database: Database,
    row: Row,
    *,
    summary_seq: int | None = None,
    cite: bool = False,
    all_views: bool = False,
    message_count: int | None = None,
) -> Node:
    """Builds the Node of a row of _NODE_COLUMNS.

    summary_seq: the view to show; None for the best one. cite: includes the messages that the
    statements cite. all_views: includes the list of all producers' views. message_count: of the
    messages below it; None to count them.
    """
    seq, node_id, level, tokens, started, ended, provisional = row
    if message_count is None:
        message_count = _messages_below(database, seq)
    shown = summary_seq if summary_seq is not None else summaries.shown_summary(database, seq)
    sql = ("SELECT n.id FROM node_child nc JOIN node n ON n.seq = nc.child_seq "
           "WHERE nc.node_seq = ? ORDER BY nc.ordinal")  # fmt: skip
    return Node(
        id=node_id, level=level, tokens=tokens, message_count=message_count,
        started_at=times.from_ms(started), ended_at=times.from_ms(ended),
        provisional=bool(provisional),
        child_ids=tuple(child for (child,) in database.rows(sql, (seq,))),
        statements=_of_node(summaries.statements(database, shown, cite=cite), level),
        summaries=summaries.views_of(database, seq) if all_views else (),
        unproven=summaries.unproven(database, seq) if all_views else (),
    )  # fmt: skip


def _messages_below(database: Database, seq: int) -> int:
    """How many messages are below a node. What is below one never changes, and neither is its row
    number used again."""
    if database.is_writing:  # a number is used again after a rollback
        return int(database.value(_MESSAGES_BELOW, (seq,)))
    counts = _counted.setdefault(database, {})
    if seq not in counts:
        if len(counts) >= COUNTED_MAX:
            counts.clear()
        counts[seq] = int(database.value(_MESSAGES_BELOW, (seq,)))
    return counts[seq]


def _of_node(statements: tuple[Statement, ...], level: int) -> tuple[Statement, ...]:
    """What a node shows of its statements. A leaf shows all that was said in it; above it, what has
    been closed or replaced is left out."""
    if level == 0:
        return statements
    return tuple(statement for statement in statements if statement.state == "holds")


def expand(
    database: Database, prefix: str, page: slice = slice(0, None)
) -> list[Node] | list[Message]:
    """A group's children, or a leaf's messages, cut to the parts that the leaf contains. page:
    which of them."""
    row = node_row(database, prefix)
    if row[2] > 0:
        return [
            node_from(database, _row_of(database, seq))
            for seq in summaries.child_seqs(database, row[0])[page]
        ]
    return [_cut(excerpt.message, excerpt.start, excerpt.end)
            for excerpt in summaries.excerpts(database, row[0])[page]]  # fmt: skip


def _cut(message: Message, start: int, end: int) -> Message:
    if (start, end) == (0, len(message.text)):
        return message
    return Message(
        role=message.role, text=message.text[start:end], author=message.author,
        sent_at=message.sent_at, external_id=message.external_id, session=message.session,
        kind=message.kind, unique_id=message.unique_id, id=message.id,
    )  # fmt: skip


def _row_of(database: Database, node_seq: int) -> Row:
    row = database.row(_BY_SEQ, (node_seq,))
    assert row is not None
    return row


# -- trees -----------------------------------------------------------------------------


def root_id(database: Database, scope: Scope) -> str | None:
    """The id of the root of the tree of a scope; None for an empty tree."""
    kind = "global" if scope.kind == "everything" else scope.kind
    tree_row = builder.find_tree(database, kind, scope.key or "")
    if tree_row is None or tree_row.root_seq is None:
        return None
    return str(_row_of(database, tree_row.root_seq)[1])


def tree(database: Database, scope: Scope, *, cite: bool) -> Tree:
    """The tree of a scope, with its nodes from the root down. root_id is None for an empty tree."""
    kind = "global" if scope.kind == "everything" else scope.kind
    tree_row = builder.find_tree(database, kind, scope.key or "")
    if tree_row is None or tree_row.root_seq is None:
        return Tree(scope, None, ())
    root = _row_of(database, tree_row.root_seq)
    rows: dict[int, Row] = {}
    children: dict[int, list[int]] = {}
    stack = [tree_row.root_seq]
    while stack:
        seq = stack.pop()
        if seq not in rows:  # sources may share nodes
            rows[seq] = _row_of(database, seq)
            children[seq] = summaries.child_seqs(database, seq)
            stack += reversed(children[seq])
    upwards = sorted(rows, key=lambda seq: rows[seq][2])  # a group's level is above its children's
    counts = _message_counts(database, {seq: children[seq] for seq in upwards})
    nodes = tuple(
        node_from(database, row, cite=cite, message_count=counts[seq]) for seq, row in rows.items()
    )
    shown = summaries.statements(database, summaries.shown_summary(database, root[0]))
    return Tree(scope, root[1], _of_node(shown, root[2]), nodes)


def _message_counts(database: Database, children: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """How many messages are below each node of a tree. children: by node, the lowest first."""
    leaves = [seq for seq, below in children.items() if not below]
    below: dict[int, set[int]] = {seq: set() for seq in leaves}
    for seq, message_seq in database.rows(_SPANS, (json_list(leaves),)):
        below[seq].add(message_seq)
    counts = {}
    parents_left = Counter(chain.from_iterable(children.values()))
    for seq, own in children.items():
        if not below.keys() >= set(own):
            raise DatabaseCorruptError(
                f"{database.path} is damaged: a node is not above its children. Run doctor."
            )
        if own:
            below[seq] = set().union(*(below[child] for child in own))
        counts[seq] = len(below[seq])
        for child in own:
            parents_left[child] -= 1
            if not parents_left[child]:
                del below[child]
    return counts


_UP = """
WITH RECURSIVE up (seq, height) AS (
  SELECT :leaf, 0
  UNION
  SELECT nc.node_seq, up.height + 1 FROM up JOIN node_child nc ON nc.child_seq = up.seq
  WHERE up.height <= 64 AND (  -- the highest level; a damaged file may have circles
    nc.node_seq IN (SELECT node_seq FROM tree_node WHERE tree_seq = :tree)
    OR nc.node_seq = (SELECT root_seq FROM tree WHERE seq = :tree))
)
SELECT n.id FROM up JOIN node n ON n.seq = up.seq GROUP BY n.id ORDER BY max(up.height) DESC
"""


def breadcrumb(database: Database, source_id: str, leaf_seq: int | None) -> tuple[str, ...]:
    """The node ids from the source's root down to a leaf; empty if leaf_seq is None, which means
    that no leaf contains the message yet."""
    tree_row = builder.find_tree(database, "source", source_id)
    if tree_row is None or leaf_seq is None:
        return ()
    rows = database.rows(_UP, {"leaf": leaf_seq, "tree": tree_row.seq})
    return tuple(node_id for (node_id,) in rows)


# -- sources ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source with its counts.

    open_messages: messages not completely in sealed leaves. title: one that a person recognizes,
    unlike source.title, which is the log's own; see digest/titles.py. kind: see types.py. short_id:
    enough of the id to tell it from all others. agents: how many sub-agents are stored below it.
    is_trivial: hardly anything was said, such as in a session that only warmed a cache.
    """

    source: Source
    messages: int
    abandoned: int
    open_messages: int
    tokens: int
    leaves: int
    root_id: str | None
    started_at: str | None
    ended_at: str | None
    title: str = ""
    kind: SourceKind | None = None
    short_id: str = ""
    agents: int = 0
    is_trivial: bool = False


_SOURCES = """
SELECT s.seq, s.id, s.format, s.title, s.origin, s.parent_id, s.project,
  (SELECT count(*) FROM tree_node tn WHERE tn.tree_seq = t.seq AND tn.level = 0), r.id
FROM source s
LEFT JOIN tree t ON t.scope = 'source' AND t.key = s.id
LEFT JOIN node r ON r.seq = t.root_seq WHERE s.seq IN (SELECT value FROM json_each(?))
"""
_SOURCE_COUNTS = """
SELECT count(*) FILTER (WHERE sm.state = 'active'),
  count(*) FILTER (WHERE sm.state <> 'active'),
  count(*) FILTER (WHERE sm.state = 'active' AND sm.open_from IS NOT NULL),
  coalesce(sum(m.tokens) FILTER (WHERE sm.state = 'active'), 0),
  min(m.sent_at_ms), max(m.sent_at_ms)
FROM source_message sm JOIN message m ON m.seq = sm.message_seq WHERE sm.source_seq = ?
"""


def sources(database: Database, seqs: Sequence[int]) -> list[SourceView]:
    """The sources with these row numbers, in this order."""

    def read(some: Sequence[int]) -> dict[int, SourceView]:
        rows = database.rows(_SOURCES, (json_list(some),))
        return {row[0]: _source_view(database, row) for row in rows}

    found = remembered.of_sources(database, _SOURCES, seqs, read)
    return [found[seq] for seq in seqs if seq in found]


def _source_view(database: Database, row: Row) -> SourceView:
    seq, source_id, format_, title, origin, parent_id, project, leaves, root_id = row
    counts = database.row(_SOURCE_COUNTS, (seq,))
    assert counts is not None
    active, inactive, open_messages, tokens, started, ended = counts
    return SourceView(
        Source(source_id, format_, title, origin, parent_id, project=project), active, inactive,
        open_messages, tokens, leaves, root_id, times.from_ms(started), times.from_ms(ended),
    )  # fmt: skip


def source_messages(
    database: Database, source_seq: int, page: slice = slice(0, None)
) -> list[Message]:
    """The active messages of a source, in order. page: which of them."""
    sql = (f"SELECT l.id, {messages.COLUMNS} FROM source_message sm "  # noqa: S608
           "JOIN message m ON m.seq = sm.message_seq "
           "LEFT JOIN log_session l ON l.seq = sm.session_seq "
           "WHERE sm.source_seq = ? AND sm.state = 'active' "
           "ORDER BY sm.position LIMIT ? OFFSET ?")  # fmt: skip
    count = -1 if page.stop is None else page.stop - page.start
    rows = database.rows(sql, (source_seq, count, page.start))
    return [messages.message_from(row[1:], row[0]) for row in rows]


# -- nodes that a model could summarize better -----------------------------------------

UpgradeReason = Literal["only picked out", "a weaker model", "the model's view was not used"]


@dataclass(frozen=True, slots=True)
class UpgradableNode:
    """A node that could have a better summary than its shown one, and the reason."""

    id: str
    level: int
    source_id: str
    producer: str
    reason: UpgradeReason


# The best usable view of each node, the rank of the best producer that has tried, and the source.
_UPGRADABLE = """
SELECT n.id, n.level, t.key, p.name, p.rank,
  (SELECT max(q.rank) FROM summary tried JOIN producer q ON q.seq = tried.producer_seq
   WHERE tried.node_seq = n.seq) AS best_try
FROM tree t JOIN (
  SELECT tree_seq, node_seq FROM tree_node
  UNION SELECT seq, root_seq FROM tree WHERE root_seq IS NOT NULL) placed ON placed.tree_seq = t.seq
JOIN node n ON n.seq = placed.node_seq
JOIN summary s ON s.seq = (
  SELECT shown.seq FROM summary shown JOIN producer sp ON sp.seq = shown.producer_seq
  WHERE shown.node_seq = n.seq AND shown.usable = 1 ORDER BY sp.rank DESC, shown.seq DESC LIMIT 1)
JOIN producer p ON p.seq = s.producer_seq
WHERE t.scope = 'source' AND (:source IS NULL OR t.key = :source)
  AND (p.rank = 0 OR p.rank < :rank)
GROUP BY n.seq ORDER BY t.seq, n.level, placed.node_seq
"""


def upgradable(database: Database, rank: int, source_id: str | None) -> list[UpgradableNode]:
    """The nodes whose shown view is extractive, or by a model of a lower rank.

    rank: that of the model in use; 0 for none. Leaves out nodes that this model or a better one
    has failed to summarize. source_id: None for all sources.
    """
    nodes = []
    parameters = {"rank": rank, "source": source_id}
    for node_id, level, key, producer, shown, best_try in database.rows(_UPGRADABLE, parameters):
        if 0 < rank <= best_try:
            continue
        reason: UpgradeReason = "only picked out" if shown == best_try == 0 else "a weaker model"
        if shown == 0 < best_try:
            reason = "the model's view was not used"
        nodes.append(UpgradableNode(node_id, level, key, producer, reason))
    return nodes
