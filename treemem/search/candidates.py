"""Collects the candidates of a search: messages of a scope, whole or in parts, each with the
strength of its match.

A scope of up to FIELD_MAX messages is read whole. In a larger one, full text and vectors find the
best hits, and the messages around them are read too. For a broad question, messages spread over the
scope are added, and full text is asked only if the question names a subject.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import NamedTuple

import orjson

from treemem.search import history, phrases
from treemem.search.history import ALWAYS, HistoryRow, QueryVector, TimeRange
from treemem.search.phrases import Run
from treemem.search.scoring import SPEAKER_TOKENS, Candidate
from treemem.store import event_days, json_text, vectors
from treemem.store.database import Database
from treemem.store.event_days import EventDay
from treemem.text import bm25, fts, windows
from treemem.text.cache import cached
from treemem.types import Include, Origin, Scope

# The most messages of a scope that is read whole.
FIELD_MAX = 3_000
# The messages of a larger scope that are read for a broad question: a context holds far fewer. In
# what order something happened shows only if much of it is read.
SPREAD_MAX = 600
SPREAD_IN_ORDER_MAX = 3_000
# The BM25 of a message that full text finds by another form, such as a hash by its prefix.
MATCHED_OTHERWISE = 1.0
# A message with more tokens may have several windows.
LONG_TOKENS = 150
# A message with more tokens is cut even if it matches no word and has no vector.
VAST_TOKENS = 1_500
PART_TOKENS = 300
# A window with more tokens, such as one of rare characters, is cut too.
WINDOW_TOKENS_MAX = 600
# A speaker's name with more bytes costs more than SPEAKER_TOKENS.
NAME_BYTES = 24
# Bytes of the cache of window edges of long messages.
EDGES_BYTES_MAX = 8_000_000
# A gap of more characters between two windows is more than whitespace.
HOLE_CHARS = 40

# The number of parts with the best BM25 that are searched for runs of the query's words, and the
# characters around a part that a run may take.
PHRASES_MAX = 60
RUN_CHARS = 300
# A stretch that lacks this many characters of a half, such as those between two lines, is one.
HALF_CHARS = 4
# The last characters of a message, in which a question mark makes it a question.
QUESTION_CHARS = 8

# The source and the position of a message.
Place = tuple[int, int]
# A part of a message: start and end, and its cosine with the query, None without a vector.
Window = tuple[int, int, float | None]


@dataclass(frozen=True, slots=True)
class Target:
    """The messages to search, and the query in the forms they are compared with.

    times: messages outside are left out. hint: the time that the query mentions; candidates
    within it are marked. days: the first and the last day of that time, None if open.
    expression: in FTS5's syntax, replaces the words. is_broad: also read messages from the whole
    scope, about as many as spread, or those of the hinted time. has_subject: whether the words
    name anything that messages can be about. include: further kinds of messages, see
    types.INCLUDES. exclude: messages are left out if all of their words have these origins.
    """

    words: str
    scope: Scope
    times: TimeRange = ALWAYS
    hint: TimeRange | None = None
    vector: QueryVector | None = None
    expression: str | None = None
    is_broad: bool = False
    spread: int = SPREAD_MAX
    has_subject: bool = True
    include: Container[Include] = ()
    exclude: frozenset[Origin] = frozenset()
    days: tuple[date | None, date | None] | None = None


@dataclass(frozen=True, slots=True)
class Collected:
    """The candidates of a search in the order of their places.

    total: a lower bound of the messages in the scope. companions: the places of its results for
    the place of a tool call, and vice versa.
    """

    candidates: Sequence[Candidate]
    total: int
    companions: Mapping[Place, Sequence[Place]]


class _Part(NamedTuple):
    """A message or a part of one, before it is compared with the words of the query.

    text: of the whole message; None if no word matches.
    """

    row: HistoryRow
    text: str | None
    start: int
    end: int
    tokens: int
    is_whole: bool
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Gathered:
    """What is read of a scope, before it is compared with the words of the query.

    matching: the indexes of the parts of messages that match, and counted, the counts of their
    stems. frequencies: of the query's words in them. named: the speakers that the query names.
    """

    target: Target
    parts: Sequence[_Part]
    matching: Sequence[int]
    counted: Sequence[bm25.StemCounts]
    frequencies: bm25.Frequencies
    named: Collection[str]
    events: Sequence[EventDay]
    total: int
    companions: Mapping[Place, Sequence[Place]]

    def compared(self, among: bm25.Frequencies | None = None) -> Collected:
        """The candidates. among: the frequencies in all that is searched, where this is only one
        scope of several."""
        parts, matches = _matched(self, among or self.frequencies)
        candidates = _candidates(parts, matches, self.named, self.target.hint)
        return Collected(_with_events(candidates, self.events), self.total, self.companions)


def collect(database: Database, target: Target, cited: Collection[int] = ()) -> Collected:
    """Collects the candidates of a scope, as gather and Gathered.compared do."""
    return gather(database, target, cited).compared()


def gather(database: Database, target: Target, cited: Collection[int] = ()) -> Gathered:
    """Reads the messages of a scope that may be candidates. cited: messages always read, even in a
    large scope. Raises NotFoundError for an unknown source or topic."""
    reader = history.open_scope(
        database, target.scope, target.times, target.include, target.exclude
    )
    total = reader.count()
    words = [] if target.expression else bm25.content_words(fts.terms(target.words))
    any_word = target.expression or (fts.match_expression(words, every=False) if words else None)
    events = [] if target.days is None else event_days.within(database, *target.days)
    if total <= FIELD_MAX:
        rows = reader.rows()
        matched = history.matched_among(database, any_word, [row.message_seq for row in rows])
    else:
        most = history.BROAD_HITS_MAX if target.is_broad else history.HITS_MAX
        hits = reader.best_by_words(_expressions(database, target, words), most)
        near = [] if target.vector is None else reader.best_by_vector(target.vector)
        if target.hint is not None:
            spread = reader.seqs_in(target.hint, FIELD_MAX)
        else:
            spread = reader.spread(total, target.spread) if target.is_broad else []
        spread += [event.message_seq for event in events]
        beside = reader.rows_of([*cited, *spread, *hits[history.HITS_MAX :]])
        around = reader.rows_around([*hits[: history.HITS_MAX], *near])
        by_seq = {row.message_seq: row for row in (*around, *beside)}
        rows = sorted(by_seq.values(), key=lambda row: (row.source_seq, row.position))
        seqs = [row.message_seq for row in beside]
        matched = history.matched_among(database, any_word, seqs).union(hits)
    texts = _texts(database, matched)
    parts = _cut_long(_parts(rows, texts, _windows(database, target.vector, rows)))
    matching, counted = _counted(parts)
    among = bm25.frequencies(counted, bm25.query_stems(target.words), max(total, len(parts)))
    named = _named_speakers(target.words, rows)
    return Gathered(
        target, parts, matching, counted, among, named, events, total, _companions(rows)
    )


def _expressions(
    database: Database, target: Target, words: Sequence[str]
) -> Iterator[Sequence[str]]:
    """FTS5 expressions for the best hits: all of the words, then several of them if they are too
    common, then any of them."""
    if not target.has_subject:
        return
    if target.expression:
        yield [target.expression]
    elif words:
        yield [fts.match_expression(words, every=True)]
        if len(words) > 1:
            yield history.several_of(database, words)
            yield [fts.match_expression(words, every=False)]


# -- the parts of messages -------------------------------------------------------------

_SPANS = """
SELECT ls.message_seq, ls.node_seq, ls.ordinal FROM leaf_span ls
JOIN json_each(:seqs) j ON j.value = ls.message_seq
"""


def _windows(
    database: Database, query: QueryVector | None, rows: Sequence[HistoryRow]
) -> dict[int, list[Window]]:
    """The windows with vectors of each message, in order. A message may be in several leaves, such
    as when sources begin with the same messages; each of its windows is returned once."""
    if query is None or not rows:
        return {}
    seqs = orjson.dumps([row.message_seq for row in rows]).decode()
    message_of = {
        (leaf, ordinal): seq for seq, leaf, ordinal in database.rows(_SPANS, {"seqs": seqs})
    }
    leaves = sorted({leaf for leaf, _ in message_of})
    cosines: dict[int, dict[tuple[int, int], float]] = {}
    for window in vectors.scores(database, query.embedder_seq, query.vector, leaves):
        seq = message_of.get((window.node_seq, window.first_span))
        if seq is not None:
            cosines.setdefault(seq, {})[window.start, window.end] = window.cosine
    return {
        seq: [(start, end, cosine) for (start, end), cosine in sorted(by_edges.items())]
        for seq, by_edges in cosines.items()
    }


def _parts(
    rows: Sequence[HistoryRow],
    texts: Mapping[int, str],
    windows_of: Mapping[int, Sequence[Window]],
) -> list[_Part]:
    """A part for each message, or for each of its windows if they have vectors.

    texts: of the messages that match a word.
    """
    parts = []
    authors = {row.author for row in rows}
    speaker_tokens = {author: SPEAKER_TOKENS + _more_for_name(author) for author in authors}
    for row in rows:
        seq, chars = row.message_seq, row.chars
        of_speaker, text = speaker_tokens[row.author], texts.get(seq)
        places = _without_holes(windows_of[seq], chars) if seq in windows_of else ()
        if len(places) > 1:
            for start, end, cosine in places:
                tokens = round(row.tokens * ((end - start) / max(1, chars))) + of_speaker
                parts.append(_Part(row, text, start, end, tokens, False, cosine))
        else:
            cosine = places[0][2] if places else None
            parts.append(_Part(row, text, 0, chars, row.tokens + of_speaker, True, cosine))
    return parts


def _more_for_name(author: str | None) -> int:
    """An upper bound of the tokens by which a speaker's name exceeds SPEAKER_TOKENS."""
    return 0 if author is None else max(0, len(author.encode()) - NAME_BYTES) // 2


