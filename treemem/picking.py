"""The extractive view of any node: sentences picked out of a leaf, or carried up from children.

It reads and writes what the pure summarizers decide; which nodes need a view, others know.
"""

from __future__ import annotations

from treemem import views
from treemem.database import Database
from treemem.proposals import View
from treemem.summarizers import carrying, extractive


def ensure_producer(database: Database) -> int:
    return views.ensure_producer(database, extractive.NAME, extractive.RANK)


def view_of(database: Database, node_seq: int, level: int, producer: int) -> View:
    """A group's children must have theirs already."""
    if level == 0:
        return extractive.summarize_leaf(views.excerpts(database, node_seq))
    children = views.children(database, node_seq, producer, producer_seq=producer)
    return carrying.summarize_group(children)


def put(database: Database, node_seq: int, producer: int, now_ms: int) -> None:
    """Gives a node its view, unless it has it, in the transaction that makes the node."""
    if views.summary_by(database, node_seq, producer) is None:
        level = database.value("SELECT level FROM node WHERE seq = ?", (node_seq,))
        view = view_of(database, node_seq, level, producer)
        views.put(database, node_seq, producer, view, now_ms)
