"""Carries out what topics.py finds: leaves are read, placed, and topics rebuilt.

Finding takes seconds in a large memory, so it happens outside of any transaction; it is written
only where nothing has changed in between, and found again otherwise.
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
from treemem.topics import clustering, naming, term_vectors
from treemem.topics import store as topic_store
from treemem.topics.clustering import Known, Leaf
from treemem.topics.store import Topic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = Mapping[int, NDArray[Any]]

LEAVES_AT_ONCE = 128
NAME_LEAVES_MAX = 48
NAME_STATEMENTS_MAX = 40


@dataclass(frozen=True, slots=True)
class State:
    """What placing starts from: the ids of all leaves by their numbers, in time order, and the
    topics."""

    leaves: dict[int, str]
    topics: tuple[Topic, ...]

    def lost(self) -> set[int]:
        """Leaves of topics that no source has any more: tails that have grown since."""
        return {seq for topic in self.topics for seq in topic.leaves} - self.leaves.keys()


def _state(database: Database) -> State:
    producer = extractive_views.ensure_producer(database)
    return State(topic_store.leaves(database, producer), tuple(topic_store.topics(database)))


# -- reading leaves --------------------------------------------------------------------


def read_some(database: Database) -> bool:
    """Reads a few of the leaves that were not read yet; returns False where there are none."""
    with database.transaction():
        producer = extractive_views.ensure_producer(database)
        unread = topic_store.unread_leaves(database, producer)
    batch = unread[:LEAVES_AT_ONCE]
    profiles = {
        seq: term_vectors.profile(
            _spoken(database, seq), summaries.statement_texts(database, seq, producer)
        )
        for seq in batch
    }
    with database.transaction():
        for seq, terms in profiles.items():
            topic_store.put_profile(database, seq, terms)
    return len(unread) > len(batch)


def _spoken(database: Database, leaf_seq: int) -> list[str]:
    """What a leaf holds but for what tools have printed, which names everything."""
    found = []
    for excerpt in summaries.excerpts(database, leaf_seq):
        message = excerpt.message
        if message.role == "tool":
            continue
        at = excerpt.start
        for part in message.parts:
            if part.kind in ("tool_result", "thinking"):
                found.append(message.text[at : max(at, min(part.start, excerpt.end))])
                at = max(at, min(part.end, excerpt.end))
        found.append(message.text[at : excerpt.end])
    return found


# -- placing ---------------------------------------------------------------------------


def place(database: Database) -> None:
    """Puts the leaves that are in no topic yet where they belong, and founds new topics."""
    while True:
        with database.transaction():
            _succeed(database, _state(database))
            before = _state(database)
        known = _leaves(database, before)
        # A tail that came in between was not read yet, though it has its predecessor's topics.
        read = {leaf.seq for leaf in known}
        members = {topic.id: [seq for seq in topic.leaves if seq in read]
                   for topic in before.topics}  # fmt: skip
        placing = clustering.place(known, members, _vectors(database, known))
        with database.transaction():
            if _state(database) != before:
                continue
            for seq, names in placing.joined.items():
                for name in names:
                    topic_store.add(database, name, [seq])
            for founding in placing.founded:
                _found(database, before, founding)
            return


def rebuild(database: Database, written: Callable[[], None]) -> None:
    """Finds all topics anew. Ids stay where the content does; what the user has pinned, named
    or merged stays. written: called in the transaction that stores them."""
    while True:
        with database.transaction():
            _succeed(database, _state(database))
            before = _state(database)
        earlier = {
            topic.id: Known(topic.leaves, topic.pinned, topic.named, bool(topic.aliases))
            for topic in before.topics
        }
        known = _leaves(database, before)
        kept, fresh = clustering.rebuild(known, earlier, _vectors(database, known))
        with database.transaction():
            if _state(database) != before:
                continue
            for topic in before.topics:
                if topic.id in kept:
                    topic_store.set_members(database, topic.id, kept[topic.id])
                else:
                    topic_store.remove(database, topic.id)
            for members in fresh:
                _found(database, before, members)
            written()
            return


def _leaves(database: Database, before: State) -> list[Leaf]:
    read = topic_store.profiles(database)
    return [Leaf(seq, read[seq]) for seq in before.leaves if seq in read]


def _vectors(database: Database, known: Sequence[Leaf]) -> Vectors:
    """Those that leaves have of the embedder in use."""
    setting = settings.get(database, settings.EMBEDDER)
    name = None if setting is None else embedders.identity_of(setting)
    seq = None if name is None else vectors.seq_of(database, name)
    return {} if seq is None else vectors.node_vectors(database, seq, [leaf.seq for leaf in known])


def _found(database: Database, before: State, members: tuple[int, ...]) -> None:
    topic_id = topic_store.create(database, [before.leaves[seq] for seq in members])
    topic_store.add(database, topic_id, members)


def _succeed(database: Database, before: State) -> None:
    """A tail that has grown hands its topics on to the leaf that has most of its messages.
    A topic that has no leaf left goes, unless the user has named or pinned it."""
    places = Counter(seq for topic in before.topics for seq in topic.leaves)
    for lost in sorted(before.lost()):
        successors = topic_store.successors(database, lost)
        heir = next((seq for seq in successors if seq in before.leaves), None)
        for topic in before.topics:
            free = heir is not None and places[heir] < clustering.TOPICS_OF_A_LEAF
            if lost in topic.leaves and heir is not None and free:
                topic_store.add(database, topic.id, [heir])
                places[heir] += heir not in topic.leaves
        topic_store.remove_leaf(database, lost)
    for topic in topic_store.topics(database):
        if not topic.leaves and not (topic.named or topic.pinned):
            topic_store.remove(database, topic.id)


# -- names -----------------------------------------------------------------------------


class Names:
    """Gives topics their names. How many leaves hold each term is counted at the first one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted: tuple[Counter[str], int] | None = None

    def give(self, topic_id: str) -> None:
        """Names a topic after its statements, in the caller's transaction; a name that the user
        gave stays."""
        producer = extractive_views.ensure_producer(self._database)
        members = topic_store.members(self._database, topic_id)
        step = -(-len(members) // NAME_LEAVES_MAX) or 1
        statements = [
            summaries.statement_texts(self._database, seq, producer)[:NAME_STATEMENTS_MAX]
            for seq in members[::step]
        ]
        holders, total = self._holders()
        name = naming.name(statements, holders, total)
        topic_store.set_name(self._database, topic_id, name or topic_id, by_user=False)

    def _holders(self) -> tuple[Counter[str], int]:
        if self._counted is None:
            read = topic_store.profiles(self._database)
            counts = Counter(term for terms in read.values() for term in terms)
            self._counted = counts, len(read)
        return self._counted
