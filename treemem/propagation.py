"""Propagation: a message's score is its own and that of what stands around it.

Pure. Scores spread along a source and fade with the distance in tokens, so that a long
message separates its neighbours where short turns do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from treemem.weights import WORTHLESS_TOKENS, Weights

SPEAKER_TOKENS = 4
TOOL_WEIGHT = 0.5
"""What a tool printed matters less than what was said about it, however many words match."""
REACH_TOKENS = 500
SKIPPED_TOKENS = 20
"""The length taken for a message that is not looked at, in between two that are."""
LIKE_FROM = 1.0
"""From which standard score on a cosine says that something is like the query."""


@dataclass(slots=True)
class Unit:
    """What can be returned: a whole message, or a window of a long one.

    start, end: characters of the message; is_whole: the two are all of it. tokens: with the
    speaker's name. words: BM25 with the query, 0 where no word matches. meaning: the cosine
    with it, None where it has no vector. parts: what its score is the sum of.
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
    by_named: bool = False
    in_time: bool = False
    parts: dict[str, float] = field(default_factory=dict)
    score: float = 0.0

    @property
    def place(self) -> tuple[int, int, int]:
        """For sorting: units of a source stand in the order in which they were said."""
        return self.source_seq, self.position, self.start


Above = Mapping[str, Mapping[int, Sequence[int]]]
"""By the name of a weight: the groups that each message belongs to, by their numbers."""


def fragments(units: Sequence[Unit]) -> float:
    """The share of messages that are too short to say anything by themselves."""
    if not units:
        return 0.0
    short = sum(unit.is_whole and unit.tokens <= WORTHLESS_TOKENS for unit in units)
    return short / len({(unit.source_seq, unit.position) for unit in units})


def propagate(
    units: Sequence[Unit], weights: Weights, total: int, above: Above | None = None
) -> None:
    """Fills in each unit's parts and score.

    units: in the order of their places. above: the groups that messages belong to, by the
    name of their weight. total: how many units there are in the whole scope;
    those that are not given match no word.
    """
    words = standard([unit.words for unit in units], total)
    known = [unit.meaning for unit in units if unit.meaning is not None]
    meanings = iter(standard(known, len(known)))
    mixed = len({unit.role == "user" for unit in units}) > 1
    by_word = weights.words if known else weights.words_alone
    own = []
    for unit, by_words in zip(units, words, strict=True):
        trust = TOOL_WEIGHT if unit.role == "tool" else 1.0
        meaning = 0.0 if unit.meaning is None else next(meanings)
        unit.parts = {
            "words": weights.own * trust * by_word * by_words,
            "meaning": weights.own * trust * weights.meaning * meaning,
            "speaker": weights.own * weights.speaker * unit.by_named,
            "person": weights.person * (mixed and unit.role == "user"),
            "time": weights.in_time * unit.in_time,
        }
        own.append(trust * (by_word * by_words + weights.meaning * meaning)
                   + weights.speaker * unit.by_named)  # fmt: skip
    _spread(units, own, weights)
    _from_above(units, own, weights, above or {})
    for unit in units:
        unit.score = sum(unit.parts.values())


def _spread(units: Sequence[Unit], own: Sequence[float], weights: Weights) -> None:
    least = min(own, default=0.0)
    ways: tuple[tuple[str, float, float, Callable[..., list[float]]], ...] = (
        ("near", weights.near, weights.near_tokens, _means),
        ("around", weights.around, weights.around_tokens, _means),
        ("best near", weights.best, weights.best_tokens, _maxima),
    )
    for name, weight, reach, spread in ways:
        if weight:
            values: list[float] = []
            for first, last in runs(units):
                gaps = _gaps(units[first:last])
                values += spread([value - least for value in own[first:last]], gaps, reach)
            for unit, value in zip(units, standard(values, len(values)), strict=True):
                unit.parts[name] = weight * value


def _from_above(
    units: Sequence[Unit], own: Sequence[float], weights: Weights, above: Above
) -> None:
    """Adds what the groups of a unit have of their own on average."""
    ways: list[tuple[str, float, list[Sequence[int]]]] = [
        ("source", weights.source, [(unit.source_seq,) for unit in units])
    ]
    for name, groups in above.items():
        keys = [groups.get(unit.message_seq, ()) for unit in units]
        ways.append((name, getattr(weights, name), keys))
    for name, weight, keys in ways:
        if weight:
            values = _group_means(own, keys)
            for unit, value in zip(units, standard(values, len(values)), strict=True):
                unit.parts[name] = weight * value


