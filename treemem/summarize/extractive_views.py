"""Makes and stores the extractive view of a node, which needs no model.

Its callers know which nodes need a view.

Tested in tests/summarize/test_extractive.py.
"""

from __future__ import annotations

from treemem.proposals import View
from treemem.store import summaries
from treemem.store.database import Database
from treemem.summarize import EXTRACTIVE
from treemem.summarize.base import GroupContent, LeafContent, NoClient


def ensure_producer(database: Database) -> int:
    """The extractive summarizer's row number as a producer."""
    return summaries.ensure_producer(database, EXTRACTIVE.name, EXTRACTIVE.rank)


def view_of(database: Database, node_seq: int, level: int, producer: int) -> View:
    """The extractive view of a node; the children of a group must have theirs already."""
    if level == 0:
        leaf = LeafContent(summaries.excerpts(database, node_seq))
        return EXTRACTIVE.summarize_leaf(leaf, NoClient())
    children = summaries.children(database, node_seq, producer, producer_seq=producer)
    return EXTRACTIVE.summarize_group(GroupContent(children), NoClient())


def put(database: Database, node_seq: int, producer: int, now_ms: int) -> None:
    """Stores a node's view, unless it has one, in the caller's transaction; first those of its
    descendants that have none, which an earlier version of the summarizer may have left."""
    if summaries.summary_by(database, node_seq, producer) is None:
        for child_seq in summaries.child_seqs(database, node_seq):
            put(database, child_seq, producer, now_ms)
        level = database.value("SELECT level FROM node WHERE seq = ?", (node_seq,))
        view = view_of(database, node_seq, level, producer)
        summaries.put(database, node_seq, producer, view, now_ms)
