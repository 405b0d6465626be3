"""Stores topics: their leaves, the names and pins of the user, and the profiles of leaves.

It decides nothing: clustering.py decides which leaves belong together, assignment.py carries that
out, and merging.py merges topics for the user.

Tested in tests/topics/test_assignment.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from treemem import ids
from treemem.errors import SEE_TOPICS
from treemem.store import json_text, lookup
from treemem.store.database import Database, Row, json_list
from treemem.tree import builder


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as stored.

    name: None until it has one. named: whether the name is the user's. leaves: row numbers of
    nodes, in time order. aliases: ids of topics that were merged into it. made_of: how many leaves
    what it is about was read from, in a memory with a census.
    """

    seq: int
    id: str
    name: str | None
    named: bool
    pinned: bool
    leaves: tuple[int, ...] = ()
    aliases: tuple[str, ...] = ()
    made_of: int = 0


@dataclass(frozen=True, slots=True)
class PlacedLeaf:
    """A leaf of a topic. source_id: of the first source whose tree contains it, None if none."""

    id: str
    tokens: int
    started_at_ms: int | None
    ended_at_ms: int | None
    source_id: str | None


# -- leaves ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LeafRow:
    """A leaf. chat: the first source whose tree contains it, or the session that started that
    source. home: the project of the chat, or the chat itself."""

    id: str
    chat: str
    home: str


# Sealed leaves and open tails that have an extractive summary, in time order; those without times
# come first, in the order of their sources.
_LEAVES = """
WITH placed AS ({placed}),
first AS (
  SELECT node_seq, min(source_seq) AS source_seq, min(place) AS place FROM placed GROUP BY node_seq)
SELECT n.seq, n.id, coalesce(s.parent_id, s.id),
  coalesce(s.project, parent.project, s.parent_id, s.id)
FROM first JOIN node n ON n.seq = first.node_seq JOIN source s ON s.seq = first.source_seq
LEFT JOIN source parent ON parent.id = s.parent_id
WHERE EXISTS (SELECT 1 FROM summary s WHERE s.node_seq = n.seq AND s.producer_seq = :producer)
ORDER BY n.started_at_ms, first.source_seq, first.place, n.seq
"""
_ALL = """
  SELECT tn.node_seq AS node_seq, s.seq AS source_seq, tn.position AS place
  FROM tree t JOIN source s ON s.id = t.key JOIN tree_node tn ON tn.tree_seq = t.seq
  WHERE t.scope = 'source' AND tn.level = 0
  UNION ALL
  SELECT t.tail_seq, s.seq, 1 << 40 FROM tree t JOIN source s ON s.id = t.key
  WHERE t.scope = 'source' AND t.tail_seq IS NOT NULL"""
# Subtle: CROSS JOIN keeps SQLite from beginning with the trees of all sources.
_THESE = """
  SELECT tn.node_seq AS node_seq, s.seq AS source_seq, tn.position AS place
  FROM json_each(:these) j CROSS JOIN tree_node tn ON tn.node_seq = j.value
  CROSS JOIN tree t ON t.seq = tn.tree_seq CROSS JOIN source s ON s.id = t.key
  WHERE t.scope = 'source' AND tn.level = 0
  UNION ALL
  SELECT t.tail_seq, s.seq, 1 << 40 FROM json_each(:these) j
  CROSS JOIN tree t ON t.tail_seq = j.value CROSS JOIN source s ON s.id = t.key
  WHERE t.scope = 'source'"""
_OF_CHATS = """
WITH chat AS (
  SELECT id FROM source WHERE id IN (SELECT value FROM json_each(:chats))
  UNION SELECT id FROM source WHERE parent_id IN (SELECT value FROM json_each(:chats)))
SELECT tn.node_seq FROM chat CROSS JOIN tree t ON t.scope = 'source' AND t.key = chat.id
CROSS JOIN tree_node tn ON tn.tree_seq = t.seq AND tn.level = 0
UNION SELECT t.tail_seq FROM chat CROSS JOIN tree t ON t.scope = 'source' AND t.key = chat.id
WHERE t.tail_seq IS NOT NULL
"""


def leaves(database: Database, producer: int) -> dict[int, LeafRow]:
    """The leaves of all sources by their row numbers, in time order.

    producer: the extractive one; leaves without its summary are left out.
    """
    rows = database.rows(_LEAVES.format(placed=_ALL), {"producer": producer})
    return {seq: LeafRow(*row) for seq, *row in rows}