def _group_means(own: Sequence[float], keys: Sequence[Sequence[int]]) -> list[float]:
    """For each unit the best of the means over its groups; the mean of all where it has none."""
    sums: dict[int, float] = {}
    counts: dict[int, int] = {}
    for value, groups in zip(own, keys, strict=True):
        for group in groups:
            sums[group] = sums.get(group, 0.0) + value
            counts[group] = counts.get(group, 0) + 1
    means = {group: total / counts[group] for group, total in sums.items()}
    mean = sum(own) / len(own) if own else 0.0
    return [max((means[group] for group in groups), default=mean) for groups in keys]


def runs(units: Sequence[Unit]) -> Iterator[tuple[int, int]]:
    """Where each source's units begin and end (exclusive)."""
    first = 0
    for index in range(1, len(units) + 1):
        if index == len(units) or units[index].source_seq != units[first].source_seq:
            yield first, index
            first = index


def _gaps(units: Sequence[Unit]) -> list[float]:
    """The distance in tokens from the middle of each unit to that of the next one."""
    return [
        (one.tokens + other.tokens) / 2 + _skipped(one, other) for one, other in pairwise(units)
    ]


def _skipped(one: Unit, other: Unit) -> int:
    """The tokens of what lies between two units and is not looked at."""
    return SKIPPED_TOKENS * max(0, abs(other.position - one.position) - 1)


def _means(own: Sequence[float], gaps: Sequence[float], reach: float) -> list[float]:
    """The mean of all values, each with the weight exp(-distance / reach).

    One pass each way: what comes from before fades by the gap at every step.
    """
    count = len(own)
    fades = [math.exp(-gap / reach) for gap in gaps]
    sums, mass = list(own), [1.0] * count
    ahead_sum = ahead_mass = 0.0
    for index in range(1, count):
        ahead_sum = (ahead_sum + own[index - 1]) * fades[index - 1]
        ahead_mass = (ahead_mass + 1.0) * fades[index - 1]
        sums[index] += ahead_sum
        mass[index] += ahead_mass
    ahead_sum = ahead_mass = 0.0
    for index in range(count - 2, -1, -1):
        ahead_sum = (ahead_sum + own[index + 1]) * fades[index]
        ahead_mass = (ahead_mass + 1.0) * fades[index]
        sums[index] += ahead_sum
        mass[index] += ahead_mass
    return [total / weight for total, weight in zip(sums, mass, strict=True)]


def _maxima(own: Sequence[float], gaps: Sequence[float], reach: float) -> list[float]:
    """The largest value about, each one times exp(-distance / reach); values are not negative."""
    fades = [math.exp(-gap / reach) for gap in gaps]
    found = list(own)
    for index in range(1, len(found)):
        found[index] = max(found[index], found[index - 1] * fades[index - 1])
    for index in range(len(found) - 2, -1, -1):
        found[index] = max(found[index], found[index + 1] * fades[index])
    return found


def reached(units: Sequence[Unit]) -> list[bool]:
    """Which units have to do with the query at all: those that match it by a word, by meaning or
    by time, and what stands within REACH_TOKENS of them."""
    known = [unit.meaning for unit in units if unit.meaning is not None]
    meanings = iter(standard(known, len(known)))
    matching = []
    for unit in units:
        is_like = unit.meaning is not None and next(meanings) >= LIKE_FROM
        matching.append(unit.words > 0 or unit.in_time or is_like)
    found = [False] * len(units)
    for first, last in runs(units):
        for order in (range(first, last), range(last - 1, first - 1, -1)):
            distance = math.inf
            before = units[order[0]]
            for index in order:
                distance += _skipped(before, units[index])
                found[index] = found[index] or matching[index] or distance <= REACH_TOKENS
                distance = 0.0 if matching[index] else distance + units[index].tokens
                before = units[index]
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
    variance = sum(value * value for value in values) / count - mean * mean
    if variance <= 1e-12:
        return [0.0] * len(values)
    deviation = math.sqrt(variance)
    return [(value - mean) / deviation for value in values]
