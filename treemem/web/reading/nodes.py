"""Reads a node with what stands around it: the way to it, its children or its words, its views.

Callers read in one transaction. Tested in tests/web/reading/test_nodes.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from treemem.digest import reading
from treemem.errors import NotFoundError
from treemem.proposals import Excerpt
from treemem.sessions.boundary import limited
from treemem.store import summaries
from treemem.store.database import Database
from treemem.store.live.private import Private
from treemem.tree import browse
from treemem.types import Node, Scope, Statement
from treemem.web.reading import paths, windows
from treemem.web.reading.windows import Block

# Trees that a node is said to be in, and children of it that are listed.
TREES_MAX = 12
CHILDREN_MAX = 100
# A node of more messages has its stored count, in which a message of several leaves is repeated.
COUNTED_MAX = 2_000

_STRETCHES = "SELECT message_count FROM node WHERE seq = ?"
_TOPIC_NAME = "SELECT name FROM topic WHERE id = ?"


@dataclass(frozen=True, slots=True)
class About:
    """What a node is about, in short."""

    block: Block
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node and what stands around it.

    node: with the statements of one view, and what they cite. is_counted: whether its messages
    were counted one by one. scope: of the tree in which the path leads to it, named name. path:
    from the root to the node itself. others: the other trees with it, and their names. before,
    after: the ids of its neighbours in that tree. children: of a group; more_children: how many
    are left out. excerpts: of a leaf.
    """

    node: Node
    is_counted: bool
    scope: Scope
    name: str
    path: tuple[Block, ...]
    others: tuple[tuple[Scope, str], ...]
    before: str | None
    after: str | None
    children: tuple[Block, ...] = ()
    more_children: int = 0
    excerpts: tuple[Excerpt, ...] = ()


def about(database: Database, private: Private, prefix: str) -> About:
    """What a node is about. prefix: an unambiguous beginning of its id. Raises NotFoundError,
    AmbiguousIdError."""
    row = browse.node_row(database, prefix)
    found = summaries.statements(database, summaries.shown_summary(database, row[0]), cite=False)
    block = windows.blocks_of(database, private, [row[0]])[0]
    return About(block, limited(found, database, private))


def name_of(database: Database, private: Private, scope: Scope) -> str:
    """What a scope is called: the title of a source, the name of a topic. scope: as resolved."""
    if scope.kind == "source" and scope.key not in private.sources:
        titles = reading.passage_titles(database, [scope.key or ""])
        return titles[scope.key or ""][0] if titles else scope.key or ""
    if scope.kind == "topic":
        return database.value(_TOPIC_NAME, (scope.key,)) or "a topic"
    return "everything" if scope.kind == "everything" else "a source"


def node_view(
    database: Database, private: Private, prefix: str, producer: str | None = None
) -> NodeView:
    """A node and what stands around it. prefix: an unambiguous beginning of its id. producer:
    whose view to show; None for the best one. Raises NotFoundError, AmbiguousIdError."""
    row = browse.node_row(database, prefix)
    seq = row[0]
    stretches = int(database.value(_STRETCHES, (seq,)))
    is_counted = stretches <= COUNTED_MAX
    node = limited(
        browse.node_from(
            database, row, cite=True, all_views=True,
            summary_seq=None if producer is None else _view_of(database, seq, row[1], producer),
            message_count=None if is_counted else stretches,
        ), database, private,
    )  # fmt: skip
    trees = paths.trees_with(database, seq, TREES_MAX)
    scope, path = Scope.everything(), [seq]
    if trees:
        scope, path = trees[0].scope, paths.path_between(database, trees[0].root_seq, seq)
    way = windows.path_of(database, private, path)
    is_inside = any(block.kind == "source" for block in way)
    shown = summaries.child_seqs(database, seq)
    children = windows.blocks_of(database, private, shown[:CHILDREN_MAX], is_inside=is_inside)
    excerpts = [] if row[2] else summaries.excerpts(database, seq)
    return NodeView(
        node, is_counted, scope, name_of(database, private, scope),
        tuple(way),
        tuple((tree.scope, name_of(database, private, tree.scope)) for tree in trees[1:]),
        _id_of(database, paths.neighbour(database, path, -1)),
        _id_of(database, paths.neighbour(database, path, 1)),
        tuple(children),
        max(0, len(shown) - CHILDREN_MAX),
        tuple(one for one in excerpts if one.message.id not in private.message_ids),
    )  # fmt: skip


def of_producer(database: Database, private: Private, node: Node, producer: str) -> Node:
    """The same node with the statements of another view. Raises NotFoundError."""
    seq = browse.node_row(database, node.id)[0]
    found = summaries.statements(database, _view_of(database, seq, node.id, producer))
    return replace(node, statements=limited(found, database, private))


def _view_of(database: Database, node_seq: int, node_id: str, producer: str) -> int:
    sql = ("SELECT s.seq FROM summary s JOIN producer p ON p.seq = s.producer_seq "
           "WHERE s.node_seq = ? AND p.name = ?")  # fmt: skip
    found = database.value(sql, (node_seq, producer))
    if found is None:
        raise NotFoundError(f"Node {node_id[:12]} has no view by {producer!r}.")
    return int(found)


def _id_of(database: Database, seq: int | None) -> str | None:
    if seq is None:
        return None
    found: str = database.value("SELECT id FROM node WHERE seq = ?", (seq,))
    return found
