"""Runs the jobs of a source: sealing its leaves, and the summaries that need no model.

They take milliseconds, so `ingest` runs them at once, and every source has a complete tree without
a model. Each step is one transaction, and the last one ends the job. After a crash a step is
repeated, which changes nothing.

Tested in tests/tree/test_builder.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice

from treemem.ledger import update
from treemem.proposals import View
from treemem.queue import jobs
from treemem.queue.jobs import Claim
from treemem.store import sources
from treemem.store.database import Database
from treemem.summarize import extractive_views
from treemem.times import Clock
from treemem.tree import builder
from treemem.types import TreeShape
from treemem.worker import collection_jobs
from treemem.worker.collection_jobs import AfterTree
from treemem.worker.leaf_pool import LeafPool

KINDS = ("seal", "extract")
SEAL_PRIORITY = 100
EXTRACT_PRIORITY = 90
# Nodes that are summarized in one transaction.
EXTRACT_BATCH = 64

_MISSING = """
SELECT n.seq, n.level FROM tree_node tn
JOIN node n ON n.seq = tn.node_seq
LEFT JOIN summary s ON s.node_seq = n.seq AND s.producer_seq = :producer
WHERE tn.tree_seq = :tree AND s.seq IS NULL
ORDER BY tn.level, tn.position
"""


def admit_seal(database: Database, source_id: str, now_ms: int) -> None:
    """Queues the job that seals a source, in the transaction that stores its messages."""
    jobs.admit(database, "seal", source_id, {"source": source_id}, now_ms, priority=SEAL_PRIORITY)


class SourceWork:
    """Does the jobs of KINDS.

    after_tree: called in a job's last transaction, once the tree has its new root. pool: makes the
    views of leaves; None for this process alone.
    """

    def __init__(
        self, database: Database, clock: Clock, shape: TreeShape, after_tree: AfterTree,
        pool: LeafPool | None = None,
    ) -> None:  # fmt: skip
        self._database = database
        self._clock = clock
        self._shape = shape
        self._after_tree = after_tree
        self._pool = pool or LeafPool(processes=0)

    def run(self, claim: Claim) -> None:
        """Does a job and marks it as done."""
        if claim.kind == "seal":
            self._seal(claim)
        else:
            self._extract(claim)

    def _seal(self, claim: Claim) -> None:
        source_id = claim.payload["source"]
        while True:
            with self._database.transaction():
                if not self._seal_some(source_id):
                    self._admit_extract(source_id)
                    jobs.finish(self._database, [claim], self._clock())
                    return

    def _seal_some(self, source_id: str) -> int:
        source_seq = sources.seq_of(self._database, source_id)
        if source_seq is None:
            return 0
        return builder.seal(self._database, source_seq, source_id, self._shape)

    def _admit_extract(self, source_id: str) -> None:
        payload = {"scope": "source", "key": source_id}
        jobs.admit(
            self._database, "extract", f"source:{source_id}", payload, self._clock(),
            priority=EXTRACT_PRIORITY,
        )  # fmt: skip

    def _extract(self, claim: Claim) -> None:
        """Stores the extractive summaries that are missing, children first, then the root."""
        scope, key = claim.payload["scope"], claim.payload["key"]
        with self._database.transaction():
            producer = extractive_views.ensure_producer(self._database)
            tree = builder.ensure_tree(self._database, scope, key)
        while True:
            while missing := _missing(self._database, tree.seq, producer):
                level, node_seqs = missing
                make = partial(extractive_views.view_of, self._database, level, producer)
                views = (
                    self._pool.views(self._database, node_seqs, make)
                    if level == 0
                    else ((seq, make(seq)) for seq in node_seqs)
                )
                while batch := list(islice(views, EXTRACT_BATCH)):
                    self._store(claim, level, producer, batch)
            with self._database.transaction():
                # Another worker may have sealed more in between.
                if not _missing(self._database, tree.seq, producer):
                    self._finish_tree(scope, key, producer)
                    jobs.finish(self._database, [claim], self._clock())
                    return

    def _store(
        self, claim: Claim, level: int, producer: int, views: Sequence[tuple[int, View]]
    ) -> None:
        now_ms = self._clock()
        with self._database.transaction():
            for seq, view in views:
                extractive_views.store(self._database, seq, level, producer, view, now_ms)
            update.refresh(self._database)
            jobs.renew(self._database, claim, now_ms)

    def _finish_tree(self, scope: str, key: str, producer: int) -> None:
        """Renews the root and the open tail, stores their summaries, and queues the trees above
        the sources. Every sealed node must have its summary."""
        before = builder.ensure_tree(self._database, scope, key)
        source_seq = sources.seq_of(self._database, key) if scope == "source" else None
        builder.refresh_root(self._database, before, source_seq, self._shape)
        tree = builder.ensure_tree(self._database, scope, key)
        for node_seq in (tree.tail_seq, tree.root_seq):
            if node_seq is not None:
                extractive_views.put(self._database, node_seq, producer, self._clock())
        update.refresh(self._database)  # of a source without a node left, nothing else does
        if tree.root_seq != before.root_seq:
            collection_jobs.admit(self._database, self._clock())
        self._after_tree(tree, self._clock())


def _missing(database: Database, tree_seq: int, producer: int) -> tuple[int, list[int]] | None:
    """The lowest level that has nodes without a summary, and these nodes in order; None if all have
    one. All below that level have theirs."""
    parameters = {"tree": tree_seq, "producer": producer}
    rows = database.rows(_MISSING, parameters)
    return (rows[0][1], [seq for seq, level in rows if level == rows[0][1]]) if rows else None
