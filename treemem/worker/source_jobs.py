"""Runs the jobs of a source: sealing its leaves, and the summaries that need no model.

They take milliseconds, so `ingest` runs them at once, and every source has a complete tree without
a model. Each step is one transaction, and the last one ends the job. After a crash a step is
repeated, which changes nothing.

Tested in tests/tree/test_builder.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from treemem.errors import ConstraintError, DatabaseError
from treemem.ledger import update
from treemem.queue import jobs
from treemem.queue.jobs import Claim
from treemem.store import sources
from treemem.store.database import Database
from treemem.summarize import extractive_views
from treemem.times import Clock
from treemem.topics import store as topic_store
from treemem.tree import builder
from treemem.types import TreeShape
from treemem.worker import collection_jobs
from treemem.worker.collection_jobs import AfterTree
from treemem.worker.leaf_pool import LeafPool, LeafRun

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


class _Begun(NamedTuple):
    """The first leaves without a view of a source that is still being read."""

    source_id: str
    leaf_seqs: Sequence[int]
    producer: int
    run: LeafRun


class SourceWork:
    """Does the jobs of KINDS.

    after_tree: called in a job's last transaction, once the tree has its new root. pool: makes
    what leaves need; None for this process alone.
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
        self._begun: _Begun | None = None

    def begin(self, source_id: str) -> None:
        """Seals what is full of a source that is still being read, and lets the pool begin with
        it; then stores what it has begun with before. Only part of a job is done: the job waits
        until the source has been read."""
        if self._pool.is_alone:
            return
        with self._database.transaction():
            self._seal_some(source_id)
            producer = extractive_views.ensure_producer(self._database)
            tree = builder.ensure_tree(self._database, "source", source_id)
        level, node_seqs = _missing(self._database, tree.seq, producer) or (0, [])
        begun, self._begun = self._begun, None
        if begun is not None:
            node_seqs = node_seqs[len(begun.leaf_seqs) :] if begun.source_id == source_id else []
        # Subtle: whole batches, since which entries are linked depends on those that are stored
        # together. So the ledger is the same as if the file had been read first.
        whole = len(node_seqs) // EXTRACT_BATCH * EXTRACT_BATCH
        if level == 0 and whole:
            with _left_to_the_job():
                run = self._pool.begin(self._database, node_seqs[:whole], is_early=True)
                self._begun = _Begun(source_id, node_seqs[:whole], producer, run)
        self._settle(begun)

    def _settle(self, begun: _Begun | None) -> None:
        """Stores what the pool has begun with."""
        if begun is not None:
            with _left_to_the_job():
                self._store_leaves(begun.run, begun.producer)

    def run(self, claim: Claim) -> None:
        """Does a job and marks it as done."""
        begun, self._begun = self._begun, None
        self._settle(begun)
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
                if level == 0:
                    self._store_leaves(self._pool.begin(self._database, node_seqs), producer, claim)
                else:
                    self._store_groups(node_seqs, level, producer, claim)
            with self._database.transaction():
                # Another worker may have sealed more in between.
                if not _missing(self._database, tree.seq, producer):
                    self._finish_tree(scope, key, producer)
                    jobs.finish(self._database, [claim], self._clock())
                    return

    def _store_leaves(self, run: LeafRun, producer: int, claim: Claim | None = None) -> None:
        """Stores the views and profiles of leaves as they are made."""
        results = run.results()
        while batch := list(islice(results, EXTRACT_BATCH)):
            with self._storing(claim) as now_ms:
                for seq, (view, phrases) in batch:
                    extractive_views.store(self._database, seq, 0, producer, view, now_ms)
                    topic_store.put_profile(self._database, seq, phrases)

    def _store_groups(
        self, node_seqs: Sequence[int], level: int, producer: int, claim: Claim
    ) -> None:
        for start in range(0, len(node_seqs), EXTRACT_BATCH):
            batch = node_seqs[start : start + EXTRACT_BATCH]
            views = [
                (seq, extractive_views.view_of(self._database, seq, level, producer))
                for seq in batch
            ]
            with self._storing(claim) as now_ms:
                for seq, view in views:
                    extractive_views.store(self._database, seq, level, producer, view, now_ms)

    @contextmanager
    def _storing(self, claim: Claim | None) -> Iterator[int]:
        """A transaction, after which the ledger is up to date and the lease renewed."""
        with self._database.transaction():
            yield (now_ms := self._clock())
            update.refresh(self._database)
            if claim is not None:
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


@contextmanager
def _left_to_the_job() -> Iterator[None]:
    """Passes over a failure of a job's early part: the job meets it again, and is the one that
    fails, so that neither the reading of the file nor another job ends with it."""
    try:
        yield
    except ConstraintError:
        pass
    except DatabaseError:
        raise
    except Exception:  # noqa: S110 - as above
        pass


def _missing(database: Database, tree_seq: int, producer: int) -> tuple[int, list[int]] | None:
    """The lowest level that has nodes without a summary, and these nodes in order; None if all have
    one. All below that level have theirs."""
    parameters = {"tree": tree_seq, "producer": producer}
    rows = database.rows(_MISSING, parameters)
    return (rows[0][1], [seq for seq, level in rows if level == rows[0][1]]) if rows else None
