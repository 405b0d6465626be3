"""What was said is found again in any script, and no query is ever syntax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.database import driver
from treemem.search_text import QUERY_TERMS_MAX, fold, match_expression, terms

UNHURRIED = settings(deadline=None, max_examples=60)


@pytest.fixture(scope="module")
def index() -> Iterator[Any]:
    connection = driver.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE found USING fts5(text, tokenize='porter unicode61')")
    yield connection
    connection.close()


def finds(index: Any, said: str, query: str, *, every: bool = True) -> bool:
    """Whether a query for a text's words meets what full text sees of another."""
    index.execute("DELETE FROM found")
    index.execute("INSERT INTO found VALUES (?)", (fold(said) or said,))
    sql = "SELECT count(*) FROM found WHERE found MATCH ?"
    found = index.execute(sql, (match_expression(terms(query), every=every),))
    return bool(found.fetchone()[0])


@pytest.mark.parametrize("text", ["", "plain words", "Straße, naïve", "Привет мир", "a\nb\0c"])
def test_a_text_with_spaces_between_its_words_is_left_as_it_is(text: str) -> None:
    assert fold(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("使用缓存", "使用 用缓 缓存"),
        ("猫", "猫"),
        ("on 東京 today", "on 東京 today"),
        ("สวัสดี", "สว วั ัส สด ดี"),
        ("한국어", "한국 국어"),
        ("\U00020000\U00020001\U00020002", "\U00020000\U00020001 \U00020001\U00020002"),
    ],
)
def test_a_run_without_spaces_is_indexed_in_pairs(text: str, words: str) -> None:
    assert set(words.split()) <= set((fold(text) or "").split())


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("We pinned numpy at 1.26 on Friday.", "numpy pinned"),
        ("The café in Łódź", "CAFÉ łódź"),
        ("ÜBER die Brücke", "uber brucke"),
        ("Привет, мир", "МИР"),
        ("使用缓存来加速", "缓存"),
        ("使用缓存来加速", "加速 缓存"),
        ("東京タワーへ行く", "タワー"),
        ("ฉันชอบกินข้าวผัด", "ข้าวผัด"),
        ("한국어를 공부한다", "한국어"),
        ("set max_retry_count to 5", "max_retry_count"),
        ("it's in lib/export.py:12", "lib/export.py"),
        ("call it C++", "C++"),
    ],
)
def test_what_was_said_is_found_by_its_words(index: Any, said: str, query: str) -> None:
    assert finds(index, said, query)


@pytest.mark.parametrize("char", ["使", "缓", "存"])
def test_one_character_finds_the_words_that_hold_it(index: Any, char: str) -> None:
    assert finds(index, "使用缓存", char)


def test_other_words_are_not_found(index: Any) -> None:
    assert not finds(index, "We pinned numpy at 1.26.", "pandas")
    assert not finds(index, "使用缓存", "用存")


@UNHURRIED
@given(query=st.text(st.characters() | st.sampled_from("\"*():^-+{}' "), max_size=40))
@pytest.mark.parametrize("every", [True, False])
def test_no_query_breaks_the_search(index: Any, every: bool, query: str) -> None:
    if terms(query):
        finds(index, "nothing of the kind", query, every=every)


@UNHURRIED
@given(words=st.lists(st.text('ab"*:()^ -缓', min_size=1, max_size=6), min_size=1))
def test_nothing_in_a_word_is_syntax(index: Any, words: list[str]) -> None:
    expression = match_expression(words, every=False)
    index.execute("SELECT count(*) FROM found WHERE found MATCH ?", (expression,)).fetchone()


@pytest.mark.parametrize("word", ["AND", "or", "NOT", "near", "text"])
def test_the_words_of_the_query_language_are_words(index: Any, word: str) -> None:
    assert finds(index, f"we say {word} here", word)
    assert not finds(index, "we say nothing", word)


@UNHURRIED
@given(st.text(st.characters(), max_size=60))
def test_terms_are_distinct_lower_case_and_not_empty(query: str) -> None:
    found = terms(query)
    assert len(found) == len(set(found)) <= QUERY_TERMS_MAX
    assert all(word and word == word.lower() and '"' not in word for word in found)


def test_a_query_as_long_as_a_book_has_a_bounded_number_of_terms() -> None:
    assert len(terms(" ".join(map(str, range(100_000))))) == QUERY_TERMS_MAX
