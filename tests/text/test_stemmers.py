"""Stemmers: search and the checks of statements each have their own."""

from __future__ import annotations

from treemem.text.bm25 import stem as search_stem
from treemem.text.stemmers import stemmer
from treemem.verify.words import stem as statement_stem


def test_search_stems_as_porter_and_statements_as_english_snowball() -> None:
    assert search_stem("generously") == stemmer("porter")("generously") == "gener"
    assert statement_stem("generously") == stemmer("english")("generously") == "generous"


def test_a_stemmer_is_built_once() -> None:
    assert stemmer("porter") == stemmer("porter")
