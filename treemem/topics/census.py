"""Keeps what topics are placed with, so that a session is placed without reading all others.

A census notes how many chats say each phrase, what each topic is about, and what the chapters are
about that wait for one. Until the next, when there are a sixteenth more sources, phrases weigh what
they weighed then, so what was noted stays true. Phrases are noted as hashes.

Owns the tables topic_census, phrase_count, topic_phrase and waiting_phrase, and the column
tree.placed_root. Tested in tests/topics/test_growing.py.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import orjson

from treemem.store import settings
from treemem.store.database import Database, json_list
from treemem.topics.subjects import SAME_HOME_FACTOR, Said, Subject, similarity

# Sources from which on a census is worth its while; fewer are read as fast.
SOURCES_MIN = 64
# A census is made again when there is this share of sources more, or less. With an eighth, what two
# new chats share weighed too much for too long: in a mixed memory of 223 sources, half of the pairs
# of leaves in a topic were of one conversation, with a sixteenth as many as without a census.
STEP = 1 / 16
# What a topic is about is noted again when this share of its leaves has come or gone.
TOPIC_STEP = 1 / 8
_UNIT = 1_000_000
_HOME = "\0"


@dataclass(frozen=True, slots=True)
class Census:
    """What is noted of all sources. topics: what they are about, by row number. waiting: by the
    row number of the first leaf of a chapter."""

    said: Said
    topics: Mapping[int, Subject]
    waiting: Mapping[int, Subject]


def has_changed(number: int, noted: int, step: float) -> bool:
    """Whether what was made of a noted number of things has to be made again of this number."""
    return abs(number - noted) >= noted * step


# -- whether there is one --------------------------------------------------------------

_SOURCES = "SELECT count(*) FROM source"
_CURRENT = "SELECT sources, chats FROM topic_census WHERE producer_seq = ?"


def is_wanted(database: Database) -> bool:
    """Whether a census is worth its while. Vectors are compared around their mean, which every leaf
    changes, so with an embedder all leaves are read."""
    is_embedding = settings.get(database, settings.EMBEDDER) is not None
    return not is_embedding and int(database.value(_SOURCES)) >= SOURCES_MIN


def chats(database: Database, producer: int) -> int | None:
    """The number of chats at the census; None if a new one has to be made."""
    row = database.row(_CURRENT, (producer,))
    if row is None or not is_wanted(database):
        return None
    return None if has_changed(database.value(_SOURCES), row[0], STEP) else int(row[1])


_COUNTED = """
SELECT j.value, coalesce(
  (SELECT p.sources FROM phrase_count p WHERE p.phrase = j.value),
  1 + (EXISTS (SELECT 1 FROM topic_phrase p WHERE p.phrase = j.value AND p.topic_seq <> ?)
       OR EXISTS (SELECT 1 FROM waiting_phrase p WHERE p.phrase = j.value)))
