"""A message is shown by stretches of one origin, and a statement by the words that say it."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
from hypothesis import given
from hypothesis import strategies as st

from treemem import Message, Part, Statement
from treemem.web.reading.stretches import around, cited_spans, located, stretches_of

TEXT = "Look at this:\n\n```\nrm -rf build\n```\n\nIt must never run. Nobody may run it."


@st.composite
def messages(draw: st.DrawFn) -> Message:
    text = draw(st.text(min_size=1, max_size=60))
    ends = st.integers(0, len(text))
    parts = [
        Part(draw(st.sampled_from(["code", "pasted", "tool_result"])), min(pair), max(pair), None)
        for pair in draw(st.lists(st.tuples(ends, ends), max_size=5))
    ]
    return Message(draw(st.sampled_from(["user", "assistant"])), text, parts=tuple(parts))


@given(messages(), st.data())
def test_no_word_is_left_out_or_shown_twice(message: Message, data: st.DataObject) -> None:
    edges = st.integers(0, len(message.text))
    start, end = sorted((data.draw(edges), data.draw(edges)))
    spans = [tuple(sorted((data.draw(edges), data.draw(edges))))]
    shown = stretches_of(message, start, end, {7: spans})  # type: ignore[dict-item]
    words = "".join(piece.text for one in shown for piece in one.pieces)
    assert words.split() == message.text[start:end].split() or (
        "".join(words.split()) == "".join(message.text[start:end].split())
    )
    for one in shown:
        assert message.text[one.start :].startswith(one.pieces[0].text)


def test_code_in_a_message_of_the_users_is_pasted_and_the_rest_typed() -> None:
    start = TEXT.index("```")
    end = TEXT.rindex("```") + 3
    found = stretches_of(Message("user", TEXT, parts=(Part("code", start, end),)), 0, len(TEXT))
    assert [(one.kind, one.origin) for one in found] == [
        ("prose", "typed"), ("code", "pasted"), ("prose", "typed"),
    ]  # fmt: skip
    assert found[0].pieces[0].text == "Look at this:"


def test_a_folded_stretch_opens_if_it_is_cited() -> None:
    message = Message("tool", "exit code 1", parts=(Part("tool_result", 0, 11, "Bash"),))
    assert stretches_of(message, 0, 11)[0].is_folded
    assert not stretches_of(message, 0, 11, {3: [(0, 4)]})[0].is_folded


def test_a_long_attached_file_is_folded_and_a_short_one_is_not() -> None:
    for chars, is_folded in ((9_000, True), (40, False)):
        message = Message("user", "x" * chars, parts=(Part("marker", 0, chars, "a.py"),))
        assert stretches_of(message, 0, chars)[0].is_folded == is_folded


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("It must never run.", "It must never run."),
        ("it  must\nnever run", "It must never run"),
        ("…never run. Nobody may run it.", "never run. Nobody may run it."),
        ("Nobody is allowed to run it.", None),
        ("The lake is deep.", None),
    ],
)
def test_the_words_of_a_statement_are_found_or_nothing_is(
    statement: str, words: str | None
) -> None:
    found = [TEXT[start:end] for start, end in located(statement, TEXT)]
    assert found == ([] if words is None else [words])


def test_a_paraphrase_is_found_by_its_clauses() -> None:
    text = "Well, Ana ships the release on Friday, because the meters are back. It rains."
    found = located("Ana shipped the release on Friday.", text)
    assert [text[start:end] for start, end in found] == ["Ana ships the release on Friday,"]


def test_only_messages_that_a_statement_cites_are_searched() -> None:
    cited = Message("user", "It must never run.", id="a" * 32)
    other = Message("user", "It must never run.", id="b" * 32)
    statement = Statement(5, "constraint", "It must never run.", "extractive/5", "user", (cited,))
    assert cited_spans([statement], cited) == {5: [(0, 18)]}
    assert cited_spans([statement], other) == {}


def test_late_words_of_a_long_message_are_found() -> None:
    text = "We talk on. " * 20_000 + "It must never run."
    cited = Message("user", text, id="a" * 32)
    statement = Statement(5, "constraint", "It must never run.", "extractive/5", "user", (cited,))
    for start in (0, len(text) - 500):
        assert cited_spans([statement], cited, start) == {5: [(len(text) - 18, len(text))]}
    assert cited_spans([statement], cited, 0, 9_000) == {}


@given(st.integers(0, 3_000), st.integers(1, 500), st.integers(1, 800))
def test_the_stretch_around_a_citation_shows_its_beginning_and_fits(
    start: int, length: int, room: int
) -> None:
    size = start + length + 5
    first, last = around([(start, start + length)], size, room)
    assert 0 <= first <= start < last <= size
    assert last - first <= max(room, 1) or last - first == size
