"""Packs the best candidates into a budget of tokens.

Pure. Small gaps between packed messages are filled, and a tool call and its results are packed
together or not at all. The candidate with the best score is always packed, and for a narrow
question also one that itself matches well: if it does not fit with its call or its results, they
are cut. selection.py divides the budget between statements and messages, and calls this.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treemem.search.scoring import Scored
from treemem.search.weights import Weights

# Tokens of a stretch, which a list should not be taken from alone: those of a leaf.
STRETCH_TOKENS = 3_000
# Estimated tokens of a passage's header, and of the mark for a gap.
HEADER_TOKENS = 9
GAP_TOKENS = 2
# The most better parts of a message for which a further part loses utility.
AGAIN_MAX = 3
# The number of best candidates that are tried.
TRIED_MAX = 2_000
# A call or a result that does not fit beside its partner is cut to this many tokens: some ten words
# around the best match. Beside a best candidate, a small budget cuts it further.
COMPANION_TOKENS = 24
COMPANION_TOKENS_MIN = 8
# The share of the room for the calls and results of a candidate that does not fit with them.
COMPANION_SHARE = 1 / 2
# The tokens, and the share of the room, for the candidate that matches best, where no other that is
# packed matches well.
MATCH_TOKENS = 40
MATCH_SHARE = 1 / 3
# A candidate matches well if it matches this share as well as the best match.
MATCHING_SHARE = 1 / 2
# The parts of a score that say how well a candidate itself matches the query.
OWN_PARTS = ("words", "phrase", "meaning")
# A cut candidate with fewer tokens says too little.
CUT_TOKENS_MIN = 30
# The message after a question is packed with it, cut to this many tokens; a longer one only while
# fewer candidates are packed.
ANSWER_TOKENS = 60
ANSWERED_FIRST = 3

# The source and the position of a message.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in packing order. Created by `rank`.

    scored: in the order of their places. utilities: -inf for a candidate that may only be packed
    as a companion. order: indexes, the one with the best score first, then by utility. matching:
    indexes of those of which one must be packed, the best match first; empty if any may do.
    indexes_at: of the candidates at each place that has companions. fill_tokens: the largest gap
    that is filled.
    """

    scored: Scored
    utilities: Sequence[float]
    order: Sequence[int]
    matching: Sequence[int]
    companions: Mapping[Place, Sequence[Place]]
    indexes_at: Mapping[Place, Sequence[int]]
    fill_tokens: float


@dataclass(slots=True)
class Packed:
    """The tokens left of a budget, the packed candidates, and the sources that have a header.

    limits: the tokens to which packed candidates are cut.
    """

    left: float
    chosen: set[int] = field(default_factory=set)
    headed: set[int] = field(default_factory=set)
    limits: dict[int, float] = field(default_factory=dict)


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
    if weights.crowd:
        _spread_out(scored, values, weights.crowd)
    return values