FROM json_each(?) j
"""


def weigh_as_counted(
    database: Database, said: Said, number: int, own_topic: int | None = None
) -> None:
    """Lets phrases weigh what they weighed at the census. number: of chats at it. own_topic: the
    row number of the topic that has all these chats, if one has.

    Subtle: what one chat said then and one says now is said by two, so what is noted elsewhere
    counts as two; else what two chats share would weigh as if nobody else said it.
    """
    hashes = {_hash(phrase): phrase for phrase in said.sources}
    counted: dict[int, int] = dict(database.rows(_COUNTED, (own_topic or 0, json_list(hashes))))
    sources = {p: max(counted[key], said.sources[p]) for key, p in hashes.items()}
    said.weigh_as(sources, number)


# -- writing ---------------------------------------------------------------------------

_PUT = "INSERT INTO topic_census (sources, chats, producer_seq) VALUES (?, ?, ?)"
_PUT_COUNT = "INSERT OR REPLACE INTO phrase_count (phrase, sources) VALUES (?, ?)"
_PUT_TOPIC = "INSERT OR REPLACE INTO topic_phrase (topic_seq, phrase, weight) VALUES (?, ?, ?)"
_PUT_WAITING = "INSERT OR REPLACE INTO waiting_phrase (node_seq, phrase, weight) VALUES (?, ?, ?)"
_MADE_OF = """
UPDATE topic SET made_of = (SELECT count(*) FROM topic_leaf WHERE topic_seq = topic.seq)
"""
_PLACED = """
UPDATE tree INDEXED BY tree_not_placed SET placed_root = root_seq
WHERE scope = 'source' AND root_seq IS NOT placed_root
"""


def forget(database: Database) -> None:
    """Deletes all that is noted, so that topics are placed with all leaves the next time."""
    for table in ("topic_census", "phrase_count", "topic_phrase", "waiting_phrase"):
        database.execute(f"DELETE FROM {table}")  # noqa: S608


def put(database: Database, producer: int, census: Census) -> None:
    """Stores a census in the transaction that places all leaves."""
    forget(database)
    said = census.said
    database.execute(_PUT, (database.value(_SOURCES), len(said.by_source), producer))
    counts = [(_hash(phrase), number) for phrase, number in said.sources.items() if number > 1]
    database.many(_PUT_COUNT, counts)
    database.many(_PUT_TOPIC, [row for seq, subject in census.topics.items()
                               for row in _rows(seq, subject)])  # fmt: skip
    put_waiting(database, census.waiting)
    database.execute(_MADE_OF)
    note_placed(database)


def put_waiting(database: Database, chapters: Mapping[int, Subject]) -> None:
    """Notes chapters that wait for a topic, by their first leaves."""
    rows = [row for seq, subject in chapters.items() for row in _rows(seq, subject)]
    database.many(_PUT_WAITING, rows)


def remove_waiting(database: Database, leaf_seqs: Iterable[int]) -> None:
    """Removes the chapters with these leaves."""
    sql = "DELETE FROM waiting_phrase WHERE node_seq IN (SELECT value FROM json_each(?))"
    database.execute(sql, (json_list(leaf_seqs),))


def put_topic(database: Database, topic_seq: int, subject: Subject) -> None:
    """Notes what a topic is about."""
    database.execute("DELETE FROM topic_phrase WHERE topic_seq = ?", (topic_seq,))
    database.many(_PUT_TOPIC, _rows(topic_seq, subject))


def note_placed(database: Database) -> None:
    """Notes that the leaves of all sources have been looked at."""
    database.execute(_PLACED)


def _rows(seq: int, subject: Subject) -> list[tuple[int, int, int]]:
    rows = [(seq, _hash(_HOME + home), 0) for home in sorted(subject.homes)]
    return rows + [(seq, _hash(p), round(_UNIT * w)) for p, w in subject.phrases.items()]


def _hash(phrase: str) -> int:
    return zlib.crc32(phrase.encode("utf-8", "replace"))


# -- what is near ----------------------------------------------------------------------

_AGREEING = """
SELECT p.{owner} FROM json_each(?) j
CROSS JOIN {table} p ON p.phrase = json_extract(j.value, '$[0]')
GROUP BY 1 HAVING sum(p.weight * json_extract(j.value, '$[1]')) >= ? ORDER BY 1
"""
_NOTED = "SELECT phrase, weight FROM {table} WHERE {owner} = ?"


def near_topics(database: Database, subject: Subject, least: float) -> list[tuple[float, int]]:
    """The topics with at least this similarity, by row number, and how near, the nearest first."""
    return _near(database, "topic_phrase", "topic_seq", subject, least)


def near_waiting(database: Database, subject: Subject, least: float) -> list[tuple[float, int]]:
    """Likewise the chapters that wait for a topic, by their first leaves."""
    return _near(database, "waiting_phrase", "node_seq", subject, least)


def _near(
    database: Database, table: str, owner: str, subject: Subject, least: float
) -> list[tuple[float, int]]:
    asked = orjson.dumps([(_hash(p), weight) for p, weight in subject.phrases.items()]).decode()
    within = 0.99 * _UNIT * least / SAME_HOME_FACTOR
    names = {_hash(phrase): phrase for phrase in subject.phrases}
    homes = {_hash(_HOME + home): home for home in subject.homes}
    found = []
    for (seq,) in database.rows(_AGREEING.format(owner=owner, table=table), (asked, within)):
        noted: dict[int, int] = dict(database.rows(_NOTED.format(owner=owner, table=table), (seq,)))
        value = similarity(subject, _shared(noted, names, homes))
        if value >= least:
            found.append((value, seq))
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))


def _shared(
    noted: Mapping[int, int], names: Mapping[int, str], homes: Mapping[int, str]
) -> Subject:
    """What of a noted subject matters for its similarity to one with these phrases and homes."""
    shared: Collection[int] = names.keys() & noted.keys()
    return Subject(
        {names[key]: noted[key] / _UNIT for key in shared}, None,
        frozenset(homes[key] for key in homes.keys() & noted.keys()),
    )  # fmt: skip
