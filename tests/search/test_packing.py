"""What is chosen fits, stands together where it belongs together, and is the best there is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.search.packing import HEADER_TOKENS, Packed, Packer, Place, utilities
from treemem.search.scoring import Unit
from treemem.search.weights import TALK, Weights

FEW = settings(max_examples=25)
Companions = dict[Place, list[Place]]


def unit(position: int, tokens: int = 20, *, source: int = 1, start: int = 0,
         score: float = 0.0) -> Unit:  # fmt: skip
    return Unit(position + 1_000 * source, source, position, start, start + 50, tokens, "user",
                score=score)  # fmt: skip


def chosen(
    units: Sequence[Unit], budget: float, companions: Mapping[Place, Sequence[Place]] | None = None,
    worth: Sequence[float] | None = None, weights: Weights = TALK, keep: float = 0.0,
) -> list[int]:  # fmt: skip
    packed = Packed(budget)
    values = [each.score for each in units] if worth is None else worth
    Packer(units, values, weights, companions or {}).pack(packed, keep)
    return sorted(packed.chosen)


def pairs(*groups: tuple[int, ...]) -> Companions:
    """The companions of a call, the first of each group, and its results, all in source 1."""
    found: Companions = {}
    for call, *results in groups:
        for result in results:
            found.setdefault((1, call), []).append((1, result))
            found.setdefault((1, result), []).append((1, call))
    return found


@st.composite
def packs(draw: st.DrawFn) -> tuple[list[Unit], Companions]:
    units = [
        unit(position, draw(st.integers(4, 300)), source=source, start=part * 50,
             score=draw(st.floats(-5, 5)))
        for source in (1, 2)
        for position in range(draw(st.integers(0, 12)))
        for part in range(draw(st.integers(1, 2)))
    ]  # fmt: skip
    calls = draw(st.lists(st.sampled_from([(1, 2), (4, 6), (8, 9, 10)]), unique=True))
    return units, pairs(*calls)


@FEW
@given(packs(), st.integers(0, 2_000), st.floats(0, 200))
def test_the_budget_holds_as_it_is_reckoned(
    pack: tuple[list[Unit], Companions], budget: int, keep: float
) -> None:
    units, companions = pack
    found = chosen(units, budget, companions, keep=keep)
    assert sum(units[index].tokens for index in found) <= max(0, budget - keep)


@FEW
@given(packs(), st.integers(0, 2_000))
def test_calls_and_results_come_together_or_not_at_all(
    pack: tuple[list[Unit], Companions], budget: int
) -> None:
    units, companions = pack
    there = {(each.source_seq, each.position) for each in units}
    found = {(units[index].source_seq, units[index].position)
             for index in chosen(units, budget, companions)}  # fmt: skip
    for place, others in companions.items():
        if place in found:
            assert found.issuperset(there.intersection(others))


@FEW
@given(packs(), st.integers(0, 2_000))
def test_the_same_is_chosen_again(pack: tuple[list[Unit], Companions], budget: int) -> None:
    units, companions = pack
    assert chosen(units, budget, companions) == chosen(units, budget, companions)


def test_the_best_comes_first_and_what_does_not_fit_is_passed_over() -> None:
    units = [unit(0, 500, score=3), unit(10, 40, score=2), unit(20, 40, score=1)]
    assert chosen(units, 60) == [1]
    assert chosen(units, 120) == [1, 2]
    assert chosen(units, 5_000) == [0, 1, 2]


def test_all_results_of_a_call_come_with_one_of_them() -> None:
    units = [unit(0, score=-1), unit(1, score=-1), unit(2, score=5), unit(9, score=1)]
    assert chosen(units, 100, pairs((0, 1, 2))) == [0, 1, 2]
    assert chosen(units, 50, pairs((0, 1, 2))) == [3]


def test_of_a_long_result_the_best_part_comes_with_its_call() -> None:
    parts = [unit(1, 100, start=50 * part, score=-2.0 + part) for part in range(3)]
    units = [unit(0, 20, score=5), *parts]
    assert chosen(units, 150, pairs((0, 1))) == [0, 3]


def test_a_small_gap_is_filled_and_a_large_one_is_not() -> None:
    small = [unit(0, score=5), unit(1, 15, score=-9), unit(2, score=5)]
    large = [unit(0, score=5), unit(1, 90, score=-9), unit(2, score=5)]
    assert chosen(small, 75) == [0, 1, 2]
    assert chosen(large, 75) == [0, 2]


def test_a_gap_is_not_filled_with_half_a_pair_or_with_what_is_left_out() -> None:
    units = [unit(0, score=5), unit(1, 10, score=-9), unit(2, score=5), unit(9, 500, score=-9)]
    assert chosen(units, 80, pairs((1, 9))) == [0, 2]
    assert chosen(units[:3], 80, worth=[5, -math.inf, 5]) == [0, 2]


def test_what_is_worth_nothing_is_never_taken_for_itself() -> None:
    units = [unit(0, score=5), unit(50, score=4)]
    assert chosen(units, 500, worth=[-math.inf, 1.0]) == [1]


def test_a_header_is_paid_once_a_source() -> None:
    units = [unit(0, score=3), unit(50, score=2), unit(0, source=2, score=1)]
    assert chosen(units, 2 * 20 + HEADER_TOKENS + 2) == [0, 1]
    assert chosen(units, 3 * 20 + 2 * HEADER_TOKENS + 2) == [0, 1, 2]


def test_a_further_part_of_a_message_is_worth_less() -> None:
    parts = [replace(unit(0, start=50 * part, score=2), is_whole=False) for part in range(5)]
    units = [*parts, unit(1, score=2)]
    found = utilities(units, Weights(again=1.0, cost=0.0))
    assert found == [2, 1, 0, -1, -1, 2]
    dear = utilities([unit(0, 400, score=2), unit(1, 10, score=2)], Weights(cost=3.0))
    assert dear[0] < dear[1]
