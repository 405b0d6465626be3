"""BM25 scores texts by the content words of a query or an FTS5 expression."""

from __future__ import annotations

import pytest

from treemem.text import bm25
from treemem.text.stop_words import FUNCTION_WORDS, STOP_WORDS


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ('"late fee" AND cents', "late fee cents"),
        ("cents OR euro* NOT draft", "cents euro"),
        ('NOT "a b" c', "c"),
        ("NEAR(late fee, 5) near", "late fee near"),
        ("text : (late) AND {text} : fee", "late text fee"),
        ('"AND" "say ""NOT"" now"', "and say not now"),
        ("and or", "and or"),
        ("", ""),
    ],
)
def test_the_words_of_an_expression_are_those_it_searches_for(expression: str, words: str) -> None:
    assert bm25.expression_words(expression) == words


def test_words_of_grammar_count_only_where_there_are_no_others() -> None:
    assert bm25.query_stems("who are you") == ["who", "ar", "you"]
    assert bm25.query_stems("who are the retailers") == ["retail"]
    texts = [bm25.stem_counts(text) for text in ("late fees", "fees", "nothing of it")]
    query = bm25.query_stems("late fees")
    found = bm25.matches(texts, query, bm25.frequencies(texts, query, 100))
    assert found.scores[0] > found.scores[1] > found.scores[2] == 0
    assert found.shares[0] == 1 > found.shares[1] > found.shares[2] == 0
    assert bm25.matches([], ["late"], bm25.frequencies([], ["late"], 5)) == ([], [])


def test_frequencies_of_two_scopes_add_up_to_those_of_both() -> None:
    texts = [bm25.stem_counts(text) for text in ("late fees", "fees", "nothing of it", "late")]
    query = bm25.query_stems("late fees")
    both = bm25.frequencies(texts, query, 9)
    assert bm25.frequencies(texts[:2], query, 5) + bm25.frequencies(texts[2:], query, 4) == both


def test_the_words_of_grammar_are_stop_words() -> None:
    assert FUNCTION_WORDS < STOP_WORDS


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("où est la clé de la maison", "clé maison"),
        ("cumpleaños de la abuela", "cumpleaños abuela"),
        ("dove sono le chiavi di casa", "chiavi casa"),
        ("waar is de sleutel van het huis", "sleutel huis"),
        ("onde está a chave da casa", "chave casa"),
        ("why did they die in the war", "die war"),
        ("when did we go to los angeles", "go los angeles"),
        ("la la land", "la la land"),
        ("wer hat die", "wer hat die"),
    ],
)
def test_function_words_are_those_of_the_querys_language(query: str, content: str) -> None:
    assert bm25.content_words(query.split()) == content.split()