def leaves_among(database: Database, producer: int, node_seqs: Iterable[int]) -> dict[int, LeafRow]:
    """Those of these nodes that are leaves of sources, as for leaves."""
    parameters = {"producer": producer, "these": json_list(node_seqs)}
    rows = database.rows(_LEAVES.format(placed=_THESE), parameters)
    return {seq: LeafRow(*row) for seq, *row in rows}


def leaves_of(database: Database, producer: int, chats: Collection[str]) -> dict[int, LeafRow]:
    """The leaves of these chats, as for leaves."""
    seqs = [seq for (seq,) in database.rows(_OF_CHATS, {"chats": json_list(chats)})]
    found = leaves_among(database, producer, seqs)
    return {seq: row for seq, row in found.items() if row.chat in chats}


# Profiles of earlier versions begin otherwise, and are read again.
_UNREAD = """
SELECT n.seq FROM node n
WHERE n.level = 0
  AND (EXISTS (SELECT 1 FROM tree_node tn JOIN tree t ON t.seq = tn.tree_seq
               WHERE tn.node_seq = n.seq AND t.scope = 'source')
    OR EXISTS (SELECT 1 FROM tree t WHERE t.tail_seq = n.seq AND t.scope = 'source'))
  AND EXISTS (SELECT 1 FROM summary s WHERE s.node_seq = n.seq AND s.producer_seq = ?)
  AND NOT EXISTS (SELECT 1 FROM leaf_profile p
                  WHERE p.node_seq = n.seq AND substr(p.terms, 1, length(?)) = ?)
ORDER BY n.started_at_ms, n.seq
"""
_PROFILED = "SELECT node_seq FROM leaf_profile WHERE substr(terms, 1, length(?)) = ?"
_BEGINNING = '{"phrases":'


def unread_leaves(database: Database, producer: int) -> list[int]:
    """The leaves that have no profile yet, in time order. producer: as for leaves."""
    return [seq for (seq,) in database.rows(_UNREAD, (producer, _BEGINNING, _BEGINNING))]


_PROFILES_OF = """
SELECT node_seq, terms FROM leaf_profile WHERE node_seq IN (SELECT value FROM json_each(?))
"""
_WITHOUT_PROFILE = """
SELECT value FROM json_each(?) j WHERE NOT EXISTS (
  SELECT 1 FROM leaf_profile p WHERE p.node_seq = j.value)
"""


def without_profile(database: Database, leaf_seqs: Iterable[int]) -> list[int]:
    """Those of these leaves that have no profile."""
    rows = database.rows(_WITHOUT_PROFILE, (json_list(leaf_seqs),))
    return [seq for (seq,) in rows]


_SUCCESSORS = """
SELECT now.node_seq, count(*) FROM leaf_span was JOIN leaf_span now
  ON now.message_seq = was.message_seq AND now.node_seq <> was.node_seq
WHERE was.node_seq = ? GROUP BY now.node_seq ORDER BY 2 DESC, now.node_seq
"""


def successors(database: Database, leaf_seq: int) -> list[int]:
    """The other nodes with messages of a leaf, the one with most of them first."""
    return [seq for seq, _ in database.rows(_SUCCESSORS, (leaf_seq,))]


def profiles(
    database: Database, node_seqs: Iterable[int] | None = None
) -> dict[int, dict[str, int]]:
    """The phrases of every leaf that has a profile, or of these leaves, by row number."""
    sql = f"SELECT node_seq, terms FROM leaf_profile WHERE node_seq IN ({_PROFILED})"  # noqa: S608
    if node_seqs is None:
        rows = database.rows(sql, (_BEGINNING, _BEGINNING))
    else:
        rows = database.rows(_PROFILES_OF, (json_list(node_seqs),))
    return {node_seq: json_text.object_of(terms)["phrases"] for node_seq, terms in rows}


def put_profile(database: Database, leaf_seq: int, phrases: Mapping[str, int]) -> None:
    """Stores the profile of a leaf, unless the leaf is gone."""
    sql = ("INSERT OR REPLACE INTO leaf_profile (node_seq, terms) "
           "SELECT seq, ? FROM node WHERE seq = ?")  # fmt: skip
    database.execute(sql, (orjson.dumps({"phrases": phrases}).decode(), leaf_seq))


# -- topics ----------------------------------------------------------------------------

_TOPICS = "SELECT seq, id, name, named, pinned, made_of FROM topic{these} ORDER BY seq"
_MEMBERS = """
SELECT tl.topic_seq, n.seq FROM topic_leaf tl JOIN node n ON n.seq = tl.node_seq{these}
ORDER BY n.started_at_ms, n.seq
"""
_ALIASES = "SELECT topic_seq, id FROM topic_alias{these} ORDER BY id"
_AMONG = " WHERE {column} IN (SELECT value FROM json_each(?))"
_WITH = """
SELECT DISTINCT topic_seq FROM topic_leaf WHERE node_seq IN (SELECT value FROM json_each(?))
"""


