"""Scores candidates by their own match with the query and by that of the messages around them.

Pure. Scores spread along a source and fade with the distance in tokens, so that a long
message separates its neighbours where short turns do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import add, mul
from typing import Any, NamedTuple

from treemem.search.weights import WORTHLESS_TOKENS, Weights

# Tokens of a message's line in addition to its text.
SPEAKER_TOKENS = 4
# The factor for tool messages: long output matches many words but answers few questions.
TOOL_WEIGHT = 0.5
# Messages within this many tokens of a match are related to the query.
REACH_TOKENS = 500
# The length assumed for each message that was not read, between two that were.
SKIPPED_TOKENS = 20
# The least standard deviations by which a part of the score is divided, so that a part that hardly
# varies adds hardly anything: for words a share of the best BM25, for meaning a cosine, and for the
# neighbours a share of the standard scores that spread.
WORDS_SPREAD_MIN = 0.1
MEANING_SPREAD_MIN = 0.02
NEAR_SPREAD_MIN = 0.4
# The least standard score with which a cosine counts as a match.
MATCHING_COSINE_MIN = 1.0
# A person's message is preferred to an assistant's only with this share of the best score, without
# the preference: "Hi again" beside an answer has nothing to do with the question.
PERSON_SCORE_SHARE_MIN = 0.05
# The least share of the days of an event with which it is in the time of a question.
EVENT_SHARE_MIN = 0.5

# Source, position and first character: the order of candidates in the log.
CandidatePlace = tuple[int, int, int]


class Candidate(NamedTuple):
    """A passage that can be returned: a whole message, or a part of a long one.

    start, end: characters of the message. tokens: of the text and the speaker. bm25: with the
    query, 0 where no word matches. cosine: with the query, None without a vector.
    speaker_is_named: by the query. in_time: sent in the time that the query mentions. strength: how
    much of the query it contains as it was asked, from 0 to 1, see phrases.py. run: the characters
    of the longest run of the query's words, where that was looked for. own_share: the share of a
    person's text that is not pasted or a tool's. asks: it matches, and ends its message with a
    question. event: of the days that its words mean, the share in the
    time that the query mentions, from 0 to 1.
    """

    message_seq: int
    source_seq: int
    position: int
    start: int
    end: int
    tokens: int
    role: str
    is_whole: bool = True
    sent_at_ms: int | None = None
    author: str | None = None
    bm25: float = 0.0
    cosine: float | None = None
    speaker_is_named: bool = False
    in_time: bool = False
    strength: float = 0.0
    run: tuple[int, int] | None = None
    own_share: float = 1.0
    asks: bool = False
    event: float = 0.0

    @property
    def place(self) -> CandidatePlace:
        return self.source_seq, self.position, self.start


@dataclass(frozen=True, slots=True)
class Scored:
    """Candidates with their scores, column by column.

    candidates: in the order of their places. parts: by name, a number for each candidate.
    scores: the sum of the parts of each candidate.
    """

    candidates: Sequence[Candidate]
    parts: Mapping[str, Sequence[float]]
    scores: Sequence[float]

    def parts_of(self, index: int) -> dict[str, float]:
        """The parts of one candidate's score, by name."""
        return {name: values[index] for name, values in self.parts.items()}

    def with_part(self, name: str, values: Sequence[float]) -> Scored:
        """The same candidates with one more part in their scores."""
        scores = list(map(add, self.scores, values))
        return Scored(self.candidates, {**self.parts, name: values}, scores)


def _columns(candidates: Sequence[Candidate]) -> Any:
    """The fields of candidates, each as a tuple with the values of all of them."""
    # One zip is quicker than a loop over the candidates for each field.
    return Candidate._make(zip(*candidates, strict=True))


def fragments(candidates: Sequence[Candidate]) -> float:
    """The share of messages that are too short to be meaningful by themselves."""
    if not candidates:
        return 0.0
    short = sum(one.is_whole and one.tokens <= WORTHLESS_TOKENS for one in candidates)
    return short / len({(one.source_seq, one.position) for one in candidates})


