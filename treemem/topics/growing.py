"""Places the leaves of the sources that have changed, with what the last census noted.

It reads those sources, the chapters that wait for a topic and may belong with them, and the topics
that they are in; everything else is known from the census (census.py). Topics are as if the census
had been made now, but for weights that have changed since by a sixteenth of the sources at most.

Tested in tests/topics/test_growing.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from treemem.store.database import Database, json_list
from treemem.summarize import extractive_views
from treemem.topics import assignment, census, clustering, naming
from treemem.topics import store as topic_store
from treemem.topics.assignment import State
from treemem.topics.clustering import TOPICS_OF_A_LEAF, Chapter
from treemem.topics.store import LeafRow, Topic
from treemem.topics.subjects import Leaf, Said, Space, Subject

# Chats that have changed; with more of them, all leaves are placed.
CHATS_MAX = 64
# How often chapters are added that wait and are near those that were added before. Three leaves
# make a topic, so a chapter is rarely further away from one that it makes a topic with.
ROUNDS = 2

_CHANGED = """
SELECT coalesce(s.parent_id, s.id), t.root_seq
FROM tree t INDEXED BY tree_not_placed JOIN source s ON s.id = t.key
WHERE t.scope = 'source' AND t.root_seq IS NOT t.placed_root LIMIT ?
"""
# The tails of sources that are in a topic, and have been replaced by a leaf with their messages.
_LOST = """
SELECT DISTINCT tl.node_seq FROM json_each(?) j
CROSS JOIN leaf_span now ON now.node_seq = j.value
CROSS JOIN leaf_span was ON was.message_seq = now.message_seq AND was.node_seq <> now.node_seq
CROSS JOIN topic_leaf tl ON tl.node_seq = was.node_seq
CROSS JOIN node n ON n.seq = was.node_seq
WHERE n.provisional = 1
  AND NOT EXISTS (SELECT 1 FROM tree t WHERE t.tail_seq = n.seq AND t.scope = 'source')
  AND NOT EXISTS (SELECT 1 FROM tree_node tn WHERE tn.node_seq = n.seq)
