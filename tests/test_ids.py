"""Ids are content addresses: equal for equal content, different for anything else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem import ids
from treemem.types import Message, Span

UNHURRIED = settings(deadline=None, max_examples=60)
ANY_TEXT = st.text(st.characters(), max_size=8)
FIELDS = st.lists(st.none() | ANY_TEXT, max_size=6)
SAID = Message(role="user", text="We ship on Friday.", author="Ana")
AT = "2026-01-05T09:00:00+01:00"


def plain(message: Message, source_id: str, sent_at: str | None = None, occurrence: int = 0) -> str:
    return ids.message_id(message, source_id, sent_at, occurrence)


# -- the hash --------------------------------------------------------------------------


@UNHURRIED
@given(FIELDS, FIELDS)
def test_no_two_different_field_lists_collide(
    one: list[str | None], other: list[str | None]
) -> None:
    assert (ids._digest(b"test", one) == ids._digest(b"test", other)) == (one == other)


@UNHURRIED
@given(ANY_TEXT, st.sets(st.integers(0, 8)), st.sets(st.integers(0, 8)))
def test_no_field_runs_into_the_next(text: str, here: set[int], there: set[int]) -> None:
    def cut(places: set[int]) -> list[str]:
        ends = [*sorted(places), len(text)]
        return [text[a:b] for a, b in zip([0, *ends], ends, strict=False)]

    one, other = cut(here), cut(there)
    assert (ids._digest(b"test", one) == ids._digest(b"test", other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([None], [""]), ([None], ["-"]), ([None], ["None"]), ([""], ["", ""]), ([], [None]),
        (["0"], [""]), (["a", None], [None, "a"]), (["1:a"], ["a"]), (["-", "a"], ["-1:a"]),
        (["\ud83d\ude00"], ["\U0001f600"]), (["\ud83d"], ["\ufffd"]), (["a\0"], ["a"]),
    ],
)  # fmt: skip
def test_field_lists_that_look_alike_differ(one: list[str | None], other: list[str | None]) -> None:
    assert ids._digest(b"test", one) != ids._digest(b"test", other)


def test_a_message_and_a_node_of_the_same_fields_differ() -> None:
    assert ids._digest(b"message", ["a"]) != ids._digest(b"node", ["a"])


def test_an_id_has_32_hexadecimal_digits() -> None:
    all_ids = [plain(SAID, "s"), ids.leaf_id([Span("m", 0, 1, 1)]), ids.group_id(1, ["a"])]
    for one in all_ids:
        assert len(one) == ids.ID_HEX_LENGTH
        assert set(one) <= set("0123456789abcdef")


def test_ids_are_the_same_in_every_release() -> None:
    """A changed hash would store every known log a second time."""
    known = replace(SAID, external_id="7", unique_id=False)
    assert plain(SAID, "chat/1") == "8506f144325640be3d4561ef5dbbf6f2"
    assert plain(SAID, "chat/1", AT, 2) == "ce9d03acf550833305dcd289083657eb"
    assert plain(known, "chat/1") == "482eeae6ee22f06c635b6768a95fb927"
    spans = [Span("m", 0, 5, 2), Span("n", 5, 9, 1)]
    assert ids.leaf_id(spans) == "0e4c33ef144918433430d2e8ba4cb94c"
    assert ids.group_id(2, ["a", "b"]) == "d7f59f0ca0f4c3c3946fd8ff9d9e8080"


# -- who a message is ------------------------------------------------------------------


def test_copies_with_a_globally_unique_id_are_one_message() -> None:
    message = replace(SAID, external_id="5c0375b4", unique_id=True)
    assert plain(message, "a") == plain(message, "b")
    assert ids.message_identity(message, "a") == ids.message_identity(message, "b")


def test_other_ids_count_within_their_source_only() -> None:
    message = replace(SAID, external_id="7")
    assert plain(message, "a") != plain(message, "b")
    assert ids.message_identity(message, "a") != ids.message_identity(message, "b")


def test_a_unique_id_is_never_mistaken_for_one_scoped_to_a_source() -> None:
    unique = replace(SAID, external_id="7", unique_id=True)
    scoped = replace(SAID, external_id="7")
    for source_id in ("", "None", "7"):
        assert plain(unique, source_id) != plain(scoped, source_id)


def test_without_an_id_a_message_has_no_identity() -> None:
    assert ids.message_identity(SAID, "a") is None


def test_without_id_but_with_a_time_copies_are_the_same_message() -> None:
    assert plain(SAID, "a", AT) == plain(SAID, "b", AT)
    assert plain(SAID, "a", AT) != plain(SAID, "a", "2026-01-05T09:00:01+01:00")


def test_without_id_and_time_a_message_belongs_to_its_source() -> None:
    assert plain(SAID, "a") != plain(SAID, "b")


def test_an_empty_id_is_an_id() -> None:
    assert ids.message_identity(replace(SAID, external_id=""), "a") is not None


def test_repetitions_are_told_apart_only_where_the_log_gave_no_id() -> None:
    known = replace(SAID, external_id="7")
    assert plain(SAID, "a", AT, 0) != plain(SAID, "a", AT, 1)
    assert plain(SAID, "a", None, 0) != plain(SAID, "a", None, 1)
    assert plain(known, "a", None, 0) == plain(known, "a", None, 1)


def test_the_time_is_no_part_of_a_message_that_has_an_id() -> None:
    known = replace(SAID, external_id="7")
    assert plain(known, "a", AT) == plain(known, "a", None)


@pytest.mark.parametrize(
    "change",
    [{"text": "We ship on Monday."}, {"role": "assistant"}, {"author": None}, {"author": "Ben"},
     {"kind": "injected"}],
)  # fmt: skip
@pytest.mark.parametrize("external_id", [None, "7"])
def test_other_words_are_another_version_of_the_same_identity(
    change: dict[str, str], external_id: str | None
) -> None:
    before = replace(SAID, external_id=external_id)
    after = replace(before, **change)  # type: ignore[arg-type]
    assert plain(before, "a") != plain(after, "a")
    assert ids.message_identity(before, "a") == ids.message_identity(after, "a")


def test_session_branch_and_tool_ids_do_not_count() -> None:
    around = replace(SAID, session="s1", active=False, tokens=9, tool_use_ids=("t",))
    assert plain(around, "a") == plain(SAID, "a")


# -- what a node is --------------------------------------------------------------------


def test_a_leafs_id_is_made_of_its_characters_messages_and_order() -> None:
    spans = [Span("m", 0, 5, 2), Span("n", 5, 9, 1)]
    different = [
        [], spans[:1], spans[::-1], [spans[0], Span("n", 5, 8, 1)], [spans[0], Span("n", 4, 9, 1)]
    ]  # fmt: skip
    leaf_ids = {ids.leaf_id(one) for one in [spans, *different]}
    assert len(leaf_ids) == 1 + len(different)


def test_the_number_of_tokens_does_not_count_for_a_leaf() -> None:
    assert ids.leaf_id([Span("m", 0, 5, 2)]) == ids.leaf_id([Span("m", 0, 5, 3)])


def test_a_groups_id_is_made_of_its_level_and_ordered_children() -> None:
    group_ids = [
        ids.group_id(1, ["a", "b"]), ids.group_id(2, ["a", "b"]), ids.group_id(1, ["b", "a"]),
        ids.group_id(1, ["a"]), ids.group_id(1, ["ab"]),
    ]  # fmt: skip
    assert len(set(group_ids)) == len(group_ids)


def test_a_leaf_never_has_the_id_of_a_group() -> None:
    assert ids.leaf_id([]) != ids.group_id(1, [])
    assert ids.leaf_id([Span("1", 2, 3, 0)]) != ids.group_id(1, ["1", "2", "3"])
