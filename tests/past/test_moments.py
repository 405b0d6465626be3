"""What had been said at a time, and which state it had, follows from how a history is now."""

from __future__ import annotations

from treemem.past.moments import Place, until

STORED_MS = 900


def history(*rows: tuple[int | None, str, str | None]) -> list[Place]:
    """Places from (time, state, identity), whose messages are numbered from 0."""
    return [Place(at, at, None, state, ms, identity)
            for at, (ms, state, identity) in enumerate(rows)]  # fmt: skip


def then(places: list[Place], until_ms: int) -> list[tuple[int, str]]:
    found = until(places, STORED_MS, until_ms)
    assert [place.position for place in found] == [*range(len(found))]
    return [(place.message_seq, place.state) for place in found]


def test_what_was_said_at_the_very_time_is_known_and_what_was_said_later_is_not() -> None:
    places = history((10, "active", None), (20, "active", None), (30, "active", None))
    assert then(places, 20) == [(0, "active"), (1, "active")]
    assert then(places, 9) == []


def test_a_message_without_a_time_was_said_with_the_one_before_it() -> None:
    places = history((10, "active", None), (None, "active", None), (30, "active", None))
    assert then(places, 10) == [(0, "active"), (1, "active")]


def test_the_first_messages_without_a_time_were_said_with_the_first_that_has_one() -> None:
    places = history((None, "active", None), (10, "active", None))
    assert then(places, 10) == [(0, "active"), (1, "active")]
    assert then(places, 9) == []


def test_a_source_without_times_was_said_when_it_was_stored() -> None:
    places = history((None, "active", None), (None, "active", None))
    assert then(places, STORED_MS - 1) == []
    assert len(then(places, STORED_MS)) == 2


def test_a_message_with_a_wrong_clock_is_known_at_its_own_time() -> None:
    places = history((10, "active", None), (99, "active", None), (30, "active", None))
    assert then(places, 30) == [(0, "active"), (2, "active")]


def test_a_branch_was_active_until_the_message_that_took_its_place_was_said() -> None:
    places = history(
        (10, "active", None), (20, "abandoned", None), (30, "abandoned", None),
        (40, "active", None),
    )  # fmt: skip
    assert then(places, 39) == [(0, "active"), (1, "active"), (2, "active")]
    assert then(places, 40)[1:] == [(1, "abandoned"), (2, "abandoned"), (3, "active")]


def test_a_branch_that_no_message_follows_was_never_the_active_one() -> None:
    places = history((10, "active", None), (20, "abandoned", None))
    assert then(places, 25) == [(0, "active"), (1, "abandoned")]


def test_the_version_that_held_then_is_where_the_first_one_was() -> None:
    moved = [
        Place(0, 0, None, "active", 10, None), Place(1, 3, None, "active", 50, "a"),
        Place(2, 2, None, "active", 30, None), Place(3, 1, None, "replaced", 20, "a"),
    ]  # fmt: skip
    sealed = history(
        (10, "active", None), (20, "replaced", "a"), (30, "active", None), (50, "active", "a")
    )
    assert then(moved, 40) == then(sealed, 40) == [(0, "active"), (1, "active"), (2, "active")]
    assert [seq for seq, state in then(moved, 50) if state == "active"] == [0, 3, 2]
    assert [seq for seq, state in then(sealed, 50) if state == "active"] == [0, 3, 2]


def test_what_left_a_document_without_a_successor_stays_replaced() -> None:
    places = history((10, "active", None), (20, "replaced", None), (30, "replaced", "a"))
    assert then(places, 40) == [(0, "active"), (1, "replaced"), (2, "replaced")]