def topics(database: Database, seqs: Iterable[int] | None = None) -> list[Topic]:
    """All topics, or those with these row numbers, the oldest first."""
    parameters = () if seqs is None else (json_list(seqs),)

    def rows(sql: str, column: str) -> Sequence[Row]:
        these = _AMONG.format(column=column) if parameters else ""
        return database.rows(sql.format(these=these), parameters)

    members: dict[int, list[int]] = {}
    for topic_seq, node_seq in rows(_MEMBERS, "tl.topic_seq"):
        members.setdefault(topic_seq, []).append(node_seq)
    aliases: dict[int, list[str]] = {}
    for topic_seq, alias in rows(_ALIASES, "topic_seq"):
        aliases.setdefault(topic_seq, []).append(alias)
    return [
        Topic(seq, topic_id, name, bool(named), bool(pinned),
              tuple(members.get(seq, ())), tuple(aliases.get(seq, ())), made_of)
        for seq, topic_id, name, named, pinned, made_of in rows(_TOPICS, "seq")
    ]  # fmt: skip


def topics_with(database: Database, leaf_seqs: Iterable[int]) -> list[Topic]:
    """The topics that have any of these leaves, the oldest first."""
    return topics(database, [seq for (seq,) in database.rows(_WITH, (json_list(leaf_seqs),))])


def ids_of(database: Database, seqs: Iterable[int]) -> dict[int, str]:
    """The ids of topics by row number."""
    sql = "SELECT seq, id FROM topic WHERE seq IN (SELECT value FROM json_each(?))"
    return dict(database.rows(sql, (json_list(seqs),)))


def seqs_of(database: Database, topic_ids: Iterable[str]) -> list[int]:
    """The row numbers of the topics with these exact ids, in the order of the ids, without those
    that are gone."""
    sql = "SELECT t.seq FROM json_each(?) j JOIN topic t ON t.id = j.value ORDER BY j.key"
    return [seq for (seq,) in database.rows(sql, (json_list(topic_ids),))]


def placed_among(database: Database, leaf_seqs: Iterable[int]) -> set[int]:
    """Those of these leaves that are in a topic."""
    sql = "SELECT node_seq FROM topic_leaf WHERE node_seq IN (SELECT value FROM json_each(?))"
    return {seq for (seq,) in database.rows(sql, (json_list(leaf_seqs),))}


_MEMBER_IDS = """
SELECT t.id, n.id FROM topic t
LEFT JOIN topic_leaf tl ON tl.topic_seq = t.seq LEFT JOIN node n ON n.seq = tl.node_seq
ORDER BY t.seq, n.started_at_ms, n.seq
"""


def member_ids(database: Database) -> dict[str, list[str]]:
    """The ids of the leaves of each topic, in time order."""
    members: dict[str, list[str]] = {}
    for topic_id, leaf_id in database.rows(_MEMBER_IDS):
        members.setdefault(topic_id, []).extend([] if leaf_id is None else [leaf_id])
    return members


def topic(database: Database, topic_id: str) -> Topic:
    """The topic with this exact id, which exists."""
    seq = int(database.value("SELECT seq FROM topic WHERE id = ?", (topic_id,)))
    return topics(database, [seq])[0]


_BY_ID = """
SELECT t.id FROM topic t WHERE t.id = :id
UNION SELECT t.id FROM topic_alias a JOIN topic t ON t.seq = a.topic_seq WHERE a.id = :id
"""
_BY_BEGINNING = """
SELECT t.id FROM topic t WHERE substr(t.id, 1, length(:id)) = :id
UNION SELECT t.id FROM topic_alias a JOIN topic t ON t.seq = a.topic_seq
  WHERE substr(a.id, 1, length(:id)) = :id
LIMIT 6
"""


_NAMES = "SELECT id, coalesce(name, '') FROM topic"


def resolve(database: Database, topic_id: str) -> str:
    """The id of the topic with this id or alias, or with this unambiguous beginning of one.

    Raises NotFoundError, AmbiguousIdError.
    """
    wanted = topic_id.strip().lower()
    matches = [row[0] for row in database.rows(_BY_ID, {"id": wanted})]
    if not matches and len(wanted) > 1:
        matches = [row[0] for row in database.rows(_BY_BEGINNING, {"id": wanted})]
    if not matches:
        known = (f"{row[0]}/{row[1]}" for row in database.rows(_NAMES))
        raise lookup.not_found("topic", topic_id, SEE_TOPICS, known)
    if len(matches) > 1:
        raise lookup.ambiguous("topic", topic_id, matches[:5])
    return str(matches[0])


