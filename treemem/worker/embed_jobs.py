"""Queues and runs the jobs that compute vectors for the nodes of a tree.

A job processes one tree in small steps and stores each one, so a kill repeats at most the call in
flight. A text with a stored vector is not embedded again, and groups need no call. No
transaction is open while the model runs.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from treemem.errors import DatabaseError, ModelError
from treemem.models import embedders
from treemem.models.embedders import Embedder
from treemem.queue import jobs
from treemem.queue.budget import Budget
from treemem.queue.jobs import Claim
from treemem.reports import WorkProgress
from treemem.store import settings, summaries, vectors
from treemem.store.database import Database
from treemem.store.vectors import WindowVector, pack
from treemem.text.tokens import count_tokens
from treemem.text.windows import SpanText, Window, cut_windows
from treemem.times import Clock
from treemem.tree import builder

KIND = "embed"
PRIORITY = 30
# Nodes that one query returns, besides REFUSED_MAX refused ones.
NODES_A_STEP = 64
# A job stops early when the model refuses more nodes than this.
REFUSED_MAX = 8


# -- admitting -------------------------------------------------------------------------


def admit_tree(database: Database, tree: builder.TreeRow, now_ms: int) -> None:
    """Queues a job for a tree that has grown, in the caller's transaction, if an embedder is in
    use."""
    if settings.get(database, settings.EMBEDDER) is not None:
        _admit(database, tree.scope, tree.key, now_ms)


def admit_all(database: Database, now_ms: int) -> None:
    """Queues a job for every tree that has a node without a vector of the embedder in use."""
    setting = settings.get(database, settings.EMBEDDER)
    if setting is None:
        return
    name = embedders.identity_of(setting)
    sql = "SELECT seq, scope, key FROM tree"
    with database.transaction():
        embedder_seq = None if name is None else vectors.seq_of(database, name)
        for tree_seq, scope, key in database.rows(sql):
            if embedder_seq is None or _without_vector(database, tree_seq, embedder_seq, 1):
                _admit(database, scope, key, now_ms)


def withdraw(database: Database) -> None:
    """Deletes the waiting jobs, in the caller's transaction, after the embedder in use has
    changed."""
    database.execute("DELETE FROM job WHERE kind = ? AND state = 'todo'", (KIND,))


def _admit(database: Database, scope: str, key: str, now_ms: int) -> None:
    payload = {"scope": scope, "key": key}
    jobs.admit(database, KIND, f"{scope}:{key}", payload, now_ms, priority=PRIORITY)


# Subtle: groups of a tree above the sources can be reached only from its root, and that tree may
# contain roots and tails that their sources have since replaced.
_WITHOUT = """
WITH RECURSIVE member (seq) AS (
  SELECT node_seq FROM tree_node WHERE tree_seq = :tree
  UNION SELECT root_seq FROM tree WHERE seq = :tree
  UNION SELECT tail_seq FROM tree WHERE seq = :tree
  UNION SELECT nc.child_seq FROM member JOIN node_child nc ON nc.node_seq = member.seq)
