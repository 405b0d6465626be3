"""Propagation: a message's score is its own and that of what stands around it.

Pure. Scores spread along a source and fade with the distance in tokens, so that a long
message separates its neighbours where short turns do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import mul

from treemem.search.weights import WORTHLESS_TOKENS, Weights

SPEAKER_TOKENS = 4
# What a tool printed matters less than what was said about it, however many words match.
TOOL_WEIGHT = 0.5
REACH_TOKENS = 500
# The length taken for a message that is not looked at, in between two that are.
SKIPPED_TOKENS = 20
# From which standard score on a cosine says that something is like the query.
LIKE_FROM = 1.0


@dataclass(slots=True)
class Unit:
    """What can be returned: a whole message, or a window of a long one.

    start, end: characters of the message; is_whole: the two are all of it. author: the name of
    who said it, if known. tokens: with that name. words: BM25 with the query, 0 where no word
    matches. meaning: the cosine with it, None where it has no vector. part_names, part_values:
    what its score is the sum of.
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
    words: float = 0.0
    meaning: float | None = None
    author: str | None = None
    by_named: bool = False
    in_time: bool = False
    score: float = 0.0
    part_names: tuple[str, ...] = ()
    part_values: tuple[float, ...] = ()

    @property
    def parts(self) -> dict[str, float]:
        """What the score is the sum of, by name."""
        return dict(zip(self.part_names, self.part_values, strict=True))

    @property
    def place(self) -> tuple[int, int, int]:
        """For sorting: units of a source stand in the order in which they were said."""
        return self.source_seq, self.position, self.start


def fragments(units: Sequence[Unit]) -> float:
    """The share of messages that are too short to say anything by themselves."""
    if not units:
        return 0.0
    short = sum(unit.is_whole and unit.tokens <= WORTHLESS_TOKENS for unit in units)
    return short / len({(unit.source_seq, unit.position) for unit in units})


def propagate(units: Sequence[Unit], weights: Weights, total: int) -> None:
    """Fills in each unit's parts and score.

    units: in the order of their places. total: how many units there are in the whole scope;
    those that are not given match no word.
    """
    if not units:
        return
    words = standard([unit.words for unit in units], total)
    known = [unit.meaning for unit in units if unit.meaning is not None]
    by_word = weights.words if known else weights.words_alone
    by_meaning, by_name, whole = weights.meaning, weights.speaker, weights.own
    meanings = _meanings(units, known)
    trusts = [TOOL_WEIGHT if unit.role == "tool" else 1.0 for unit in units]
    named = [unit.by_named for unit in units]
    of_user = [unit.role == "user" for unit in units]
    person = weights.person * (len(set(of_user)) > 1)
    own = [
        trust * (by_word * value + by_meaning * meaning) + by_name * is_named
        for trust, value, meaning, is_named in zip(trusts, words, meanings, named, strict=True)
    ]
    # Subtle: by name and not by unit; a dictionary for each unit would take the longest of all.
    parts: dict[str, Iterable[float]] = {
        "words": [whole * t * by_word * value for t, value in zip(trusts, words, strict=True)],
        "meaning": [whole * t * by_meaning * value
                    for t, value in zip(trusts, meanings, strict=True)],
        "speaker": [whole * by_name * is_named for is_named in named],
        "person": [person * is_user for is_user in of_user],
        "time": [weights.in_time * unit.in_time for unit in units],
    }  # fmt: skip
    parts |= _spread(units, own, weights)
    names = tuple(parts)
    for unit, values in zip(units, zip(*parts.values(), strict=True), strict=True):
        unit.part_names, unit.part_values, unit.score = names, values, sum(values)


def _meanings(units: Sequence[Unit], known: Sequence[float]) -> list[float]:
    """The standard scores of the cosines; 0 for what has no vector."""
    if not known:
        return [0.0] * len(units)
    scores = iter(standard(known, len(known)))
    return [0.0 if unit.meaning is None else next(scores) for unit in units]


def _spread(
    units: Sequence[Unit], own: Sequence[float], weights: Weights
) -> dict[str, list[float]]:
    """By the name of a weight, what each unit gets of those about it."""
    ways: tuple[tuple[str, float, float, Callable[..., list[float]]], ...] = (
        ("near", weights.near, weights.near_tokens, _means),
        ("around", weights.around, weights.around_tokens, _means),
        ("best near", weights.best, weights.best_tokens, _maxima),
    )
    least = min(own)
    above_least = [value - least for value in own]
    gaps = _gaps(units)
    return {
        name: _weighted(spread(above_least, [math.exp(-gap / reach) for gap in gaps]), weight)
        for name, weight, reach, spread in ways if weight
    }  # fmt: skip


