"""Places come from a table and from its index, of which one is enough."""

from __future__ import annotations

from treemem.recovery import places
from treemem.recovery.finding import Found
from treemem.recovery.places import Gap


def found(table: list[tuple[int, int, int]], index: list[tuple[int, int, int]]) -> Found:
    """Places as (source, position, message)."""
    return Found({
        "source_message": {row[:2]: (*row, "active", None, None) for row in table},
        "source_message_once": {(m, s): (m, s, p) for s, p, m in index},
    })  # fmt: skip


def placed(*of: list[tuple[int, int, int]]) -> list[tuple[int, int, int, str | None]]:
    return [(m.source_seq, m.position, m.message_seq, m.state) for m in places.members(found(*of))]


WHOLE = [(1, 0, 10), (1, 1, 11), (1, 2, 12), (2, 0, 20)]


def test_the_table_or_the_index_is_enough() -> None:
    expected = [(*row, "active") for row in WHOLE]
    assert placed(WHOLE, WHOLE) == placed(WHOLE, []) == expected
    assert placed([], WHOLE) == [(*row, None) for row in WHOLE]
    assert placed(WHOLE[:2], WHOLE[1:]) == [*expected[:2], *((*row, None) for row in WHOLE[2:])]


def test_of_two_places_that_contradict_each_other_that_beside_others_is_right() -> None:
    for wrong in ((7, 1, 11), (1, 900, 11), (2, 5, 11)):
        damaged = [WHOLE[0], wrong, *WHOLE[2:]]
        assert [row[:3] for row in placed(damaged, WHOLE)] == WHOLE, wrong
        assert [row[:3] for row in placed(WHOLE, damaged)] == WHOLE, wrong


def test_no_place_has_two_messages_and_no_source_has_a_message_twice() -> None:
    table = [(1, 0, 10), (1, 2, 10), (1, 1, 11)]
    assert [row[:3] for row in placed(table, [(1, 0, 10), (1, 1, 12)])] == [(1, 0, 10), (1, 1, 11)]


def test_the_id_of_a_source_is_that_which_a_tree_has() -> None:
    rows = {(n,): (n, name, "api", None, None, None, 0, 0, None, 0)
            for n, name in ((1, "chat/a"), (2, "chat/c"))}  # fmt: skip
    index = {("chat/a",): ("chat/a", 1), ("chat/b",): ("chat/b", 2), ("chat/d",): ("chat/d", 4)}
    trees = {(n,): (n, "source", f"chat/{name}", None, None, 0) for n, name in enumerate("abde")}
    got = places.sources(Found({"source": rows, "sqlite_autoindex_source_1": index, "tree": trees}))
    assert got.ids == {1: "chat/a", 2: "chat/b", 4: "chat/d"}
    assert got.others == ["chat/e"]
    assert set(got.rows) == {1, 2}


def test_gaps_are_stretches_of_positions() -> None:
    assert places.gaps({}) == ()
    assert places.gaps({2: True}) == (Gap(0, 1),)
    assert places.gaps({0: False, 1: True, 2: False, 4: False}) == (Gap(0, 0), Gap(2, 4))
    assert places.gaps({1: True, 3: False, 5: True}, are_sure=True) == (Gap(3, 3),)
