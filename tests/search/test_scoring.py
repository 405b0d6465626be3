"""Scores spread along a source, fade with distance, and are the sum of their parts."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.errors import UsageError
from treemem.search.scoring import (
    NEAR_SPREAD_MIN,
    REACH_TOKENS,
    SKIPPED_TOKENS,
    WORDS_SPREAD_MIN,
    Candidate,
    Scored,
    fragments,
    matches,
    reached,
    related,
    score,
    standard,
)
from treemem.search.weights import MEETING, TALK, Weights, fitting

FEW = settings(max_examples=25)
ONLY_NEAR = Weights(around=0, best=0, person=0)


def candidate(position: int, source: int = 1, **fields: object) -> Candidate:
    values = {"tokens": 20, "role": "user", "start": 0, "end": 60, **fields}
    seq = position + 1_000 * source
    return Candidate(seq, source, position, **values)  # type: ignore[arg-type]


@st.composite
def collections(draw: st.DrawFn) -> list[Candidate]:
    """Candidates of some sources in the order of their places, with any match."""
    scores = st.floats(0, 20, allow_nan=False)
    candidates = []
    for source in range(draw(st.integers(1, 3))):
        position = 0
        for _ in range(draw(st.integers(0, 12))):
            position += draw(st.integers(1, 40))
            candidates.append(candidate(
                position, source, tokens=draw(st.integers(4, 900)), bm25=draw(scores),
                cosine=draw(st.none() | st.floats(-1, 1)), speaker_is_named=draw(st.booleans()),
                role=draw(st.sampled_from(["user", "assistant", "tool"])),
                in_time=draw(st.booleans()),
            ))  # fmt: skip
    return candidates


def parts(scored: Scored, name: str) -> list[float]:
    return list(scored.parts[name])


@FEW
@given(collections(), st.integers(0, 5_000), st.floats(0, 1))
def test_a_score_is_the_sum_of_its_parts(
    candidates: list[Candidate], total: int, share: float
) -> None:
    scored = score(candidates, fitting(share), total).with_part("more", [1.5] * len(candidates))
    for index, one in enumerate(scored.scores):
        assert math.isfinite(one)
        assert one == pytest.approx(sum(scored.parts_of(index).values()))


@FEW
@given(collections())
def test_the_same_candidates_get_the_same_scores(candidates: list[Candidate]) -> None:
    assert score(candidates, TALK, 50) == score(list(candidates), TALK, 50)


def test_a_match_raises_its_neighbours_and_less_those_farther_away() -> None:
    candidates = [candidate(at, bm25=5.0 if at == 10 else 0.0) for at in range(21)]
    scored = score(candidates, ONLY_NEAR, 21)
    near = parts(scored, "near")
    assert near[9] == pytest.approx(near[11])
    assert near[10] > near[9] > near[7] > near[0]
    assert max(range(21), key=scored.scores.__getitem__) == 10


def test_a_long_message_separates_its_neighbours() -> None:
    def raised(between: int) -> float:
        candidates = [
            candidate(0, bm25=5.0),
            candidate(1, tokens=between),
            candidate(2),
            candidate(3, tokens=5_000),
        ]
        scores = score(candidates, replace(ONLY_NEAR, own=0), 4).scores
        return scores[2] - scores[3]

    assert raised(10) > raised(2_000)


def test_nothing_spreads_into_another_source() -> None:
    candidates = [candidate(0, 1, bm25=9.0), candidate(0, 2), candidate(1, 2)]
    near = parts(score(candidates, ONLY_NEAR, 3), "near")
    assert near[1] == near[2]
    assert not reached(candidates, matches(candidates))[1]


def test_messages_that_were_not_read_count_as_distance() -> None:
    close = [candidate(0, bm25=5.0), candidate(1), candidate(900)]
    far = REACH_TOKENS // SKIPPED_TOKENS + 2
    apart = [candidate(0, bm25=5.0), candidate(far), candidate(900)]
    assert reached(close, matches(close)) == [True, True, False]
    assert reached(apart, matches(apart)) == [True, False, False]
    near, less_near = (parts(score(one, ONLY_NEAR, 3), "near")[1] for one in (close, apart))
    assert near > less_near


def test_the_output_of_a_tool_counts_less_than_a_message() -> None:
    candidates = [
        candidate(0, bm25=5.0, role="tool"),
        candidate(900, bm25=5.0, role="assistant"),
        candidate(1_900),
    ]
    scores = score(candidates, replace(ONLY_NEAR, near=0), 3).scores
    assert 0 < scores[0] < scores[1]


def test_a_person_counts_only_beside_an_assistant() -> None:
    people = [candidate(0), candidate(1)]
    assert parts(score(people, TALK, 2), "person") == [0, 0]
    chat = [candidate(0), candidate(1, role="assistant")]
    of_user, of_assistant = parts(score(chat, TALK, 2), "person")
    assert of_user > of_assistant == 0


def test_what_a_person_pasted_does_not_count_as_a_person() -> None:
    typed, pasted = candidate(0), candidate(500, own_share=0.25)
    found = score([typed, pasted, candidate(1_000, role="assistant")], TALK, 3)
    assert found.parts["person"] == [TALK.person, 0.25 * TALK.person, 0.0]


def test_a_greeting_does_not_win_for_being_a_persons() -> None:
    hello, asked = candidate(0, tokens=6), candidate(500)
    found = score([hello, asked, candidate(1_000, role="assistant")], TALK, 3)
    assert found.parts["person"] == [0.0, TALK.person, 0.0]


def test_a_person_far_from_every_match_is_not_preferred() -> None:
    match = candidate(0, role="assistant", bm25=10.0)
    beside, greeting = candidate(1), candidate(400)
    others = [candidate(position, role="assistant") for position in range(401, 440)]
    person = parts(score([match, beside, greeting, *others], TALK, total=42), "person")
    assert person == [0.0, TALK.person, *[0.0] * 40]


def test_what_matches_by_itself_is_related_and_a_neighbour_only_if_it_scores_well() -> None:
    match, weak = candidate(0, bm25=9.0), candidate(300, bm25=0.1)
    beside, apart = candidate(1), candidate(24, role="assistant")
    others = [candidate(position) for position in range(301, 340)]
    scored = score([match, beside, apart, weak, *others], TALK, total=43)
    assert scored.scores[2] < 0
    assert related(scored)[:4] == [True, True, False, True]


def test_a_missing_vector_is_neither_near_nor_far() -> None:
    cosines = (0.9, None, -0.9)
    candidates = [candidate(900 * at, cosine=cosine) for at, cosine in enumerate(cosines)]
    scores = score(candidates, replace(ONLY_NEAR, near=0), 3).scores
    assert scores[0] > scores[1] == 0 > scores[2]


@FEW
@given(collections())
def test_a_match_is_reached_and_a_source_without_one_is_not(candidates: list[Candidate]) -> None:
    is_reached = reached(candidates, matches(candidates))
    for one, flag in zip(candidates, is_reached, strict=True):
        assert flag or not (one.bm25 > 0 or one.in_time)
    for source in {one.source_seq for one in candidates}:
        of_source = [index for index, one in enumerate(candidates) if one.source_seq == source]
        if not any(is_reached[index] for index in of_source):
            assert all(
                candidates[index].bm25 == 0 and not candidates[index].in_time for index in of_source
            )


def test_a_long_match_reaches_its_neighbour_too() -> None:
    candidates = [candidate(0, tokens=9_000, bm25=1.0), candidate(1), candidate(2)]
    assert reached(candidates, matches(candidates)) == [True, True, True]


def distance(candidates: list[Candidate], one: int, other: int) -> float:
    """Tokens from the middle of one candidate to that of another, by the definition."""
    first, last = sorted((one, other))
    if candidates[first].source_seq != candidates[last].source_seq:
        return math.inf
    between = candidates[first + 1 : last]
    skipped = candidates[last].position - candidates[first].position - len(between) - 1
    ends = (candidates[first].tokens + candidates[last].tokens) / 2
    return ends + sum(passed.tokens for passed in between) + SKIPPED_TOKENS * skipped


@FEW
@given(collections())
def test_scores_spread_by_the_definition(candidates: list[Candidate]) -> None:
    weights = Weights(words_alone=1.0, meaning=0.0, words=1.0, speaker=0.0, person=0.0)
    scored = score(candidates, weights, len(candidates))
    if not candidates:
        return
    bm25 = [one.bm25 for one in candidates]
    own = standard(bm25, len(candidates), WORDS_SPREAD_MIN * max(bm25))
    own = [value * (0.5 if one.role == "tool" else 1.0)
           for value, one in zip(own, candidates, strict=True)]  # fmt: skip
    own = [value - min(own) for value in own]
    means, maxima = [], []
    every = range(len(candidates))
    for at in every:
        far = [0.0 if at == other else distance(candidates, at, other) for other in every]
        near = [math.exp(-tokens / weights.near_tokens) for tokens in far]
        means.append(sum(map(lambda a, b: a * b, near, own)) / sum(near))
        best = [math.exp(-tokens / weights.best_tokens) for tokens in far]
        maxima.append(max(map(lambda a, b: a * b, best, own)))
    for name, weight, values in (
        ("near", weights.near, means),
        ("best near", weights.best, maxima),
    ):
        scores = standard(values, len(values), NEAR_SPREAD_MIN)
        expected = [weight * value for value in scores]
        assert parts(scored, name) == pytest.approx(expected, abs=1e-4)


@FEW
@given(st.lists(st.floats(-100, 100), max_size=30), st.integers(0, 100))
def test_standard_scores_keep_the_order(values: list[float], total: int) -> None:
    scores = standard(values, total)
    assert len(scores) == len(values)
    for one, other in zip(range(len(values)), range(1, len(values)), strict=False):
        assert (values[one] < values[other]) >= (scores[one] < scores[other])
    if total <= len(values):
        assert sum(scores) == pytest.approx(0, abs=1e-3)


@FEW
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30), st.floats(0.01, 10))
def test_values_that_hardly_differ_have_small_standard_scores(
    values: list[float], spread_min: float
) -> None:
    scores = standard(values, len(values), spread_min)
    plain = standard(values, len(values))
    middle = sum(values) / len(values)
    for value, one, other in zip(values, scores, plain, strict=True):
        assert abs(one) <= abs(value - middle) / spread_min + 1e-6
        assert one == pytest.approx(other) or abs(one) <= max(abs(other), 1e-3)


JITTER = st.lists(st.floats(-1, 1), min_size=2, max_size=40)


@FEW
@given(JITTER, st.sampled_from(["bm25", "cosine"]), st.floats(0.0, 0.001))
def test_a_part_that_hardly_varies_adds_hardly_anything(
    jitter: list[float], field: str, size: float
) -> None:
    """All candidates match alike: what little they differ by decides nothing."""
    matches = [1 + size * value for value in jitter]
    candidates = [
        candidate(at, bm25=6.0 * match) if field == "bm25" else candidate(at, cosine=0.4 * match)
        for at, match in enumerate(matches)
    ]
    scores = score(candidates, TALK, len(candidates)).scores
    assert max(scores) - min(scores) < 0.5


@FEW
@given(JITTER, st.floats(1, 100))
def test_the_same_small_differences_times_any_factor_keep_the_best_candidate(
    jitter: list[float], factor: float
) -> None:
    """Only one candidate is from the time that the query mentions; nearly equal matches do not
    outweigh that, however they differ."""
    marked = len(jitter) // 2
    for size in (1e-5, 1e-5 * factor):
        candidates = [candidate(at, bm25=6.0 * (1 + size * value), in_time=at == marked)
                      for at, value in enumerate(jitter)]  # fmt: skip
        scores = score(candidates, TALK, len(candidates)).scores
        assert scores.index(max(scores)) == marked


@FEW
@given(JITTER, st.floats(-50, 50), st.floats(0.0, 2.0))
def test_a_constant_added_to_a_part_of_the_score_changes_nothing(
    values: list[float], constant: float, spread_min: float
) -> None:
    moved = [value + constant for value in values]
    scores = standard(values, len(values), spread_min)
    assert standard(moved, len(values), spread_min) == pytest.approx(scores, abs=1e-4)


@FEW
@given(JITTER, st.floats(-0.5, 0.5))
def test_a_constant_added_to_all_cosines_keeps_every_score(
    jitter: list[float], constant: float
) -> None:
    scores = [
        score([candidate(at, cosine=0.2 * value + more) for at, value in enumerate(jitter)],
              TALK, len(jitter)).scores
        for more in (0.0, constant)
    ]  # fmt: skip
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)


@FEW
@given(JITTER, st.lists(st.integers(0, 20), min_size=2, max_size=40))
def test_a_part_that_hardly_varies_hardly_changes_the_order(
    jitter: list[float], bm25: list[int]
) -> None:
    """Whoever is ahead by their words stays so, whatever small differences their vectors have."""
    candidates = [candidate(900 * at, bm25=float(value)) for at, value in enumerate(bm25)]
    with_vectors = [
        one._replace(cosine=0.4 + 1e-4 * jitter[at % len(jitter)])
        for at, one in enumerate(candidates)
    ]
    weights = replace(ONLY_NEAR, near=0, words_alone=ONLY_NEAR.words)
    before = score(candidates, weights, len(bm25)).scores
    after = score(with_vectors, weights, len(bm25)).scores
    for one in range(len(bm25)):
        for other in range(len(bm25)):
            if before[one] > before[other] + 0.05:
                assert after[one] > after[other]


@pytest.mark.parametrize("count", [6, 20, 54])
def test_the_edges_of_a_source_are_hardly_favoured(count: int) -> None:
    """People and an assistant take turns, and all that people say matches alike."""
    candidates = [
        candidate(at, bm25=0.0 if at % 2 else 6.0, role="assistant" if at % 2 else "user")
        for at in range(count)
    ]
    near = parts(score(candidates, fitting(0.0, assisted=True), count), "near")
    assert max(near[::2]) - min(near[::2]) < 0.75


@pytest.mark.parametrize("total", [6, 20, 54, 300])
def test_the_first_message_does_not_win_for_standing_first(total: int) -> None:
    """People and an assistant take turns, and all that people say matches alike."""
    candidates = [
        candidate(at, bm25=0.0 if at % 2 else 6.0, role="assistant" if at % 2 else "user",
                  in_time=at >= total - 2)
        for at in range(total)
    ]  # fmt: skip
    scored = score(candidates, fitting(0.0, assisted=True), total)
    assert max(range(total), key=scored.scores.__getitem__) == total - 2
    of_people = parts(scored, "near")[::2]
    assert max(of_people) - min(of_people) < 0.75


def test_fragments_make_a_meeting() -> None:
    talk = [candidate(position, tokens=60) for position in range(10)]
    meeting = [candidate(position, tokens=5) for position in range(10)]
    assert fitting(fragments(talk)) == TALK
    assert fitting(fragments(meeting)) == MEETING
    assert fragments([]) == 0
    cut = [candidate(0, tokens=5, is_whole=False, start=start) for start in range(4)]
    assert fragments([*cut, *talk]) == 0


def test_an_unknown_weight_cannot_be_changed() -> None:
    assert TALK.changed({"near": 7.0}).near == 7.0
    with pytest.raises(UsageError, match=r"no weight 'nearly'.*near_tokens"):
        TALK.changed({"nearly": 1.0})
