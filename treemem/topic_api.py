"""Topics: what a user of treemem sees of them, and may change.

Names, pins and merges are the user's and outlive a rebuild; which leaves a topic has is found by
treemem, and can be found again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from treemem import times
from treemem.errors import UsageError
from treemem.store.database import Database
from treemem.times import Clock
from treemem.topics import assignment
from treemem.topics import store as topic_store
from treemem.topics.store import Topic
from treemem.worker import collection_jobs

NAME_CHARS_MAX = 80


@dataclass(frozen=True, slots=True)
class TopicView:
    """A topic and what it has. name: of a few words of its statements, or as the user named it
    (named says which). pinned: a rebuild leaves it as it is. tokens: of what its leaves hold
    word for word. aliases: the ids of topics that were merged into it.

    leaf_ids: in time order. source_ids: in the order of their first leaf here. root_id: of its
    tree, None until it is made. started_at, ended_at: ISO 8601 in UTC.
    """

    id: str
    name: str
    named: bool
    pinned: bool
    tokens: int
    leaf_ids: tuple[str, ...]
    source_ids: tuple[str, ...]
    root_id: str | None
    started_at: str | None
    ended_at: str | None
    aliases: tuple[str, ...]


Views = list[TopicView]


class Topics:
    """The topics of one memory. An id may be cut short as long as it is unambiguous; the id of
    a topic that was merged leads to the one it is part of.

    work: does the light jobs that wait, such as the trees of topics that have changed.
    """

    def __init__(self, database: Database, clock: Clock, work: Callable[[], object]) -> None:
        self._database = database
        self._clock = clock
        self._work = work

    def list(self) -> Views:
        """All topics, those with the most leaves first."""
        with self._database.reading():
            views = [_view(self._database, topic) for topic in topic_store.topics(self._database)]
        return sorted(views, key=lambda view: (-len(view.leaf_ids), view.id))

    def show(self, topic_id: str) -> TopicView:
        """One topic. Raises NotFoundError, AmbiguousIdError."""
        with self._database.reading():
            found = topic_store.resolve(self._database, topic_id)
            topics = topic_store.topics(self._database)
            return next(_view(self._database, topic) for topic in topics if topic.id == found)

    def rename(self, topic_id: str, name: str) -> TopicView:
        """Gives a topic a name of the user's, which stays. Raises UsageError for an empty one."""
        told = " ".join(name.split())
        if not told or len(told) > NAME_CHARS_MAX or not told.isprintable():
            raise UsageError(
                f"A topic's name has 1 to {NAME_CHARS_MAX} printable characters, not {name!r}."
            )
        with self._database.transaction():
            found = topic_store.resolve(self._database, topic_id)
            topic_store.set_name(self._database, found, told, by_user=True)
        return self.show(found)

    def pin(self, topic_id: str, *, pinned: bool = True) -> TopicView:
        """Lets a rebuild leave a topic as it is, or no longer."""
        with self._database.transaction():
            found = topic_store.resolve(self._database, topic_id)
            topic_store.set_pinned(self._database, found, pinned=pinned)
        return self.show(found)

    def merge(self, into: str, topic_id: str) -> TopicView:
        """Gives a topic's leaves to another one; its id leads there from now on. Raises
        UsageError for a topic and itself."""
        with self._database.transaction():
            kept = topic_store.resolve(self._database, into)
            given = topic_store.resolve(self._database, topic_id)
            if kept == given:
                raise UsageError(f"{into!r} and {topic_id!r} are the same topic, {kept}.")
            topic_store.merge(self._database, kept, given)
            self._admit()
        self._work()
        return self.show(kept)

    def rebuild(self) -> Views:
        """Finds all topics anew. Ids stay where the content does; pins, names and merges stay."""
        while assignment.read_some(self._database):
            continue
        assignment.rebuild(self._database, self._admit)
        self._work()
        return self.list()

    def _admit(self) -> None:
        collection_jobs.admit(self._database, self._clock(), kinds=("topics",), at_once=True)


def _view(database: Database, topic: Topic) -> TopicView:
    leaves = topic_store.placed_leaves(database, topic)
    started = [leaf.started_at_ms for leaf in leaves if leaf.started_at_ms is not None]
    ended = [leaf.ended_at_ms for leaf in leaves if leaf.ended_at_ms is not None]
    source_ids = dict.fromkeys(leaf.source_id for leaf in leaves if leaf.source_id is not None)
    return TopicView(
        id=topic.id, name=topic.name or topic.id, named=topic.named, pinned=topic.pinned,
        tokens=sum(leaf.tokens for leaf in leaves), leaf_ids=tuple(leaf.id for leaf in leaves),
        source_ids=tuple(source_ids), root_id=topic_store.root_id(database, topic),
        started_at=times.from_ms(min(started, default=None)),
        ended_at=times.from_ms(max(ended, default=None)), aliases=topic.aliases,
    )  # fmt: skip