def _spread_out(scored: Scored, values: list[float], crowd: float) -> None:
    """Reduces the utility of each candidate by the number of better ones of the same stretch, so
    that the chosen ones are spread over sources and time."""
    tokens = 0.0
    stretch_of = []
    for one in scored.candidates:
        stretch_of.append((one.source_seq, int(tokens // STRETCH_TOKENS)))
        tokens += one.tokens
    better: Counter[tuple[int, int]] = Counter()
    for index in sorted(range(len(values)), key=lambda index: -values[index]):
        values[index] -= crowd * math.log1p(better[stretch_of[index]])
        better[stretch_of[index]] += 1


def rank(
    scored: Scored,
    utilities: Sequence[float],
    weights: Weights,
    companions: Mapping[Place, Sequence[Place]],
    *,
    is_narrow: bool = True,
) -> Ranking:
    """Ranks candidates by their utilities. companions: the places that belong to a place.
    is_narrow: the question asks for one thing, so that the best match may be all of the answer."""
    indexes_at: dict[Place, list[int]] = {}
    if companions:
        for index, one in enumerate(scored.candidates):
            indexes_at.setdefault((one.source_seq, one.position), []).append(index)
    allowed = [index for index, utility in enumerate(utilities) if utility > -math.inf]
    order = sorted(allowed, key=utilities.__getitem__, reverse=True)
    if order:
        best = max(order, key=scored.scores.__getitem__)
        order = [best, *(index for index in order[:TRIED_MAX] if index != best)]
    matching = _matching(scored, order) if is_narrow else []
    return Ranking(scored, utilities, order, matching, companions, indexes_at, weights.fill)


def _matching(scored: Scored, indexes: Sequence[int]) -> list[int]:
    """The indexes of the candidates that themselves match well, the best match first."""
    own = [scored.parts[name] for name in OWN_PARTS if name in scored.parts]
    matches = {index: sum(values[index] for values in own) for index in indexes}
    if not own or not matches:
        return []
    least, most = min(matches.values()), max(matches.values())
    good = least + MATCHING_SHARE * (most - least)
    return sorted((index for index in indexes if matches[index] >= good), key=lambda i: -matches[i])


def pack(ranking: Ranking, before: Packed, keep: float = 0.0) -> Packed:
    """Packs candidates, the best first, in addition to those packed before, until only keep tokens
    are left. The first of the order is cut if it does not fit. If none of ranking.matching would be
    packed, the best of them is, cut if need be."""
    packed = _packed(ranking, before, keep, match=None)
    if ranking.matching and packed.chosen and packed.chosen.isdisjoint(ranking.matching):
        packed = _packed(ranking, before, keep, match=ranking.matching[0])
    return packed


def _packed(ranking: Ranking, before: Packed, keep: float, match: int | None) -> Packed:
    """Packs candidates in order. match: one that is packed last, cut if it does not fit; the others
    leave room for it."""
    packed = Packed(before.left, set(before.chosen), set(before.headed), dict(before.limits))
    reserved = 0.0
    if match is not None:
        tokens = HEADER_TOKENS + min(MATCH_TOKENS, ranking.scored.candidates[match].tokens)
        reserved = min(tokens, MATCH_SHARE * (packed.left - keep))
    for index in ranking.order:
        room = packed.left - keep - reserved
        if room < HEADER_TOKENS:
            break
        if index not in packed.chosen:
            fits = _pack_one(ranking, packed, index, room)
            if not fits and index == ranking.order[0]:
                _pack_cut(ranking, packed, index, room)
        elif index in packed.limits:
            _pack_rest(ranking, packed, index, room)
    if match is not None and packed.left - keep > HEADER_TOKENS:
        _pack_cut(ranking, packed, match, packed.left - keep)
    return packed


def fill(ranking: Ranking, before: Packed, room: float) -> Packed:
    """Packs what fits into room tokens of what did not fit before: more of the candidates that were
    cut, then a part of the best other one. All of these stay limited to their estimated tokens."""
    packed = Packed(room, set(before.chosen), set(before.headed), dict(before.limits))
    candidates = ranking.scored.candidates
    for index in sorted(packed.limits, key=ranking.scored.scores.__getitem__, reverse=True):
        more = max(0.0, min(candidates[index].tokens - packed.limits[index], packed.left))
        packed.left -= more
        packed.limits[index] += more
    after = next((index for index in ranking.order if index not in packed.chosen), None)
    if after is not None:
        others = len(_with_companions(ranking, packed, after)) - 1
        least = max(CUT_TOKENS_MIN, COMPANION_TOKENS * others / COMPANION_SHARE)
        if packed.left >= HEADER_TOKENS + least:
            _pack_cut(ranking, packed, after, packed.left)
    return packed


def _pack_one(ranking: Ranking, packed: Packed, index: int, room: float) -> bool:
    """Packs a candidate with its companions and the gaps beside them, if all of that fits; with
    cut companions, if only that fits. Returns whether it was packed."""
    candidates = ranking.scored.candidates
    if candidates[index].tokens > room:
        return False
    group = _with_companions(ranking, packed, index)
    answer = _answer_to(ranking, packed, index)
    if answer is not None:
        cut = {answer: ANSWER_TOKENS} if candidates[answer].tokens > ANSWER_TOKENS else {}
        if _pack_group(ranking, packed, [*group, answer], room, cut):
            return True
    long = {member: COMPANION_TOKENS for member in group[1:]
            if candidates[member].tokens > COMPANION_TOKENS}  # fmt: skip
    return _pack_group(ranking, packed, group, room, {}) or (
        bool(long) and _pack_group(ranking, packed, group, room, long)
    )


def _answer_to(ranking: Ranking, packed: Packed, index: int) -> int | None:
    """The message after a question, or its first part, if it is short or few others are packed."""
    candidates = ranking.scored.candidates
    if not candidates[index].asks or index + 1 == len(candidates) or index + 1 in packed.chosen:
        return None
    question, after = candidates[index], candidates[index + 1]
    is_next = (after.source_seq, after.position) == (question.source_seq, question.position + 1)
    is_worth = after.tokens <= ANSWER_TOKENS or len(packed.chosen) < ANSWERED_FIRST
    return index + 1 if is_next and is_worth and _may_fill(ranking, index + 1) else None


def _pack_group(
    ranking: Ranking, packed: Packed, group: Sequence[int], room: float, limits: Mapping[int, float]
) -> bool:
    """Packs a group and the gaps beside its members, if all of that fits. Returns whether it
    did."""
    candidates = ranking.scored.candidates
    wanted = set(group)
    cost = 0.0
    for member in group:
        gaps = [_gap(ranking, packed, member, step, wanted) for step in (-1, 1)]
        for gap in gaps:
            wanted.update(gap or ())
        if gaps == [None, None]:
            is_headed = candidates[member].source_seq in packed.headed
            cost += GAP_TOKENS if is_headed else HEADER_TOKENS
    cost += sum(limits.get(member, candidates[member].tokens) for member in wanted - packed.chosen)
    if cost > room:
        return False
    packed.left -= cost
    packed.chosen |= wanted
    packed.headed.update(candidates[member].source_seq for member in group)
    packed.limits.update(limits)
    return True


def _pack_cut(ranking: Ranking, packed: Packed, index: int, room: float) -> None:
    """Packs a candidate that does not fit with its companions, by cutting them and it.

    Its own part grows with the room. Only in a very small room are some companions left out.
    """
    candidates = ranking.scored.candidates
    own, *others = _with_companions(ranking, packed, index)
    room -= HEADER_TOKENS
    share = max(COMPANION_SHARE * room, room - candidates[own].tokens)
    kept = others[: int(share / COMPANION_TOKENS_MIN)]
    limits: dict[int, float] = {}
    for member in kept:
        limit = min(COMPANION_TOKENS, share / len(kept))
        limits[member] = min(limit, candidates[member].tokens)
    left = room - sum(limits.values())
    for member in (own, *kept):  # what the first of them does not need goes to the others
        before = limits.get(member, 0.0)
        limits[member] = min(candidates[member].tokens, before + left)
        left -= limits[member] - before
    packed.left -= HEADER_TOKENS + sum(limits.values())
    packed.chosen.update(limits)
    packed.headed.update(candidates[member].source_seq for member in limits)
    packed.limits.update(limits)


def _pack_rest(ranking: Ranking, packed: Packed, index: int, room: float) -> None:
    """Packs the rest of a candidate that was cut, if it fits."""
    more = max(0.0, ranking.scored.candidates[index].tokens - packed.limits[index])
    if more <= room:
        packed.left -= more
        del packed.limits[index]


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
