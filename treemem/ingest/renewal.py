"""Renews what is stored of known messages whose origins are judged differently now.

The reader may say later that a chat is the reader's own, and a later version of an importer may
know better whose words a text is. Ids do not depend on origins, so nothing is stored twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from treemem.store import messages, summaries
from treemem.store.database import Database
from treemem.store.messages import PreparedMessage
from treemem.summarize import extractive_views
from treemem.tree import unsealing


def renew_origins(database: Database, batch: Sequence[PreparedMessage], now_ms: int) -> int:
    """Stores the origins of the batch's known messages, and makes the extractive summaries above
    those that changed again, in the caller's transaction. Model summaries above them are dropped,
    for the worker to make again. Returns how many messages changed."""
    changed = messages.renew_origins(database, batch)
    if changed:
        producer = extractive_views.ensure_producer(database)
        node_seqs = unsealing.nodes_above(database, changed)
        summaries.delete(database, node_seqs)
        for node_seq in reversed(node_seqs):
            extractive_views.put(database, node_seq, producer, now_ms)
    return len(changed)
