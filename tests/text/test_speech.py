"""Tests treemem.text.speech."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.text.speech import clean_verbatim
from treemem.types import ORIGINS

CONTENT = ("gate", "opens", "Turku", "40", "not", "perhaps", "never", "maybe", "don't", "no",
           "river", "must", "unless", "two")  # fmt: skip
FILLERS = ("um ,", "uh", ", you know ,", "{vocalsound}", "Uhm", ", mm ,", "the the", "I I", "a , a")
KEPT = re.compile(r"[^\W_][\w']*")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Um , we 'll open the the gate .", "we'll open the gate."),
        ("It does n't open , you know , before nine .", "It doesn't open, before nine."),
        ("The sub - gate is , uh , at Turku {vocalsound} .", "The sub-gate is, at Turku."),
        ("You know that we said no no to 40 40 .", "You know that we said no no to 40 40."),
        ("We open at nine - not before.", "We open at nine - not before."),
        ("Run `um um .` in src/a.py .", "Run `um um .` in src/a.py ."),
        ("uh , um", "uh , um"),
        ("門は九時に開きます。", "門は九時に開きます。"),
    ],
)
def test_only_what_a_voice_adds_is_left_out(said: str, shown: str) -> None:
    assert clean_verbatim(said, "person") == shown


def test_what_nobody_speaks_is_shown_as_it_is() -> None:
    for origin in ("assistant", "result", "tool", "pasted", "agent"):
        assert clean_verbatim("um , it 's the the gate .", origin) == "um , it 's the the gate ."  # type: ignore[arg-type]


@given(st.lists(st.sampled_from((*CONTENT, *FILLERS, ",", ".")), min_size=1, max_size=14))
def test_no_word_with_a_meaning_is_lost_or_moved(parts: list[str]) -> None:
    shown = clean_verbatim(" ".join(parts), "person")
    wanted = [word for word in parts if word in CONTENT]
    assert [word for word in KEPT.findall(shown) if word in CONTENT] == wanted


@given(st.text(max_size=200), st.sampled_from(ORIGINS))
def test_every_word_shown_was_said_in_this_order(text: str, origin: str) -> None:
    shown = clean_verbatim(text, origin)  # type: ignore[arg-type]
    left = iter(character for character in text if not character.isspace())
    assert all(character in left for character in shown if not character.isspace())
    assert len(shown) <= len(text)
