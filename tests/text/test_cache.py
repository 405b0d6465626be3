"""What was worked out of texts is kept, within its bytes, and never answers for another text."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.text.cache import ENTRY_BYTES, kept

FEW = settings(max_examples=25)
SIZE = sys.getsizeof("word 1") + sys.getsizeof(("word 1",)) + ENTRY_BYTES


class Counted:
    """A function of a text that is kept, and the texts it was really called with."""

    def __init__(self, entries: int) -> None:
        self.calls: list[str] = []
        self.found = kept(entries * SIZE)(self._found)

    def _found(self, text: str) -> tuple[str]:
        self.calls.append(text)
        return (text,)


@FEW
@given(st.lists(st.sampled_from([f"word {number}" for number in range(10)]), max_size=60))
def test_a_result_is_always_that_of_its_text(asked: list[str]) -> None:
    counted = Counted(10)
    assert [counted.found(text) for text in asked] == [(text,) for text in asked]
    assert len(counted.calls) == len(set(asked))


def test_what_was_not_asked_for_the_longest_goes_first() -> None:
    counted = Counted(10)
    for number in (*range(10), 0, 10, 0, 1):
        counted.found(f"word {number % 10}" if number < 10 else "word X")
    assert counted.calls == [*(f"word {number}" for number in range(10)), "word X", "word 1"]


def test_what_would_take_most_of_the_room_is_not_kept() -> None:
    counted = Counted(10)
    counted.found("word 1")
    for _ in range(2):
        counted.found("long " * 10 * SIZE)
    counted.found("word 1")
    assert [call[:4] for call in counted.calls] == ["word", "long", "long"]


def test_several_threads_keep_within_the_bytes() -> None:
    counted = Counted(10)
    asked = [f"word {number % 7}" for number in range(4_000)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(counted.found, asked)) == [(text,) for text in asked]
    before = len(counted.calls)
    assert [counted.found(text) for text in asked[:7]] == [(text,) for text in asked[:7]]
    assert len(counted.calls) == before


def test_a_dictionary_in_a_result_counts() -> None:
    calls = []

    @kept(50_000)
    def found(text: str) -> tuple[dict[str, int], int]:
        calls.append(text)
        return {f"{text} {number}": 1 for number in range(500)}, 500

    assert found("word") == found("word")
    assert calls == ["word", "word"]
