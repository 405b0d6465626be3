"""Histories are united to the same, whoever merges whom, and each keeps its own order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from treemem.backups.merging.histories import Place, live, united


def place(name: str, at: int | None = None, state: str = "active") -> Place:
    return Place(name, at, None, state)


@st.composite
def three_histories(draw: st.DrawFn) -> list[list[Place]]:
    """Three machines that begin with the same messages and go on with others, which some share.
    Times are missing, equal, or go back."""
    times = st.none() | st.integers(0, 5)
    states = st.sampled_from(("active", "active", "abandoned", "replaced"))
    names = iter("abcdefghijklmnopqrstuvwxyz")
    shuffled = draw(st.permutations(range(26)))
    base = [
        place(f"{shuffled[i]:02}{next(names)}", draw(times)) for i in range(draw(st.integers(0, 4)))
    ]
    histories = []
    at = len(base)
    for _ in range(3):
        own = []
        for _ in range(draw(st.integers(0, 6))):
            own.append(place(f"{shuffled[at]:02}{next(names)}", draw(times), draw(states)))
            at += 1
        histories.append(base + own)
    return histories


@given(three_histories())
def test_any_order_of_merges_gives_the_same_history(given_: list[list[Place]]) -> None:
    results = []
    for one, two, three in permutations(given_):
        results.append(united(united(one, two), three))
        results.append(united(one, united(two, three)))
    assert all(live(result) == live(results[0]) for result in results)
    assert all(set(result) == set(results[0]) for result in results)


@given(three_histories())
def test_each_history_keeps_its_order_and_all_its_messages(given_: list[list[Place]]) -> None:
    one, two, _ = given_
    both = [name for name, _ in live(united(one, two))]
    for history in (one, two):
        own = [name for name, _ in live(history) if name in both]
        assert [name for name in both if name in dict(live(history))] == own
    assert {p.message_id for p in united(one, two)} == {p.message_id for p in (*one, *two)}


@given(three_histories())
def test_a_history_united_with_itself_or_its_beginning_is_as_it_was(
    given_: list[list[Place]],
) -> None:
    for history in given_:
        assert live(united(history, history)) == live(history)
        assert live(united(history, history[:2])) == live(history)
        assert live(united(history[:2], history)) == live(history)


def names(history: Sequence[Place]) -> str:
    return "".join(p.message_id for p in history if p.state == "active")


def test_messages_are_interleaved_by_time_and_stay_with_those_before_them() -> None:
    ours = [place("p", 1), place("b", 3), place("z"), place("y"), place("d", 5)]
    theirs = [place("p", 1), place("a", 2), place("x"), place("c", 4)]
    assert names(united(ours, theirs)) == "paxbzycd"


def test_what_one_of_both_has_abandoned_is_abandoned() -> None:
    ours = [place("a", 1), place("b", 2)]
    theirs = [place("a", 1), place("b", 2, "abandoned")]
    assert live(united(ours, theirs)) == [("a", "active"), ("b", "abandoned")]


def test_of_two_new_versions_of_a_message_the_latest_holds() -> None:
    first = Place("a1", 1, "a", "replaced")
    ours = [Place("a2", 1, "a", "active"), first]
    theirs = [Place("a3", 1, "a", "active"), first]
    assert names(united(ours, theirs)) == names(united(theirs, ours)) == "a3"


def test_of_versions_that_each_has_replaced_by_the_other_the_latest_holds() -> None:
    ours = [Place("a1", 1, "a", "active"), Place("a2", 1, "a", "replaced")]
    theirs = [Place("a2", 1, "a", "active"), Place("a1", 1, "a", "replaced")]
    assert names(united(ours, theirs)) == names(united(theirs, ours)) == "a2"
