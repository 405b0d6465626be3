"""Route: what of a scope is looked at for a query, as units in the order of their sources.

A scope of some thousand messages is looked at whole. In a larger one full text and the
vectors name the places, and what stands around them is looked at too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from treemem import lexical, search_text, topic_trees, vectors, windows
from treemem.database import Database, Row
from treemem.errors import NotFoundError
from treemem.model import Scope
from treemem.propagation import SPEAKER_TOKENS, Unit

if TYPE_CHECKING:
    from treemem.vector_bytes import Vector

FIELD_MAX = 3_000
"""Messages that are looked at whole."""
HITS_MAX = 120
"""Places in a larger scope, by words and by vectors each."""
REACH = 12
"""Messages before and after such a place."""
FOUND_OTHERWISE = 1.0
"""The BM25 of what full text finds under another form, such as a hash by its beginning."""
LONG_TOKENS = 150
"""A message of more may have several windows."""


@dataclass(frozen=True, slots=True)
class Range:
    """Times in milliseconds UTC, both inclusive; None is open."""

    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def is_open(self) -> bool:
        return self.since_ms is None and self.until_ms is None

    def holds(self, ms: int | None) -> bool:
        if ms is None:
            return self.is_open
        return (self.since_ms is None or self.since_ms <= ms) and (
            self.until_ms is None or ms <= self.until_ms
        )


@dataclass(frozen=True, slots=True)
class Field:
    """What is looked at. total: messages in the whole scope, at least. companions: for a tool
    call the place of its result and the other way round, as (source, position)."""

    units: list[Unit]
    total: int
    companions: dict[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors to search by: an embedder's number, and the query under it."""

    embedder_seq: int
    query: Vector


def route(
    database: Database,
    query: str,
    scope: Scope,
    times: Range,
    by: Vectors | None,
    hint: Range | None = None,
    expression: str | None = None,
) -> Field:
    """The units of a scope with what the query's words and meaning say about each.

    times: what lies outside is left out. hint: when the query says that it was; what lies
    inside is marked. expression: FTS5's own syntax in place of the query's words.
    """
    where, parameters = scope_filter(database, scope)
    if not times.is_open:
        where += _IN_TIME
        parameters |= {"since": times.since_ms, "until": times.until_ms}
    words = lexical.telling(search_text.terms(query))
    anyone = expression or (search_text.match_expression(words, every=False) if words else None)
    total = _count(database, where, parameters)
    if total <= FIELD_MAX:
        rows = database.rows(_MESSAGES.format(where=where), parameters)
        matched = _matched_among(database, anyone, [row[0] for row in rows])
        scores = _cosines(database, by, [row[0] for row in rows])
    else:
        every = expression or (search_text.match_expression(words, every=True) if words else None)
        rows, matched, scores = _around_hits(database, (every, anyone), where, parameters, by)
    named = _named(query, rows)
    units, companions = _units(rows, scores)
    _score_words(database, units, query, matched, total)
    for unit, author in units:
        unit.by_named = author in named
        unit.in_time = hint is not None and unit.sent_at_ms is not None and hint.holds(
            unit.sent_at_ms
        )  # fmt: skip
    return Field([unit for unit, _ in units], total, companions)


# -- the scope -------------------------------------------------------------------------

_COUNT = """
SELECT count(*) FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.state = 'active' AND m.kind = 'said' {where}
"""
_COLUMNS = """
sm.message_seq, min(sm.source_seq), sm.position, m.tokens, m.role, m.author, m.sent_at_ms,
m.chars, m.extras, sm.session
"""
# Subtle: with min() the other columns come from the row that has the minimum, so a message
# that several sources share stands once, in the first of them.
_MESSAGES = f"""
SELECT {_COLUMNS} FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.state = 'active' AND m.kind = 'said' {{where}}
GROUP BY sm.message_seq ORDER BY 2, 3
"""  # noqa: S608
_IN_TIME = """
AND (:since IS NULL OR m.sent_at_ms >= :since) AND (:until IS NULL OR m.sent_at_ms <= :until)
"""


def scope_filter(database: Database, scope: Scope) -> tuple[str, dict[str, object]]:
    """SQL over source_message sm, and its parameters. Raises NotFoundError."""
    if scope.kind == "source":
        seq = database.value("SELECT seq FROM source WHERE id = ?", (scope.key,))
        if seq is None:
            raise NotFoundError(f"There is no source {scope.key!r}. See: treemem source list")
        return "AND sm.source_seq = :source", {"source": seq}
    if scope.kind == "session":
        return "AND sm.session = :session", {"session": scope.key}
    if scope.kind == "topic":
        leaves = topic_trees.leaf_seqs(database, scope.key or "")
        return _OF_LEAVES, {"leaves": orjson.dumps(leaves).decode()}
    return "", {}


_OF_LEAVES = """
AND sm.message_seq IN (
  SELECT ls.message_seq FROM leaf_span ls JOIN json_each(:leaves) j ON ls.node_seq = j.value)
"""


