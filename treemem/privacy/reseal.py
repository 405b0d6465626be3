"""Seals sources again after the content of their messages has changed.

Unchanged nodes keep their summaries and vectors. Leaves with changed messages, and all nodes above
them, are deleted with everything derived from them.

Tested in tests/privacy/test_scrub.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treemem.store import sources, vectors
from treemem.store.database import Database
from treemem.topics import census
from treemem.topics import store as topics
from treemem.tree import builder, unsealing
from treemem.types import TreeShape
from treemem.worker import collection_jobs, source_jobs


def reseal_sources(
    database: Database,
    message_seqs: Sequence[int],
    now_ms: int,
    shape: TreeShape,
    before_sealing: Callable[[], object] | None = None,
) -> int:
    """Seals the sources of changed messages again, from the first leaf with one of them on, and
    admits the jobs for summaries and the trees above. Runs in the caller's transaction.

    before_sealing: called when no node contains the messages any more.
    Returns the number of deleted nodes: the leaves with these messages and all nodes above.
    """
    nodes = unsealing.nodes_above(database, message_seqs)
    affected = sources.of_messages(database, message_seqs)
    source_seqs = {source_id: source_seq for source_seq, source_id in affected}
    loose = unsealing.detach(database, nodes, source_seqs, shape)
    topics.remove_leaves(database, nodes)
    census.forget(database)  # which has hashes of their phrases
    unsealing.delete(database, nodes)
    if before_sealing is not None:
        before_sealing()
    for source_seq, source_id in affected:
        while builder.seal(database, source_seq, source_id, shape):
            continue
        source_jobs.admit_seal(database, source_id, now_ms)
    unsealing.release(database, loose.difference(nodes))
    vectors.remove_gone(database)
    collection_jobs.admit(database, now_ms, at_once=True)
    return len(nodes)
