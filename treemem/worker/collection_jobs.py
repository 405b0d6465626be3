"""The light jobs above the sources: the tree over everything, topics and their trees.

These trees are laid out anew from all their members, at most once an interval, so their cost is
bounded by time, however often the sources grow. Groups that stay the same keep their summaries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from treemem.config import ROOT_INTERVAL_MS
from treemem.errors import LeaseLostError
from treemem.queue import jobs
from treemem.queue.jobs import Claim
from treemem.store.database import Database
from treemem.summarize import extractive_views
from treemem.times import Clock
from treemem.topics import assignment
from treemem.topics import store as topic_store
from treemem.tree import builder

KINDS = ("global", "topics")
PRIORITY = 60
GROUPS_AT_ONCE = 32  # a summary of a group takes up to a tenth of a second

AfterTree = Callable[[builder.TreeRow, int], None]


def admit(
    database: Database, now_ms: int, *, kinds: Sequence[str] = KINDS, at_once: bool = False
) -> None:
    """Asks for what stands above the sources, in the transaction that changed a source's root.

    at_once: not only when an interval has passed since it was last made.
    """
    for kind in kinds:
        last_ms = None if at_once else jobs.last_done_ms(database, kind)
        due_ms = now_ms if last_ms is None else max(now_ms, last_ms + ROOT_INTERVAL_MS)
        jobs.admit(database, kind, "all", {}, now_ms, priority=PRIORITY, not_before_ms=due_ms)


def run(database: Database, held: Claim, clock: Clock, after_tree: AfterTree) -> None:
    """Does a job and ends it. after_tree: called when a tree has got its new root.

    Every step is a transaction of its own, after which all is as it should be; repeating one
    changes nothing.
    """
    work = _Work(database, held, clock, after_tree)
    if held.kind == "global":
        work.stand("global", "", lambda opened, _key: roots(opened))
    else:
        work.topics()
    with database.transaction():
        jobs.finish(database, [held], clock())


# A source without times stands before those that have them: nothing it says is later.
_ROOTS = """
SELECT n.seq FROM tree t JOIN source s ON s.id = t.key JOIN node n ON n.seq = t.root_seq
WHERE t.scope = 'source'
GROUP BY n.seq ORDER BY n.started_at_ms, min(s.seq)
"""


def roots(database: Database) -> list[int]:
    """The roots of all sources, of whatever level, by when the source began. Sources with the
    same content share one."""
    return [seq for (seq,) in database.rows(_ROOTS)]


class _Work:
    """One job in hand."""

    def __init__(
        self, database: Database, held: Claim, clock: Clock, after_tree: AfterTree
    ) -> None:
        self._database = database
        self._held = held
        self._clock = clock
        self._after_tree = after_tree

    def topics(self) -> None:
        while assignment.read_some(self._database):
            self._keep()
        assignment.place(self._database)
        names = assignment.Names(self._database)
        for topic in topic_store.topics(self._database):
            self._keep()
            self.stand("topic", topic.id, topic_store.members, names.give)

    def stand(
        self,
        scope: str,
        key: str,
        members_of: Callable[[Database, str], list[int]],
        changed: Callable[[str], None] = lambda _key: None,
    ) -> None:
        """Lets a tree stand over its members as they are now, every group with its summary, in
        steps that are not too long. changed: called where it got another root."""
        while True:
            with self._database.transaction():
                member_seqs = members_of(self._database, key)
                upto = builder.affordable(self._database, member_seqs, GROUPS_AT_ONCE)
                there = member_seqs or builder.find_tree(self._database, scope, key)
                if there and self._stand_over(scope, key, member_seqs[:upto]):
                    changed(key)
            if upto == len(member_seqs):
                return
            self._keep()

    def _stand_over(self, scope: str, key: str, member_seqs: list[int]) -> bool:
        """Returns whether the tree has another root now."""
        before = builder.ensure_tree(self._database, scope, key)
        producer = extractive_views.ensure_producer(self._database)
        for node_seq in builder.derive(self._database, before, member_seqs):
            extractive_views.put(self._database, node_seq, producer, self._clock())
        after = builder.ensure_tree(self._database, scope, key)
        if after.root_seq == before.root_seq:
            return False
        self._after_tree(after, self._clock())
        return True

    def _keep(self) -> None:
        """Holds on to a job that has more to do."""
        if not jobs.renew(self._database, self._held, self._clock()):
            raise LeaseLostError(
                f"Job {self._held.seq} ({self._held.kind}) was given to another worker."
            )


# -- what should be there --------------------------------------------------------------


def as_it_should_be(database: Database) -> Iterator[tuple[str, str, bool]]:
    """Each tree above the sources: the kind of job that makes it, its name, and whether it
    stands over its members as they are now."""
    yield "global", "the global tree", _stands(database, "global", "", roots(database))
    for topic in topic_store.topics(database):
        stands = _stands(database, "topic", topic.id, list(topic.leaves))
        yield "topics", f"the tree of topic {topic.id}", stands


def _stands(database: Database, scope: str, key: str, member_seqs: list[int]) -> bool:
    tree = builder.find_tree(database, scope, key)
    root_id = builder.derived_root_id(database, member_seqs)
    sql = "SELECT id FROM node WHERE seq = ?"
    return root_id == (None if tree is None else database.value(sql, (tree.root_seq,)))
