"""What a user tells of themselves is recognized, and what they ask for is not."""

from __future__ import annotations

import pytest

from treemem.privacy.personal import CHARS_READ, is_personal


@pytest.mark.parametrize(
    "text",
    [
        "My name is Ana Lima.", "Call me Ana.", "My sister Ida is ill with a fever.",
        "I live in Ghent.", "I'm allergic to nuts, so no almond cake please.", "I am 41 years old.",
        "I'm 41.", "I am a potter.", "I work as a nurse in Porto.", "I have two daughters.",
        "I take insulin.", "My birthday is on 12 March.", "Write to me at ana@lima-ceramics.be.",
        "I grew up in Faro.", "My ex-husband wrote again.", "I've been depressed since March.",
    ],
)  # fmt: skip
def test_a_user_who_speaks_of_themselves_is_recognized(text: str) -> None:
    assert is_personal(text)
    assert is_personal(f"Hello. {text} What now?")


@pytest.mark.parametrize(
    "text",
    [
        "The kiln in Ghent burns at 1,240 degrees.", "We ship the kiln on Friday.",
        "My build is broken.", "I am sure that it works.", "I want the parser to be fast.",
        "I need it today.", "I'm getting a TypeError in my parser.", "My code has 1,200 lines.",
        "Always answer in English.", "I have two failing tests.", "My server is down.",
        "Decision: we use celadon 12.", "I am working on the release.", "I was able to build it.",
    ],
)  # fmt: skip
def test_what_a_user_asks_for_or_works_on_is_not_personal(text: str) -> None:
    assert not is_personal(text)


def test_a_long_text_is_read_at_both_ends() -> None:
    filler = "The wheel turns. " * CHARS_READ
    assert is_personal(f"My name is Ana. {filler}")
    assert is_personal(f"{filler} My name is Ana.")
    assert not is_personal(filler)
