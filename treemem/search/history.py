"""Reads the messages of a search scope and the best hits in it.

Named SQL over the histories of the sources; nothing is scored here.
Tested in tests/search/test_candidates.py.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import orjson

from treemem.digest import scopes
from treemem.errors import SEE_SOURCES
from treemem.origins.spans import origins_in
from treemem.store import lookup, messages, sources, vectors
from treemem.store.database import Database, Row, json_list
from treemem.store.file import memo
from treemem.text import fts
from treemem.topics import store as topic_store
from treemem.types import Include, Origin, Scope

if TYPE_CHECKING:
    from treemem.store.vectors import Vector

# The most messages that full text returns, and the most that the vectors return.
HITS_MAX = 80
# The messages that full text returns for a broad question about a subject.
BROAD_HITS_MAX = 480
# Hits requested for each one returned, since some no longer belong to a history.
HITS_REQUESTED_FACTOR = 4
# The most messages that full text ranks for any of the words of a query, and for any of the rarest
# words where there are more: to rank one takes ten times as long as to find it.
RANKED_MAX = 20_000
RANKED_ALONE_MAX = 5_000
# The most words of a query of which messages with several are looked for.
SEVERAL_WORDS_MAX = 8
# Messages read before and after a hit.
REACH_MESSAGES = 8


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Times in milliseconds since 1970 UTC, both inclusive; None is open."""

    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def is_open(self) -> bool:
        return self.since_ms is None and self.until_ms is None

    def contains(self, ms: int | None) -> bool:
        """Whether a time is within the range; an unknown time is only within an open range."""
        if ms is None:
            return self.is_open
        return (self.since_ms is None or self.since_ms <= ms) and (
            self.until_ms is None or ms <= self.until_ms
        )


ALWAYS = TimeRange()


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a query, and the number of the embedder that made it."""

    embedder_seq: int
    vector: Vector


class HistoryRow(NamedTuple):
    """A message at its first place in the histories of a scope.

    tokens, chars: of its text. extras: JSON, such as the ids of tool calls; None if empty.
    """

    message_seq: int
    source_seq: int
    position: int
    tokens: int
    role: str
    author: str | None
    sent_at_ms: int | None
    chars: int
    extras: str | None


# The columns of HistoryRow after the first two.
_COLUMNS = "sm.position, m.tokens, m.role, m.author, m.sent_at_ms, m.chars, m.extras"
_HISTORY = """
FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE {history}
"""
_ACTIVE = "sm.state = 'active'"
_SAID_BY_SOMEONE = "m.kind = 'said'"
_COUNT_ALL = "SELECT count(*) FROM source_message WHERE state = 'active'"
# Subtle: with min() the other columns come from the row that has the minimum, so a message
# that several sources share is returned once, at its place in the first of them.
_ROWS_OF = f"""
SELECT sm.message_seq, min(sm.source_seq), {_COLUMNS} {_HISTORY} {{check}}
GROUP BY sm.message_seq ORDER BY 2, 3
"""
_ROWS = f"""
SELECT sm.message_seq, sm.source_seq, {_COLUMNS} {_HISTORY} {{where}}
ORDER BY sm.source_seq, sm.position
"""
_PLACES = f"""
SELECT min(sm.source_seq), sm.position {_HISTORY} {{check}} GROUP BY sm.message_seq
"""
_IN_TIME = """
AND (:{0}since IS NULL OR m.sent_at_ms >= :{0}since)
AND (:{0}until IS NULL OR m.sent_at_ms <= :{0}until)
"""
_THESE = " AND sm.message_seq IN (SELECT value FROM json_each(:these))"
_STRETCHES = f"""
SELECT sm.message_seq, sm.source_seq, {_COLUMNS}
FROM json_each(:stretches) j CROSS JOIN source_message sm ON sm.source_seq = j.value ->> 0
  AND sm.position BETWEEN j.value ->> 1 AND j.value ->> 2
JOIN message m ON m.seq = sm.message_seq
WHERE {{history}} {{check}} ORDER BY j.key, sm.position
"""  # noqa: S608
_OF_LEAVES = """
AND sm.message_seq IN (
  SELECT ls.message_seq FROM leaf_span ls JOIN json_each(:leaves) j ON ls.node_seq = j.value)
