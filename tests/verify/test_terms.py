"""Tests treemem.verify.terms and treemem.verify.synonyms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.verify.synonyms import GROUPS
from treemem.verify.terms import canonical, plain, read_terms


def _numbers(text: str) -> list[str]:
    return [term.key for term in read_terms(text) if term.sort == "number"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("twenty-five of two hundred and twelve", ["25", "212"]),
        ("fifteen to thirty five year olds", ["15", "35"]),
        ("ninety one point two percent", ["91.2"]),
        ("three thousand five hundred litres", ["3500"]),
        ("on the 15th, 1,842.50 EUR for farm 0417", ["15", "1842.5", "0417"]),
        ("10k rows of 20MB", ["10000", "20"]),
        ("one of them", []),
        ("at 02:15 in 4.7.0", ["02:15", "4.7.0"]),
    ],
)
def test_numbers_are_read_however_they_are_written(text: str, numbers: list[str]) -> None:
    assert _numbers(text) == numbers


@given(st.integers(0, 999_999))
def test_a_number_equals_itself_with_separators(number: int) -> None:
    assert _numbers(f"They sent {number:,} of them") == [str(number)]


def test_months_and_days_are_read_in_short_forms_and_names_by_their_capital() -> None:
    found = {term.key: term.sort for term in read_terms("We met Nina in Graz, on a Friday in Oct.")}
    assert {key: found[key] for key in ("nina", "friday", "october")} == {
        "nina": "name", "friday": "day", "october": "month",
    }  # fmt: skip


def test_the_first_word_of_a_sentence_is_no_name() -> None:
    assert [term.sort for term in read_terms("Boats sail. Ships sink.")] == ["", "", "", ""]


def test_synonyms_share_a_key() -> None:
    assert read_terms("kids")[0].key == read_terms("children")[0].key
    assert all(GROUPS[GROUPS[word]] == GROUPS[word] for word in GROUPS)


def test_marks_of_transcription_are_left_out() -> None:
    assert plain("{vocalsound} the T_V_ is **on** .") == "the TV is on ."


@given(st.text())
def test_any_text_has_terms_in_order(text: str) -> None:
    starts = [term.start for term in read_terms(text)]
    assert starts == sorted(starts)
    assert all(canonical(term.key) for term in read_terms(text) if term.sort == "number")
