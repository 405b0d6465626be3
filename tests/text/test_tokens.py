"""Tokens are those of cl100k, counted without a network and in linear time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treemem
from treemem.text import tokens
from treemem.text.tokens import BLOCK_CHARS, count_by_lines, count_many, count_tokens, cut

UNHURRIED = settings(deadline=None, max_examples=60)
ANY_TEXT = st.text(st.characters() | st.sampled_from(" \n.aé使😀"), max_size=200)
SECONDS_MAX = 3.0


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
        ("<|endoftext|>", 7),
    ],
)
def test_the_count_is_that_of_cl100k(text: str, count: int) -> None:
    assert count_tokens(text) == count


@pytest.fixture(scope="module")
def other() -> Any:
    """cl100k in the package that brings the vocabulary, which is written independently."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import bpe_openai  # type: ignore[import-untyped]

        return bpe_openai.get_encoding("cl100k_base")


@UNHURRIED
@given(text=ANY_TEXT.map(lambda text: text.encode("utf-8", "replace").decode()))
def test_another_implementation_of_cl100k_counts_the_same(other: Any, text: str) -> None:
    assert count_tokens(text) == len(other.encode_ordinary(text))


LINES = st.lists(
    st.sampled_from(["\n", "\n\n", "\r\n", " ", "\t", "\x0b", "\x1c", "\u2028", "\u3000", "'s",
                     "it", " it", ".", "?!", "12345", "使用", "😀", "—"]),
    max_size=60,
).map("".join)  # fmt: skip


@UNHURRIED
@given(text=LINES | ANY_TEXT)
def test_line_by_line_the_count_is_the_same(text: str) -> None:
    assert count_by_lines(text) == count_tokens(text)


def test_line_by_line_the_count_is_the_same_over_several_blocks() -> None:
    text = "".join(f"{number}: a line of some words\n{' ' * (number % 3)}" for number in range(950))
    assert len(text) > 3 * BLOCK_CHARS
    assert count_by_lines(text) == count_tokens(text)
    assert count_by_lines(text[1:]) == count_tokens(text[1:])


def test_counting_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_network)
    monkeypatch.setattr(socket, "create_connection", no_network)
    tokens._encoding.cache_clear()
    assert count_tokens("hello world") == 2


@pytest.mark.parametrize("char", [" ", "a", "\n", "😀", "\ud800"], ids=ascii)
def test_a_million_equal_characters_are_counted_in_seconds(char: str) -> None:
    began = time.process_time()
    assert count_tokens(char * 1_000_000) > 0
    assert time.process_time() - began < SECONDS_MAX


@pytest.mark.parametrize(("char", "length"), [(" ", 1_000_000), ("😀", 200_000)], ids=ascii)
def test_endless_repetitions_are_cut_in_seconds(char: str, length: int) -> None:
    began = time.process_time()
    stretches = cut(char * length, 3_000)
    assert time.process_time() - began < SECONDS_MAX
    assert stretches[-1][0] == length
    assert all(count <= 3_000 for _, count in stretches)


def test_lone_surrogates_are_counted() -> None:
    assert count_tokens("\ud800") > 0
    assert count_tokens("before \udfff after") == count_tokens("before \ufffd after")


@UNHURRIED
@given(ANY_TEXT)
def test_any_text_has_at_most_a_token_a_byte(text: str) -> None:
    assert 0 <= count_tokens(text) <= len(text.encode("utf-8", "surrogatepass"))
    assert (count_tokens(text) == 0) == (text == "")


def test_counting_in_blocks_adds_few_tokens() -> None:
    text = "The export of module 17 ran at 02:15 and wrote /var/out/17.csv.\n" * 2_000
    exact = len(tokens._encoding().encode_ordinary(text))
    blocks = len(text) // BLOCK_CHARS + 1
    assert exact <= count_tokens(text) <= exact + 2 * blocks


@pytest.fixture(scope="module")
def here() -> tokens._Counter:
    """Counts any number of characters without tiktoken."""
    counter = tokens._Counter()
    counter._left = 1 << 60
    return counter


