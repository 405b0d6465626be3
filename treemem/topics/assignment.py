"""Reads leaves, assigns them to topics, rebuilds topics and names them.

Clustering takes seconds in a large memory, so it runs outside any transaction. Its result is
stored only if nothing has changed in between, and computed again otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treemem.models import embedders
from treemem.store import settings, summaries, vectors
from treemem.store.database import Database
from treemem.summarize import extractive_views
from treemem.topics import census, clustering, merging, naming
from treemem.topics import profiles as leaf_profiles
from treemem.topics import store as topic_store
from treemem.topics.clustering import EarlierTopic, Placing
from treemem.topics.store import LeafRow, Topic
from treemem.topics.subjects import Leaf, Said, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = Mapping[int, NDArray[Any]]

# Leaves read in one step; a job's lease is renewed between steps.
LEAVES_AT_ONCE = 128


@dataclass(frozen=True, slots=True)
class State:
    """The state that a clustering starts from.

    leaves: all leaves by their row numbers, in time order.
    """

    leaves: dict[int, LeafRow]
    topics: tuple[Topic, ...]

    def lost(self) -> set[int]:
        """The leaves of topics that no source contains any more: tails that have since grown."""
        return {seq for topic in self.topics for seq in topic.leaves} - self.leaves.keys()


def _state(database: Database) -> State:
    producer = extractive_views.ensure_producer(database)
    return State(topic_store.leaves(database, producer), tuple(topic_store.topics(database)))


# -- reading leaves --------------------------------------------------------------------


def read_batch(database: Database) -> bool:
    """Reads up to LEAVES_AT_ONCE leaves without a profile. Returns whether more are left."""
    with database.transaction():
        producer = extractive_views.ensure_producer(database)
        unread = topic_store.unread_leaves(database, producer)
    read(database, unread[:LEAVES_AT_ONCE])
    return len(unread) > LEAVES_AT_ONCE


def read(database: Database, leaf_seqs: Sequence[int]) -> None:
    """Reads and stores the profiles of these leaves."""
    profiles = {seq: leaf_profiles.profile_of(summaries.excerpts(database, seq))
                for seq in leaf_seqs}  # fmt: skip
    with database.transaction():
        for seq, phrases in profiles.items():
            topic_store.put_profile(database, seq, phrases)


# -- placing ---------------------------------------------------------------------------


def place(database: Database) -> TopicNamer:
    """Assigns the leaves that are in no topic yet to existing or new topics. Returns what names
    topics after what was read for it."""
    while True:
        with database.transaction():
            before = _without_lost_tails(database)
            version = _version(database)
        leaves = _leaves(database, before)
        said = Said(leaves)
        space = Space(leaves, _vectors(database, leaves), said)
        # A tail that is newer than the last reading has its predecessor's topics but no profile.
        read = {leaf.seq for leaf in leaves}
        members = {topic.id: [seq for seq in topic.leaves if seq in read]
                   for topic in before.topics}  # fmt: skip
        placing = clustering.place_in(space, members)
        noted = _Noted(space, before, placing) if census.is_wanted(database) else None
        with database.transaction():
            if _version(database) != version and _state(database) != before:
                continue
            created = store_placing(database, before, placing)
            if noted is None:
                census.forget(database)
            else:
                noted.store(database, created)
            return TopicNamer(database, naming.Memory(leaves, said))


def store_placing(database: Database, before: State, placing: Placing) -> list[str]:
    """Stores where leaves are placed, in the caller's transaction. before: with the topics that
    leaves join. Returns the ids of the new topics, in their order."""
    for topic in before.topics:
        joining = [seq for seq, names in placing.joined.items() if topic.id in names]
        topic_store.add(database, topic.id, joining)
        _follow_chats(database, before, topic, joining)
    return [_create(database, before, leaf_seqs) for leaf_seqs in placing.created]


class _Noted:
    """What a census notes once the leaves are placed."""

    def __init__(self, space: Space, before: State, placing: Placing) -> None:
        members = {topic.seq: [*topic.leaves] for topic in before.topics}
        seqs = {topic.id: topic.seq for topic in before.topics}
        for leaf, names in placing.joined.items():
            for name in names:
                members[seqs[name]].append(leaf)
        self._said = space.said
        self._topics = {seq: space.centre(own) for seq, own in members.items()}
        self._created = [space.centre(own) for own in placing.created]
        placed = {seq for own in (*members.values(), *placing.created) for seq in own}
        self._waiting = {
            chapter[0]: space.subject(chapter) for chapter in clustering.waiting(space, placed)
        }

    def store(self, database: Database, created: Sequence[str]) -> None:
        """Stores it. created: the ids of the new topics."""
        seqs = topic_store.seqs_of(database, created)
        topics = self._topics | dict(zip(seqs, self._created, strict=True))
        noted = census.Census(self._said, topics, self._waiting)
        census.put(database, extractive_views.ensure_producer(database), noted)


def rebuild(database: Database, written: Callable[[], None]) -> None:
    """Clusters all leaves anew. A topic keeps its id where it keeps its content; topics that the
    user pinned, named or merged stay. written: called in the transaction that stores them."""
    while True:
        with database.transaction():
            before = _without_lost_tails(database)
        earlier = {
            topic.id: EarlierTopic(topic.leaves, topic.pinned, topic.named, bool(topic.aliases))
            for topic in before.topics
        }
        leaves = _leaves(database, before)
        continued, new = clustering.rebuild(leaves, earlier, _vectors(database, leaves))
        with database.transaction():
            if _state(database) != before:
                continue
            for topic in before.topics:
                if topic.id in continued:
                    members = continued[topic.id]
                    topic_store.set_members(database, topic.id, members)
                    _follow_chats(database, before, topic, members)
                else:
                    topic_store.remove(database, topic.id)
            for members in new:
                _create(database, before, members)
            topic_store.forget_names(database)
            census.forget(database)
            written()
            return


def _follow_chats(database: Database, before: State, topic: Topic, members: Sequence[int]) -> None:
    """Lets each new leaf of a merged topic go with the leaf of its chat before it, if any, should
    the user undo the merge. members: with the new ones."""
    if not topic.aliases:
        return
    known, here = set(topic.leaves), {*topic.leaves, *members}
    latest: dict[str, int] = {}
    pairs = []
    for seq, row in before.leaves.items():
        if seq in here:
            if seq not in known and row.chat in latest:
                pairs.append((seq, latest[row.chat]))
            latest[row.chat] = seq
    merging.follow(database, topic.id, pairs)


def _leaves(database: Database, before: State) -> list[Leaf]:
    """The leaves that have a profile, in time order."""
    profiles = topic_store.profiles(database)
    return [
        Leaf(seq, profiles[seq], row.chat, row.home)
        for seq, row in before.leaves.items()
        if seq in profiles
    ]


def _vectors(database: Database, leaves: Sequence[Leaf]) -> Vectors:
    """The vectors of leaves under the embedder in use, by row number; empty without one."""
    setting = settings.get(database, settings.EMBEDDER)
    name = None if setting is None else embedders.identity_of(setting)
    seq = None if name is None else vectors.seq_of(database, name)
    return {} if seq is None else vectors.node_vectors(database, seq, [leaf.seq for leaf in leaves])


def _create(database: Database, before: State, members: tuple[int, ...]) -> str:
    topic_id = topic_store.create(database, [before.leaves[seq].id for seq in members])
    topic_store.add(database, topic_id, members)
    return topic_id


_VERSION = "SELECT total_changes()"
_VERSION_ELSEWHERE = "PRAGMA data_version"


def _version(database: Database) -> tuple[int, int]:
    """Changes with every row that this connection, or any other, has written."""
    return int(database.value(_VERSION)), int(database.value(_VERSION_ELSEWHERE))


def _without_lost_tails(database: Database) -> State:
    """The state after lost tails have been replaced."""
    before, version = _state(database), _version(database)
    replace_lost_tails(database, before, before.lost())
    return before if _version(database) == version else _state(database)


def replace_lost_tails(database: Database, before: State, lost_seqs: set[int]) -> None:
    """Replaces each lost tail in its topics by the leaf that has most of its messages, and removes
    topics without leaves unless the user named or pinned them. before: with all topics, or with
    those that have any of these leaves or of their heirs."""
    places = Counter(seq for topic in before.topics for seq in topic.leaves)
    for lost in sorted(lost_seqs):
        successors = topic_store.successors(database, lost)
        heir = next((seq for seq in successors if seq in before.leaves), None)
        for topic in before.topics:
            free = heir is not None and places[heir] < clustering.TOPICS_OF_A_LEAF
            if lost in topic.leaves and heir is not None and free:
                topic_store.add(database, topic.id, [heir])
                if heir not in topic.leaves:
                    merging.follow(database, topic.id, [(heir, lost)])
                    places[heir] += 1
        topic_store.remove_leaf(database, lost)
    seqs = [topic.seq for topic in before.topics]
    for topic in topic_store.topics(database, seqs) if lost_seqs else before.topics:
        if not topic.leaves and not (topic.named or topic.pinned):
            topic_store.remove(database, topic.id)


# -- names -----------------------------------------------------------------------------


class TopicNamer:
    """Names topics. memory: what the leaves of each source say."""

    def __init__(self, database: Database, memory: naming.Memory) -> None:
        self._database = database
        self._memory = memory

    def name(self, topic_id: str) -> None:
        """Names a topic after what its leaves are about, in the caller's transaction; a name of the
        user stays."""
        members = topic_store.members(self._database, topic_id)
        name = self._memory.name(members)
        topic_store.set_name(self._database, topic_id, name or topic_id, by_user=False)
