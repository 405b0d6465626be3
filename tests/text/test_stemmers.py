"""Stemmers: search and the checks of statements each have their own."""

from __future__ import annotations

import importlib
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.text.bm25 import stem as search_stem
from treemem.text.stemmers import Algorithm, stemmer
from treemem.verify.words import stem as statement_stem


def test_search_stems_as_porter_and_statements_as_english_snowball() -> None:
    assert search_stem("generously") == stemmer("porter")("generously") == "gener"
    assert statement_stem("generously") == stemmer("english")("generously") == "generous"


def test_a_stemmer_is_built_once() -> None:
    assert stemmer("porter") == stemmer("porter")


@pytest.mark.parametrize("algorithm", get_args(Algorithm))
def test_the_compiled_stemmers_give_the_stems_of_those_in_python(algorithm: Algorithm) -> None:
    """Ids of entries depend on stems, so a file must not depend on what is installed."""
    module = importlib.import_module(f"snowballstemmer.{algorithm}_stemmer")
    in_python = getattr(module, f"{algorithm.capitalize()}Stemmer")().stemWord
    endings = "s es ies ed ing y ational iveness biliti logi eed 's ости иями ής ать ات ون".split()
    letters = st.text("aeiouyltsé'1аиоктή ςαταول", max_size=8)

    @settings(max_examples=500, deadline=None)
    @given(
        st.one_of(
            st.text(max_size=20), st.builds("".join, st.tuples(letters, st.sampled_from(endings)))
        )
    )
    def check(word: str) -> None:
        word = word.encode(errors="replace").decode()
        assert stemmer(algorithm)(word) == in_python(word)

    check()
