"""Sentences are drawn from what was said and from tools' output, and asked for in other forms."""

from __future__ import annotations

import random

from benchmarks.data import agent_sessions
from benchmarks.known_item import changed, drawn
from treemem import Message


def test_half_of_the_sentences_are_of_tools_and_none_of_injected_text() -> None:
    said = [Message(role="user", text=f"We moved gate {n} of the northern hall to Friday noon.")
            for n in range(30)]  # fmt: skip
    tool = [Message(role="tool", text=f"ok\nthe suite of hall {n} has passed without any warning")
            for n in range(30)]  # fmt: skip
    hidden = [Message(role="user", kind="injected", text="never ask for this sentence of ours")]
    sentences = drawn([*said, *tool, *hidden], 20, random.Random(1))
    assert len(sentences) == 20
    assert sum(is_tool for _, is_tool in sentences) == 10
    for sentence, is_tool in sentences:
        assert any(sentence in message.text for message in (tool if is_tool else said))


def test_one_word_in_three_is_asked_for_in_another_form() -> None:
    before = "the tests failed while the pages were loading slowly"
    after = changed(before)
    differ = [one for one, other in zip(before.split(), after.split(), strict=True) if one != other]
    assert len(differ) == 3


def test_generated_sessions_have_long_results_and_are_the_same_again() -> None:
    lines = agent_sessions.lines(8)
    assert lines == agent_sessions.lines(8)
    assert max(map(len, lines)) > 10_000