def _count(database: Database, where: str, parameters: dict[str, object]) -> int:
    if not where:
        sql = "SELECT count(*) FROM source_message WHERE state = 'active'"
        return int(database.value(sql))
    return int(database.value(_COUNT.format(where=where), parameters))


# -- a scope that is looked at whole ---------------------------------------------------

_AMONG = """
SELECT f.rowid FROM message_fts f
WHERE message_fts MATCH :match AND f.rowid BETWEEN :first AND :last
"""


def _matched_among(database: Database, match: str | None, seqs: Sequence[int]) -> set[int]:
    """Those of the messages that hold any of the words."""
    if match is None or not seqs:
        return set()
    parameters = {"match": match, "first": min(seqs), "last": max(seqs)}
    return {row[0] for row in database.rows(_AMONG, parameters)}.intersection(seqs)


_LEAVES = """
SELECT ls.message_seq, ls.node_seq, ls.ordinal FROM leaf_span ls
JOIN json_each(:seqs) j ON j.value = ls.message_seq JOIN node n ON n.seq = ls.node_seq
ORDER BY n.provisional, ls.node_seq, ls.ordinal
"""
Scored = dict[int, list[tuple[int | None, int, int, float | None]]]
"""By message: its windows as (leaf, start, end, cosine); start and end are -1 for all of it."""


def _cosines(database: Database, by: Vectors | None, seqs: Iterable[int]) -> Scored:
    """The leaves in which each message stands, and its windows where they have vectors."""
    spans = database.rows(_LEAVES, {"seqs": orjson.dumps(list(seqs)).decode()})
    found: Scored = {}
    by_span: dict[tuple[int, int], int] = {}
    for message_seq, leaf_seq, ordinal in spans:
        by_span[leaf_seq, ordinal] = message_seq
        found.setdefault(message_seq, []).append((leaf_seq, -1, -1, None))
    if by is None:
        return found
    leaves = list({leaf for leaf, _ in by_span})
    scored: Scored = {}
    for row in vectors.scores(database, by.embedder_seq, by.query, leaves):
        message_seq = by_span.get((row.node_seq, row.first_span))
        if message_seq is not None:
            place = (row.node_seq, row.start, row.end, row.cosine)
            scored.setdefault(message_seq, []).append(place)
    return found | scored


# -- a scope that is too large for that ------------------------------------------------

_BEST = """
SELECT f.rowid FROM message_fts f
WHERE message_fts MATCH :match {scoped}
ORDER BY bm25(message_fts) LIMIT :limit
"""
_SCOPED = """
AND EXISTS (SELECT 1 FROM source_message sm JOIN message m ON m.seq = sm.message_seq
  WHERE sm.message_seq = f.rowid AND sm.state = 'active' AND m.kind = 'said' {where})
"""
_PLACES = """
SELECT min(sm.source_seq), sm.position FROM source_message sm
JOIN json_each(:seqs) j ON j.value = sm.message_seq JOIN message m ON m.seq = sm.message_seq
WHERE sm.state = 'active' {where} GROUP BY sm.message_seq
"""
_BETWEEN = """
AND sm.source_seq = :at_source AND sm.position BETWEEN :first AND :last
"""


def _around_hits(
    database: Database,
    matches: tuple[str | None, str | None],
    where: str,
    parameters: dict[str, object],
    by: Vectors | None,
) -> tuple[list[Row], set[int], Scored]:
    matched = _best_by_words(database, matches, where, parameters)
    near = [] if by is None else _best_by_vectors(database, by)
    sql = _PLACES.format(where=where)
    seqs = orjson.dumps([*matched, *near]).decode()
    places = database.rows(sql, {**parameters, "seqs": seqs})
    rows: dict[int, Row] = {}
    for source_seq, first, last in _stretches(places):
        there = {**parameters, "at_source": source_seq, "first": first, "last": last}
        for row in database.rows(_MESSAGES.format(where=where + _BETWEEN), there):
            rows.setdefault(row[0], row)
    ordered = sorted(rows.values(), key=lambda row: (row[1], row[2]))
    return ordered, set(matched), _cosines(database, by, rows)


def _best_by_words(
    database: Database,
    matches: tuple[str | None, str | None],
    where: str,
    parameters: dict[str, object],
) -> list[int]:
    """Messages with all words first; with any of them where those are too few."""
    scoped = _SCOPED.format(where=where) if where else ""
    found: dict[int, None] = {}
    for match in dict.fromkeys(matches):
        if match is not None and len(found) < HITS_MAX // 4:
            sql = _BEST.format(scoped=scoped)
            given = {**parameters, "match": match, "limit": HITS_MAX}
            found.update((row[0], None) for row in database.rows(sql, given))
    return list(found)