def score(candidates: Sequence[Candidate], weights: Weights, total: int) -> Scored:
    """Scores candidates, which are in the order of their places.

    total: a lower bound of the messages in the scope; those that are not candidates count as
    matching no word.
    """
    if not candidates:
        return Scored((), {}, ())
    columns = _columns(candidates)
    words = standard(columns.bm25, total, WORDS_SPREAD_MIN * max(columns.bm25))
    meanings = _standard_cosines(columns.cosine)
    has_vectors = any(cosine is not None for cosine in columns.cosine)
    by_word = weights.words if has_vectors else weights.words_alone
    by_meaning, by_name, whole = weights.meaning, weights.speaker, weights.own
    trusts = [TOOL_WEIGHT if role == "tool" else 1.0 for role in columns.role]
    named = columns.speaker_is_named
    of_user = [role == "user" for role in columns.role]
    own = [
        trust * (by_word * value + by_meaning * meaning) + by_name * is_named
        for trust, value, meaning, is_named in zip(trusts, words, meanings, named, strict=True)
    ]
    parts = {
        "words": [whole * t * by_word * value for t, value in zip(trusts, words, strict=True)],
        "phrase": [weights.phrase * strength for strength in columns.strength],
        "meaning": [whole * t * by_meaning * value
                    for t, value in zip(trusts, meanings, strict=True)],
        "speaker": [whole * by_name * is_named for is_named in named],
        "time": [weights.in_time * in_time for in_time in columns.in_time],
        "event": [0.0 if in_time else weights.event * share
                  for in_time, share in zip(columns.in_time, columns.event, strict=True)],
        **_spread(_gaps(columns), own, weights),
    }  # fmt: skip
    scored = Scored(candidates, parts, list(map(sum, zip(*parts.values(), strict=True))))
    person = weights.person * (len(set(of_user)) > 1)
    least = PERSON_SCORE_SHARE_MIN * max(scored.scores) if weights.near else -math.inf
    return scored.with_part("person", [
        person * share * (is_user and tokens > WORTHLESS_TOKENS and value >= least)
        for is_user, share, tokens, value in zip(
            of_user, columns.own_share, columns.tokens, scored.scores, strict=True
        )
    ])  # fmt: skip


def _standard_cosines(cosines: Sequence[float | None]) -> list[float]:
    """The standard scores of cosines; 0 for a missing one."""
    known = [cosine for cosine in cosines if cosine is not None]
    if not known:
        return [0.0] * len(cosines)
    scores = iter(standard(known, len(known), MEANING_SPREAD_MIN))
    return [0.0 if cosine is None else next(scores) for cosine in cosines]


def _spread(
    gaps: Sequence[float], own: Sequence[float], weights: Weights
) -> dict[str, list[float]]:
    """The parts of the scores that candidates get from their neighbours, by name.

    gaps: the distances between neighbours, in tokens.
    """
    ways: tuple[tuple[str, float, float, Callable[..., list[float]]], ...] = (
        ("near", weights.near, weights.near_tokens, _means),
        ("around", weights.around, weights.around_tokens, _means),
        ("best near", weights.best, weights.best_tokens, _maxima),
    )
    least = min(own)
    above_least = [value - least for value in own]
    parts = {}
    for name, weight, reach, spread in ways:
        if weight:
            values = spread(above_least, [math.exp(-gap / reach) for gap in gaps])
            scores = standard(values, len(values), NEAR_SPREAD_MIN)
            parts[name] = [weight * value for value in scores]
    return parts


def _skipped(columns: Any) -> list[float]:
    """The assumed tokens of the unread messages between each candidate and the next. Candidates of
    different sources are infinitely far apart."""
    sources, positions = columns.source_seq, columns.position
    return [
        math.inf if source != next_source else SKIPPED_TOKENS * (after - position - 1)
        if after - position > 1 else 0
        for source, next_source, position, after in zip(
            sources, sources[1:], positions, positions[1:], strict=False
        )
    ]  # fmt: skip


def _gaps(columns: Any) -> list[float]:
    """The distance in tokens from the middle of each candidate to that of the next one."""
    pairs = zip(pairwise(columns.tokens), _skipped(columns), strict=True)
    return [(one + other) / 2 + between for (one, other), between in pairs]


