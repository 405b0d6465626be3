"""A cached function returns the result of its own text, and stays within its bytes."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.text import cache
from treemem.text.cache import ENTRY_BYTES, cached

FEW = settings(max_examples=25)
SIZE = sys.getsizeof("word 1") + sys.getsizeof(("word 1",)) + ENTRY_BYTES


class Counted:
    """A cached function of a text, and the texts that it was really called with."""

    def __init__(self, entries: int) -> None:
        self.calls: list[str] = []
        self.result = cached(entries * SIZE)(self._result)

    def _result(self, text: str) -> tuple[str]:
        self.calls.append(text)
        return (text,)


@FEW
@given(st.lists(st.sampled_from([f"word {number}" for number in range(10)]), max_size=60))
def test_a_result_is_always_that_of_its_text(texts: list[str]) -> None:
    counted = Counted(10)
    assert [counted.result(text) for text in texts] == [(text,) for text in texts]
    assert len(counted.calls) == len(set(texts))


def test_the_least_recently_used_result_is_dropped_first() -> None:
    counted = Counted(10)
    for number in (*range(10), 0, 10, 0, 1):
        counted.result(f"word {number % 10}" if number < 10 else "word X")
    assert counted.calls == [*(f"word {number}" for number in range(10)), "word X", "word 1"]


def test_a_result_that_takes_most_of_the_bytes_is_not_cached() -> None:
    counted = Counted(10)
    counted.result("word 1")
    for _ in range(2):
        counted.result("long " * 10 * SIZE)
    counted.result("word 1")
    assert [call[:4] for call in counted.calls] == ["word", "long", "long"]


def test_several_threads_keep_within_the_bytes() -> None:
    counted = Counted(10)
    texts = [f"word {number % 7}" for number in range(4_000)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(counted.result, texts)) == [(text,) for text in texts]
    before = len(counted.calls)
    assert [counted.result(text) for text in texts[:7]] == [(text,) for text in texts[:7]]
    assert len(counted.calls) == before


def test_a_dictionary_in_a_result_counts() -> None:
    calls = []

    @cached(50_000)
    def counts(text: str) -> tuple[dict[str, int], int]:
        calls.append(text)
        return {f"{text} {number}": 1 for number in range(500)}, 500

    assert counts("word") == counts("word")
    assert calls == ["word", "word"]


def test_what_is_given_is_taken_once_and_the_rest_is_computed() -> None:
    computed = []

    @cache.remembered(10)
    def doubled_for_this_test(number: int) -> int:
        computed.append(number)
        return 2 * number

    cache.give({"doubled_for_this_test": {(1,): 2, (2,): 4}})
    assert [doubled_for_this_test(number) for number in (1, 1, 2, 3)] == [2, 2, 4, 6]
    assert computed == [3]
    assert cache._GIVEN["doubled_for_this_test"] == {}


def test_what_nobody_asks_for_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "GIVEN_MAX", 10)

    @cache.remembered(10)
    def same_for_this_test(number: int) -> int:
        return number

    for start in range(0, 100, 5):
        cache.give({"same_for_this_test": {(start + more,): start + more for more in range(5)}})
    assert len(cache._GIVEN["same_for_this_test"]) <= 15
    assert same_for_this_test(98) == 98
