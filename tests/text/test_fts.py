"""A word is found under all forms in which it is written, and no query is syntax."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.errors import DatabaseError, DatabaseLockedError, UsageError
from treemem.store.database import driver
from treemem.text import unicode_forms
from treemem.text.fts import (
    FTS_EXAMPLE,
    QUERY_TERMS_MAX,
    TOKENIZER,
    check_fts,
    extra_words,
    match_expression,
    terms,
)

FEW = settings(deadline=None, max_examples=60)
SIGNS = [*"\"*():^-+{}' \0\ud800\u0301\u200d\ufe0f缓é🎂", "NEAR", " AND ", "text:"]
ODD = st.lists(st.characters() | st.sampled_from(SIGNS), max_size=20).map("".join)


@pytest.fixture(scope="module")
def index() -> Iterator[Any]:
    connection = driver.connect(":memory:")
    connection.execute(f'CREATE VIRTUAL TABLE found USING fts5(text, tokenize="{TOKENIZER}")')
    connection.execute("CREATE VIRTUAL TABLE word USING fts5vocab(found, 'instance')")
    yield connection
    connection.close()


def store(index: Any, said: str) -> None:
    index.execute("DELETE FROM found")
    index.execute("INSERT INTO found VALUES (?)", (f"{said}\n{extra_words(said) or ''}",))


def finds(index: Any, said: str, query: str, *, every: bool = True) -> bool:
    """Whether a query for a text's words meets what full text sees of another."""
    store(index, said)
    sql = "SELECT count(*) FROM found WHERE found MATCH ?"
    found = index.execute(sql, (match_expression(terms(query), every=every),))
    return bool(found.fetchone()[0])


# -- what is added ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "", "plain words", "naïve café", "Привет мир", "a\nb\0c", "हिन्दी में", "snake_case a/b.py",
        "NASA's APIs, IDs and an iPhone", "x += 1; i++; c = #fff", "http://a.net/c#l1",
        "toolu_01XFDUDYJgAACzvnptvVoYEL9x", "A" * 100 + "bCd", "“quoted” — and … so on",
    ],
)  # fmt: skip
def test_nothing_is_added_where_the_tokenizer_suffices(text: str) -> None:
    assert extra_words(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("使用缓存", "使用 用缓 缓存 存"),
        ("猫", "猫 猫"),
        ("on 東京 today", "東京 京"),
        ("使用Redis缓存2.3", "使用 用 Redis 缓存 存 2 3"),
        ("\U00020000\U00020001", "\U00020000\U00020001 \U00020001"),
        ("parseRetryAfter, parseHeader", "parse retry after header"),
        ("HTTPServer my_sha256Hash", "http server sha256 hash"),
        ("C++17 and C#, ASP.NET", "cpp csharp dotnet"),
        ("Ｐｙｔｈｏｎ on Straße", "python strasse"),
        ("✅ 🎂🎂", "u2705 u1f382 u1f382"),
    ],
)
def test_other_forms_of_words_are_added(text: str, words: str) -> None:
    assert extra_words(text) == words


def test_a_name_that_is_used_often_is_added_once() -> None:
    assert extra_words("getUserName(); " * 500) == "get user name"


@FEW
@given(st.text(st.characters() | st.sampled_from("aZ9缓é🎂\u0301\u200d\u0e31ß_."), max_size=40))
def test_added_words_can_be_indexed_and_are_not_empty(text: str) -> None:
    assert extra_words(text) != ""
    assert "\0" not in (extra_words(text) or "")


@pytest.mark.parametrize(
    "unit", ["a", "aB", "9", "1.", "缓", "é", "\u0301", "\u094d", "\u200d", "ß-"]
)
def test_an_endless_word_costs_linear_time(unit: str) -> None:
    text = unit * 100_000 + " 缓 fooBar"
    began = time.process_time()
    extra_words(text)
    terms(text)
    assert time.process_time() - began < 3


# -- what is found ---------------------------------------------------------------------


@FEW
@given(
    word=st.text(
        st.characters(categories=["L", "N"], max_codepoint=0x24FF)
        | st.characters(categories=["Lo"], min_codepoint=0x3040, max_codepoint=0xD7A3),
        min_size=1, max_size=8,
    ),
    form=st.sampled_from(["NFC", "NFD"]),
)  # fmt: skip
def test_a_word_is_found_as_it_was_typed_composed_or_not(index: Any, word: str, form: Any) -> None:
    if terms(word):
        assert finds(index, f"so {word} it is", unicodedata.normalize(form, word))


