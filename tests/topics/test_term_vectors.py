"""Profiles of leaves: limited in size and time, without times and places."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.topics import term_vectors

UNHURRIED = settings(deadline=None, max_examples=15)


def test_a_profile_has_words_names_and_files_but_no_times_and_places() -> None:
    terms = term_vectors.profile(
        ["On Monday the invoices for Graz failed in billing/export.py, see loadRows above."], []
    )
    assert {"invoic", "graz", "export.py", "loadrows"} <= terms.keys()
    assert terms["graz"] > terms["invoic"]
    assert not {"monday", "above", "the"} & terms.keys()


@UNHURRIED
@given(st.lists(st.text(max_size=200), max_size=4))
def test_any_text_has_a_profile_of_limited_size(texts: list[str]) -> None:
    terms = term_vectors.profile(texts, texts)
    assert len(terms) <= term_vectors.TERMS_MAX
    assert all(weight > 0 and len(term) <= 60 for term, weight in terms.items())


def test_long_strings_without_spaces_do_not_slow_a_profile_down() -> None:
    blob = "".join(random.Random(1).choices("abcDEF0123456789_./-", k=20_000))
    assert term_vectors.profile([blob, blob.replace("/", "x"), "a" * 20_000], []) is not None