SELECT n.seq, n.level FROM member JOIN node n ON n.seq = member.seq
WHERE NOT EXISTS (SELECT 1 FROM {table} v WHERE v.node_seq = n.seq AND v.ordinal = 0)
ORDER BY n.level, n.seq DESC LIMIT :limit
"""


def _without_vector(
    database: Database, tree_seq: int, embedder_seq: int, limit: int
) -> list[tuple[int, int]]:
    """(node, level) of nodes without a vector, lower levels first, then newer nodes first."""
    sql = _WITHOUT.format(table=vectors.table_of(embedder_seq))
    return [(row[0], row[1]) for row in database.rows(sql, {"tree": tree_seq, "limit": limit})]


# -- working ---------------------------------------------------------------------------


class EmbedWork:
    """Does the embed jobs of one database with one embedder.

    embedder_seq: the number of its table, see vectors.ensure. ready: False while the embedder
    cannot be used, for example because its server is down.
    """

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        embedder_seq: int,
        dimensions: int,
        clock: Clock,
        progress: WorkProgress | None = None,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._seq = embedder_seq
        self._dimensions = dimensions
        self._clock = clock
        self._progress = progress
        self.ready = True

    @classmethod
    def prepare(
        cls,
        database: Database,
        embedder: Embedder,
        setting: str,
        clock: Clock,
        progress: WorkProgress | None = None,
    ) -> EmbedWork:
        """Creates the embedder's table if it is missing. setting: see store.settings. Raises
        ModelError if the embedder's dimensions are unknown and it does not answer."""
        dimensions = vectors.dimensions_of(database, embedder.name) or embedder.dimensions
        embedder_seq = vectors.ensure(database, embedder.name, setting, dimensions)
        return cls(database, embedder, embedder_seq, dimensions, clock, progress)

    def run(self, claim: Claim, budget: Budget) -> None:
        """Embeds the nodes of a tree that have no vector, and marks the job as done. Raises
        BudgetSpentError at a limit between two calls; all answers are stored by then."""
        refused: dict[int, ModelError] = {}
        while nodes := self._due(claim, refused):
            for node_seq, level in nodes:
                try:
                    self._embed(node_seq, level, budget)
                except ModelError as error:
                    # A text that the model refuses must not block the rest.
                    if not self.ready or len(refused) == REFUSED_MAX:
                        raise
                    refused[node_seq] = error
                except DatabaseError:
                    if vectors.exists(self._database, self._seq):
                        raise
                    break  # the table was dropped in the meantime
        if refused:
            raise next(iter(refused.values()))
        with self._database.transaction():
            jobs.finish(self._database, [claim], self._clock())
            # Until the last job ends, a new tail may copy vectors of nodes that are gone.
            if not jobs.has_open(self._database, KIND):
                vectors.remove_gone(self._database)

    def job_failed(self, claim: Claim, message: str) -> None:
        """Does nothing: no other job waits for a vector."""

    def _due(self, claim: Claim, refused: Container[int]) -> list[tuple[int, int]]:
        """(node, level) of the next nodes to embed; none if the embedder was pruned."""
        payload = claim.payload
        tree = builder.find_tree(self._database, payload["scope"], payload["key"])
        if tree is None or not vectors.exists(self._database, self._seq):
            return []
        limit = NODES_A_STEP + REFUSED_MAX
        nodes = _without_vector(self._database, tree.seq, self._seq, limit)
        return [(node_seq, level) for node_seq, level in nodes if node_seq not in refused]

    def _embed(self, node_seq: int, level: int, budget: Budget) -> None:
        if level == 0:
            self._embed_leaf(node_seq, budget)
        else:
            self._embed_group(node_seq, budget)

    def _embed_leaf(self, leaf_seq: int, budget: Budget) -> None:
        spans = _spans(self._database, leaf_seq)
        cut = cut_windows(spans)
        if not cut:  # the leaf is gone
            return
        digests = [vectors.digest_of(window.text) for window in cut]
        stored = vectors.known(self._database, self._seq, digests)
        missing = {
            digest: window.text
            for digest, window in zip(digests, cut, strict=True)
            if digest not in stored
        }
        for batch in embedders.batches(missing):
            new = self._ask([missing[digest] for digest in batch], budget)
            stored.update(zip(batch, new, strict=True))
            self._store(leaf_seq, cut, digests, {digest: stored[digest] for digest in batch})
        self._store(leaf_seq, cut, digests, stored, whole=True)
        self._count(budget)

    def _store(
        self,
        leaf_seq: int,
        cut: Sequence[Window],
        digests: Sequence[bytes],
        vector_of: dict[bytes, bytes],
        *,
        whole: bool = False,
    ) -> None:
        """Stores the windows whose digests are in vector_of. whole: stores the leaf's own vector
        too."""
        rows = [
            WindowVector(ordinal, window.first_span, window.start, window.last_span, window.end,
                         digest, vector_of[digest])
            for ordinal, (window, digest) in enumerate(zip(cut, digests, strict=True), 1)
            if digest in vector_of
        ]  # fmt: skip
        with self._database.transaction():
            if vectors.exists(self._database, self._seq):
                vectors.put_windows(self._database, self._seq, leaf_seq, rows)
                if whole:
                    parts = [row.vector for row in rows]
                    vectors.put_node(self._database, self._seq, leaf_seq, parts)

    def _embed_group(self, node_seq: int, budget: Budget) -> None:
        """Stores the mean of the leaves' vectors. Embeds leaves without one first, since a tree
        above the sources may be processed before the sources' own trees."""
        leaves = builder.leaves_below(self._database, node_seq)
        if not leaves:  # the group is gone
            return
        stored = vectors.packed_node_vectors(self._database, self._seq, leaves)
        for leaf_seq in leaves:
            if leaf_seq not in stored:
                self._embed_leaf(leaf_seq, budget)
        stored = vectors.packed_node_vectors(self._database, self._seq, leaves)
        with self._database.transaction():
            if stored and vectors.exists(self._database, self._seq):
                parts = [stored[leaf] for leaf in leaves if leaf in stored]
                vectors.put_node(self._database, self._seq, node_seq, parts)
        self._count(budget)

    def _ask(self, texts: Sequence[str], budget: Budget) -> list[bytes]:
        with budget.call():
            try:
                new = self._embedder.embed_documents(texts)
                if new.shape != (len(texts), self._dimensions):
                    raise ModelError(
                        f"{self._embedder.name} returns {new.shape[1]} numbers, but its vectors in "
                        f"this file have {self._dimensions}: it is another model now. Choose it "
                        "under another name, or drop the old vectors.",
                        recoverable=False,
                        hint=vectors.embed_again(self._embedder.name),
                    )
            except ModelError as error:
                self.ready = error.recoverable and self._embedder.alive()
                raise
            with budget.counting() as report:
                report.model_calls += 1
                report.tokens_in += sum(map(count_tokens, texts))
        return pack(new)

    def _count(self, budget: Budget) -> None:
        with budget.counting() as report:
            report.embedded += 1
        if self._progress is not None:
            self._progress(budget.snapshot(), KIND)


def _spans(database: Database, leaf_seq: int) -> list[SpanText]:
    return [
        SpanText(excerpt.message.speaker, excerpt.text, excerpt.start)
        for excerpt in summaries.excerpts(database, leaf_seq)
    ]
