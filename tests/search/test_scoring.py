"""Scores spread along a source, fade with distance, and are the sum of their parts."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.errors import UsageError
from treemem.search.scoring import (
    REACH_TOKENS,
    SKIPPED_TOKENS,
    Unit,
    fragments,
    propagate,
    reached,
    standard,
)
from treemem.search.weights import MEETING, TALK, Weights, fitting

FEW = settings(max_examples=25)
ONLY_NEAR = Weights(around=0, best=0, person=0)


def unit(position: int, source: int = 1, **named: object) -> Unit:
    told = {"tokens": 20, "role": "user", "start": 0, "end": 60, **named}
    return Unit(position + 1_000 * source, source, position, **told)  # type: ignore[arg-type]


@st.composite
def fields(draw: st.DrawFn) -> list[Unit]:
    """Units of some sources in the order of their places, with any scores."""
    scores = st.floats(0, 20, allow_nan=False)
    found = []
    for source in range(draw(st.integers(1, 3))):
        position = 0
        for _ in range(draw(st.integers(0, 12))):
            position += draw(st.integers(1, 40))
            found.append(unit(
                position, source, tokens=draw(st.integers(4, 900)), words=draw(scores),
                meaning=draw(st.none() | st.floats(-1, 1)), by_named=draw(st.booleans()),
                role=draw(st.sampled_from(["user", "assistant", "tool"])),
                in_time=draw(st.booleans()),
            ))  # fmt: skip
    return found


@FEW
@given(fields(), st.integers(0, 5_000), st.floats(0, 1))
def test_a_score_is_the_sum_of_its_parts(units: list[Unit], total: int, share: float) -> None:
    propagate(units, fitting(share), total)
    for each in units:
        assert math.isfinite(each.score)
        assert each.score == pytest.approx(sum(each.parts.values()))


@FEW
@given(fields())
def test_the_same_units_get_the_same_scores(units: list[Unit]) -> None:
    again = [replace(each) for each in units]
    propagate(units, TALK, 50)
    propagate(again, TALK, 50)
    assert [each.score for each in units] == [each.score for each in again]


def test_a_match_lifts_its_neighbours_and_less_those_farther_away() -> None:
    units = [unit(position, words=5.0 if position == 10 else 0.0) for position in range(21)]
    propagate(units, ONLY_NEAR, 21)
    near = [each.parts["near"] for each in units]
    assert near[9] == pytest.approx(near[11])
    assert near[10] > near[9] > near[7] > near[0]
    assert max(units, key=lambda each: each.score).position == 10


def test_a_long_message_separates_its_neighbours() -> None:
    def lifted(between: int) -> float:
        units = [unit(0, words=5.0), unit(1, tokens=between), unit(2), unit(3, tokens=5_000)]
        propagate(units, replace(ONLY_NEAR, own=0), 4)
        return units[2].score - units[3].score

    assert lifted(10) > lifted(2_000)


def test_nothing_spreads_into_another_source() -> None:
    alone = [unit(0, 2), unit(1, 2)]
    units = [unit(0, 1, words=9.0), *alone]
    propagate(units, ONLY_NEAR, 3)
    assert alone[0].parts["near"] == alone[1].parts["near"]
    assert not reached(units)[1]


def test_what_is_not_looked_at_in_between_counts_as_distance() -> None:
    close = [unit(0, words=5.0), unit(1), unit(900)]
    far = REACH_TOKENS // SKIPPED_TOKENS + 2
    apart = [unit(0, words=5.0), unit(far), unit(900)]
    assert reached(close) == [True, True, False]
    assert reached(apart) == [True, False, False]
    propagate(close, ONLY_NEAR, 3)
    propagate(apart, ONLY_NEAR, 3)
    assert close[1].parts["near"] > apart[1].parts["near"]


def test_what_a_tool_printed_counts_less_than_what_was_said() -> None:
    units = [unit(0, words=5.0, role="tool"), unit(900, words=5.0, role="assistant"), unit(1_900)]
    propagate(units, replace(ONLY_NEAR, near=0), 3)
    assert 0 < units[0].score < units[1].score


def test_a_person_counts_only_beside_an_assistant() -> None:
    people = [unit(0), unit(1)]
    propagate(people, TALK, 2)
    assert all(each.parts["person"] == 0 for each in people)
    chat = [unit(0), unit(1, role="assistant")]
    propagate(chat, TALK, 2)
    assert chat[0].parts["person"] > chat[1].parts["person"] == 0


def test_a_missing_vector_is_neither_near_nor_far() -> None:
    units = [unit(0, meaning=0.9), unit(900, meaning=None), unit(1_900, meaning=-0.9)]
    propagate(units, replace(ONLY_NEAR, near=0), 3)
    assert units[0].score > units[1].score == 0 > units[2].score


@FEW
@given(fields())
def test_what_matches_is_reached_and_what_is_not_has_no_match_near(units: list[Unit]) -> None:
    found = reached(units)
    for index, each in enumerate(units):
        if each.words > 0 or each.in_time:
            assert found[index]
    for source in {each.source_seq for each in units}:
        there = [index for index, each in enumerate(units) if each.source_seq == source]
        if not any(found[index] for index in there):
            assert all(units[index].words == 0 and not units[index].in_time for index in there)


def test_a_long_match_reaches_its_neighbour_too() -> None:
    assert reached([unit(0, tokens=9_000, words=1.0), unit(1), unit(2)]) == [True, True, True]


def distance(units: list[Unit], one: int, other: int) -> float:
    """From the middle of one unit to that of another, in tokens, as it is meant."""
    first, last = sorted((one, other))
    if units[first].source_seq != units[last].source_seq:
        return math.inf
    between = units[first + 1 : last]
    skipped = units[last].position - units[first].position - len(between) - 1
    ends = (units[first].tokens + units[last].tokens) / 2
    return ends + sum(each.tokens for each in between) + SKIPPED_TOKENS * skipped


@FEW
@given(fields())
def test_scores_spread_as_they_are_meant_to(units: list[Unit]) -> None:
    weights = Weights(words_alone=1.0, meaning=0.0, words=1.0, speaker=0.0, person=0.0)
    propagate(units, weights, len(units))
    if not units:
        return
    own = standard([each.words for each in units], len(units))
    own = [value * (0.5 if each.role == "tool" else 1.0)
           for value, each in zip(own, units, strict=True)]  # fmt: skip
    own = [value - min(own) for value in own]
    means, maxima = [], []
    for at in range(len(units)):
        far = [0.0 if at == other else distance(units, at, other) for other in range(len(units))]
        near = [math.exp(-each / weights.near_tokens) for each in far]
        means.append(sum(map(lambda a, b: a * b, near, own)) / sum(near))
        best = [math.exp(-each / weights.best_tokens) for each in far]
        maxima.append(max(map(lambda a, b: a * b, best, own)))
    for name, weight, values in (
        ("near", weights.near, means),
        ("best near", weights.best, maxima),
    ):
        expected = [weight * value for value in standard(values, len(values))]
        assert [each.parts[name] for each in units] == pytest.approx(expected, abs=1e-4)


@FEW
@given(st.lists(st.floats(-100, 100), max_size=30), st.integers(0, 100))
def test_standard_scores_keep_the_order(values: list[float], total: int) -> None:
    scores = standard(values, total)
    assert len(scores) == len(values)
    for one, other in zip(range(len(values)), range(1, len(values)), strict=False):
        assert (values[one] < values[other]) >= (scores[one] < scores[other])
    if total <= len(values):
        assert sum(scores) == pytest.approx(0, abs=1e-3)


def test_fragments_make_a_meeting() -> None:
    talk = [unit(position, tokens=60) for position in range(10)]
    meeting = [unit(position, tokens=5) for position in range(10)]
    assert fitting(fragments(talk)) == TALK
    assert fitting(fragments(meeting)) == MEETING
    assert fragments([]) == 0
    cut = [unit(0, tokens=5, is_whole=False, start=start) for start in range(4)]
    assert fragments([*cut, *talk]) == 0


def test_only_weights_that_there_are_can_be_changed() -> None:
    assert TALK.changed({"near": 7.0}).near == 7.0
    with pytest.raises(UsageError, match=r"no weight 'nearly'.*near_tokens"):
        TALK.changed({"nearly": 1.0})
