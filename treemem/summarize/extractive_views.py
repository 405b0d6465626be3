"""The extractive view of any node: sentences picked out of a leaf, or carried up from children.

It reads and writes what the pure summarizers decide; which nodes need a view, others know.
"""

from __future__ import annotations

from treemem.proposals import View
from treemem.store import summaries
from treemem.store.database import Database
from treemem.summarize import extractive, rollup


def ensure_producer(database: Database) -> int:
    return summaries.ensure_producer(database, extractive.NAME, extractive.RANK)


def view_of(database: Database, node_seq: int, level: int, producer: int) -> View:
    """A group's children must have theirs already."""
    if level == 0:
        return extractive.summarize_leaf(summaries.excerpts(database, node_seq))
    children = summaries.children(database, node_seq, producer, producer_seq=producer)
    return rollup.summarize_group(children)


def put(database: Database, node_seq: int, producer: int, now_ms: int) -> None:
    """Gives a node its view, unless it has it, in the transaction that makes the node."""
    if summaries.summary_by(database, node_seq, producer) is None:
        level = database.value("SELECT level FROM node WHERE seq = ?", (node_seq,))
        view = view_of(database, node_seq, level, producer)
        summaries.put(database, node_seq, producer, view, now_ms)