def by_tiktoken(text: str) -> int:
    return len(tokens._encoding().encode_ordinary(text))


_LIKELY = st.text(
    st.sampled_from("aeSt'sLl1٣½é中ſ́ \n\r\t\xa0\u2028\x1c.,=-_–😀\u200d\ue000"), max_size=40
)


@UNHURRIED
@given(text=st.one_of(ANY_TEXT, _LIKELY))
def test_a_text_counted_without_tiktoken_has_the_same_tokens(
    here: tokens._Counter, text: str
) -> None:
    assert here.count(text) in (None, by_tiktoken(text))


def test_every_kind_of_character_is_counted_without_tiktoken(here: tokens._Counter) -> None:
    counted = 0
    for code in (*range(0x3400), *range(0x3400, sys.maxunicode, 97)):
        char = chr(code)
        text = f"x{char}y {char} {char}{char}\n'{char}1{char}"
        found = here.count(text)
        assert found in (None, by_tiktoken(text)), hex(code)
        counted += found is not None
    assert counted > 10_000


def test_logs_are_counted_without_tiktoken(here: tokens._Counter) -> None:
    demo = Path(treemem.__file__).parent / "demo" / "session.jsonl"
    for line in demo.read_text().splitlines():
        block = line[:BLOCK_CHARS]
        assert here.count(block) in (None, by_tiktoken(block))


def test_the_first_texts_of_a_process_do_not_load_tiktoken() -> None:
    program = """
import sys
from treemem.text import tokens
text = "We ship on Friday – for Zoë's team.\\n"
assert tokens.count_tokens(text) == 11, tokens.count_tokens(text)
assert "tiktoken" not in sys.modules
for _ in range(tokens.COUNTED_HERE_MAX // len(text) + 1):
    assert tokens.count_tokens(text) == 11
assert "tiktoken" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_long_word_is_counted_by_tiktoken(here: tokens._Counter) -> None:
    assert here.count("x" * 1_000) is None


def test_many_texts_are_counted_like_each_one() -> None:
    texts = [f"{'word ' * (n % 7)}{n}" for n in range(200)]
    assert count_many(texts) == [count_tokens(text) for text in texts]
    assert count_many(texts[:3]) == [count_tokens(text) for text in texts[:3]]
    assert count_many([]) == []


# -- cutting ---------------------------------------------------------------------------


@UNHURRIED
@given(st.lists(ANY_TEXT, max_size=4).map("".join), st.integers(1, 40))
def test_stretches_join_to_the_text_and_fit_the_limit(text: str, limit: int) -> None:
    start = 0
    stretches = cut(text, limit)
    for end, count in stretches:
        assert end > start or text == ""
        assert count == count_tokens(text[start:end])
        assert count <= limit or end - start == 1
        start = end
    assert start == len(text)


def test_an_empty_text_is_one_empty_stretch() -> None:
    assert cut("", 10) == [(0, 0)]


def test_a_text_that_fits_is_one_stretch() -> None:
    assert cut("one two three", 10) == [(13, 3)]


def test_a_cut_falls_on_a_blank_line_before_a_lines_end_before_a_space() -> None:
    words = "one two three four five six seven eight nine ten"
    assert cut(f"{words}\n\n{words}", 14)[0][0] == len(words) + 2
    assert cut(f"{words}\n{words}", 14)[0][0] == len(words) + 1
    end, _ = cut(f"{words} {words}", 14)[0]
    assert f"{words} {words}"[end - 1] == " "


def test_the_same_text_is_always_cut_in_the_same_places() -> None:
    text = "A sentence that is said. Another one follows it!\n" * 400
    assert cut(text, 300) == cut(text, 300)


FORKED = """
import os, sys, time
from treemem.text.tokens import count_many
texts = [f"text {number}" for number in range(500)]
expected = count_many(texts)
child = os.fork()
if child == 0:
    os._exit(0 if count_many(texts) == expected else 1)
for _ in range(600):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        sys.exit(status)
    time.sleep(0.05)
os.kill(child, 9)
sys.exit("the child waits for a thread that it has not")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_counts_too() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