def _best_by_vectors(database: Database, by: Vectors) -> list[int]:
    best = vectors.scores(database, by.embedder_seq, by.query, None, limit=HITS_MAX)
    sql = """
    SELECT ls.message_seq FROM leaf_span ls JOIN json_each(:spans) j
      ON ls.node_seq = j.value ->> 0 AND ls.ordinal = j.value ->> 1
    """
    spans = orjson.dumps([(row.node_seq, row.first_span) for row in best]).decode()
    return [row[0] for row in database.rows(sql, {"spans": spans})]


def _stretches(places: Sequence[Row]) -> list[tuple[int, int, int]]:
    """What stands within REACH of the places, as (source, first, last), apart from each other."""
    found: list[tuple[int, int, int]] = []
    for source_seq, position in sorted(places):
        first, last = position - REACH, position + REACH
        if found and found[-1][0] == source_seq and first <= found[-1][2] + 1:
            found[-1] = (source_seq, found[-1][1], last)
        else:
            found.append((source_seq, first, last))
    return found


# -- units -----------------------------------------------------------------------------


def _named(query: str, rows: Sequence[Row]) -> set[str]:
    """The speakers whose name, or the first word of it, stands in the query."""
    words = {word.lower() for word in search_text.terms(query)}
    authors = {row[5] for row in rows if row[5]}
    return {author for author in authors if author.split() and author.split()[0].lower() in words}


def _units(
    rows: Sequence[Row], scores: Scored
) -> tuple[list[tuple[Unit, str | None]], dict[tuple[int, int], tuple[int, int]]]:
    """A unit for each message, or for each of its windows where they are known; with its
    author. And which tool calls and results belong together."""
    found: list[tuple[Unit, str | None]] = []
    waiting: dict[tuple[int, str], tuple[int, int]] = {}
    companions: dict[tuple[int, int], tuple[int, int]] = {}
    for seq, source, position, tokens, role, author, sent_at_ms, chars, extras, _ in rows:
        if extras is not None and ('"uses"' in extras or '"results"' in extras):
            tools = orjson.loads(extras)
            for tool_id in (*tools.get("uses", ()), *tools.get("results", ())):
                other = waiting.setdefault((source, tool_id), (source, position))
                if other != (source, position):
                    companions[source, position], companions[other] = other, (source, position)
        places = scores.get(seq) or [(None, -1, -1, None)]
        if len(places) > 1 and all(place[1] < 0 for place in places):
            places = places[:1]  # it stands in several leaves
        for leaf, start, end, cosine in sorted(places, key=lambda place: (place[1], place[2])):
            whole = len(places) == 1
            start, end = (0, chars) if whole else (start, end)
            share = 1.0 if whole else (end - start) / max(1, chars)
            unit = Unit(
                seq, source, position, start, end, round(tokens * share) + SPEAKER_TOKENS, role,
                whole, leaf, sent_at_ms, meaning=cosine,
            )  # fmt: skip
            found.append((unit, author))
    return found, companions


_TEXTS = """
SELECT m.seq, m.text FROM message m JOIN json_each(:seqs) j ON j.value = m.seq
"""


def _score_words(
    database: Database,
    units: list[tuple[Unit, str | None]],
    query: str,
    matched: set[int],
    total: int,
) -> None:
    """Gives each unit the BM25 of its words; a long message that was not cut yet is cut."""
    seqs = orjson.dumps(sorted(matched)).decode()
    texts: dict[int, str] = dict(database.rows(_TEXTS, {"seqs": seqs}))
    cut: list[tuple[Unit, str | None]] = []
    for unit, author in units:
        text = texts.get(unit.message_seq)
        if text is not None and unit.is_whole and unit.tokens > LONG_TOKENS:
            cut += [(part, author) for part in _windows_of(unit, text)]
        else:
            cut.append((unit, author))
    units[:] = cut
    chosen = [(unit, author) for unit, author in units if unit.message_seq in texts]
    held = [
        lexical.stems(f"{author or ''} {texts[unit.message_seq][unit.start : unit.end]}")
        for unit, author in chosen
    ]
    wanted = lexical.query_stems(query)
    scores = lexical.bm25(held, wanted, max(total, len(units)))
    seen = set()
    for (unit, _), score in zip(chosen, scores, strict=True):
        unit.words = score
        if score:
            seen.add(unit.message_seq)
    for unit, _ in chosen:
        if unit.message_seq not in seen:
            unit.words = FOUND_OTHERWISE


def _windows_of(unit: Unit, text: str) -> list[Unit]:
    found = windows.windows([windows.SpanText("", text)])
    if len(found) < 2:
        return [unit]
    chars = max(1, len(text))
    return [
        Unit(unit.message_seq, unit.source_seq, unit.position, window.start, window.end,
             round((unit.tokens - SPEAKER_TOKENS) * (window.end - window.start) / chars)
             + SPEAKER_TOKENS,
             unit.role, False, unit.leaf_seq, unit.sent_at_ms, meaning=unit.meaning)
        for window in found
    ]  # fmt: skip
