"""Makes and stores the extractive view of a node, which needs no model.

Its callers know which nodes need a view.

Tested in tests/summarize/test_extractive.py.
"""

from __future__ import annotations

from treemem.ledger import update
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
    children = summaries.children(database, node_seq, producer_seq=producer)
    return EXTRACTIVE.summarize_group(GroupContent(children), NoClient())


def store(
    database: Database, node_seq: int, level: int, producer: int, view: View, now_ms: int
) -> None:
    """Stores a node's view, and the entries of a leaf, in the caller's transaction."""
    entries = _entries(database, node_seq, view) if level == 0 else ()
    summaries.put(database, node_seq, producer, view, now_ms, entries)


def _entries(database: Database, node_seq: int, view: View) -> list[int]:
    """The entries of a leaf's new statements, in order."""
    drafts = summaries.drafts_of(view)
    return update.ensured(database, node_seq, [(d.kind, d.text, d.origin) for d in drafts])


def put(database: Database, node_seq: int, producer: int, now_ms: int) -> None:
    """Stores a node's view, unless it has one, in the caller's transaction; first those of its
    descendants that have none, which an earlier version of the summarizer may have left. Then the
    ledger is up to date."""
    _put(database, node_seq, producer, now_ms)
    update.refresh(database)


def _put(database: Database, node_seq: int, producer: int, now_ms: int) -> None:
    if summaries.summary_by(database, node_seq, producer) is None:
        for child_seq in summaries.child_seqs(database, node_seq):
            _put(database, child_seq, producer, now_ms)
        level = database.value("SELECT level FROM node WHERE seq = ?", (node_seq,))
        view = view_of(database, node_seq, level, producer)
        store(database, node_seq, level, producer, view, now_ms)
    else:
        # An open tail that comes back has its view, but its entries may be gone.
        update.add(database, node_seq, producer)
