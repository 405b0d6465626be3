"""Route: what of a scope is looked at for a query, as units in the order of their sources.

A scope of some thousand messages is looked at whole. In a larger one full text and the
vectors name the places, and what stands around them is looked at too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import orjson

from treemem.search.history import Ground, Range, Vectors, matched_among
from treemem.search.scoring import SPEAKER_TOKENS, Unit
from treemem.store import vectors
from treemem.store.database import Database, Row
from treemem.text import bm25, fts, windows
from treemem.text.cache import kept
from treemem.types import Include, Scope

# Messages that are looked at whole.
FIELD_MAX = 3_000
# The BM25 of what full text finds under another form, such as a hash by its beginning.
FOUND_OTHERWISE = 1.0
# A message of more may have several windows.
LONG_TOKENS = 150
# What is longer comes in parts even where no word of it matches and no vector is known.
VAST_TOKENS = 1_500
PART_TOKENS = 300
# A window of so many words that are dear, such as rare signs, comes in parts as well.
WINDOW_TOKENS_MAX = 600
# A speaker's name of more costs more than SPEAKER_TOKENS.
NAME_BYTES = 24
# Of what is kept of the long messages that were searched last.
EDGES_BYTES_MAX = 8_000_000
# So much between two windows is more than the spaces between their words.
HOLE_CHARS = 40

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Field:
    """What is looked at. total: messages in the whole scope, at least. companions: for a tool
    call the places of its results and the other way round, as (source, position)."""

    units: list[Unit]
    total: int
    companions: dict[Place, list[Place]]


def route(
    database: Database,
    query: str,
    scope: Scope,
    times: Range,
    by: Vectors | None,
    hint: Range | None = None,
    expression: str | None = None,
    also: Callable[[], Iterable[int]] = tuple,
    is_broad: bool = False,
    include: Container[Include] = (),
) -> Field:
    """The units of a scope with what the query's words and meaning say about each.

    times: what lies outside is left out. hint: when the query says that it was; what lies
    inside is marked. expression: FTS5's own syntax for what the query's words are searched by.
    also: gives the numbers of messages that are looked at in a large scope in any case.
    is_broad: messages from all over it, or over the hinted time, are looked at as well.
    include: see Ground.
    """
    ground = Ground(database, scope, times, include)
    every, anyone = (expression, expression) if expression else _expressions(query)
    total = ground.count()
    if total <= FIELD_MAX:
        rows = ground.rows()
        matched = matched_among(database, anyone, [row[0] for row in rows])
    else:
        hits = ground.best_by_words((every, anyone))
        near = [] if by is None else ground.best_by_vectors(by)
        over = hint or (Range() if is_broad else None)
        spread = [] if over is None else ground.seqs_in(over, FIELD_MAX)
        beside = ground.rows_of([*also(), *spread])
        found = {row[0]: row for row in (*ground.rows_around([*hits, *near]), *beside)}
        rows = sorted(found.values(), key=lambda row: (row[1], row[2]))
        matched = matched_among(database, anyone, [row[0] for row in beside]).union(hits)
    units, companions = _units(rows, _cosines(database, by, [row[0] for row in rows]))
    units = _score_words(database, units, query, matched, total)
    _mark(units, _named(query, rows), hint)
    return Field(units, total, companions)


def _mark(units: Sequence[Unit], named: set[str], hint: Range | None) -> None:
    """Notes of each unit whether its speaker is named, and whether it is of the hinted time."""
    if named:
        for unit in units:
            unit.by_named = unit.author in named
    if hint is not None:
        for unit in units:
            unit.in_time = unit.sent_at_ms is not None and hint.holds(unit.sent_at_ms)


def _expressions(query: str) -> tuple[str | None, str | None]:
    """FTS5 expressions for all and for any of a query's words; None where it has none."""
    words = bm25.telling(fts.terms(query))
    if not words:
        return None, None
    every = fts.match_expression(words, every=True)
    return every, fts.match_expression(words, every=False)


_SPANS = """
SELECT ls.message_seq, ls.node_seq, ls.ordinal FROM leaf_span ls
JOIN json_each(:seqs) j ON j.value = ls.message_seq
"""
# A stretch of a message as (start, end), and its cosine with the query where it has a vector.
Window = tuple[int, int, float | None]


def _cosines(
    database: Database, by: Vectors | None, seqs: Sequence[int]
) -> dict[int, list[Window]]:
    """The windows of the messages that have vectors, in order. A message may stand in several
    leaves, as where sources have a beginning in common; each of its windows comes once."""
    if by is None or not seqs:
        return {}
    spans = database.rows(_SPANS, {"seqs": orjson.dumps(seqs).decode()})
    message_of = {(leaf, ordinal): seq for seq, leaf, ordinal in spans}
    leaves = sorted({leaf for leaf, _ in message_of})
    found: dict[int, dict[tuple[int, int], float]] = {}
    for row in vectors.scores(database, by.embedder_seq, by.query, leaves):
        seq = message_of.get((row.node_seq, row.first_span))
        if seq is not None:
            found.setdefault(seq, {})[row.start, row.end] = row.cosine
    return {
        seq: [(start, end, cosine) for (start, end), cosine in sorted(scored.items())]
        for seq, scored in found.items()
    }


# -- units -----------------------------------------------------------------------------


def _named(query: str, rows: Sequence[Row]) -> set[str]:
    """The speakers whose name, or the first word of it, stands in the query."""
    words = {word.lower() for word in fts.terms(query)}
    authors = {row[5] for row in rows if row[5]}
    return {author for author in authors if author.split() and author.split()[0].lower() in words}


