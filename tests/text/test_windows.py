"""Windows contain all of a leaf once, and none is too long."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.text import windows as module
from treemem.text.windows import WINDOW_WORDS, SpanText, Window, cut_windows

WORDS = st.lists(
    st.sampled_from(["tree", "memory.", "猫が好き。", "x" * 60, "\n", "ok?", " ", "é"])
)
TEXTS = st.one_of(st.text(), WORDS.map(" ".join), WORDS.map("".join)).map(lambda text: text * 15)
SPANS = st.lists(
    st.builds(SpanText, st.sampled_from(["Ana", "user"]), st.text() | TEXTS, st.integers(0, 9)),
    min_size=1,
    max_size=5,
)


def places(spans: list[SpanText], window: Window) -> list[tuple[int, int]]:
    """What a window covers, as (span, character of the message)."""
    found = []
    for number in range(window.first_span, window.last_span + 1):
        start, end = spans[number].start, spans[number].start + len(spans[number].text)
        first = window.start if number == window.first_span else start
        last = window.end if number == window.last_span else end
        found += [(number, at) for at in range(first, last)]
    return found


@settings(max_examples=60)
@given(SPANS, st.sampled_from([0, 20, 60]))
def test_every_character_that_is_no_whitespace_is_in_exactly_one_window(
    spans: list[SpanText], merge: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "MERGE_WORDS", merge)
        cut = cut_windows(spans)
        assert cut_windows(spans) == cut
    covered = [place for window in cut for place in places(spans, window)]
    assert len(covered) == len(set(covered))
    left_out = {
        (number, span.start + at)
        for number, span in enumerate(spans)
        for at, char in enumerate(span.text)
        if not char.isspace()
    }.difference(covered)
    assert left_out == set()
    assert cut == sorted(cut, key=lambda window: (window.first_span, window.start))


@settings(max_examples=60)
@given(SPANS)
def test_a_window_has_a_limited_number_of_words_and_a_part_has_not_too_few(
    spans: list[SpanText],
) -> None:
    cut = cut_windows(spans)
    for window in cut:
        assert window.words <= WINDOW_WORDS
        assert len(window.text.split()) - 1 <= WINDOW_WORDS
    for number in range(len(spans)):
        parts = [window.words for window in cut if window.first_span == number]
        assert len(parts) < 2 or min(parts) >= WINDOW_WORDS // 2


def test_a_message_is_a_window_of_its_own_with_its_speaker() -> None:
    cut = cut_windows([SpanText("Ana", " We ship. "), SpanText("Ben", "Good.\nWhen?", 70)])
    assert [window.text for window in cut] == ["Ana: We ship.", "Ben: Good.\nWhen?"]
    assert [(window.first_span, window.start, window.end) for window in cut] == [
        (0, 1, 9),
        (1, 70, 81),
    ]


def test_a_long_message_is_cut_where_a_sentence_ends() -> None:
    cut = cut_windows([SpanText("Ana", "One two three four five six seven. " * 60)])
    assert len(cut) == 4
    assert all(window.text.endswith("seven.") for window in cut)
    assert max(window.words for window in cut) - min(window.words for window in cut) <= 7


def test_short_neighbours_can_be_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MERGE_WORDS", 4)
    spans = [SpanText("Ana", "Shall we?"), SpanText("Ben", "Yes."), SpanText("Ana", "Good then.")]
    assert [window.text for window in cut_windows(spans)] == ["Ana: Shall we?\nBen: Yes.",
                                                          "Ana: Good then."]  # fmt: skip


def test_a_leaf_of_whitespace_is_one_window() -> None:
    assert cut_windows([SpanText("Ana", " \n", 4), SpanText("Ben", "")]) == [
        Window(0, 4, 1, 0, 0, "Ana:")
    ]
    assert cut_windows([]) == []


@pytest.mark.parametrize("text", ["x" * 1_000_000, "猫" * 500_000, "a " * 250_000])
def test_a_megabyte_without_a_place_to_cut_is_quick(text: str) -> None:
    began = time.process_time()
    cut = cut_windows([SpanText("log", text)])
    assert len(cut) > 100
    assert time.process_time() - began < 4