_PLACED = """
SELECT n.id, n.tokens, n.started_at_ms, n.ended_at_ms,
  (SELECT t.key FROM (SELECT tn.tree_seq AS seq FROM tree_node tn WHERE tn.node_seq = n.seq
     UNION SELECT tail.seq FROM tree tail WHERE tail.tail_seq = n.seq) placed
   JOIN tree t ON t.seq = placed.seq WHERE t.scope = 'source' ORDER BY t.seq LIMIT 1)
FROM topic_leaf tl JOIN node n ON n.seq = tl.node_seq WHERE tl.topic_seq = ?
ORDER BY n.started_at_ms, n.seq
"""


def placed_leaves(database: Database, topic: Topic) -> list[PlacedLeaf]:
    """The leaves of a topic, in time order."""
    return [PlacedLeaf(*row) for row in database.rows(_PLACED, (topic.seq,))]


_ROOT = """
SELECT n.id FROM tree t JOIN node n ON n.seq = t.root_seq WHERE t.scope = 'topic' AND t.key = ?
"""


def root_id(database: Database, topic: Topic) -> str | None:
    """The id of the root of a topic's tree, None while it has none."""
    node_id: str | None = database.value(_ROOT, (topic.id,))
    return node_id


_MESSAGES = """
SELECT count(DISTINCT ls.message_seq) FROM topic_leaf tl JOIN leaf_span ls USING (node_seq)
WHERE tl.topic_seq = ?
"""
_PEOPLE = """
SELECT m.author FROM topic_leaf tl JOIN leaf_span ls USING (node_seq)
JOIN message m ON m.seq = ls.message_seq
WHERE tl.topic_seq = ? AND m.author IS NOT NULL AND m.role IN ('user', 'other')
  AND coalesce(m.origin, '') <> 'agent' AND lower(m.author) NOT IN ('user', 'human', 'assistant')
GROUP BY m.author ORDER BY count(DISTINCT m.seq) DESC, m.author
"""
_FORMATS = """
SELECT DISTINCT s.format FROM source s WHERE s.id IN (SELECT value FROM json_each(?)) AND EXISTS (
  SELECT 1 FROM source_message sm JOIN message m ON m.seq = sm.message_seq
  WHERE sm.source_seq = s.seq AND m.role = 'assistant')
ORDER BY s.format
"""


def message_count(database: Database, topic: Topic) -> int:
    """The number of messages of which a topic's leaves have a part."""
    return int(database.value(_MESSAGES, (topic.seq,)))


def people(database: Database, topic: Topic) -> list[str]:
    """The named people who speak in a topic, those with most messages first."""
    return [name for (name,) in database.rows(_PEOPLE, (topic.seq,))]


def assistants(database: Database, source_ids: Iterable[str]) -> list[str]:
    """The formats of these sources in which an assistant or an agent speaks."""
    return [name for (name,) in database.rows(_FORMATS, (json_list(source_ids),))]


_LEAF_SEQS = """
SELECT n.seq FROM topic t JOIN topic_leaf tl ON tl.topic_seq = t.seq
JOIN node n ON n.seq = tl.node_seq WHERE t.id = ? ORDER BY n.started_at_ms, n.seq
"""


def leaf_seqs(database: Database, topic_id: str) -> list[int]:
    """The row numbers of a topic's leaves, in time order. topic_id: as for resolve, with the same
    errors."""
    return members(database, resolve(database, topic_id))


def members(database: Database, topic_id: str) -> list[int]:
    """The row numbers of the leaves of the topic with this exact id; empty if it is gone."""
    return [node_seq for (node_seq,) in database.rows(_LEAF_SEQS, (topic_id,))]


# -- writing ---------------------------------------------------------------------------

_CREATE = "INSERT INTO topic (id) VALUES (?)"
_ADD_LEAF = """
INSERT OR IGNORE INTO topic_leaf (topic_seq, node_seq)
SELECT t.seq, n.seq FROM topic t, node n WHERE t.id = ? AND n.seq = ?
"""
_KEEP_LEAVES = """
DELETE FROM topic_leaf WHERE topic_seq = (SELECT seq FROM topic WHERE id = ?)
  AND node_seq NOT IN (SELECT value FROM json_each(?))
"""
_REMOVE_LEAF = "DELETE FROM topic_leaf WHERE node_seq = ?"


