"""Tests treemem.summarize.choosing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treemem.summarize.base import KIND_ORDER
from treemem.summarize.choosing import (
    KIND_MAX,
    MAIN_WORDS,
    Offered,
    choose,
    is_worth_showing,
    main_words,
    spread,
    telling_words,
    without_repetitions,
)
from treemem.types import STATEMENT_KINDS

OFFERED = st.lists(
    st.builds(
        Offered,
        st.just("said"),
        st.sampled_from(STATEMENT_KINDS),
        st.integers(1, 80),
        st.floats(0, 9),
        st.integers(0, 8),
        st.integers(0, 99),
    ),
    max_size=60,
)


def test_a_poor_gist_or_fact_is_not_worth_showing_and_a_rule_always_is() -> None:
    poor = "and so , um , it"
    assert not is_worth_showing("gist", poor, "person", "Ida", frozenset())
    assert not is_worth_showing("fact", poor, "person", "Ida", frozenset())
    assert is_worth_showing("constraint", poor, "typed", "user", frozenset())
    good = "The harbour office in Turku moved its 40 cranes to the north quay in March."
    assert is_worth_showing("gist", good, "person", "Ida", telling_words(good))
    assert is_worth_showing("fact", good, "person", "Ida", frozenset())


@given(st.lists(st.frozensets(st.text("abc", min_size=1, max_size=2)), max_size=30))
def test_main_words_are_the_most_shared(sentences: list[frozenset[str]]) -> None:
    main = main_words(sentences, ["a b"])
    counts = {word: sum(word in words for words in sentences) for word in set().union(*sentences)}
    assert len(main) <= MAIN_WORDS
    assert not main & {"a", "b"}
    others = {w for w in counts if w not in main and w not in ("a", "b")}
    assert all(counts[word] > 1 for word in main)
    if len(main) < MAIN_WORDS:
        assert all(counts[word] == 1 for word in others)
    else:
        assert max((counts[w] for w in others), default=0) <= min(counts[w] for w in main)


@given(OFFERED, st.integers(1, 900))
def test_a_choice_fits_its_ceiling_in_order_of_kinds(
    offered: list[Offered[str]], ceiling: int
) -> None:
    chosen = choose(offered, ceiling)
    assert sum(one.tokens for one in chosen) <= ceiling
    order = [KIND_ORDER[one.kind] for one in chosen]
    assert order == sorted(order)
    for kind in set(STATEMENT_KINDS) - {"gist"}:
        assert sum(one.kind == kind for one in chosen) <= KIND_MAX
    if any(one.tokens <= ceiling for one in offered):
        assert chosen


def test_every_part_has_its_best_before_another_has_two() -> None:
    offered = [Offered(f"{part}{n}", "gist", 10, n, part, 10 * part + n)
               for part in range(3) for n in range(2)]  # fmt: skip
    assert [one.item for one in spread(offered, 30)] == ["01", "11", "21"]
    assert len(spread(offered, 50)) == 5


def test_what_matters_more_is_chosen_first() -> None:
    rules = [Offered(n, "constraint", 20, float(n), n, n) for n in range(9)]
    assert {one.item for one in choose(rules, 70)} == {6, 7, 8}


def test_what_repeats_a_weightier_statement_of_its_kind_is_left_out() -> None:
    said = [
        ("fact", "The kiln of the pottery in Kranj burns at 1,240 degrees."),
        ("fact", "The pottery's kiln in Kranj burns hotter than ours."),
        ("decision", "The pottery in Kranj keeps its old kiln."),
        ("fact", "The ferry to Krk leaves from the northern pier."),
    ]
    offered = [
        Offered(text, kind, 10, 4 - place, place, place)  # type: ignore[arg-type]
        for place, (kind, text) in enumerate(said)
    ]
    kept = without_repetitions(offered[::-1], str)
    assert [one.place for one in kept] == [0, 2, 3]


def test_scraps_of_talk_are_shown_as_no_decision_but_what_the_user_types_is() -> None:
    scrap, clear = "I chose this one because it's bright.", "We decided to sell the old van in May."
    for text, origin, is_shown in (
        (scrap, "person", False), (clear, "person", True), (scrap, "typed", True),
    ):  # fmt: skip
        assert is_worth_showing("decision", text, origin, "Ida", frozenset()) is is_shown  # type: ignore[arg-type]
