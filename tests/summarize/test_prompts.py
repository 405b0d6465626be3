"""Prompts: what a model is asked, and any answer can be read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.summarize import prompts
from treemem.summarize.prompts import NOTES_SYSTEM, RETELL_SYSTEM

UNHURRIED = settings(deadline=None, max_examples=60)
EARLIER = "You take notes. You write only what the text says, in full sentences."


@UNHURRIED
@given(st.text(st.characters() | st.sampled_from("-*1.) \n\u2028\"'Ana:"), max_size=200))
def test_any_answer_can_be_read(answer: str) -> None:
    notes = prompts.read_notes(answer)
    assert len(notes) <= prompts.NOTES_MAX + prompts.NOTES_BEYOND
    for line in (*notes, prompts.read_retelling(answer)):
        assert len(line.splitlines()) <= 1
        assert len(line) <= prompts.NOTE_CHARS_MAX + 1


@pytest.mark.parametrize(
    "answer",
    [
        "It works.",
        "- It works.",
        "* It works.\n",
        "1. It works.",
        "2) It\tworks.",
        "**Notes**:\n\n- It **works**.",
    ],
)
def test_a_note_is_read_without_its_list_mark(answer: str) -> None:
    assert prompts.read_notes(answer) == ["It works."]


def test_a_retelling_is_the_first_line_of_an_answer() -> None:
    assert prompts.read_retelling('\n"Ana left."\nBen said: "No."') == "Ana left."
    assert prompts.read_retelling(" \n ") == ""


@pytest.mark.parametrize("text", [RETELL_SYSTEM, NOTES_SYSTEM, EARLIER])
def test_a_call_of_this_and_of_earlier_versions_is_recognized(text: str) -> None:
    assert prompts.begins_own_call(text)
    assert not prompts.begins_own_call(text[3:])


@given(st.integers(0, 10_000))
def test_a_longer_text_gets_no_fewer_notes(tokens: int) -> None:
    count = prompts.notes_for(tokens)
    assert prompts.NOTES_MIN <= count <= prompts.notes_for(tokens + 1) <= prompts.NOTES_MAX
    assert str(count) in prompts.notes_task(count)


def test_the_worked_example_has_as_many_notes_as_its_length_needs_or_more() -> None:
    """Each note is about something else, in other words than the text's."""
    text, notes = prompts.NOTES_EXAMPLE
    told = prompts.read_notes(notes)
    assert prompts.NOTES_MIN <= len(told) <= len(text.splitlines())
    assert not any(note in text for note in told)
