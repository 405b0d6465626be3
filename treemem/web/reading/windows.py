"""Reads the part of a tree that is wide enough to be seen, as the blocks of an icicle.

The window is as wide as the tokens of the node at its top. Each row has the children of the row
above, as wide as their tokens. Neighbours that are too narrow to be seen are one block, and nothing
below them is read, so a window has a bounded number of blocks whatever the size of the tree.
Callers read in one transaction.
Tested in tests/web/reading/test_windows.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, NamedTuple

from treemem import times
from treemem.digest import reading
from treemem.errors import SEE_NODES, NotFoundError
from treemem.store.database import Database, Row, json_list
from treemem.store.live.private import Private
from treemem.tree import browse, builder
from treemem.types import Scope
from treemem.web.reading import paths

# The narrowest node that is a block of its own, as a share of the window.
SHARE_MIN = 1 / 300
# The narrowest block whose words are read, and the rows of a window.
NAMED_SHARE_MIN = 1 / 100
ROWS_MAX = 24
# Characters of a block's words.
WORDS_CHARS_MAX = 200

BlockKind = Literal["above", "source", "group", "leaf", "run"]


@dataclass(frozen=True, slots=True)
class Block:
    """A node in a window, or a run of neighbouring nodes that are too narrow to be seen.

    kind: "above" for a group of sources, "source" for the root of one, "run" for several nodes.
    node_id: of a run, that of their parent. first, last: the ordinals of its nodes in the parent.
    left, width: shares of the window. row: from 0. words: the title of a source, or what the node
    is about first; "" if it was not read.
    """

    kind: BlockKind
    node_id: str
    level: int
    first: int
    last: int
    row: int
    left: float
    width: float
    tokens: int
    started_at: str | None
    ended_at: str | None
    words: str = ""

    @property
    def count(self) -> int:
        """How many nodes it stands for."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Window:
    """The visible part of a tree.

    scope: of the tree, with its full id. path: the nodes from the root to the top of the window,
    which is the last one. first, last: the children of the top that are shown. blocks: row by row,
    from left to right. An empty tree has no path and no blocks.
    """

    scope: Scope
    path: tuple[Block, ...] = ()
    first: int = 0
    last: int = 0
    is_part: bool = False
    blocks: tuple[Block, ...] = ()


class _Node(NamedTuple):
    """A node on its way to a block."""

    parent: int
    ordinal: int
    seq: int
    id: str
    level: int
    tokens: int
    started_ms: int | None
    ended_ms: int | None
    source_id: str | None


class _Placed(NamedTuple):
    """Where a node is in a window. is_inside: whether it is below the root of a source."""

    node: _Node
    left: float
    width: float
    is_inside: bool


_NODE = """
n.seq, n.id, n.level, n.tokens, n.started_at_ms, n.ended_at_ms,
(SELECT t.key FROM tree t WHERE t.root_seq = n.seq AND t.scope = 'source' LIMIT 1)
"""
_CHILDREN = f"""
SELECT nc.node_seq, nc.ordinal, {_NODE} FROM node_child nc JOIN node n ON n.seq = nc.child_seq
WHERE nc.node_seq IN (SELECT value FROM json_each(?)) ORDER BY nc.node_seq, nc.ordinal
"""  # noqa: S608
_THESE = f"""
SELECT 0, 0, {_NODE} FROM node n WHERE n.seq IN (SELECT value FROM json_each(?))
"""  # noqa: S608
# The gist of each node's shown view, or its first statement.
_WORDS = f"""
SELECT j.value, st.seq, substr(st.text, 1, {WORDS_CHARS_MAX}) FROM json_each(?) j
JOIN stated st ON st.seq = (
  SELECT ss.statement_seq FROM summary_statement ss JOIN statement s ON s.seq = ss.statement_seq
  WHERE ss.summary_seq = (
    SELECT v.seq FROM summary v JOIN producer p ON p.seq = v.producer_seq
    WHERE v.node_seq = j.value AND v.usable = 1 ORDER BY p.rank DESC, v.seq DESC LIMIT 1)
  ORDER BY s.kind <> 'gist', ss.ordinal LIMIT 1)
"""  # noqa: S608


