"""What interrupts a secret does not hide it, and offsets stay right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.secret_samples import ALNUM
from treemem.privacy.disguises import joined, span_before, without_breaks
from treemem.privacy.redactor import Redactor, markers
from treemem.types import Message, Part

redactor = Redactor(bytes(32))
BREAKS = ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\\\n", "\\\r\n", "\\\\\\n",
          "\\\n    ", "\x1b[31m", "\u200b\u200b"]  # fmt: skip
TOKEN = "ghp_" + ALNUM


@pytest.mark.parametrize("break_", BREAKS)
@pytest.mark.parametrize("at", [2, 4, 20, 39])
def test_an_interrupted_secret_has_the_marker_of_the_whole_one(break_: str, at: int) -> None:
    text = f"use {TOKEN[:at]}{break_}{TOKEN[at:]} now"
    redacted = redactor.redact_text(text)
    assert redacted == redactor.redact_text(f"use {TOKEN} now")
    assert len(markers(redacted)) == 1


@pytest.mark.parametrize("break_", BREAKS)
def test_parts_around_an_interrupted_secret_cover_the_same_words(break_: str) -> None:
    before, after = f"a{break_} one ", f" two{break_}b"
    text = f"{before}{TOKEN[:9]}{break_}{TOKEN[9:]}{after}"
    parts = (Part("text", 0, len(before)), Part("tool_use", len(text) - len(after), len(text)))
    message = redactor.redact(Message(text=text, parts=parts))
    assert [message.text[part.start : part.end] for part in message.parts] == [before, after]


def test_lines_that_continue_between_words_are_left() -> None:
    text = "docker run \\\n  -e A=1 \\\n  image\n#define X \\\n  1"
    assert joined(text) is None
    assert redactor.redact_text(text) is text


@given(st.lists(st.sampled_from([*BREAKS, "ab", "c", " ", "\n", "\\"]), max_size=30).map("".join))
def test_every_range_of_the_joined_text_is_mapped_to_the_same_characters(text: str) -> None:
    whole = joined(text)
    if whole is None:
        assert without_breaks(text) == text
        return
    assert whole.text == without_breaks(text)
    for start in range(len(whole.text)):
        for end in range(start + 1, min(start + 6, len(whole.text) + 1)):
            first, last = span_before(whole, start, end)
            assert text[first] == whole.text[start]
            assert text[last - 1] == whole.text[end - 1]
            assert last - first >= end - start
