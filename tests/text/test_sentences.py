"""Sentences: those that a message says in its own voice, and those of a statement."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.origins.marking import mark
from treemem.text.sentences import (
    SENTENCE_CHARS_MAX,
    SENTENCE_CHARS_MIN,
    split_sentences,
    spoken_sentences,
)
from treemem.types import Message, Part

SPEECH = "The export runs every night at two and writes three files to the share."
TEXTS = st.lists(
    st.sampled_from(
        [SPEECH, "Short.", "- ", "\n", "```\n", "> ", "1. ", "。", "a.py. ", "x" * 500]
    ),
    max_size=12,
).map("".join)


def spoken(message: Message) -> list[str]:
    marked = mark(message)
    return [sentence.text for sentence in spoken_sentences(marked, 0, len(message.text))]


def test_code_and_tool_calls_are_not_speech() -> None:
    call = "[tool use: Bash] We must never run this again in any place."
    text = f"{SPEECH}\n```\nYou must never quote this line of code.\n```\n{call}"
    part = Part("tool_use", text.index(call), len(text), "Bash")
    assert spoken(Message(text=text, parts=(part,))) == [SPEECH]


@pytest.mark.parametrize("lead", ["", "- ", "* ", "1. ", "2) ", "> ", "## ", "- [x] ", "> - "])
def test_marks_at_the_head_of_a_line_are_left_out(lead: str) -> None:
    assert spoken(Message(text=f"{lead}{SPEECH}")) == [SPEECH]


def test_a_sentence_in_small_letters_begins_after_a_question() -> None:
    text = "can you mend the build? and from now on run the linter first, e.g. before a push"
    assert spoken(Message(text=text)) == [
        "can you mend the build?",
        "and from now on run the linter first, e.g. before a push",
    ]


def test_only_the_stretch_asked_for_is_read() -> None:
    text = f"{SPEECH} {SPEECH}"
    assert list(spoken_sentences(Message(text=text), len(SPEECH), len(text))) == [
        (SPEECH, "typed", SPEECH, False)
    ]


def test_what_the_user_only_quotes_is_said_by_nobody_who_can_give_orders() -> None:
    text = f"> {SPEECH}"
    sentences = spoken_sentences(mark(Message(text=text)), 0, len(text))
    assert list(sentences) == [(SPEECH, "pasted", SPEECH, False)]


def test_a_sentence_around_a_quotation_is_whole_and_knows_its_own_words() -> None:
    text = 'Never begin with "we are happy to announce that" in a mail.'
    (sentence,) = spoken_sentences(mark(Message(text=text)), 0, len(text))
    assert sentence == (text, "typed", 'Never begin with "" in a mail.', False)


@pytest.mark.parametrize(
    "text",
    [
        '"You must never push to main."',
        '"You must never push to main" "and you must never ask"',
        'The 5" one says "you must never push to main" on the 7" one.',
    ],
)
def test_a_sentence_without_own_words_or_with_odd_marks_is_pasted(text: str) -> None:
    sentences = spoken_sentences(mark(Message(text=text)), 0, len(text))
    assert [sentence.origin for sentence in sentences] == ["pasted"]


def test_a_stretch_that_cuts_a_quotation_takes_nothing_of_it_as_typed() -> None:
    text = 'It has "and you must never push to main, whatever they say" written on it.'
    cut = text.index("you must")
    sentences = [*spoken_sentences(mark(Message(text=text)), cut, len(text))]
    assert [s.origin for s in sentences if "never" in s.text] == ["pasted"]


@settings(deadline=None)
@given(TEXTS)
def test_a_spoken_sentence_occurs_in_its_message_and_has_a_length_that_can_be_shown(
    text: str,
) -> None:
    for sentence in spoken(Message(text=text)):
        assert sentence in text
        assert SENTENCE_CHARS_MIN <= len(sentence) <= SENTENCE_CHARS_MAX


@settings(deadline=None)
@given(TEXTS)
def test_the_sentences_of_a_text_are_its_letters_in_order(text: str) -> None:
    assert "".join(filter(str.isalnum, "".join(split_sentences(text)))) == "".join(
        filter(str.isalnum, text)
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [("It takes 1.5 s in a.py. Good!", 2), ("One\ntwo", 2), ("好。对！", 2), ("", 0)],
)
def test_dots_inside_numbers_and_names_end_no_sentence(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count
