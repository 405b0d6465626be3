"""Packs the best candidates into a budget of tokens.

Pure. Small gaps between packed messages are filled, and a tool call and its results are packed
together or not at all. selection.py divides the budget between statements and messages, and calls
this.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treemem.search.scoring import Scored
from treemem.search.weights import Weights

# Estimated tokens of a passage's header, and of the mark for a gap.
HEADER_TOKENS = 9
GAP_TOKENS = 2
# The most better parts of a message for which a further part loses utility.
AGAIN_MAX = 3
# The number of best candidates that are tried.
TRIED_MAX = 2_000

# The source and the position of a message.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in packing order. Created by `rank`.

    scored: in the order of their places. utilities: -inf for a candidate that may only be packed
    as a companion. order: indexes, the best first. indexes_at: of the candidates at
    each place that has companions. fill_tokens: the largest gap that is filled.
    """

    scored: Scored
    utilities: Sequence[float]
    order: Sequence[int]
    companions: Mapping[Place, Sequence[Place]]
    indexes_at: Mapping[Place, Sequence[int]]
    fill_tokens: float


@dataclass(slots=True)
class Packed:
    """The tokens left of a budget, the packed candidates, and the sources that have a header."""

    left: float
    chosen: set[int] = field(default_factory=set)
    headed: set[int] = field(default_factory=set)


def utilities(scored: Scored, weights: Weights) -> list[float]:
    """The utility of each candidate: its score, reduced for its tokens and for each better part of
    the same message."""
    values = list(scored.scores)
    candidates = scored.candidates
    if weights.cost:
        values = [
            value - weights.cost * math.log((one.tokens + weights.cost_tokens) / 30)
            for value, one in zip(values, candidates, strict=True)
        ]
    better_parts: Counter[Place] = Counter()
    parts = [index for index, one in enumerate(candidates) if not one.is_whole]
    for index in sorted(parts, key=lambda index: -scored.scores[index]):
        place = (candidates[index].source_seq, candidates[index].position)
        values[index] -= weights.again * min(AGAIN_MAX, better_parts[place])
        better_parts[place] += 1
    return values


def rank(
    scored: Scored,
    utilities: Sequence[float],
    weights: Weights,
    companions: Mapping[Place, Sequence[Place]],
) -> Ranking:
    """Ranks candidates by their utilities. companions: the places that belong to a place."""
    indexes_at: dict[Place, list[int]] = {}
    if companions:
        for index, one in enumerate(scored.candidates):
            indexes_at.setdefault((one.source_seq, one.position), []).append(index)
    order = sorted(range(len(utilities)), key=utilities.__getitem__, reverse=True)
    order = [index for index in order[:TRIED_MAX] if utilities[index] > -math.inf]
    return Ranking(scored, utilities, order, companions, indexes_at, weights.fill)


def pack(ranking: Ranking, before: Packed, keep: float = 0.0) -> Packed:
    """Packs candidates, the best first, in addition to those packed before, until only keep tokens
    are left."""
    packed = Packed(before.left, set(before.chosen), set(before.headed))
    candidates = ranking.scored.candidates
    for index in ranking.order:
        room = packed.left - keep
        if room < HEADER_TOKENS:
            break
        if candidates[index].tokens <= room and index not in packed.chosen:
            _pack_one(ranking, packed, index, keep)
    return packed


def _pack_one(ranking: Ranking, packed: Packed, index: int, keep: float) -> None:
    """Packs a candidate with its companions and the gaps beside them, if all of that fits."""
    candidates = ranking.scored.candidates
    group = _with_companions(ranking, packed, index)
    wanted = set(group)
    cost = 0.0
    for member in group:
        gaps = [_gap(ranking, packed, member, step, wanted) for step in (-1, 1)]
        for gap in gaps:
            wanted.update(gap or ())
        if gaps == [None, None]:
            is_headed = candidates[member].source_seq in packed.headed
            cost += GAP_TOKENS if is_headed else HEADER_TOKENS
    cost += sum(candidates[member].tokens for member in wanted - packed.chosen)
    if cost <= packed.left - keep:
        packed.left -= cost
        packed.chosen |= wanted
        packed.headed.update(candidates[member].source_seq for member in group)


def _with_companions(ranking: Ranking, packed: Packed, index: int) -> list[int]:
    """The candidate, and the best candidate of each of its direct and indirect companions of which
    no part is packed."""
    first = ranking.scored.candidates[index]
    group = [index]
    seen = {(first.source_seq, first.position)}
    waiting = list(seen)
    while waiting:
        for place in ranking.companions.get(waiting.pop(), ()):
            if place not in seen:
                seen.add(place)
                waiting.append(place)
                indexes = ranking.indexes_at.get(place, ())
                if indexes and packed.chosen.isdisjoint(indexes):
                    group.append(max(indexes, key=ranking.scored.scores.__getitem__))
    return group


def _gap(
    ranking: Ranking, packed: Packed, index: int, step: int, wanted: set[int]
) -> list[int] | None:
    """The candidates that fill the gap between one and the nearest packed one in a direction; None
    if none is near enough."""
    candidates = ranking.scored.candidates
    source = candidates[index].source_seq
    between: list[int] = []
    tokens = 0
    other = index + step
    while 0 <= other < len(candidates) and candidates[other].source_seq == source:
        if other in packed.chosen:
            return between
        tokens += candidates[other].tokens
        if tokens > ranking.fill_tokens:
            return None
        if other not in wanted:
            if not _may_fill(ranking, other):
                return None
            between.append(other)
        other += step
    return None


def _may_fill(ranking: Ranking, index: int) -> bool:
    one = ranking.scored.candidates[index]
    is_call_or_result = (one.source_seq, one.position) in ranking.companions
    return not is_call_or_result and ranking.utilities[index] > -math.inf