def create(database: Database, leaf_ids: Sequence[str]) -> str:
    """Creates an empty topic with an id derived from these leaves' ids, and returns the id."""
    attempt = 0
    while True:
        topic_id = ids.topic_id(leaf_ids, attempt)
        if not database.rows(_BY_ID, {"id": topic_id}):
            database.execute(_CREATE, (topic_id,))
            return topic_id
        attempt += 1


def add(database: Database, topic_id: str, leaf_seqs: Sequence[int]) -> None:
    """Adds leaves to a topic."""
    database.many(_ADD_LEAF, [(topic_id, node_seq) for node_seq in leaf_seqs])


def set_members(database: Database, topic_id: str, leaf_seqs: Sequence[int]) -> None:
    """Gives a topic these leaves and no others."""
    database.execute(_KEEP_LEAVES, (topic_id, json_list(leaf_seqs)))
    add(database, topic_id, leaf_seqs)


def remove_leaf(database: Database, node_seq: int) -> None:
    """Removes a leaf from every topic, and deletes it if nothing else refers to it."""
    database.execute(_REMOVE_LEAF, (node_seq,))
    builder.release(database, node_seq)


def remove(database: Database, topic_id: str) -> None:
    """Deletes a topic and its tree; its leaves wait for another topic."""
    tree = builder.find_tree(database, "topic", topic_id)
    if tree is not None:
        builder.drop(database, tree)
    database.execute("DELETE FROM topic WHERE id = ?", (topic_id,))


def set_name(database: Database, topic_id: str, name: str, *, by_user: bool) -> None:
    """Names a topic. Only another name of the user replaces a name of the user."""
    sql = "UPDATE topic SET name = ?, named = ? WHERE id = ? AND named <= ?"
    database.execute(sql, (name, by_user, topic_id, by_user))


_FORGET_FOUND_NAMES = """
UPDATE topic SET name = NULL, changed = 1 WHERE named = 0 AND seq IN (
  SELECT topic_seq FROM topic_leaf WHERE node_seq IN (SELECT value FROM json_each(?)))
"""


def forget_names(database: Database) -> None:
    """Clears the names that were found, so that all are found again; the user's stay."""
    database.execute("UPDATE topic SET name = NULL, changed = 1 WHERE named = 0")


_REMOVE_LEAVES = "DELETE FROM topic_leaf WHERE node_seq IN (SELECT value FROM json_each(?))"


def remove_leaves(database: Database, node_seqs: Iterable[int]) -> None:
    """Takes leaves whose words have changed out of every topic, and clears the names of their
    topics, which may contain those words; the user's names stay."""
    leaves = json_list(node_seqs)
    database.execute(_FORGET_FOUND_NAMES, (leaves,))
    database.execute(_REMOVE_LEAVES, (leaves,))


def names(database: Database) -> Sequence[tuple[int, str]]:
    """The names of topics, by row number."""
    return database.rows("SELECT seq, name FROM topic WHERE name IS NOT NULL")


def rewrite_name(database: Database, topic_seq: int, name: str) -> None:
    """Stores another name, without changing whether it is the user's."""
    database.execute("UPDATE topic SET name = ? WHERE seq = ?", (name, topic_seq))


def set_pinned(database: Database, topic_id: str, *, pinned: bool) -> None:
    """Pins a topic, so that a rebuild leaves it unchanged, or unpins it."""
    database.execute("UPDATE topic SET pinned = ? WHERE id = ?", (pinned, topic_id))


# -- what has to be made again ---------------------------------------------------------

_CHANGED = "SELECT id FROM topic WHERE changed = 1 ORDER BY seq"
_LAID_OUT = """
UPDATE topic SET changed = 0
WHERE changed = 1 AND id IN (SELECT value FROM json_each(?))
"""


def changed(database: Database) -> list[str]:
    """The ids of the topics whose leaves have changed since their trees were laid out."""
    return [topic_id for (topic_id,) in database.rows(_CHANGED)]


def note_laid_out(database: Database, topic_ids: Iterable[str]) -> None:
    """Notes, in the transaction that finds it, that the trees of topics cover their leaves."""
    database.execute(_LAID_OUT, (json_list(topic_ids),))


def note_made_of(database: Database, topic_seq: int, leaf_count: int) -> None:
    """Notes how many leaves what a topic is about was read from."""
    database.execute("UPDATE topic SET made_of = ? WHERE seq = ?", (leaf_count, topic_seq))