"""
_OF_SOURCES = " AND sm.source_seq IN (SELECT value FROM json_each(:sources))"
# Subtle: where messages are given, each is looked up by itself; by an index over both columns, it
# would be once for each source.
_CHECKED_SOURCES = _OF_SOURCES.replace("sm.", "+sm.")
_BY_SPEAKERS = f" AND {messages.SPEAKER} IN (SELECT value FROM json_each(:speakers))"  # noqa: S608
_MATCHED_AMONG = """
SELECT f.rowid FROM message_fts f
WHERE message_fts MATCH :match AND f.rowid BETWEEN :first AND :last
"""
_IN_SCOPE = f"""
AND EXISTS (SELECT 1 {_HISTORY} AND sm.message_seq = f.rowid {{check}})
"""
_BEST_BY_WORDS = """
SELECT bm25(message_fts), f.rowid FROM message_fts f
WHERE message_fts MATCH :match {in_scope}
ORDER BY 1, 2 LIMIT :limit
"""
_FREQUENCY = "SELECT count(*) FROM message_fts WHERE message_fts MATCH ?"
# Subtle: walks the positions of each source through the key, as a scan of all messages is slow.
_SPREAD = """
WITH RECURSIVE place (source_seq, position, last) AS (
  SELECT seq, 0, (SELECT max(position) FROM source_message WHERE source_seq = source.seq)
  FROM source WHERE {of_source}
  UNION ALL SELECT source_seq, position + :step, last FROM place WHERE position + :step <= last)
SELECT sm.message_seq FROM place CROSS JOIN source_message sm
  ON sm.source_seq = place.source_seq AND sm.position = place.position
JOIN message m ON m.seq = sm.message_seq
WHERE {history} {check}
"""
_FIRST_IN_SCOPE = f"""
SELECT j.value FROM json_each(:seqs) j
WHERE EXISTS (SELECT 1 {_HISTORY} AND sm.message_seq = j.value {{check}})
ORDER BY j.key LIMIT :limit
"""  # noqa: S608
_LEAVES = f"""
SELECT DISTINCT ls.node_seq FROM leaf_span ls
JOIN (SELECT sm.message_seq {_HISTORY} {{where}}) said ON said.message_seq = ls.message_seq
"""  # noqa: S608
_OF_SPANS = """
SELECT ls.message_seq FROM json_each(:spans) j JOIN leaf_span ls
  ON ls.node_seq = j.value ->> 0 AND ls.ordinal = j.value ->> 1