"""


def place(database: Database) -> bool:
    """Assigns the leaves of changed sources to topics, in the caller's transaction. Returns False
    if all leaves have to be placed."""
    producer = extractive_views.ensure_producer(database)
    number = census.chats(database, producer)
    changed = database.rows(_CHANGED, (CHATS_MAX + 1,))
    if number is None or len(changed) > CHATS_MAX or None in [root for _, root in changed]:
        return False
    placing = _Placing(database, producer, number)
    placing.add_chats({chat for chat, _ in changed})
    placing.replace_lost_tails()
    placing.run()
    census.note_placed(database)
    return True


class _Placing:
    """One step. number: of chats at the census."""

    def __init__(self, database: Database, producer: int, number: int) -> None:
        self._database = database
        self._producer = producer
        self._number = number
        self._rows: dict[int, LeafRow] = {}
        self._topics: tuple[Topic, ...] = ()
        self._leaves: list[Leaf] = []
        self._space = Space((), {})
        self._chapters: list[tuple[Chapter, bool]] = []

    def add_chats(self, chats: Iterable[str]) -> None:
        """Adds the leaves of chats, and the topics that have them."""
        known = {row.chat for row in self._rows.values()}
        self._rows = topic_store.leaves_of(self._database, self._producer, {*known, *chats})
        self._topics = tuple(topic_store.topics_with(self._database, self._rows))
        self._leaves = read_leaves(self._database, self._rows)
        self._weigh()

    def _weigh(self) -> None:
        said = Said(self._leaves)
        census.weigh_as_counted(self._database, said, self._number)
        self._space = Space(self._leaves, {}, said)
        self._chapters = clustering.chapters_of(self._space, [leaf.seq for leaf in self._leaves])

    def replace_lost_tails(self) -> None:
        """Lets the heirs of tails that have grown take their places in topics."""
        placed = {seq for topic in self._topics for seq in topic.leaves}
        new = json_list(seq for seq in self._rows if seq not in placed)
        lost = {seq for (seq,) in self._database.rows(_LOST, (new,))}
        if lost:
            topics = tuple(topic_store.topics_with(self._database, {*self._rows, *lost}))
            before = State(self._rows, topics)
            assignment.replace_lost_tails(self._database, before, lost)
            self._topics = tuple(topic_store.topics_with(self._database, self._rows))

    def run(self) -> None:
        """Places the leaves that are in no topic."""
        for _ in range(ROUNDS):
            if not (more := self._waiting_near()):
                break
            self.add_chats(more)
        self._add_members_of_divided_chats()
        read = {leaf.seq for leaf in self._leaves}
        names = {topic.seq: topic.id for topic in self._topics}
        members = {topic.id: [seq for seq in topic.leaves if seq in read]
                   for topic in self._topics}  # fmt: skip

        def near(subject: Subject) -> list[tuple[float, str]]:
            found = census.near_topics(self._database, subject, clustering.LINK_MIN)
            missing = [seq for _, seq in found if seq not in names]
            names.update(topic_store.ids_of(self._database, missing))
            return [(value, names[seq]) for value, seq in found]

        placing = clustering.place_in(self._space, members, near)
        before = State(self._rows, self._topics)
        elsewhere = {name for joined in placing.joined.values() for name in joined} - {*members}
        if elsewhere:
            others = [topic_store.topic(self._database, name) for name in sorted(elsewhere)]
            before = State(self._rows, (*self._topics, *others))
        assignment.store_placing(self._database, before, placing)
        self._note_waiting()

    def _waiting_near(self) -> set[str]:
        """The chats of waiting chapters that are near a chapter without a topic."""
        placed = {seq for topic in self._topics for seq in topic.leaves}
        found: set[int] = set()
        for chapter, _ in self._chapters:
            if placed.isdisjoint(chapter):
                subject = self._space.subject(chapter)
                near = census.near_waiting(self._database, subject, clustering.LINK_MIN)
                found.update(seq for _, seq in near)
        rows = topic_store.leaves_among(self._database, self._producer, found - self._rows.keys())
        return {row.chat for row in rows.values()}

    def _add_members_of_divided_chats(self) -> None:
        """Adds the leaves of other chats in the topics of a chat that is in several topics, or has
        several chapters: its leaves are compared with those."""
        places: dict[str, set[str]] = {}
        for topic in self._topics:
            for seq in topic.leaves:
                if seq in self._rows:
                    places.setdefault(self._rows[seq].chat, set()).add(topic.id)
        divided = {
            self._rows[chapter[0]].chat for chapter, is_only in self._chapters if not is_only
        }
        asked = {
            name for chat, names in places.items()
            if chat in divided or len(names) >= TOPICS_OF_A_LEAF
            for name in names
        }  # fmt: skip
        seqs = {seq for topic in self._topics if topic.id in asked for seq in topic.leaves}
        if seqs - self._rows.keys():
            these = {*seqs, *self._rows}
            self._rows = topic_store.leaves_among(self._database, self._producer, these)
            self._leaves = read_leaves(self._database, self._rows)
            self._weigh()

    def _note_waiting(self) -> None:
        census.remove_waiting(self._database, self._rows)
        placed = topic_store.placed_among(self._database, self._rows)
        chapters = clustering.waiting(self._space, placed)
        census.put_waiting(
            self._database, {chapter[0]: self._space.subject(chapter) for chapter in chapters}
        )


def read_leaves(database: Database, rows: dict[int, LeafRow]) -> list[Leaf]:
    """These leaves with their profiles, which are read from their messages if they are missing."""
    assignment.read(database, topic_store.without_profile(database, rows))
    profiles = topic_store.profiles(database, rows)
    return [
        Leaf(seq, profiles[seq], row.chat, row.home) for seq, row in rows.items() if seq in profiles
    ]


class Renewal:
    """Makes again what is made of all leaves of a topic: what it is about, and its name."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._producer = extractive_views.ensure_producer(database)
        self._number = census.chats(database, self._producer) or 0

    def renew(self, topic_id: str) -> None:
        """Does so, in the caller's transaction, if an eighth of its leaves have come or gone; a
        name of the user stays."""
        found = topic_store.topics(self._database, topic_store.seqs_of(self._database, [topic_id]))
        for topic in found:
            step = census.TOPIC_STEP
            if census.has_changed(len(topic.leaves), topic.made_of, step) or topic.name is None:
                self._make(topic)

    def _make(self, topic: Topic) -> None:
        rows = topic_store.leaves_among(self._database, self._producer, topic.leaves)
        leaves = read_leaves(self._database, rows)
        said = Said(leaves)
        census.weigh_as_counted(self._database, said, self._number, topic.seq)
        centre = Space(leaves, {}, said).centre([leaf.seq for leaf in leaves])
        census.put_topic(self._database, topic.seq, centre)
        name = naming.Memory(leaves, said).name(topic.leaves)
        topic_store.set_name(self._database, topic.id, name or topic.id, by_user=False)
        topic_store.note_made_of(self._database, topic.seq, len(topic.leaves))
