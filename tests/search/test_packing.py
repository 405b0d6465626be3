"""Packed candidates fit the budget, are the best ones, and keep calls and results together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.search.packing import (
    ANSWER_TOKENS,
    COMPANION_SHARE,
    COMPANION_TOKENS_MIN,
    CUT_TOKENS_MIN,
    HEADER_TOKENS,
    Packed,
    Place,
    fill,
    pack,
    rank,
    utilities,
)
from treemem.search.scoring import Candidate, Scored
from treemem.search.weights import TALK, Weights

FEW = settings(max_examples=25)
Companions = dict[Place, list[Place]]


Rated = tuple[Candidate, float]


def rated(position: int, tokens: int = 20, *, source: int = 1, start: int = 0,
          score: float = 0.0, is_whole: bool = True) -> Rated:  # fmt: skip
    """A candidate and its score."""
    seq = position + 1_000 * source
    return Candidate(seq, source, position, start, start + 50, tokens, "user", is_whole), score


def scored(candidates: Sequence[Rated]) -> Scored:
    scores = [score for _, score in candidates]
    return Scored([candidate for candidate, _ in candidates], {"words": scores}, scores)


def packing(
    candidates: Sequence[Rated], budget: float,
    companions: Mapping[Place, Sequence[Place]] | None = None,
    values: Sequence[float] | None = None, keep: float = 0.0,
) -> Packed:  # fmt: skip
    values = [score for _, score in candidates] if values is None else values
    ranking = rank(scored(candidates), values, TALK, companions or {})
    return pack(ranking, Packed(budget), keep)


def packed(
    candidates: Sequence[Rated], budget: float,
    companions: Mapping[Place, Sequence[Place]] | None = None,
    values: Sequence[float] | None = None, keep: float = 0.0,
) -> list[int]:  # fmt: skip
    return sorted(packing(candidates, budget, companions, values, keep).chosen)


def tokens_of(candidates: Sequence[Rated], found: Packed) -> float:
    """The tokens of the packed candidates, those that are cut as cut."""
    return sum(found.limits.get(index, candidates[index][0].tokens) for index in found.chosen)


def pairs(*groups: tuple[int, ...]) -> Companions:
    """The companions of a call, the first of each group, and its results, all in source 1."""
    companions: Companions = {}
    for call, *results in groups:
        for result in results:
            companions.setdefault((1, call), []).append((1, result))
            companions.setdefault((1, result), []).append((1, call))
    return companions


@st.composite
def packs(draw: st.DrawFn) -> tuple[list[Rated], Companions]:
    candidates = [
        rated(position, draw(st.integers(4, 300)), source=source, start=part * 50,
             score=draw(st.floats(-5, 5)))
        for source in (1, 2)
        for position in range(draw(st.integers(0, 12)))
        for part in range(draw(st.integers(1, 2)))
    ]  # fmt: skip
    calls = draw(st.lists(st.sampled_from([(1, 2), (4, 6), (8, 9, 10)]), unique=True))
    return candidates, pairs(*calls)


@FEW
@given(packs(), st.integers(0, 2_000), st.floats(0, 200))
def test_packed_candidates_stay_within_the_budget(
    pack: tuple[list[Rated], Companions], budget: int, keep: float
) -> None:
    candidates, companions = pack
    found = packing(candidates, budget, companions, keep=keep)
    assert tokens_of(candidates, found) <= max(0, budget - keep) + 1e-6
    for index, limit in found.limits.items():
        assert index in found.chosen
        assert 0 <= limit <= candidates[index][0].tokens


@FEW
@given(packs(), st.integers(0, 2_000))
def test_calls_and_results_are_packed_together_or_not_at_all(
    pack: tuple[list[Rated], Companions], budget: int
) -> None:
    """A budget without room for cut results is the exception."""
    candidates, companions = pack
    if (budget - HEADER_TOKENS) * COMPANION_SHARE < 2 * COMPANION_TOKENS_MIN:
        return
    places = [(candidate.source_seq, candidate.position) for candidate, _ in candidates]
    chosen = {places[index] for index in packed(candidates, budget, companions)}
    for place, others in companions.items():
        if place in chosen:
            assert chosen.issuperset(set(places).intersection(others))


@FEW
@given(packs(), st.integers(HEADER_TOKENS + 1, 2_000))
def test_the_best_candidate_is_packed_into_every_budget(
    pack: tuple[list[Rated], Companions], budget: int
) -> None:
    candidates, companions = pack
    if candidates:
        best = max(score for _, score in candidates)
        found = packing(candidates, budget, companions)
        of_best = [index for index in found.chosen if candidates[index][1] == best]
        assert any(found.limits.get(index, 1) > 0 for index in of_best)


@FEW
@given(packs(), st.integers(HEADER_TOKENS, 1_000), st.integers(0, 1_000))
def test_a_larger_budget_never_shows_less_of_the_best_candidate(
    pack: tuple[list[Rated], Companions], budget: int, more: int
) -> None:
    candidates, companions = pack
    if not candidates:
        return
    best = max(range(len(candidates)), key=lambda index: candidates[index][1])
    shown = []
    for room in (budget, budget + more):
        found = packing(candidates, room, companions)
        whole = candidates[best][0].tokens if best in found.chosen else 0
        shown.append(found.limits.get(best, whole))
    assert shown[0] <= shown[1] + 1e-6


@FEW
@given(packs(), st.integers(0, 2_000))
def test_packing_again_gives_the_same(pack: tuple[list[Rated], Companions], budget: int) -> None:
    candidates, companions = pack
    assert packed(candidates, budget, companions) == packed(candidates, budget, companions)


def test_packing_adds_to_the_candidates_packed_before() -> None:
    ranking = rank(scored([rated(0, score=2), rated(50, score=1)]), [2, 1], TALK, {})
    first = pack(ranking, Packed(100), keep=60)
    assert first.chosen == {0}
    assert pack(ranking, first).chosen == {0, 1}
    assert first.chosen == {0}


def test_the_best_is_cut_to_the_budget_and_another_that_does_not_fit_is_skipped() -> None:
    long = [rated(0, 500, score=3), rated(10, 40, score=2), rated(20, 40, score=1)]
    assert packing(long, 60).limits == {0: 60 - HEADER_TOKENS}
    assert packed(long, 60) == [0]
    assert packed(long, 5_000) == [0, 1, 2]
    middle = [rated(0, 40, score=3), rated(10, 500, score=2), rated(20, 40, score=1)]
    found = packing(middle, 40 + HEADER_TOKENS + 40 + 2)
    assert sorted(found.chosen) == [0, 2]
    assert found.limits == {}


def test_what_is_left_of_a_budget_is_filled_with_a_part_of_the_next_candidate() -> None:
    candidates = [rated(0, 40, score=3), rated(10, 500, score=2)]
    ranking = rank(scored(candidates), [3, 2], TALK, {})
    first = pack(ranking, Packed(100))
    assert first.chosen == {0}
    assert fill(ranking, first, HEADER_TOKENS + CUT_TOKENS_MIN).limits == {1: CUT_TOKENS_MIN}
    assert fill(ranking, first, HEADER_TOKENS + CUT_TOKENS_MIN - 1).chosen == {0}


def test_a_cut_candidate_grows_before_another_is_added() -> None:
    candidates = [rated(0, 100, score=3), rated(10, 500, score=2)]
    ranking = rank(scored(candidates), [3, 2], TALK, {})
    first = pack(ranking, Packed(60))
    assert first.limits == {0: 60 - HEADER_TOKENS}
    assert fill(ranking, first, 40).limits == {0: 100 - HEADER_TOKENS}
    assert fill(ranking, first, 100).limits == {0: 100, 1: 100 - 49 - HEADER_TOKENS}


def test_a_candidate_that_matches_well_is_packed_beside_better_ones() -> None:
    """A person's words near the match may have better scores than the match itself."""
    candidates = [*(rated(9 * at, 60, score=5 - at) for at in range(4)), rated(99, 60, score=-9)]
    scores = [score for _, score in candidates]
    own = {"words": [0.0, 0.0, 0.0, 0.0, 4.0], "near": [5.0, 4.0, 3.0, 2.0, -13.0]}
    parts = Scored([candidate for candidate, _ in candidates], own, scores)
    narrow = pack(rank(parts, scores, TALK, {}), Packed(200))
    assert 4 in narrow.chosen
    assert 0 in narrow.chosen
    broad = pack(rank(parts, scores, TALK, {}, is_narrow=False), Packed(200))
    assert broad.chosen == {0, 1, 2}


