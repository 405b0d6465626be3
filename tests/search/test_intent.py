"""Broad questions are recognized by their words, and narrow ones that look broad are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.search import intent
from treemem.search.intent import QuestionKind, kind_of

BROAD: dict[QuestionKind, tuple[str, ...]] = {
    "about": (
        "What is this about?",
        "What is this project about?",
        "what was the meeting on Tuesday about",
        "Summarize the discussion of the late fees",
        "Can you give me a quick overview?",
        "Give me a short recap of the session",
        "Please summarise everything we said about the importer.",
        "What have we discussed so far?",
        "What did we talk about?",
        "Bring me up to speed on the budget tracker",
        "What were the main points?",
        "Tell me about the project",
        "a comprehensive summary of my work, please",
    ),
    "order": (
        "What happened in October?",
        "What happened last week?",
        "what has happened since Friday",
        "What did we do yesterday?",
        "In what order did we change the importer?",
        "List the releases in chronological order",
        "Draw up a timeline of the outage",
        "How has the cache evolved over time?",
        "Tell me the history of this module",
        "What did they do?",
        "Which things came one after the other?",
    ),
    "decisions": (
        "What did we decide about the cache?",
        "What was decided on rounding?",
        "Which decisions were made last week?",
        "List all decisions so far",
        "What have we agreed on?",
        "Which format did the team settle on?",
        "What did we decide to do about the tablets?",
    ),
    "open": (
        "What is still open?",
        "Which questions are still unanswered?",
        "Are there any open points?",
        "Is anything left to do?",
        "Show me the loose ends",
        "What are the next steps?",
        "what's left?",
        "Which tasks are pending?",
        "List my to-dos",
        "What do we have to do?",
        "Where were we? What is still open?",
    ),
    "rules": (
        "What must never be done to worker 3?",
        "Which rules hold here?",
        "What are the constraints?",
        "What is not allowed in production?",
        "which standing instructions are there",
        "What is off limits?",
        "What are our requirements?",
    ),
}
LOOK_BROAD = (
    "Who wrote the summary?",
    "Where did we put the overview page?",
    "When did we decide to drop the cache?",
    "Why did we agree on cents?",
    "How many open issues does the importer have?",
    "How long did the meeting about the timeline last?",
    "Who has to do the tax return?",
    "What did Ana want to do in Lisbon?",
    "What activity did Ben used to do with his father?",
    "What does Jonas plan to do after the hike?",
    "What happened to the truck?",
    "What happened with worker 3 in March?",
    "What did we do to fix the deadlock?",
    "What did I do about the leak?",
    "What was the order number of the pizza?",
    "Did the kitchen confirm the order for Friday?",
    "Which flag sorts the list in order to keep it stable?",
    "Who teaches the history of art?",
    "What job has Clara decided to look for?",
    "What does Marlene think about Clara's decision to adopt?",
    "What time did they agree to meet?",
    "At what time was the last decision on rounding made?",
    "Who may not enter the off-limits area?",
    "How many rules must never be broken?",
    "Which file did I open when I left?",
    "Which gate had Ben left the station by?",
    "Did I open issues for both bugs?",
    "What does the summary say about late fees?",
    "Do you know where the unfinished bridge is?",
    "What is the colour of the photo album?",
    "Is the export encrypted?",
    "late fees",
    "parseRetryAfter timeout",
    "",
)


@pytest.mark.parametrize(
    ("kind", "question"), [(kind, each) for kind, told in BROAD.items() for each in told]
)
def test_a_broad_question_is_recognized_by_its_words(kind: QuestionKind, question: str) -> None:
    assert kind_of(question) == kind
    assert kind_of(question.upper()) == kind


@pytest.mark.parametrize("question", LOOK_BROAD)
def test_a_question_for_one_thing_is_narrow_whatever_its_words(question: str) -> None:
    assert kind_of(question) == "narrow"


def test_the_tables_are_large_enough_to_mean_something() -> None:
    assert len(LOOK_BROAD) >= 25
    assert len(LOOK_BROAD) + sum(map(len, BROAD.values())) >= 60


@given(st.text(), st.sampled_from([each for told in BROAD.values() for each in told]))
def test_any_text_has_a_kind_and_a_sentence_before_hides_none(text: str, asked: str) -> None:
    kinds = set(BROAD) | {"narrow"}
    assert kind_of(text) in kinds
    assert kind_of(f"Who is Ana? {asked}") == kind_of(asked)


def test_only_the_beginning_of_a_long_question_is_read() -> None:
    assert kind_of("x " * intent.QUESTION_CHARS_MAX + ". What is still open?") == "narrow"


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("what did we decide?", set()),
        ("what is still open?", set()),
        ("which rules are there?", set()),
        ("what is this project about?", set()),
        ("what did we decide about the ferry?", {"ferri"}),
        ("in which order did we paint the sheds?", {"paint", "shed"}),
    ],
)
def test_a_broad_question_names_a_subject_or_only_its_form(
    question: str, subject: set[str]
) -> None:
    kind = intent.kind_of(question)
    assert kind != "narrow"
    assert intent.subject_of(question, kind=kind) == subject


@pytest.mark.parametrize("question", [
    "Which books did Ana read?", "what activities does the farm offer?", "How many halls are dry?",
    "Where has Bo been?", "What are the skills of Ana?", "list what was ordered",
    "What kinds of fish do we feed?", "What happened to all the sacks?",
])  # fmt: skip
def test_a_question_for_several_things_is_one_for_a_list(question: str) -> None:
    assert intent.asks_for_list(question)


@pytest.mark.parametrize("question", [
    "What does Ana read?", "What is the name of the dog?", "How many days are left?",
    "Why was this done?", "What was this about?", "when did Bo leave?", "",
    "What libraries would you take?", "Which steps should I take?",
])  # fmt: skip
def test_a_question_for_one_thing_is_none_for_a_list(question: str) -> None:
    assert not intent.asks_for_list(question)
