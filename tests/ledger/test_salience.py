"""Tests treemem.ledger.salience."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treemem.ledger.salience import Features, parts, recency, total
from treemem.types import ENTRY_KINDS, ENTRY_STATES, ORIGINS

PLAIN = Features("constraint", "holds", "assistant", "Ask before you open the gate.", 0.5)
FEATURES = st.builds(
    Features,
    st.sampled_from(ENTRY_KINDS),
    st.sampled_from(ENTRY_STATES),
    st.sampled_from(ORIGINS),
    st.text(max_size=80),
    st.floats(0, 9),
    st.integers(1, 99),
    st.integers(1, 99),
    st.integers(0, 9),
    st.booleans(),
)


def test_what_is_said_more_often_typed_for_good_or_taken_up_again_matters_more() -> None:
    for better in (
        PLAIN._replace(leaves=2),
        PLAIN._replace(mentions=3),
        PLAIN._replace(origin="typed"),
        PLAIN._replace(is_lasting=True),
        PLAIN._replace(returns=2),
        PLAIN._replace(importance=1.0),
    ):
        assert total(better) > total(PLAIN)


def test_what_goes_on_with_another_sentence_matters_less() -> None:
    assert total(PLAIN._replace(text="And ask before you open the gate.")) < total(PLAIN)


def test_an_open_point_matters_more_while_it_is_open() -> None:
    point = PLAIN._replace(kind="open")
    assert total(point) > total(point._replace(state="closed"))


@given(FEATURES)
def test_the_salience_is_the_sum_of_its_reasons(entry: Features) -> None:
    assert abs(total(entry) - sum(weight for _, weight in parts(entry))) < 0.01


@given(st.integers(1, 500))
def test_later_is_more_recent(count: int) -> None:
    values = [recency(at, count) for at in range(count)]
    assert values == sorted(values)
