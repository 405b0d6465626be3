"""Pack: which units and statements make a context of at most so many tokens.

Pure. What is chosen stands in the order in which it was said; small gaps between chosen
messages are filled, calls come with their results, and what is said twice comes once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treemem.search.scoring import Unit
from treemem.search.weights import Weights

HEADER_TOKENS = 9
GAP_TOKENS = 2
AGAIN_MAX = 3
TRIED_MAX = 2_000

Place = tuple[int, int]


@dataclass(slots=True)
class Packed:
    """What was chosen: indexes of units, and what is left of the budget.

    headed: the sources that have a header already.
    """

    left: float
    chosen: set[int] = field(default_factory=set)
    headed: set[int] = field(default_factory=set)


def utilities(units: Sequence[Unit], weights: Weights) -> list[float]:
    """What each unit is worth: its score, less for what it costs, and less for a further part
    of a message of which a better part can be had."""
    scores = [unit.score for unit in units]
    if weights.cost:
        scores = [
            score - weights.cost * math.log((unit.tokens + weights.cost_tokens) / 30)
            for score, unit in zip(scores, units, strict=True)
        ]
    seen: Counter[Place] = Counter()
    parts = [index for index, unit in enumerate(units) if not unit.is_whole]
    for index in sorted(parts, key=lambda index: -units[index].score):
        place = (units[index].source_seq, units[index].position)
        scores[index] -= weights.again * min(AGAIN_MAX, seen[place])
        seen[place] += 1
    return scores


class Packer:
    """Packs units into what is left of a budget, the most worthy ones first.

    units: in the order of their places. What is worth -inf is not taken for itself. Calls and
    their results are taken together or not at all.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        worth: Sequence[float],
        weights: Weights,
        companions: Mapping[Place, Sequence[Place]],
    ) -> None:
        self._units = units
        self._worth = worth
        self._fill = weights.fill
        self._companions = companions
        self._at: dict[Place, list[int]] = {}
        if companions:
            for index, unit in enumerate(units):
                self._at.setdefault((unit.source_seq, unit.position), []).append(index)
        ranked = sorted(range(len(units)), key=worth.__getitem__, reverse=True)
        self._ranked = [index for index in ranked[:TRIED_MAX] if worth[index] > -math.inf]
        self._packed = Packed(0.0)

    def pack(self, packed: Packed, keep: float = 0.0) -> None:
        """Adds units to what is packed until only keep tokens are left."""
        self._packed = packed
        chosen, units = packed.chosen, self._units
        for index in self._ranked:
            room = packed.left - keep
            if room < HEADER_TOKENS:
                break
            if units[index].tokens <= room and index not in chosen:
                self._take(index, keep)

    def _take(self, index: int, keep: float) -> None:
        """Takes a unit with what belongs to it, if all of that fits."""
        group = self._together(index)
        wanted = set(group)
        cost = 0.0
        for each in group:
            beside = self._fill_between(each, -1, wanted), self._fill_between(each, 1, wanted)
            for between in beside:
                wanted.update(between or ())
            if beside == (None, None):
                is_headed = self._units[each].source_seq in self._packed.headed
                cost += GAP_TOKENS if is_headed else HEADER_TOKENS
        cost += sum(self._units[each].tokens for each in wanted - self._packed.chosen)
        if cost <= self._packed.left - keep:
            self._packed.left -= cost
            self._packed.chosen |= wanted
            self._packed.headed.update(self._units[each].source_seq for each in group)

    def _together(self, index: int) -> list[int]:
        """The unit, and the best one of each call and result that belongs to it, or to those,
        and has none yet."""
        unit = self._units[index]
        group = [index]
        seen = {(unit.source_seq, unit.position)}
        waiting = list(seen)
        while waiting:
            for place in self._companions.get(waiting.pop(), ()):
                if place not in seen:
                    seen.add(place)
                    waiting.append(place)
                    found = self._at.get(place, ())
                    if found and self._packed.chosen.isdisjoint(found):
                        group.append(max(found, key=lambda each: self._units[each].score))
        return group

    def _fill_between(self, index: int, step: int, wanted: set[int]) -> list[int] | None:
        """What lies between a unit and the nearest chosen one, where that is little and may stand
        there by itself; None where none is near."""
        source = self._units[index].source_seq
        between: list[int] = []
        tokens = 0
        other = index + step
        while 0 <= other < len(self._units) and self._units[other].source_seq == source:
            if other in self._packed.chosen:
                return between
            tokens += self._units[other].tokens
            if tokens > self._fill:
                return None
            if other not in wanted:
                if not self._may_fill(other):
                    return None
                between.append(other)
            other += step
        return None

    def _may_fill(self, index: int) -> bool:
        unit = self._units[index]
        is_half = (unit.source_seq, unit.position) in self._companions
        return not is_half and self._worth[index] > -math.inf