def _means(own: Sequence[float], fades: Sequence[float]) -> list[float]:
    """At each place, the mean of all values, weighted by the fades between them and the place."""
    before, before_mass = _faded_sums(own, fades)
    after, after_mass = _faded_sums(own[::-1], fades[::-1])
    after.reverse()
    after_mass.reverse()
    return [
        (value + one + other) / (1.0 + one_mass + other_mass)
        for value, one, one_mass, other, other_mass in zip(
            own, before, before_mass, after, after_mass, strict=True
        )
    ]


def _faded_sums(own: Sequence[float], fades: Sequence[float]) -> tuple[list[float], list[float]]:
    """At each place, the sum of the faded values before it, and the sum of their weights."""
    sums, masses = [0.0], [0.0]
    total = mass = 0.0
    for value, fade in zip(own, fades, strict=False):
        total = (total + value) * fade
        mass = (mass + 1.0) * fade
        sums.append(total)
        masses.append(mass)
    return sums, masses


def _maxima(own: Sequence[float], fades: Sequence[float]) -> list[float]:
    """At each place, the largest of all values, each multiplied by the fades between it and the
    place. Values are not negative."""
    return _faded_maxima(_faded_maxima(own, fades)[::-1], fades[::-1])[::-1]


def _faded_maxima(own: Sequence[float], fades: Sequence[float]) -> list[float]:
    best = 0.0
    maxima = []
    for value, fade in zip(own, (*fades, 0.0), strict=True):
        if value > best:
            best = value
        maxima.append(best)
        best *= fade
    return maxima


def related(scored: Scored) -> list[bool]:
    """Which candidates are related to the query: those that match it, and of those near a match
    the ones that score no worse than the average message of the scope."""
    matching = matches(scored.candidates)
    near = reached(scored.candidates, matching)
    return [
        is_match or (is_near and value >= 0)
        for is_match, is_near, value in zip(matching, near, scored.scores, strict=True)
    ]


def matches(candidates: Sequence[Candidate]) -> list[bool]:
    """Which candidates match the query by themselves: by a word, by meaning or by time."""
    if not candidates:
        return []
    columns = _columns(candidates)
    meanings = _standard_cosines(columns.cosine)
    return [
        score > 0 or in_time or share >= EVENT_SHARE_MIN or meaning >= MATCHING_COSINE_MIN
        for score, in_time, share, meaning in zip(
            columns.bm25, columns.in_time, columns.event, meanings, strict=True
        )
    ]


def reached(candidates: Sequence[Candidate], matching: Sequence[bool]) -> list[bool]:
    """Which candidates match, or are within REACH_TOKENS of one that does. matching: see
    matches."""
    if not candidates:
        return []
    columns = _columns(candidates)
    tokens, skipped = columns.tokens, _skipped(columns)
    before = _within_reach(matching, tokens, skipped)
    after = _within_reach(matching[::-1], tokens[::-1], skipped[::-1])
    return [one or other for one, other in zip(before, reversed(after), strict=True)]


def _within_reach(
    matching: Sequence[bool], tokens: Sequence[int], skipped: Sequence[float]
) -> list[bool]:
    """Which candidates match, or are at most REACH_TOKENS after one that does."""
    within = []
    distance = math.inf
    for matches, length, between in zip(matching, tokens, (math.inf, *skipped), strict=False):
        if matches:
            within.append(True)
            distance = 0.0
        else:
            distance += between
            within.append(distance <= REACH_TOKENS)
            distance += length
    return within


def standard(values: Sequence[float], total: int, spread_min: float = 0.0) -> list[float]:
    """The standard scores of values, padded with zeros to total values.

    spread_min: values that differ less, by their standard deviation, count as if it were this much,
    so that small differences stay small.

    Example:
        >>> standard([1.0, 3.0], 2), standard([1.0, 3.0], 2, spread_min=4.0), standard([5.0], 1)
        ([-1.0, 1.0], [-0.25, 0.25], [0.0])
    """
    count = max(total, len(values))
    deviation = max(_deviation(values, count), spread_min)
    if deviation <= 1e-6:
        return [0.0] * len(values)
    mean = sum(values) / count
    return [(value - mean) / deviation for value in values]


def _deviation(values: Sequence[float], count: int) -> float:
    """The standard deviation of values, padded with zeros to count values."""
    if not count:
        return 0.0
    mean = sum(values) / count
    return math.sqrt(max(0.0, sum(map(mul, values, values)) / count - mean * mean))