def test_a_long_result_is_cut_so_that_it_comes_with_its_call() -> None:
    candidates = [rated(0, 20, score=5), rated(1, 900, score=-3), rated(9, 50, score=4)]
    found = packing(candidates, 150, pairs((0, 1)))
    assert sorted(found.chosen) == [0, 1, 2]
    assert set(found.limits) == {1}
    assert packing(candidates, 40, pairs((0, 1))).chosen == {0, 1}


def test_all_results_of_a_call_come_with_one_of_them() -> None:
    candidates = [rated(0, score=-1), rated(1, score=-1), rated(2, score=5), rated(9, score=1)]
    assert packed(candidates, 100, pairs((0, 1, 2))) == [0, 1, 2]
    other = [*candidates[:3], rated(9, score=6)]
    assert packed(other, 50, pairs((0, 1, 2))) == [3]
    assert packed(other, 120, pairs((0, 1, 2))) == [0, 1, 2, 3]


def test_the_best_part_of_a_long_result_comes_with_its_call() -> None:
    parts = [rated(1, 100, start=50 * part, score=-2.0 + part) for part in range(3)]
    candidates = [rated(0, 20, score=5), *parts]
    assert packed(candidates, 150, pairs((0, 1))) == [0, 3]


def test_a_small_gap_is_filled_and_a_large_one_is_not() -> None:
    small = [rated(0, score=5), rated(1, 15, score=-9), rated(2, score=5)]
    large = [rated(0, score=5), rated(1, 90, score=-9), rated(2, score=5)]
    assert packed(small, 75) == [0, 1, 2]
    assert packed(large, 75) == [0, 2]


