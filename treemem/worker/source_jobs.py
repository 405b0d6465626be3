"""The light jobs: sealing, the summaries that need no model, and the trees above the sources.

They take milliseconds, so `ingest` runs them at once and the tree is whole on any machine.
Each step is a transaction of its own, and the last one ends the job: a crash anywhere
repeats a step, and repeating it changes nothing.
"""

from __future__ import annotations

from treemem.queue import jobs
from treemem.queue.jobs import Claim
from treemem.store import summaries
from treemem.store.database import Database
from treemem.summarize import extractive_views
from treemem.times import Clock
from treemem.tree import builder
from treemem.worker import collection_jobs
from treemem.worker.collection_jobs import AfterTree

OF_SOURCES = ("seal", "extract")
KINDS = (*OF_SOURCES, *collection_jobs.KINDS)
SEAL_PRIORITY = 100
EXTRACT_PRIORITY = 90
EXTRACT_BATCH = 64

_SOURCE_SEQ = "SELECT seq FROM source WHERE id = ?"
_MISSING = """
SELECT n.seq, n.level FROM tree_node tn
JOIN node n ON n.seq = tn.node_seq
LEFT JOIN summary s ON s.node_seq = n.seq AND s.producer_seq = :producer
WHERE tn.tree_seq = :tree AND s.seq IS NULL
ORDER BY tn.level, tn.position LIMIT :limit
"""


def admit_seal(database: Database, source_id: str, now_ms: int) -> None:
    """Asks for a source to be sealed, in the transaction that stores its messages."""
    jobs.admit(database, "seal", source_id, {"source": source_id}, now_ms, priority=SEAL_PRIORITY)


def run(database: Database, held: Claim, clock: Clock, after_tree: AfterTree) -> None:
    """Does a light job and ends it.

    after_tree: called in the job's last transaction, when a tree has got its new root.
    """
    if held.kind == "seal":
        _seal(database, held, clock)
    elif held.kind == "extract":
        _extract(database, held, clock, after_tree)
    else:
        collection_jobs.run(database, held, clock, after_tree)


def _seal(database: Database, held: Claim, clock: Clock) -> None:
    source_id = held.payload["source"]
    while True:
        with database.transaction():
            source_seq = database.value(_SOURCE_SEQ, (source_id,))
            sealed = 0 if source_seq is None else builder.seal(database, source_seq, source_id)
            if sealed == 0:
                _admit_extract(database, "source", source_id, clock())
                jobs.finish(database, [held], clock())
                return


def _admit_extract(database: Database, scope: str, key: str, now_ms: int) -> None:
    payload = {"scope": scope, "key": key}
    jobs.admit(database, "extract", f"{scope}:{key}", payload, now_ms, priority=EXTRACT_PRIORITY)


def _extract(database: Database, held: Claim, clock: Clock, after_tree: AfterTree) -> None:
    """Summarizes what has no extractive summary yet, children first, then the root."""
    scope, key = held.payload["scope"], held.payload["key"]
    with database.transaction():
        producer = extractive_views.ensure_producer(database)
        tree = builder.ensure_tree(database, scope, key)
    while True:
        while missing := _missing(database, tree.seq, producer):
            made = [
                (seq, extractive_views.view_of(database, seq, level, producer))
                for seq, level in missing
            ]
            with database.transaction():
                for seq, view in made:
                    summaries.put(database, seq, producer, view, clock())
        with database.transaction():
            # Another worker may have sealed more in between.
            if not _missing(database, tree.seq, producer):
                _finish_tree(database, scope, key, producer, clock, after_tree)
                jobs.finish(database, [held], clock())
                return


def _finish_tree(
    database: Database,
    scope: str,
    key: str,
    producer: int,
    clock: Clock,
    after_tree: AfterTree,
) -> None:
    """Every sealed node has its summary: now the tail and the root get theirs, and what stands
    above the sources follows when its time has come."""
    before = builder.ensure_tree(database, scope, key)
    source_seq = database.value(_SOURCE_SEQ, (key,)) if scope == "source" else None
    builder.refresh_root(database, before, source_seq)
    tree = builder.ensure_tree(database, scope, key)
    for node_seq in (tree.tail_seq, tree.root_seq):
        if node_seq is not None:
            extractive_views.put(database, node_seq, producer, clock())
    if tree.root_seq != before.root_seq:
        collection_jobs.admit(database, clock())
    after_tree(tree, clock())


def _missing(database: Database, tree_seq: int, producer: int) -> list[tuple[int, int]]:
    """The next nodes to summarize, all of one level, so that their children are done."""
    parameters = {"tree": tree_seq, "producer": producer, "limit": EXTRACT_BATCH}
    rows = database.rows(_MISSING, parameters)
    return [(seq, level) for seq, level in rows if level == rows[0][1]]
