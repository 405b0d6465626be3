"""Lets users list, rename, pin, merge and rebuild topics, and undo merges.

Names, pins and merges are set by the user and survive a rebuild; the leaves of a topic are derived
and can be computed again.

Tested in tests/topics/test_assignment.py.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treemem import times
from treemem.arguments import checked, in_page
from treemem.digest.source_kinds import TOOL_NAMES
from treemem.errors import UsageError
from treemem.store.database import Database
from treemem.times import Clock
from treemem.topics import assignment, mapping, merging
from treemem.topics import store as topic_store
from treemem.topics.mapping import Related, TopicPart
from treemem.topics.store import Topic
from treemem.types import one_or_more
from treemem.worker import collection_jobs

# The length of a topic name, in characters.
NAME_CHARS_MAX = 80


@dataclass(frozen=True, slots=True)
class TopicView:
    """A topic with its leaves.

    name: the user's if named is True, else noun phrases of its messages. pinned: a rebuild does
    not change it. tokens: of the verbatim text of its leaves. people: who speaks in it by name,
    those with most messages first. agents: the assistants and agents of its sources, by tool.
    leaf_ids: in time order. source_ids: in the order of their first leaf. root_id: of its tree;
    None until it is built. started_at, ended_at: ISO 8601 in UTC. aliases: the ids of topics that
    were merged into it.
    """

    id: str
    name: str
    named: bool
    pinned: bool
    messages: int
    tokens: int
    people: tuple[str, ...]
    agents: tuple[str, ...]
    leaf_ids: tuple[str, ...]
    source_ids: tuple[str, ...]
    root_id: str | None
    started_at: str | None
    ended_at: str | None
    aliases: tuple[str, ...]


@checked
class Topics:
    """The topics of one memory. An unambiguous prefix of an id is enough; the id of a merged topic
    refers to the topic it was merged into.

    work: runs the jobs that need no model, which rebuild the trees of changed topics.
    """

    def __init__(self, database: Database, clock: Clock, work: Callable[[], object]) -> None:
        self._database = database
        self._clock = clock
        self._work = work

    def list(self, *, limit: int | None = None, offset: int = 0) -> builtins.list[TopicView]:
        """Returns the topics, those with the most leaves first. limit, offset: at most limit, after
        the first offset; None for all."""
        page = in_page(limit, offset)
        with self._database.reading():
            topics = topic_store.topics(self._database)
            topics.sort(key=lambda topic: (-len(topic.leaves), topic.id))
            return [_view(self._database, topic) for topic in topics[page]]

    def show(self, topic_id: str) -> TopicView:
        """Returns one topic. Raises NotFoundError, AmbiguousIdError."""
        with self._database.reading():
            full_id = topic_store.resolve(self._database, topic_id)
            return _view(self._database, topic_store.topic(self._database, full_id))

    def part(self, start: int = 0, limit: int = 40) -> TopicPart:
        """Returns at most limit topics with few figures each, those with most messages first.
        start: how many to leave out at the beginning."""
        with self._database.reading():
            return mapping.read_part(self._database, start, limit)

    def related(self, topic_ids: Sequence[str]) -> tuple[Related, ...]:
        """Returns which of these topics are related, and how closely. Takes time for each pair of
        them. Raises NotFoundError, AmbiguousIdError."""
        with self._database.reading():
            ids = [topic_store.resolve(self._database, one) for one in one_or_more(topic_ids)]
            return mapping.read_related(self._database, ids)

    def rename(self, topic_id: str, name: str) -> TopicView:
        """Sets a permanent name. Raises UsageError if it is empty, too long or unprintable."""
        flat = " ".join(name.split())
        if not flat or len(flat) > NAME_CHARS_MAX or not flat.isprintable():
            raise UsageError(
                f"A topic's name has 1 to {NAME_CHARS_MAX} printable characters, not {name!r}."
            )
        with self._database.transaction():
            full_id = topic_store.resolve(self._database, topic_id)
            topic_store.set_name(self._database, full_id, flat, by_user=True)
        return self.show(full_id)

    def pin(self, topic_id: str, *, pinned: bool = True) -> TopicView:
        """Protects a topic from rebuilds, or ends the protection."""
        with self._database.transaction():
            full_id = topic_store.resolve(self._database, topic_id)
            topic_store.set_pinned(self._database, full_id, pinned=pinned)
        return self.show(full_id)

    def merge(self, into: str, topic_id: str) -> TopicView:
        """Moves a topic's leaves into the topic `into`, to which its id refers from then on.
        unmerge() undoes it. Raises UsageError if both are the same topic."""
        with self._database.transaction():
            target = topic_store.resolve(self._database, into)
            merged = topic_store.resolve(self._database, topic_id)
            if target == merged:
                raise UsageError(f"{into!r} and {topic_id!r} are the same topic, {target}.")
            merging.merge(self._database, target, merged)
            self._admit()
        self._work()
        return self.show(target)

    def unmerge(self, topic_id: str) -> TopicView:
        """Undoes a merge: a topic that was merged into another is one of its own again, with its
        name, its pin and its leaves, and with the topics that had been merged into it before.

        topic_id: of the merged topic, see TopicView.aliases. A leaf that came since goes with the
        leaf of its chat before it, and stays where it is without one. What a rebuild has moved to
        another topic stays there. Raises NotFoundError, AmbiguousIdError, and UsageError if the
        topic is not merged.
        """
        with self._database.transaction():
            full_id = merging.unmerge(self._database, topic_id).id
            self._admit()
        self._work()
        return self.show(full_id)

    def rebuild(self) -> builtins.list[TopicView]:
        """Computes all topics again. Pins, names and merges are kept, and so is the id of a topic
        that remains."""
        while assignment.read_batch(self._database):
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
    formats = topic_store.assistants(database, source_ids)
    return TopicView(
        id=topic.id, name=topic.name or topic.id, named=topic.named, pinned=topic.pinned,
        messages=topic_store.message_count(database, topic),
        people=tuple(topic_store.people(database, topic)),
        agents=tuple(dict.fromkeys(TOOL_NAMES.get(name, "an assistant") for name in formats)),
        tokens=sum(leaf.tokens for leaf in leaves), leaf_ids=tuple(leaf.id for leaf in leaves),
        source_ids=tuple(source_ids), root_id=topic_store.root_id(database, topic),
        started_at=times.from_ms(min(started, default=None)),
        ended_at=times.from_ms(max(ended, default=None)), aliases=topic.aliases,
    )  # fmt: skip
