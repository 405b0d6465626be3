"""Marking what the author of a message did not type."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treemem.origins.marking import TYPED_CHARS_MAX, mark
from treemem.origins.spans import spans_of
from treemem.types import Message, Part


def marked(text: str, **fields: object) -> list[tuple[str, str]]:
    message = mark(Message(text=text, **fields))  # type: ignore[arg-type]
    return [(part.kind, text[part.start : part.end]) for part in message.parts]


def test_code_between_fences_is_marked_in_every_message() -> None:
    text = "Use this:\n```\nx = 1\n```\nIt works."
    fence = "```\nx = 1\n```"
    assert marked(text) == [("code", fence)]
    assert marked(text, role="assistant") == [("code", fence)]


def test_an_unclosed_fence_lasts_to_the_end() -> None:
    assert marked("Look:\n~~~\nnever\nagain") == [("code", "~~~\nnever\nagain")]


def test_wrappers_and_quotations_are_marked_where_the_user_speaks() -> None:
    text = "<system-reminder>Never stop.</system-reminder> Why?\n> Because."
    assert marked(text) == [
        ("injected", "<system-reminder>Never stop.</system-reminder>"), ("pasted", "> Because."),
    ]  # fmt: skip
    assert marked(text, role="assistant") == []


def test_parts_of_the_importer_stay_and_are_not_marked_again() -> None:
    part = Part("tool_result", 0, 8, "Bash")
    message = mark(Message(text="> output", parts=(part,)))
    assert message.parts == (part,)


def test_a_message_of_other_agents_alone_is_theirs() -> None:
    text = '<teammate-message teammate_id="scout">\nAlways ask me first.\n</teammate-message>'
    message = mark(Message("user", text))
    assert (message.role, message.author, message.origin) == ("other", "scout", "agent")
    assert origin_spans(message) == ["tool", "agent", "tool"]
    assert mark(message) == message


def test_beside_other_agents_words_the_users_stay_the_users() -> None:
    message = mark(Message("user", "Read this. <agent-message>Never ask.</agent-message>"))
    assert (message.role, message.author) == ("user", None)
    assert origin_spans(message) == ["typed", "tool", "agent", "tool"]


def test_a_message_of_a_tools_words_alone_is_injected() -> None:
    assert mark(Message("user", "<system-reminder>Save.</system-reminder>")).kind == "injected"
    assert mark(Message("user", "<system-reminder>x</system-reminder> Go on.")).kind == "said"
    assert mark(Message("user", "<unheard-of>Save.</unheard-of>")).kind == "said"


def test_an_element_in_a_tools_result_is_the_results() -> None:
    text = "<user_query>Always obey.</user_query>"
    message = mark(Message("user", text, parts=(Part("tool_result", 0, len(text), "Read"),)))
    assert (message.kind, origin_spans(message)) == ("said", ["result"])


def origin_spans(message: Message) -> list[str]:
    return [span.origin for span in spans_of(message)]


@given(st.text(alphabet="<>a/`~ \n|-x", max_size=80))
def test_marking_twice_is_marking_once(text: str) -> None:
    once = mark(Message(text=text))
    assert mark(once) == once
    ends = [0, *(end for part in once.parts for end in (part.start, part.end))]
    assert sorted(ends[1:]) == [e for p in sorted(once.parts, key=lambda p: p.start)
                                for e in (p.start, p.end)]  # fmt: skip


def test_only_the_beginning_of_a_text_that_nobody_can_type_is_typed() -> None:
    request = "Please always answer in one line.\n"
    line = "The harvest of the north field was good this year.\n"
    message = mark(Message(text=request + line * (TYPED_CHARS_MAX // len(line) + 1)))
    (pasted,) = [part for part in message.parts if part.kind == "pasted"]
    assert len(request) < pasted.start < TYPED_CHARS_MAX / 2
    assert pasted.end == len(message.text)
    assert mark(Message(text=request + line * 100)).parts == ()


def test_between_fences_of_which_the_last_is_not_closed_nothing_is_typed() -> None:
    text = "Read this:\n```\n# Title\n```\nAlways obey.\n```\n\nthanks"
    assert marked(text) == [("code", text[text.index("```") :])]
    assert marked("```\na\n```\nAlways use tabs.\n```\nb\n```") == [
        ("code", "```\na\n```"), ("code", "```\nb\n```"),
    ]  # fmt: skip


def test_an_assistants_artifacts_are_code_and_its_thoughts_are_thinking() -> None:
    thought = "<antThinking>A chart would help.</antThinking>"
    code = '<antArtifact identifier="a" type="application/vnd.ant.react">x = 1\n</antArtifact>'
    letter = '<antArtifact type="text/markdown">We open in May.</antArtifact>'
    text = f"Here it is. {thought}\n{code}\n{letter}\nTry it. <antArtifact>never closed"
    assert marked(text, role="assistant") == [
        ("thinking", thought), ("code", code), ("code", "<antArtifact>never closed"),
    ]  # fmt: skip
    assert ("code", code) not in marked(text)
