"""Runs the jobs that lay out the trees above the sources: the global tree and the topics' trees.

A tree is laid out if its members have changed, at most once per ROOT_INTERVAL_MS, so the cost does
not depend on how often the sources grow. Unchanged groups keep their summaries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from treemem.config import ROOT_INTERVAL_MS
from treemem.errors import LeaseLostError
from treemem.queue import jobs
from treemem.queue.jobs import Claim
from treemem.store.database import Database, json_list
from treemem.summarize import extractive_views
from treemem.times import Clock
from treemem.topics import assignment, growing
from treemem.topics import store as topic_store
from treemem.tree import builder, everything, layout
from treemem.types import TreeShape

KINDS = ("global", "topics")
PRIORITY = 60
# New groups in one transaction; the summary of a group takes up to a tenth of a second.
GROUPS_AT_ONCE = 32

AfterTree = Callable[[builder.TreeRow, int], None]


def admit(
    database: Database, now_ms: int, *, kinds: Sequence[str] = KINDS, at_once: bool = False
) -> None:
    """Queues the jobs for the trees above the sources, in the transaction that changed a root.

    at_once: makes them due now instead of an interval after the last one finished.
    """
    for kind in kinds:
        last_ms = None if at_once else jobs.last_done_ms(database, kind)
        due_ms = now_ms if last_ms is None else max(now_ms, last_ms + ROOT_INTERVAL_MS)
        jobs.admit(database, kind, "all", {}, now_ms, priority=PRIORITY, not_before_ms=due_ms)


def _nothing(_key: str) -> None:
    """Does nothing."""


class CollectionWork:
    """Does the jobs of KINDS.

    after_tree: called in the transaction that changes a tree's root. Every step is a transaction
    that leaves the trees consistent, and is idempotent.
    """

    def __init__(
        self, database: Database, clock: Clock, shape: TreeShape, after_tree: AfterTree
    ) -> None:
        self._database = database
        self._clock = clock
        self._shape = shape
        self._after_tree = after_tree

    def run(self, claim: Claim) -> None:
        """Does a job and marks it as done."""
        if claim.kind == "global":
            self._lay_out_everything(claim)
        else:
            self._lay_out_topics(claim)
        with self._database.transaction():
            jobs.finish(self._database, [claim], self._clock())

    def _lay_out_everything(self, claim: Claim) -> None:
        with self._database.transaction():
            before = builder.ensure_tree(self._database, "global", "")
            groups = None
            if before.root_seq is not None and not self._unsummarized([before.root_seq]):
                groups = everything.lay_out_end(self._database, before, self._shape)
            if groups is not None:
                self._summarize(before, groups)
                return
        self._lay_out(
            claim, "global", "", lambda database, _key: everything.roots(database),
            covered=partial(everything.note, self._database),
        )  # fmt: skip

    def _lay_out_topics(self, claim: Claim) -> None:
        with self._database.transaction():
            is_placed = growing.place(self._database)
        if not is_placed:
            self._lay_out_all_topics(claim)
            return
        renewal = growing.Renewal(self._database)
        for topic_id in topic_store.changed(self._database):
            self._renew(claim)
            self._lay_out_topic(claim, topic_id, end=renewal.renew)

    def _lay_out_all_topics(self, claim: Claim) -> None:
        while assignment.read_batch(self._database):
            self._renew(claim)
        namer = assignment.place(self._database)
        self._renew(claim)
        covering = _covering(self._database, self._shape)
        for topic in topic_store.topics(self._database):
            if topic.id not in covering:
                self._renew(claim)
                self._lay_out_topic(claim, topic.id, root_changed=namer.name)
            # A rebuild and a scrub clear names even where the leaves stay.
            if topic.name is None:
                with self._database.transaction():
                    namer.name(topic.id)

    def _lay_out_topic(
        self, claim: Claim, topic_id: str, root_changed: Callable[[str], None] = _nothing,
        end: Callable[[str], None] = _nothing,
    ) -> None:  # fmt: skip
        """Lays out a topic's tree. end: called in the last transaction."""

        def covered(members: int | None) -> None:
            if members is not None:
                end(topic_id)
                topic_store.note_laid_out(self._database, [topic_id])

        self._lay_out(
            claim, "topic", topic_id, topic_store.members, root_changed=root_changed,
            covered=covered,
        )  # fmt: skip

    def _lay_out(
        self,
        claim: Claim,
        scope: str,
        key: str,
        members_of: Callable[[Database, str], list[int]],
        *,
        root_changed: Callable[[str], None] = _nothing,
        covered: Callable[[int | None], None],
    ) -> None:
        """Lays a tree out over its current members, with a summary for every group, in short
        transactions. root_changed: called in each transaction that changes the root. covered:
        called in each with the number of members if it covers all of them, and None otherwise."""
        while True:
            with self._database.transaction():
                member_seqs = members_of(self._database, key)
                end = builder.affordable(self._database, member_seqs, GROUPS_AT_ONCE, self._shape)
                exists = member_seqs or builder.find_tree(self._database, scope, key)
                if exists and self._cover(scope, key, member_seqs[:end]):
                    root_changed(key)
                covered(end if end == len(member_seqs) else None)
            if end == len(member_seqs):
                return
            self._renew(claim)

    def _cover(self, scope: str, key: str, member_seqs: list[int]) -> bool:
        """Lays the tree out over these members. Returns whether its root has changed."""
        before = builder.ensure_tree(self._database, scope, key)
        groups = builder.lay_out(self._database, before, member_seqs, self._shape)
        return self._summarize(before, groups)

    def _summarize(self, before: builder.TreeRow, groups: Sequence[int]) -> bool:
        """Summarizes a tree that was laid out. before: as it was until then. groups: those that may
        have no summary. Returns whether its root has changed."""
        producer = extractive_views.ensure_producer(self._database)
        for node_seq in self._unsummarized(groups):
            extractive_views.put(self._database, node_seq, producer, self._clock())
        after = builder.ensure_tree(self._database, before.scope, before.key)
        if after.root_seq is not None:
            extractive_views.put(self._database, after.root_seq, producer, self._clock())
        if after.root_seq == before.root_seq:
            return False
        self._after_tree(after, self._clock())
        return True

    def _unsummarized(self, node_seqs: Sequence[int]) -> list[int]:
        """Those of these nodes that have no summary of this version, in the given order."""
        producer = extractive_views.ensure_producer(self._database)
        rows = self._database.rows(_UNSUMMARIZED, (json_list(node_seqs), producer))
        return [seq for (seq,) in rows]

    def _renew(self, claim: Claim) -> None:
        """Renews the lease of an unfinished job. Raises LeaseLostError if it was lost."""
        if not jobs.renew(self._database, claim, self._clock()):
            raise LeaseLostError(f"Job {claim.seq} ({claim.kind}) was given to another worker.")