def _without_holes(scored: Iterable[Window], chars: int) -> list[Window]:
    """The windows of a message, in order, and the stretches between them that are not whitespace:
    parts of the message that are in no leaf yet, or have no vector yet.

    Example:
        >>> _without_holes([(0, 100, 0.5), (101, 200, 0.1)], 400)
        [(0, 100, 0.5), (101, 200, 0.1), (200, 400, None)]
    """
    whole: list[Window] = []
    done = 0
    for start, end, cosine in scored:
        if start >= done:
            if start - done > HOLE_CHARS:
                whole.append((done, start, None))
            whole.append((start, end, cosine))
            done = end
    if chars - done > HOLE_CHARS or not whole:
        whole.append((done, chars, None))
    return whole


def _cut_long(parts: Iterable[_Part]) -> list[_Part]:
    """The parts, with long ones cut: into windows if the text is known, otherwise evenly."""
    cut: list[_Part] = []
    for part in parts:
        if part.tokens <= LONG_TOKENS:
            cut.append(part)
            continue
        is_window = not part.is_whole and part.cosine is not None
        if part.text is not None and not is_window:
            for window in _cut_at(part, _edges(part.text[part.start : part.end])):
                cut += _cut_evenly(window) if window.tokens > WINDOW_TOKENS_MAX else [window]
        elif part.tokens > (WINDOW_TOKENS_MAX if is_window else VAST_TOKENS):
            cut += _cut_evenly(part)
        else:
            cut.append(part)
    return cut