def window(
    database: Database,
    scope: Scope,
    private: Private,
    node_id: str | None = None,
    part: tuple[int, int] | None = None,
) -> Window:
    """The window of a tree whose top is a node; None for the root.

    scope: as scopes.resolved() returns it. private: what is not read. part: the ordinals of the
    first and the last child of the top that are shown; None for all. Raises NotFoundError.
    """
    tree = builder.find_tree(database, paths.kind_of(scope), scope.key or "")
    if tree is None or tree.root_seq is None:
        return Window(scope)
    top = tree.root_seq if node_id is None else browse.node_row(database, node_id)[0]
    path = paths.path_between(database, tree.root_seq, top)
    if not path:
        raise NotFoundError(
            f"Node {node_id!r} is not in the tree of {scope}. It may have been replaced as its "
            "source grew.", hint=SEE_NODES,
        )  # fmt: skip
    crumbs = path_of(database, private, path)
    is_inside = any(block.kind == "source" for block in crumbs[:-1])
    node = _nodes(database, [top])[0]
    count = len(_children(database, [node]).get(top, []))
    first, last = _chosen(part, count)
    below = list(_rows(database, _Placed(node, 0.0, 1.0, is_inside), (first, last)))
    blocks = (crumbs[-1], *_named(database, private, below))
    return Window(scope, tuple(crumbs), first, last, last - first + 1 < count, blocks)


def _chosen(part: tuple[int, int] | None, count: int) -> tuple[int, int]:
    """The first and the last child to show."""
    if part is None or not count:
        return 0, max(0, count - 1)
    first = min(max(0, part[0]), count - 1)
    return first, min(max(first, part[1]), count - 1)


def _rows(
    database: Database, top: _Placed, part: tuple[int, int]
) -> Iterator[tuple[Block, int | None]]:
    """Yields the blocks below the top, row by row, each with the row number of its node; None for
    a run. part: the children of the top that are shown."""
    above = [top]
    for row in range(1, ROWS_MAX):
        children = _children(database, [placed.node for placed in above])
        below: list[_Placed] = []
        for parent in above:
            own = children.get(parent.node.seq, [])
            if row == 1:
                own = own[part[0] : part[1] + 1]
            for run in _runs(_placed(parent, own)):
                if run[0].width >= SHARE_MIN or len(run) == 1:
                    yield _block(run[0], row), run[0].node.seq
                    below += run if run[0].width >= SHARE_MIN else []
                else:
                    yield _run(parent.node, run, row), None
        if not below:
            return
        above = below


def _children(database: Database, parents: Iterable[_Node]) -> dict[int, list[_Node]]:
    """The children of nodes in order, by the row number of the parent."""
    found = [_Node(*row) for row in _read_children(database, parents)]
    return {seq: list(rows) for seq, rows in groupby(found, key=lambda node: node.parent)}


def _read_children(database: Database, parents: Iterable[_Node]) -> list[Row]:
    groups = {node.seq for node in parents if node.level}
    return database.rows(_CHILDREN, (json_list(groups),)) if groups else []


def _placed(parent: _Placed, children: Sequence[_Node]) -> list[_Placed]:
    """The places of the children of a node, which fill its width."""
    total = sum(max(1, node.tokens) for node in children)
    is_inside = parent.is_inside or parent.node.source_id is not None
    placed = []
    done = 0
    for node in children:
        share = max(1, node.tokens) / total
        left = parent.left + parent.width * done / total
        placed.append(_Placed(node, left, parent.width * share, is_inside))
        done += max(1, node.tokens)
    return placed


