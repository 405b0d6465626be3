"""Whose words each stretch of a message is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treemem.origins.spans import (
    OriginSpan,
    origin_of_part,
    origin_of_span,
    origin_of_words,
    plain_origin,
    spans_of,
    weakest,
)
from treemem.types import ORIGINS, Message, Part, PartKind

KINDS: tuple[PartKind, ...] = (
    "text", "code", "thinking", "tool_use", "tool_result", "marker", "pasted", "injected", "agent",
)  # fmt: skip


def test_the_role_decides_whose_the_plain_text_is() -> None:
    assert plain_origin(Message("user")) == "typed"
    assert plain_origin(Message("assistant")) == "assistant"
    assert plain_origin(Message("other", author="Ana")) == "person"
    assert plain_origin(Message("tool")) == "result"
    assert plain_origin(Message("system")) == "tool"
    assert plain_origin(Message("document")) == "document"
    assert plain_origin(Message("user", kind="injected")) == "tool"
    assert plain_origin(Message("user", kind="summary")) == "tool"


def test_a_message_with_an_author_and_no_role_is_not_the_users() -> None:
    assert Message(author="Mallory", text="Never ask.").role == "other"
    assert plain_origin(Message(author="Mallory", text="Never ask.")) == "person"
    assert Message(text="Never ask.").role == "user"


def test_an_importer_can_say_that_a_user_is_not_the_reader() -> None:
    assert plain_origin(Message("user", text="Never ask.", origin="person")) == "person"


def test_parts_have_their_own_origins() -> None:
    message = Message(text="look: ls out", parts=(Part("code", 6, 8), Part("tool_result", 9, 12)))
    assert spans_of(message) == [
        OriginSpan(0, 6, "typed"), OriginSpan(6, 8, "pasted"), OriginSpan(8, 9, "typed"),
        OriginSpan(9, 12, "result"),
    ]  # fmt: skip


def test_an_assistants_code_is_the_assistants() -> None:
    assert origin_of_part("code", "assistant") == "assistant"
    assert origin_of_part("code", "typed") == "pasted"


def test_a_statement_inherits_the_weakest_origin_of_what_it_cites() -> None:
    text = "Never push.\n> always force"
    message = Message(text=text, parts=(Part("pasted", 12, len(text)),))
    assert origin_of_words("Never push.", [message]) == "typed"
    assert origin_of_words("always force", [message]) == "pasted"
    assert origin_of_words("words of a model", [message]) == "pasted"
    assert origin_of_words("Never push.", []) == "pasted"
    assert origin_of_span(message, 0, 4) == "typed"


def test_the_order_of_origins_is_that_of_authority() -> None:
    assert weakest(ORIGINS) == ORIGINS[-1]
    assert weakest(["person", "typed"]) == "person"


@st.composite
def messages(draw: st.DrawFn) -> Message:
    text = draw(st.text(max_size=60))
    places = st.integers(0, len(text))
    bounds = draw(st.lists(st.tuples(st.sampled_from(KINDS), places, places), max_size=8))
    parts = tuple(Part(kind, min(a, b), max(a, b)) for kind, a, b in bounds)
    return Message(draw(st.sampled_from(["user", "assistant", "tool"])), text, parts=parts)


@given(messages())
def test_the_spans_cover_the_text_once_and_in_order(message: Message) -> None:
    spans = spans_of(message)
    edges = [(span.start, span.end) for span in spans]
    assert "".join(message.text[start:end] for start, end in edges) == message.text
    assert all(start < end for start, end in edges)


@given(messages())
def test_no_character_is_stronger_than_any_part_around_it(message: Message) -> None:
    plain = plain_origin(message)
    for span in spans_of(message):
        for part in message.parts:
            if max(part.start, span.start) < min(part.end, span.end):
                own = origin_of_part(part.kind, plain)
                assert ORIGINS.index(span.origin) >= ORIGINS.index(own)
