"""Broad questions that name a subject: what is about it comes first, or the answer says so."""

from __future__ import annotations

import pytest

from treemem import Memory, Message, Scope
from treemem.search import subjects


@pytest.fixture
def filled(memory: Memory) -> Memory:
    said = {
        "boat": "We decided to paint the boat in blue.",
        "garden": "We decided to buy the small greenhouse in spring.",
        "shop": "We decided that the pricing lands at 49 dollars.",
    }
    for number, (name, text) in enumerate(said.items(), 1):
        memory.append(
            name,
            [Message(text=text, sent_at=f"2026-03-0{number}T09:00:00Z"),
             Message(text="I still need to call Ida.", sent_at=f"2026-03-0{number}T09:05:00Z")],
            title=f"{name} club",
        )  # fmt: skip
    memory.work(max_calls=0)
    return memory


def test_what_is_about_the_subject_comes_first(filled: Memory) -> None:
    result = filled.search("what did we decide about the pricing?", order="auto")
    assert "49 dollars" in result.passages[0].text
    assert not [note for note in result.missing if "Nothing about" in note]
    result = filled.search("what did we decide about the pricing?")
    assert result.passages[0].source_id == "boat"  # in the order of time


def test_a_title_names_a_subject_too(filled: Memory) -> None:
    result = filled.search("what is still open in the garden club?", order="auto")
    assert not [note for note in result.missing if "Nothing about" in note]


def test_a_subject_that_nobody_mentioned_is_said(filled: Memory) -> None:
    result = filled.search("what did we decide about zebras?", order="auto")
    assert "Nothing about “zebras” was found." in result.missing
    assert result.passages  # all decisions, in the order of time
    assert result.passages[0].source_id == "boat"


def test_a_question_for_what_there_is_not_says_so(filled: Memory) -> None:
    none = "No decision that holds was found, only what comes nearest."
    assert none not in filled.search("what did we decide?").missing
    filled.append("pond", [Message(text="The heron came back to the pond.")])
    found = filled.search("what did we decide?", scope=Scope.source("pond"))
    assert none in found.missing
    assert found.passages
    assert none not in filled.search("what did the heron do?", scope=Scope.source("pond")).missing


@pytest.mark.parametrize(
    "question",
    ["what did we decide?", "what did we finally decide as a team?", "which rules hold here?",
     "what is still open?", "what happened last week?", "who painted the boat?"],
)  # fmt: skip
def test_a_question_without_a_subject_has_none(filled: Memory, question: str) -> None:
    notes = filled.search(question, order="auto").missing
    assert not [note for note in notes if "Nothing about" in note]


def test_the_subject_is_quoted_as_untrusted_text(filled: Memory) -> None:
    note = subjects.note(["zebra\n“x”"])
    assert "\n" not in note
    assert filled.search("what did we decide about zebras?", scope=Scope.source("boat")).missing
