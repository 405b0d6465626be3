"""Reads the topics with few figures each, and which of them are related.

Unlike topic_api.TopicView, none of it grows with the number of leaves. Counts are kept until the
file changes. Tested in tests/topics/test_mapping.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from treemem import times
from treemem.store import json_text
from treemem.store.database import Database, json_list
from treemem.store.file import memo

# Above this number of stretches in leaves, a message that lies in several leaves is counted in
# each of them.
EXACT_MAX = 200_000
# Leaves of a topic whose words are compared.
LEAVES_MAX = 12


@dataclass(frozen=True, slots=True)
class TopicBrief:
    """A topic in few words. started_at, ended_at: ISO 8601 in UTC; None without times."""

    id: str
    name: str
    pinned: bool
    messages: int
    sources: int
    started_at: str | None
    ended_at: str | None


@dataclass(frozen=True, slots=True)
class Related:
    """Two topics, by their positions, the smaller one first. shared: the sources in which both
    occur. likeness: of their words, from 0 to 1; 1 for the most similar topics shown."""

    first: int
    second: int
    shared: int
    likeness: float


@dataclass(frozen=True, slots=True)
class TopicPart:
    """Some of the topics, the one with most messages first. total: how many there are in all."""

    topics: tuple[TopicBrief, ...]
    total: int


_SIZES = """
SELECT t.seq, sum(n.message_count) FROM topic t JOIN topic_leaf tl ON tl.topic_seq = t.seq
JOIN node n ON n.seq = tl.node_seq GROUP BY t.seq ORDER BY 2 DESC, t.id
"""
_THESE = """
SELECT t.seq, t.id, coalesce(t.name, t.id), t.pinned, min(n.started_at_ms), max(n.ended_at_ms)
FROM topic t JOIN topic_leaf tl ON tl.topic_seq = t.seq JOIN node n ON n.seq = tl.node_seq
WHERE t.seq IN (SELECT value FROM json_each(?)) GROUP BY t.seq
"""
_MESSAGES = """
SELECT tl.topic_seq, count(DISTINCT ls.message_seq) FROM topic_leaf tl JOIN leaf_span ls
  ON ls.node_seq = tl.node_seq
WHERE tl.topic_seq IN (SELECT value FROM json_each(?)) GROUP BY tl.topic_seq
"""
_SEQS = "SELECT id, seq FROM topic WHERE id IN (SELECT value FROM json_each(?))"
_PROFILES = """
SELECT lp.terms FROM topic_leaf tl JOIN leaf_profile lp ON lp.node_seq = tl.node_seq
WHERE tl.topic_seq = ? ORDER BY tl.node_seq LIMIT ?
"""
# Subtle: CROSS JOIN keeps SQLite from beginning with the trees of all sources.
_TREES = """
SELECT DISTINCT tl.topic_seq, t.seq FROM topic_leaf tl
CROSS JOIN tree_node tn ON tn.node_seq = tl.node_seq CROSS JOIN tree t ON t.seq = tn.tree_seq
WHERE t.scope = 'source' AND tl.topic_seq IN (SELECT value FROM json_each(:topics))
UNION
SELECT tl.topic_seq, t.seq FROM topic_leaf tl CROSS JOIN tree t ON t.tail_seq = tl.node_seq
WHERE t.scope = 'source' AND tl.topic_seq IN (SELECT value FROM json_each(:topics))
"""


def read_part(database: Database, start: int, limit: int) -> TopicPart:
    """The topics from the start-th on by messages, in the caller's transaction."""
    return memo.kept(database, ("topics", start, limit), lambda: _read_part(database, start, limit))


def _read_part(database: Database, start: int, limit: int) -> TopicPart:
    sizes = _sizes(database)
    seqs = list(sizes)[start : start + limit]
    trees = _trees(database, seqs)
    messages = {seq: sizes[seq] for seq in seqs}
    if sum(messages.values()) <= EXACT_MAX:
        messages |= dict(database.rows(_MESSAGES, (json_list(seqs),)))
    topics = [
        TopicBrief(
            topic_id, name, bool(pinned), messages[seq], len(trees[seq]), times.from_ms(started),
            times.from_ms(ended),
        )
        for seq, topic_id, name, pinned, started, ended in database.rows(_THESE, (json_list(seqs),))
    ]  # fmt: skip
    topics.sort(key=lambda topic: (-topic.messages, topic.id))
    return TopicPart(tuple(topics), len(sizes))


def _sizes(database: Database) -> dict[int, int]:
    """Messages, or stretches of them, by topic, the largest topic first."""
    return memo.kept(database, "topic sizes", lambda: dict(database.rows(_SIZES)))


def _trees(database: Database, seqs: Iterable[int]) -> dict[int, set[int]]:
    """The trees of the sources in which each of these topics occurs."""
    trees: dict[int, set[int]] = {seq: set() for seq in seqs}
    for seq, tree_seq in database.rows(_TREES, {"topics": json_list(trees)}):
        trees[seq].add(tree_seq)
    return trees


# -- related topics --------------------------------------------------------------------


def read_related(database: Database, topic_ids: Sequence[str]) -> tuple[Related, ...]:
    """Which of these topics are related, in the caller's transaction. Of a topic, the first leaves
    are read."""
    return memo.kept(
        database, ("related topics", *topic_ids), lambda: _read_related(database, topic_ids)
    )


def _read_related(database: Database, topic_ids: Sequence[str]) -> tuple[Related, ...]:
    seq_of: dict[str, int] = dict(database.rows(_SEQS, (json_list(topic_ids),)))
    trees = _trees(database, seq_of.values())
    words = _weighted([_words(database, seq_of[topic_id]) for topic_id in topic_ids])
    pairs = [
        (first, second, len(trees[seq_of[topic_ids[first]]] & trees[seq_of[topic_ids[second]]]),
         sum(weight * words[second].get(word, 0.0) for word, weight in words[first].items()))
        for first, second in combinations(range(len(topic_ids)), 2)
    ]  # fmt: skip
    most = max((pair[3] for pair in pairs), default=0.0) or 1.0
    return tuple(
        Related(first, second, shared, round(likeness / most, 3))
        for first, second, shared, likeness in pairs
        if shared or likeness
    )


def _words(database: Database, topic_seq: int) -> Counter[str]:
    """How often words are in the phrases of a topic's first leaves."""
    counts: Counter[str] = Counter()
    for (terms,) in database.rows(_PROFILES, (topic_seq, LEAVES_MAX)):
        for phrase, number in json_text.object_of(terms).get("phrases", {}).items():
            for word in phrase.casefold().split():
                counts[word] += number
    return counts


def _weighted(topics: Sequence[Counter[str]]) -> list[dict[str, float]]:
    """The words of each topic with weights, which make a vector of length 1: tf-idf, without words
    of more than half of the topics."""
    spread = Counter(word for counts in topics for word in counts)
    vectors = []
    for counts in topics:
        weights = {
            word: (1 + math.log(number)) * math.log(len(topics) / spread[word])
            for word, number in counts.items()
            if spread[word] <= len(topics) / 2
        }
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        vectors.append({word: weight / length for word, weight in weights.items()})
    return vectors