@cached(EDGES_BYTES_MAX)
def _edges(text: str) -> tuple[tuple[int, int], ...]:
    """Where the windows of a text begin and end."""
    cut = windows.cut_windows([windows.SpanText("", text)])
    return tuple((window.start, window.end) for window in cut)


def _cut_evenly(part: _Part) -> list[_Part]:
    """Cuts a part into pieces of equal length, without its text."""
    count = math.ceil(part.tokens / PART_TOKENS)
    chars = part.end - part.start
    edges = [chars * number // count for number in range(count + 1)]
    return _cut_at(part, [(start, end) for start, end in pairwise(edges) if start < end])


def _cut_at(part: _Part, edges: Sequence[tuple[int, int]]) -> list[_Part]:
    """Cuts a part at edges, which are offsets in the part."""
    if len(edges) < 2:
        return [part]
    tokens_a_char = (part.tokens - SPEAKER_TOKENS) / max(1, part.end - part.start)
    return [
        _Part(part.row, part.text, part.start + start, part.start + end,
              round(tokens_a_char * (end - start)) + SPEAKER_TOKENS, False, part.cosine)
        for start, end in edges
    ]  # fmt: skip


# -- how well they match ---------------------------------------------------------------

_TEXTS = """
SELECT m.seq, m.text FROM message m JOIN json_each(:seqs) j ON j.value = m.seq
"""


def _texts(database: Database, seqs: Iterable[int]) -> dict[int, str]:
    parameters = {"seqs": orjson.dumps(sorted(seqs)).decode()}
    return dict(database.rows(_TEXTS, parameters))


class _Match(NamedTuple):
    """How well a part matches the words of a query. strength, run: see scoring.Candidate."""

    bm25: float = 0.0
    strength: float = 0.0
    run: tuple[int, int] | None = None


def _counted(parts: Sequence[_Part]) -> tuple[list[int], list[bm25.StemCounts]]:
    """The indexes of the parts of messages that match, and the counts of their stems."""
    matching = [index for index, part in enumerate(parts) if part.text is not None]
    counted = []
    for index in matching:
        row, text, start, end, _, _, _ = parts[index]
        counted.append(bm25.stem_counts(f"{row.author or ''} {(text or '')[start:end]}"))
    return matching, counted


def _matched(gathered: Gathered, among: bm25.Frequencies) -> tuple[list[_Part], list[_Match]]:
    """The parts, and the match of each. If a message matches, but none of its parts contains a word
    of the query, all its parts get MATCHED_OTHERWISE. Of the best parts, those that would cut a run
    of the query's words are extended to its end."""
    parts, matching, query = gathered.parts, gathered.matching, gathered.target.words
    stems = bm25.query_stems(query)
    scores, shares = bm25.matches(gathered.counted, stems, among)
    by_word = {
        parts[index].row.message_seq for index, one in zip(matching, scores, strict=True) if one
    }
    every = [_Match()] * len(parts)
    for index, one in zip(matching, scores, strict=True):
        is_by_word = parts[index].row.message_seq in by_word
        every[index] = _Match(one if is_by_word else MATCHED_OTHERWISE)
    extended = list(parts)
    words = [stem for stem, _, _ in bm25.placed_stems(query)]
    best = sorted(zip(matching, scores, shares, strict=True), key=lambda row: -row[1])
    for index, score, share in best[:PHRASES_MAX]:
        if score:
            run, extended[index] = _with_run(parts[index], words)
            strength = phrases.strength(run.words, len(words), share, len(stems))
            every[index] = _Match(score, strength, (run.start, run.end))
    return extended, every


def _with_run(part: _Part, query: Sequence[str]) -> tuple[Run, _Part]:
    """The longest run of a query's words in a part, at its place in the message, and the part. If
    only a smaller half of the run is beyond an edge of the part, the part is extended by it."""
    text = part.text or ""
    start, end = max(0, part.start - RUN_CHARS), min(len(text), part.end + RUN_CHARS)
    run = phrases.longest_run(query, text[start:end])
    first, last = start + run.start, start + run.end
    inside = min(last, part.end) - max(first, part.start)
    if 2 * inside >= last - first - HALF_CHARS:
        wider = min(part.start, first), max(part.end, last)
        tokens = round(part.tokens * (wider[1] - wider[0]) / max(1, part.end - part.start))
        return Run(run.words, first, last), part._replace(
            start=wider[0], end=wider[1], tokens=tokens
        )
    run = phrases.longest_run(query, text[part.start : part.end])
    return Run(run.words, part.start + run.start, part.start + run.end), part


def _named_speakers(query: str, rows: Iterable[HistoryRow]) -> set[str]:
    """The speakers whose name, or its first word, is in the query."""
    words = {word.lower() for word in fts.terms(query)}
    authors = {row.author for row in rows if row.author}
    return {author for author in authors if author.split() and author.split()[0].lower() in words}


def _candidates(
    parts: Iterable[_Part],
    matches: Iterable[_Match],
    named: Collection[str],
    hint: TimeRange | None,
) -> list[Candidate]:
    candidates = []
    foreign_of: dict[int, list[tuple[int, int]]] = {}
    for (row, text, start, end, tokens, is_whole, cosine), match in zip(
        parts, matches, strict=True
    ):
        seq, source, position, _, role, author, sent_at_ms, chars, extras = row
        asks = text is not None and end == chars and text[-QUESTION_CHARS:].rstrip().endswith("?")
        own_share = 1.0
        if role == "user" and extras is not None and '"parts"' in extras and start < end:
            if seq not in foreign_of:
                foreign_of[seq] = _foreign(extras)
            foreign = sum(max(0, min(end, last) - max(start, first))
                          for first, last in foreign_of[seq])  # fmt: skip
            own_share = max(0.0, 1.0 - foreign / (end - start))
        in_time = hint is not None and sent_at_ms is not None and hint.contains(sent_at_ms)
        candidates.append(
            Candidate(seq, source, position, start, end, tokens, role, is_whole, sent_at_ms, author,
                      match.bm25, cosine, author in named, in_time, match.strength,
                      match.run, own_share, asks)
        )  # fmt: skip
    return candidates


def _foreign(extras: str) -> list[tuple[int, int]]:
    """The stretches of a person's message that are not the person's words."""
    parts = json_text.object_of(extras).get("parts", ())
    return [(start, end) for _, start, end, *_ in parts]


def _with_events(candidates: list[Candidate], events: Iterable[EventDay]) -> Sequence[Candidate]:
    """The candidates with the largest share of the events in their words."""
    events_of: dict[int, list[EventDay]] = {}
    for event in events:
        events_of.setdefault(event.message_seq, []).append(event)
    for index, candidate in enumerate(candidates):
        shares = [event.share for event in events_of.get(candidate.message_seq, ())
                  if candidate.start <= event.start < candidate.end]  # fmt: skip
        if shares:
            candidates[index] = candidate._replace(event=max(shares))
    return candidates


def _companions(rows: Iterable[HistoryRow]) -> dict[Place, list[Place]]:
    """Maps the place of each tool call to those of its results, and vice versa."""
    first_place: dict[tuple[int, str], Place] = {}
    companions: dict[Place, list[Place]] = {}
    for row in rows:
        extras = row.extras
        if extras is None or not ('"uses"' in extras or '"results"' in extras):
            continue
        place = (row.source_seq, row.position)
        tools = json_text.object_of(extras)
        for tool_id in (*tools.get("uses", ()), *tools.get("results", ())):
            other = first_place.setdefault((row.source_seq, tool_id), place)
            if other != place:
                companions.setdefault(other, []).append(place)
                companions.setdefault(place, []).append(other)
    return companions
