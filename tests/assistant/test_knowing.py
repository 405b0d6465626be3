"""Tests whether what was found can answer a question."""

from __future__ import annotations

from datetime import UTC, datetime

from treemem import Message
from treemem.assistant import knowing

NOW = datetime(2026, 11, 3, tzinfo=UTC)


def reason(question: str, *said: tuple[str, str]) -> str:
    messages = [Message("user", text, author=author) for author, text in said]
    asked = knowing.read(question, [author for author, _ in said], NOW)
    return knowing.missing(asked, messages, total=100)


def test_a_message_with_the_words_of_a_question_may_answer_it() -> None:
    assert reason("Where does Ana keep the glaze recipes?",
                  ("Ana", "I keep all glaze recipes in the blue folder.")) == ""  # fmt: skip


def test_a_message_about_something_else_answers_nothing() -> None:
    said = reason("Who paints the harbour bridges?", ("Ana", "The kiln is hot again."))
    assert said == "No message that was found is about “paints harbour bridges”."


def test_one_of_two_words_is_not_enough() -> None:
    assert reason("Why did the export fail?", ("Ana", "The glaze test failed in the kiln."))
    assert not reason("Why did the export fail?", ("Ana", "The export failed: the disk was full."))


def test_what_another_person_said_of_themselves_answers_nothing() -> None:
    said = ("Ana", "My grandma gave me a necklace from Sweden.")
    other = ("Ben", "How nice of her!")
    assert reason("Who gave Ana a necklace?", said, other) == ""
    found = reason("Who gave Ben a necklace?", said, other)
    assert found == "What was found about “gave necklace” was not said by Ben."


def test_the_time_in_a_question_is_not_looked_for_in_the_words() -> None:
    asked = knowing.read("What did Ana glaze on 14 October 2026?", ["Ana"], NOW)
    assert asked.words == ("glaze",)
    assert asked.people == {"Ana"}


def test_a_question_for_all_that_is_open_needs_no_words() -> None:
    assert reason("What is still open?", ("Ana", "I have to call the glazier.")) == ""
    assert reason("What is still open?") == "Nothing was found."