def test_a_letter_that_is_not_needy_is_folded_by_the_tokenizer(index: Any) -> None:
    """Any other would be found by some of its forms only."""
    index.execute("DELETE FROM found")
    plain = [c for c in map(chr, range(0x80, 0xD800)) if c.isalnum() and not unicode_forms.needy(c)]
    rows = [(f"{char}x", unfolded(char) + "x") for char in plain]
    index.executemany("INSERT INTO found VALUES (?)", [(found,) for row in rows for found in row])
    seen = [term for (term,) in index.execute("SELECT term FROM word ORDER BY doc, offset")]
    assert len(seen) == 2 * len(plain) > 5_000
    unlike = [
        c for c, is_, wanted in zip(plain, seen[::2], seen[1::2], strict=True) if is_ != wanted
    ]
    assert unlike == ["\u2d6f"]


def unfolded(char: str) -> str:
    """What a needy letter would become, whether it is one or not."""
    return unicode_forms.plain_form(f"{char}\u2060")


@pytest.mark.parametrize("char", ["使", "缓", "存"])
def test_one_character_finds_the_words_that_contain_it(index: Any, char: str) -> None:
    assert finds(index, "使用缓存", char)


def test_a_mark_without_a_letter_is_no_word(index: Any) -> None:
    store(index, "done ✔\ufe0f")
    assert [row[0] for row in index.execute("SELECT term FROM word")] == ["done", "u2714"]


# -- queries ---------------------------------------------------------------------------


@FEW
@given(query=ODD)
@pytest.mark.parametrize("every", [True, False])
def test_no_query_breaks_the_search(index: Any, every: bool, query: str) -> None:
    finds(index, "nothing of the kind", query, every=every)


@FEW
@given(words=st.lists(ODD))
def test_nothing_in_a_word_is_syntax(index: Any, words: list[str]) -> None:
    store(index, "zebra")
    expression = match_expression(words, every=False)
    sql = "SELECT count(*) FROM found WHERE found MATCH ?"
    assert index.execute(sql, (expression,)).fetchone()[0] == 0


@pytest.mark.parametrize("word", ["AND", "or", "NOT", "near", "text"])
def test_the_words_of_the_query_language_are_words(index: Any, word: str) -> None:
    assert finds(index, f"we say {word} here", word)
    assert not finds(index, "we say nothing", word)


@pytest.mark.parametrize("query", ["zebr*", "^zebra OR lion", "text:lion", "lion -zebra", "(lion)"])
def test_signs_in_a_query_mean_nothing(index: Any, query: str) -> None:
    assert not finds(index, "zebra", query)


@FEW
@given(st.text(st.characters(), max_size=60))
def test_terms_are_distinct_and_in_lower_case_but_for_names(query: str) -> None:
    found = terms(query)
    assert len(found) == len(set(found)) <= QUERY_TERMS_MAX
    assert all(word and '"' not in word for word in found)
    assert all(word == word.lower() or extra_words(word) for word in found)


def test_a_query_as_long_as_a_book_has_a_bounded_number_of_terms() -> None:
    assert len(terms(" ".join(map(str, range(100_000))))) == QUERY_TERMS_MAX
    assert terms("more " * 2_000_000) == ["more"]


def test_no_words_find_nothing(index: Any) -> None:
    assert not finds(index, "zebra", "?!")


# -- expressions asked for -------------------------------------------------------------


def run_on(index: Any) -> Any:
    def run(expression: str) -> None:
        try:
            index.execute(
                "SELECT 1 FROM found WHERE found MATCH ? LIMIT 1", (expression,)
            ).fetchall()
        except driver.Error as error:
            raise DatabaseError(f"/some/path: {error}") from error

    return run


@pytest.mark.parametrize("expression", [FTS_EXAMPLE, "a", '"a b" + c', "^a", "NEAR(a b, 5)", "te*"])
def test_an_expression_is_passed_as_it_is(index: Any, expression: str) -> None:
    assert check_fts(expression, run_on(index)) == expression


@pytest.mark.parametrize(
    "expression",
    ["", " ", '"', "a AND", "NEAR(", "*", "*reads", " *id", "col:x", "C++", "it's", "a - b", "a\0b",
     "\ud800", "NEAR(a b, x)", "(" * 300, "NOT a"],
)  # fmt: skip
def test_a_refused_expression_is_shown_with_an_example(index: Any, expression: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_fts(expression, run_on(index))
    assert repr(expression) in str(refused.value)
    assert FTS_EXAMPLE in str(refused.value)
    assert "/some/path" not in str(refused.value)


def test_other_faults_of_the_database_are_raised_unchanged() -> None:
    def locked(_: str) -> None:
        raise DatabaseLockedError("fts5: locked")

    def broken(_: str) -> None:
        raise DatabaseError("/some/path: interrupted")

    with pytest.raises(DatabaseLockedError):
        check_fts("a", locked)
    with pytest.raises(DatabaseError, match="interrupted"):
        check_fts("a", broken)


def test_a_letter_that_decomposes_into_a_word_and_a_mark_is_found_both_ways(index: Any) -> None:
    for form in ("NFC", "NFD"):
        assert finds(index, "so \u1b06 it is", unicodedata.normalize(form, "\u1b06"))