def _units(
    rows: Sequence[Row], scored: Mapping[int, Sequence[Window]]
) -> tuple[list[Unit], dict[Place, list[Place]]]:
    """A unit for each message, or for each of its windows where they are known. And which tool
    calls and results belong together."""
    found: list[Unit] = []
    waiting: dict[tuple[int, str], Place] = {}
    companions: dict[Place, list[Place]] = {}
    authors = {row[5] for row in rows}
    speaker_tokens = {author: SPEAKER_TOKENS + _more_for_name(author) for author in authors}
    for seq, source, position, tokens, role, author, sent_at_ms, chars, extras in rows:
        if extras is not None and ('"uses"' in extras or '"results"' in extras):
            tools = orjson.loads(extras)
            for tool_id in (*tools.get("uses", ()), *tools.get("results", ())):
                other = waiting.setdefault((source, tool_id), (source, position))
                if other != (source, position):
                    companions.setdefault(other, []).append((source, position))
                    companions.setdefault((source, position), []).append(other)
        places = _without_holes(scored[seq], chars) if seq in scored else [(0, chars, None)]
        for start, end, cosine in places:
            whole = len(places) == 1
            start, end = (0, chars) if whole else (start, end)
            share = 1.0 if whole else (end - start) / max(1, chars)
            told = round(tokens * share) + speaker_tokens[author]
            found.append(
                Unit(seq, source, position, start, end, told, role, whole, sent_at_ms,
                     meaning=cosine, author=author)
            )  # fmt: skip
    return found, companions


def _more_for_name(author: str | None) -> int:
    """The tokens, at most, by which a speaker's name is longer than others."""
    return 0 if author is None else max(0, len(author.encode()) - NAME_BYTES) // 2


def _without_holes(scored: Iterable[Window], chars: int) -> list[Window]:
    """The windows of a message, in order, with what lies between them where that is no space:
    a part of it may not be in a leaf yet, or have no vector yet.

    Example:
        >>> _without_holes([(0, 100, 0.5), (101, 200, 0.1)], 400)
        [(0, 100, 0.5), (101, 200, 0.1), (200, 400, None)]
    """
    found: list[Window] = []
    done = 0
    for start, end, cosine in scored:
        if start >= done:
            if start - done > HOLE_CHARS:
                found.append((done, start, None))
            found.append((start, end, cosine))
            done = end
    if chars - done > HOLE_CHARS or not found:
        found.append((done, chars, None))
    return found


_TEXTS = """
SELECT m.seq, m.text FROM message m JOIN json_each(:seqs) j ON j.value = m.seq
"""


def _score_words(
    database: Database, units: Sequence[Unit], query: str, matched: set[int], total: int
) -> list[Unit]:
    """The units, each with the BM25 of its words; a long message that was not cut yet is cut."""
    seqs = orjson.dumps(sorted(matched)).decode()
    texts: dict[int, str] = dict(database.rows(_TEXTS, {"seqs": seqs}))
    cut: list[Unit] = []
    for unit in units:
        is_window = not unit.is_whole and unit.meaning is not None
        if unit.tokens > LONG_TOKENS and not is_window and unit.message_seq in texts:
            cut += _windows_of(unit, texts[unit.message_seq])
        elif unit.tokens > (WINDOW_TOKENS_MAX if is_window else VAST_TOKENS):
            cut += _parts_of(unit)
        else:
            cut.append(unit)
    chosen = [unit for unit in cut if unit.message_seq in texts]
    held = [
        bm25.held(f"{unit.author or ''} {texts[unit.message_seq][unit.start : unit.end]}")
        for unit in chosen
    ]
    scores = bm25.bm25(held, bm25.query_stems(query), max(total, len(cut)))
    seen = set()
    for unit, score in zip(chosen, scores, strict=True):
        unit.words = score
        if score:
            seen.add(unit.message_seq)
    for unit in chosen:
        if unit.message_seq not in seen:
            unit.words = FOUND_OTHERWISE
    return cut


def _windows_of(unit: Unit, text: str) -> list[Unit]:
    found = _cut(unit, [
        (unit.start + start, unit.start + end) for start, end in _edges(text[unit.start : unit.end])
    ])  # fmt: skip
    return [
        part for window in found
        for part in (_parts_of(window) if window.tokens > WINDOW_TOKENS_MAX else (window,))
    ]  # fmt: skip


@kept(EDGES_BYTES_MAX)
def _edges(text: str) -> tuple[tuple[int, int], ...]:
    """Where the windows of a text begin and end."""
    found = windows.windows([windows.SpanText("", text)])
    return tuple((window.start, window.end) for window in found)


def _parts_of(unit: Unit) -> list[Unit]:
    """Parts of about equal length, whose text nobody has to read for that."""
    count = math.ceil(unit.tokens / PART_TOKENS)
    chars = unit.end - unit.start
    edges = [unit.start + chars * number // count for number in range(count + 1)]
    return _cut(unit, [(start, end) for start, end in pairwise(edges) if start < end])


def _cut(unit: Unit, stretches: Sequence[tuple[int, int]]) -> list[Unit]:
    if len(stretches) < 2:
        return [unit]
    by_char = (unit.tokens - SPEAKER_TOKENS) / max(1, unit.end - unit.start)
    return [
        Unit(unit.message_seq, unit.source_seq, unit.position, start, end,
             round(by_char * (end - start)) + SPEAKER_TOKENS, unit.role, is_whole=False,
             sent_at_ms=unit.sent_at_ms, meaning=unit.meaning, author=unit.author)
        for start, end in stretches
    ]  # fmt: skip