def test_a_gap_is_not_filled_with_half_a_pair_or_an_excluded_candidate() -> None:
    candidates = [
        rated(0, score=5),
        rated(1, 10, score=-9),
        rated(2, score=5),
        rated(9, 500, score=-9),
    ]
    assert packed(candidates, 80, pairs((1, 9))) == [0, 2]
    assert packed(candidates[:3], 80, values=[5, -math.inf, 5]) == [0, 2]


def test_a_candidate_of_no_utility_is_never_packed_for_itself() -> None:
    candidates = [rated(0, score=5), rated(50, score=4)]
    assert packed(candidates, 500, values=[-math.inf, 1.0]) == [1]


def test_a_source_costs_one_header() -> None:
    candidates = [rated(0, score=3), rated(50, score=2), rated(0, source=2, score=1)]
    assert packed(candidates, 2 * 20 + HEADER_TOKENS + 2) == [0, 1]
    assert packed(candidates, 3 * 20 + 2 * HEADER_TOKENS + 2) == [0, 1, 2]


def test_a_further_part_of_a_message_is_worth_less() -> None:
    parts = [rated(0, start=50 * part, score=2, is_whole=False) for part in range(5)]
    values = utilities(scored([*parts, rated(1, score=2)]), Weights(again=1.0, cost=0.0))
    assert values == [2, 1, 0, -1, -1, 2]


def test_a_long_candidate_is_worth_less_where_tokens_cost() -> None:
    long, short = rated(0, 400, score=2), rated(1, 10, score=2)
    values = utilities(scored([long, short]), Weights(cost=3.0))
    assert values[0] < values[1]


# -- questions -------------------------------------------------------------------------


def asked(position: int, score: float) -> Rated:
    one, _ = rated(position, score=score)
    return one._replace(asks=True), score


def test_a_question_is_packed_with_the_message_after_it() -> None:
    candidates = [rated(0), asked(1, 9.0), rated(2, 30), rated(3, score=1.0)]
    assert packed(candidates, 2 * HEADER_TOKENS + 50) == [1, 2]
    assert packed(candidates, 2 * HEADER_TOKENS + 49) == [1, 3]


def test_a_long_answer_is_cut_and_only_the_first_questions_get_one() -> None:
    candidates = [one for n in range(6) for one in (asked(10 * n, 9.0 - n), rated(10 * n + 1, 400))]
    found = packing(candidates, 600)
    assert found.chosen == {0, 1, 2, 3, 4, 6, 8, 10}
    assert found.limits == {1: ANSWER_TOKENS, 3: ANSWER_TOKENS}


def test_the_next_message_of_another_source_or_of_a_call_is_no_answer() -> None:
    other = [asked(1, 9.0), rated(2, source=2)]
    assert packed(other, HEADER_TOKENS + 40) == [0]
    call = [asked(1, 9.0), rated(2), rated(3)]
    companions = pairs((2, 3))
    assert packed(call, HEADER_TOKENS + 40, companions, [9.0, -math.inf, -math.inf]) == [0]


# -- lists -----------------------------------------------------------------------------


def test_a_list_is_spread_over_stretches_and_keeps_the_best() -> None:
    first = [rated(n, score=5.0 - n / 10) for n in range(6)]
    other = [rated(n, source=2, score=4.0 - n / 10) for n in range(2)]
    plain = utilities(scored([*first, *other]), TALK)
    spread = utilities(scored([*first, *other]), replace(TALK, crowd=2.0))
    assert max(plain[:6]) == max(spread[:6]) == spread[0]
    assert sorted(range(8), key=lambda n: -plain[n])[:2] == [0, 1]
    assert sorted(range(8), key=lambda n: -spread[n])[:2] == [0, 6]