def _runs(placed: Iterable[_Placed]) -> Iterator[list[_Placed]]:
    """Splits the children of a node into runs: those too narrow to be seen are together, and every
    other is alone."""
    for is_narrow, group in groupby(placed, key=lambda one: one.width < SHARE_MIN):
        if is_narrow:
            yield list(group)
        else:
            yield from ([one] for one in group)


def _block(placed: _Placed, row: int) -> Block:
    node = placed.node
    kind: BlockKind = "leaf" if node.level == 0 else "group" if placed.is_inside else "above"
    if node.source_id is not None and not placed.is_inside:
        kind = "source"
    return Block(
        kind, node.id, node.level, node.ordinal, node.ordinal, row, placed.left, placed.width,
        node.tokens, times.from_ms(node.started_ms), times.from_ms(node.ended_ms),
    )  # fmt: skip


def _run(parent: _Node, run: Sequence[_Placed], row: int) -> Block:
    nodes = [placed.node for placed in run]
    starts = [node.started_ms for node in nodes if node.started_ms is not None]
    ends = [node.ended_ms for node in nodes if node.ended_ms is not None]
    return Block(
        "run", parent.id, max(node.level for node in nodes), nodes[0].ordinal, nodes[-1].ordinal,
        row, run[0].left, sum(placed.width for placed in run),
        sum(node.tokens for node in nodes), times.from_ms(min(starts, default=None)),
        times.from_ms(max(ends, default=None)),
    )  # fmt: skip


def _named(
    database: Database, private: Private, found: Sequence[tuple[Block, int | None]]
) -> list[Block]:
    """The blocks with their words, where there is room for them."""
    wide = [seq for block, seq in found if seq is not None and block.width >= NAMED_SHARE_MIN]
    words = words_of(database, private, wide)
    return [
        block if seq is None or seq not in words else replace(block, words=words[seq])
        for block, seq in found
    ]


def path_of(database: Database, private: Private, seqs: Sequence[int]) -> list[Block]:
    """The nodes of a path from a root down, as blocks without a place."""
    nodes = _nodes(database, seqs)
    inside = [any(one.source_id for one in nodes[:at]) for at in range(len(nodes))]
    return _unplaced(database, private, nodes, inside)


def blocks_of(
    database: Database, private: Private, seqs: Sequence[int], *, is_inside: bool = False
) -> list[Block]:
    """These nodes as blocks without a place, in this order. is_inside: they are below the root of
    a source."""
    return _unplaced(database, private, _nodes(database, seqs), [is_inside] * len(seqs))


def _nodes(database: Database, seqs: Sequence[int]) -> list[_Node]:
    rows = {row[2]: _Node(*row) for row in database.rows(_THESE, (json_list(seqs),))}
    return [rows[seq] for seq in seqs]


def _unplaced(
    database: Database, private: Private, nodes: Sequence[_Node], inside: Sequence[bool]
) -> list[Block]:
    found = [(_block(_Placed(node, 0.0, 1.0, is_inside), 0), node.seq)
             for node, is_inside in zip(nodes, inside, strict=True)]  # fmt: skip
    return _named(database, private, found)


def words_of(database: Database, private: Private, seqs: Iterable[int]) -> dict[int, str]:
    """What nodes are called, by row number: the root of a source by its title, others by the gist
    of their shown view. private: what is not read."""
    wanted = sorted(set(seqs))
    rows = [_Node(*row) for row in database.rows(_THESE, (json_list(wanted),))]
    roots = {node.seq: node.source_id for node in rows
             if node.source_id is not None and node.source_id not in private.sources}  # fmt: skip
    titles = reading.passage_titles(database, set(roots.values()))
    words = {seq: titles[source_id][0] for seq, source_id in roots.items() if source_id in titles}
    gists = database.rows(_WORDS, (json_list(seq for seq in wanted if seq not in words),))
    hidden = private.citing(database, [statement for _, statement, _ in gists])
    return words | {seq: text for seq, statement, text in gists if statement not in hidden}