def _weighted(values: Sequence[float], weight: float) -> list[float]:
    return [weight * value for value in standard(values, len(values))]


def _skipped(units: Sequence[Unit]) -> list[float]:
    """The tokens of what lies between each unit and the next one and is not looked at. Another
    source is infinitely far."""
    places = [(unit.source_seq, unit.position) for unit in units]
    return [
        math.inf if source != next_source else SKIPPED_TOKENS * (after - position - 1)
        if after - position > 1 else 0
        for (source, position), (next_source, after) in pairwise(places)
    ]  # fmt: skip


def _gaps(units: Sequence[Unit]) -> list[float]:
    """The distance in tokens from the middle of each unit to that of the next one."""
    skipped = _skipped(units)
    pairs = pairwise([unit.tokens for unit in units])
    return [(one + other) / 2 + between
            for (one, other), between in zip(pairs, skipped, strict=True)]  # fmt: skip


def _means(own: Sequence[float], fades: Sequence[float]) -> list[float]:
    """The mean of all values, each one times the fades between it and the place.

    One pass each way: what comes from before fades by the gap at every step.
    """
    before = _faded(own, fades)
    after = reversed(_faded(own[::-1], fades[::-1]))
    return [
        (value + one + other) / (1.0 + one_mass + other_mass)
        for value, (one, one_mass), (other, other_mass) in zip(own, before, after, strict=True)
    ]


def _faded(own: Sequence[float], fades: Sequence[float]) -> list[tuple[float, float]]:
    """For each place the sum of the faded values before it, and of the fades alone."""
    found = [(0.0, 0.0)]
    total = mass = 0.0
    for value, fade in zip(own, fades, strict=False):
        total = (total + value) * fade
        mass = (mass + 1.0) * fade
        found.append((total, mass))
    return found


def _maxima(own: Sequence[float], fades: Sequence[float]) -> list[float]:
    """The largest value about, each one times the fades between it and the place; values are
    not negative."""
    return _faded_maxima(_faded_maxima(own, fades)[::-1], fades[::-1])[::-1]


def _faded_maxima(own: Sequence[float], fades: Sequence[float]) -> list[float]:
    best = 0.0
    found = []
    for value, fade in zip(own, (*fades, 0.0), strict=True):
        if value > best:
            best = value
        found.append(best)
        best *= fade
    return found


def reached(units: Sequence[Unit]) -> list[bool]:
    """Which units have to do with the query at all: those that match it by a word, by meaning or
    by time, and what stands within REACH_TOKENS of them."""
    known = [unit.meaning for unit in units if unit.meaning is not None]
    matching = [
        unit.words > 0 or unit.in_time or meaning >= LIKE_FROM
        for unit, meaning in zip(units, _meanings(units, known), strict=True)
    ]
    tokens = [unit.tokens for unit in units]
    skipped = _skipped(units)
    before = _within_reach(matching, tokens, skipped)
    after = _within_reach(matching[::-1], tokens[::-1], skipped[::-1])
    return [one or other for one, other in zip(before, reversed(after), strict=True)]


def _within_reach(
    matching: Sequence[bool], tokens: Sequence[int], skipped: Sequence[float]
) -> list[bool]:
    """Which units match, or stand so near after one that does."""
    found = []
    distance = math.inf
    for matches, length, between in zip(matching, tokens, (math.inf, *skipped), strict=False):
        if matches:
            found.append(True)
            distance = 0.0
        else:
            distance += between
            found.append(distance <= REACH_TOKENS)
            distance += length
    return found


def standard(values: Sequence[float], total: int) -> list[float]:
    """The values as standard scores; those up to total that are not given are 0.

    Example:
        >>> standard([1.0, 3.0], 2), standard([5.0], 1)
        ([-1.0, 1.0], [0.0])
    """
    count = max(total, len(values))
    if not count:
        return []
    mean = sum(values) / count
    variance = sum(map(mul, values, values)) / count - mean * mean
    if variance <= 1e-12:
        return [0.0] * len(values)
    deviation = math.sqrt(variance)
    return [(value - mean) / deviation for value in values]