_UNSUMMARIZED = """
SELECT value FROM json_each(?) j WHERE NOT EXISTS (
  SELECT 1 FROM summary s WHERE s.node_seq = j.value AND s.producer_seq = ?)
ORDER BY j.key
"""
_TOPIC_ROOTS = """
SELECT t.key, n.id FROM tree t JOIN node n ON n.seq = t.root_seq
WHERE t.scope = 'topic' AND EXISTS (
  SELECT 1 FROM summary s WHERE s.node_seq = n.seq AND s.producer_seq = ?)
"""


def _covering(database: Database, shape: TreeShape) -> set[str]:
    """The topics whose trees cover their members, with the summaries of this version. A root is
    summarized last, so its summary stands for all below it."""
    with database.transaction():
        producer = extractive_views.ensure_producer(database)
        roots_now: dict[str, str] = dict(database.rows(_TOPIC_ROOTS, (producer,)))
        covering = {
            topic_id
            for topic_id, leaf_ids in topic_store.member_ids(database).items()
            if layout.root_id([(one, 0) for one in leaf_ids], shape.fanout)
            == roots_now.get(topic_id)
        }
        topic_store.note_laid_out(database, covering)
    return covering


# -- checking --------------------------------------------------------------------------


def check_trees(database: Database, shape: TreeShape) -> Iterator[tuple[str, str, bool]]:
    """Yields, for each tree above the sources, the kind of job that lays it out, its name, and
    whether it covers its current members."""
    covers = _covers(database, "global", "", everything.roots(database), shape)
    yield "global", "the global tree", covers
    for topic in topic_store.topics(database):
        covers = _covers(database, "topic", topic.id, list(topic.leaves), shape)
        yield "topics", f"the tree of topic {topic.id}", covers


def _covers(
    database: Database, scope: str, key: str, member_seqs: list[int], shape: TreeShape
) -> bool:
    tree = builder.find_tree(database, scope, key)
    root_id = builder.root_id_over(database, member_seqs, shape)
    sql = "SELECT id FROM node WHERE seq = ?"
    return root_id == (None if tree is None else database.value(sql, (tree.root_seq,)))