ORDER BY j.key
"""


@dataclass(frozen=True, slots=True)
class ScopeReader:
    """Reads the messages of a scope. Created by `open_scope`.

    history, where: SQL conditions; parameters: of where. is_whole: whether the scope is all
    active messages that no tool injected. excluded: messages are left out if all of their words
    have one of these origins.
    """

    database: Database
    history: str
    where: str
    parameters: Mapping[str, object]
    is_whole: bool
    excluded: frozenset[Origin] = frozenset()

    def count(self) -> int:
        """The number of messages, or somewhat more. A message counts once for each source."""
        if self.is_whole:
            count = memo.kept(self.database, _COUNT_ALL, lambda: self.database.value(_COUNT_ALL))
            return int(count)
        return int(self._value("SELECT count(*)" + _HISTORY + "{where}"))

    def rows(self) -> list[HistoryRow]:
        """All messages in the order of their places. For small scopes only: a message that sources
        share is read once for each of them."""
        return self._left(_first_rows(self._rows(_ROWS)))

    def rows_of(self, seqs: Iterable[int]) -> list[HistoryRow]:
        """Those of these messages that belong to the scope."""
        rows = self._rows(_ROWS_OF, _THESE, these=orjson.dumps(list(seqs)).decode())
        return self._left([HistoryRow(*row) for row in rows])

    def rows_around(self, seqs: Iterable[int]) -> list[HistoryRow]:
        """These messages and those within REACH_MESSAGES of them."""
        places = self._rows(_PLACES, _THESE, these=orjson.dumps(list(seqs)).decode())
        around = orjson.dumps(stretches(places)).decode()
        return self._left(_first_rows(self._rows(_STRETCHES, stretches=around)))

    def spread(self, total: int, limit: int) -> list[int]:
        """About limit of the messages, spread evenly. total: of the scope."""
        step = max(1, -(-total // limit))
        return [seq for (seq,) in self._rows(_SPREAD, step=step)]

    def seqs_in(self, times: TimeRange, limit: int) -> list[int]:
        """The messages in a time range; of more than limit, a sample spread evenly."""
        inside = _HISTORY + "{where}"
        in_time = _IN_TIME.format("hint_")
        hint = {"hint_since": times.since_ms, "hint_until": times.until_ms}
        count = int(self._value("SELECT count(*)" + inside, in_time, **hint))
        step = max(1, -(-count // limit))
        sql = f"SELECT sm.message_seq {inside} AND sm.position % :step = 0 LIMIT :limit"
        rows = self._rows(sql, in_time, **hint, step=step, limit=2 * limit)
        return [seq for (seq,) in rows]

    def best_by_words(self, matches: Iterable[Sequence[str]], limit: int) -> list[int]:
        """Up to about limit messages that best match the first FTS5 expressions, each by the one
        it matches best, or the later ones if those find few; the best first."""
        in_scope = _IN_SCOPE if self.where else ""
        sql = _BEST_BY_WORDS.format(in_scope=in_scope)
        requested = HITS_REQUESTED_FACTOR * limit
        hits: dict[int, None] = {}
        for expressions in matches:
            best: dict[int, float] = {}
            for match in expressions:
                for score, seq in self._rows(sql, match=match, limit=requested):
                    best[seq] = min(score, best.get(seq, 0.0))
            ranked = sorted((score, seq) for seq, score in best.items())[:requested]
            hits.update(dict.fromkeys(self._first_in_scope((seq for _, seq in ranked), limit)))
            if len(hits) >= limit // 4:
                break
        return list(hits)

    def best_by_vector(self, query: QueryVector) -> list[int]:
        """The HITS_MAX messages nearest to the query."""
        leaves = [leaf for (leaf,) in self._rows(_LEAVES)] if self.where else None
        limit = HITS_REQUESTED_FACTOR * HITS_MAX
        best = vectors.scores(
            self.database, query.embedder_seq, query.vector, leaves, limit=limit
        )  # fmt: skip
        spans = orjson.dumps([(row.node_seq, row.first_span) for row in best]).decode()
        rows = self.database.rows(_OF_SPANS, {"spans": spans})
        return self._first_in_scope((seq for (seq,) in rows), HITS_MAX)

    def _first_in_scope(self, seqs: Iterable[int], limit: int) -> list[int]:
        """The first limit of these messages that belong to the scope."""
        distinct = orjson.dumps(list(dict.fromkeys(seqs))).decode()
        read = HITS_REQUESTED_FACTOR * limit if self.excluded else limit
        rows = self._rows(_FIRST_IN_SCOPE, seqs=distinct, limit=read)
        seqs = [seq for (seq,) in rows]
        left = self._seqs_left(seqs)
        return [seq for seq in seqs if seq in left][:limit]

    def _left(self, rows: list[HistoryRow]) -> list[HistoryRow]:
        """The rows without excluded messages."""
        if not self.excluded:
            return rows
        left = self._seqs_left([row.message_seq for row in rows])
        return [row for row in rows if row.message_seq in left]

    def _seqs_left(self, seqs: Sequence[int]) -> Collection[int]:
        """These messages without excluded ones."""
        if not self.excluded:
            return seqs
        read = messages.by_seq(self.database, seqs)
        return {seq for seq, message in read.items() if not self.excluded >= origins_in(message)}

    def _rows(self, sql: str, also_where: str = "", **parameters: object) -> list[Row]:
        """The rows of a statement, limited to the scope. {history}, {where}: conditions; {check}:
        as where, of single messages; {of_source}: of the table source."""
        where = self.where + also_where
        of_source = "1"
        if "sources" in self.parameters:
            of_source = "seq IN (SELECT value FROM json_each(:sources))"
        check = where.replace(_OF_SOURCES, _CHECKED_SOURCES)
        filled = sql.format(history=self.history, where=where, check=check, of_source=of_source)
        return self.database.rows(filled, {**self.parameters, **parameters})

    def _value(self, sql: str, also_where: str = "", **parameters: object) -> int:
        return int(self._rows(sql, also_where, **parameters)[0][0])


def open_scope(
    database: Database,
    scope: Scope,
    times: TimeRange,
    include: Container[Include] = (),
    exclude: frozenset[Origin] = frozenset(),
) -> ScopeReader:
    """A reader for the messages of a scope within times that belong to a history and were not
    injected by a tool, and for the kinds in include. exclude: see ScopeReader. Raises
    NotFoundError for an unknown source or topic."""
    history = " AND ".join((
        "1" if "abandoned" in include else _ACTIVE,
        "1" if "injected" in include else _SAID_BY_SOMEONE,
    ))  # fmt: skip
    where, parameters = _where(database, scope)
    if not times.is_open:
        where += _IN_TIME.format("")
        parameters |= {"since": times.since_ms, "until": times.until_ms}
    is_whole = not where and not include
    return ScopeReader(database, history, where, parameters, is_whole, exclude)


def _where(database: Database, scope: Scope) -> tuple[str, dict[str, object]]:
    """The condition that limits source_message to a scope, and its parameters."""
    if scope.kind == "source":
        seq = sources.seq_of(database, scope.key or "")
        if seq is None:
            raise lookup.not_found("source", scope.key or "", SEE_SOURCES)
        return " AND sm.source_seq = :source", {"source": seq}
    where, parameters = "", dict[str, object]()
    session = scope.key if scope.kind == "session" else scope.session_id
    if session is not None:
        where += " AND sm.session_seq = (SELECT seq FROM log_session WHERE id = :session)"
        parameters["session"] = session
    topic = scope.key if scope.kind == "topic" else scope.topic_id
    if topic is not None:
        where += _OF_LEAVES
        parameters["leaves"] = json_list(topic_store.leaf_seqs(database, topic))
    if scope.source_ids is not None:
        where += _OF_SOURCES
        parameters["sources"] = json_list(scopes.admitted_seqs(database, scope))
    if scope.speakers is not None:
        where += _BY_SPEAKERS
        parameters["speakers"] = json_list(scope.speakers)
    return where, parameters


def _first_rows(rows: Iterable[Row]) -> list[HistoryRow]:
    """The first row of each message."""
    first: dict[int, Row] = {}
    for row in rows:
        first.setdefault(row[0], row)
    return [HistoryRow(*row) for row in first.values()]


def several_of(database: Database, words: Sequence[str]) -> list[str]:
    """FTS5 expressions for the best of the messages that match any of the words, if there are too
    many to rank: those with at least two of the words, or one of the rarest. Empty if not.

    A message has the same score in one of the expressions as for any of the words, and no better
    one in another; but not one that lacks all but one of the rarest and has common ones.
    """
    if len(words) > SEVERAL_WORDS_MAX:
        return []
    counts = {
        word: int(database.value(_FREQUENCY, (fts.match_expression([word], every=False),)))
        for word in words
    }
    if sum(counts.values()) <= RANKED_MAX:
        return []
    rarest = sorted(words, key=counts.__getitem__)
    ranked = list(accumulate(map(counts.__getitem__, rarest)))
    alone = rarest[: bisect_right(ranked, RANKED_ALONE_MAX)]
    return [*_pairs(rarest), *([fts.match_expression(alone, every=False)] if alone else [])]


def _pairs(words: Sequence[str]) -> list[str]:
    """FTS5 expressions that together match what has at least two of the words. Each is for words of
    both halves, so that all words that a message has are in the first one that it matches.

    Example:
        >>> _pairs(["a", "b", "c"])
        ['("a") AND ("b" OR "c")', '("b") AND ("c")']
    """
    if len(words) < 2:
        return []
    halves = words[: len(words) // 2], words[len(words) // 2 :]
    one, other = (fts.match_expression(half, every=False) for half in halves)
    return [f"({one}) AND ({other})", *(pair for half in halves for pair in _pairs(half))]


def matched_among(database: Database, match: str | None, seqs: Sequence[int]) -> set[int]:
    """The messages among seqs that an FTS5 expression matches; none if match is None."""
    if match is None or not seqs:
        return set()
    parameters = {"match": match, "first": min(seqs), "last": max(seqs)}
    return {seq for (seq,) in database.rows(_MATCHED_AMONG, parameters)}.intersection(seqs)


def stretches(places: Iterable[Row]) -> list[tuple[int, int, int]]:
    """The positions within REACH_MESSAGES of places (source, position), as disjoint stretches
    (source, first, last).

    Example:
        >>> stretches([(1, 40), (1, 50), (2, 50)])
        [(1, 32, 58), (2, 42, 58)]
    """
    merged: list[tuple[int, int, int]] = []
    for source_seq, position in sorted(places):
        first, last = position - REACH_MESSAGES, position + REACH_MESSAGES
        if merged and merged[-1][0] == source_seq and first <= merged[-1][2] + 1:
            merged[-1] = (source_seq, merged[-1][1], last)
        else:
            merged.append((source_seq, first, last))
    return merged
