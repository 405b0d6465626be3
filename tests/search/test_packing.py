"""Packed candidates fit the budget, are the best ones, and keep calls and results together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.search.packing import HEADER_TOKENS, Packed, Place, pack, rank, utilities
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


def packed(
    candidates: Sequence[Rated], budget: float,
    companions: Mapping[Place, Sequence[Place]] | None = None,
    values: Sequence[float] | None = None, keep: float = 0.0,
) -> list[int]:  # fmt: skip
    values = [score for _, score in candidates] if values is None else values
    ranking = rank(scored(candidates), values, TALK, companions or {})
    return sorted(pack(ranking, Packed(budget), keep).chosen)


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
    indexes = packed(candidates, budget, companions, keep=keep)
    assert sum(candidates[index][0].tokens for index in indexes) <= max(0, budget - keep)


@FEW
@given(packs(), st.integers(0, 2_000))
def test_calls_and_results_are_packed_together_or_not_at_all(
    pack: tuple[list[Rated], Companions], budget: int
) -> None:
    candidates, companions = pack
    places = [(candidate.source_seq, candidate.position) for candidate, _ in candidates]
    chosen = {places[index] for index in packed(candidates, budget, companions)}
    for place, others in companions.items():
        if place in chosen:
            assert chosen.issuperset(set(places).intersection(others))


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


def test_the_best_comes_first_and_one_that_does_not_fit_is_skipped() -> None:
    candidates = [rated(0, 500, score=3), rated(10, 40, score=2), rated(20, 40, score=1)]
    assert packed(candidates, 60) == [1]
    assert packed(candidates, 120) == [1, 2]
    assert packed(candidates, 5_000) == [0, 1, 2]


def test_all_results_of_a_call_come_with_one_of_them() -> None:
    candidates = [rated(0, score=-1), rated(1, score=-1), rated(2, score=5), rated(9, score=1)]
    assert packed(candidates, 100, pairs((0, 1, 2))) == [0, 1, 2]
    assert packed(candidates, 50, pairs((0, 1, 2))) == [3]


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
