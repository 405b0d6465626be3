"""Tests how requests of OpenAI's API are read."""

from __future__ import annotations

from typing import Any

import pytest

from treemem.assistant.completions import protocol
from treemem.assistant.completions.protocol import RefusedError

HI = {"role": "user", "content": "Hi"}


def wanted(header: str | None = None, **fields: Any) -> protocol.Wanted:
    return protocol.wanted({"model": "m", "messages": [HI], **fields}, header)


def test_a_conversation_is_named_by_a_header_by_metadata_or_by_how_it_begins() -> None:
    assert wanted("talk").name == "v1/talk"
    assert wanted(metadata={"session": "talk"}).name == "v1/talk"
    derived = wanted()
    later = [HI, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Why?"}]
    assert wanted(messages=later).name == derived.name
    assert not derived.is_named
    assert wanted(user="ana").name != derived.name
    assert wanted(messages=[{"role": "system", "content": "S"}, HI]).name != derived.name


@pytest.mark.parametrize("fields", [
    {"messages": []}, {"messages": "Hi"}, {"messages": [{"role": "tool", "content": "x"}]},
    {"messages": [{"role": "user", "content": None}]},
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
    {"messages": [HI, {"role": "assistant", "content": "Hello"}]},
    {"model": 7}, {"stream": "yes"}, {"stop": [1]}, {"max_tokens": True},
    {"metadata": {"session": "a~b"}}, {"functions": [{}]}, {"modalities": ["audio"]},
])  # fmt: skip
def test_what_cannot_be_done_is_refused_by_name(fields: dict[str, Any]) -> None:
    with pytest.raises(RefusedError) as refused:
        wanted(**fields)
    assert refused.value.status == 400
    assert refused.value.body()["error"]["message"]


@pytest.mark.parametrize("body", [None, [], "x", 3])
def test_a_body_that_is_no_object_is_refused(body: object) -> None:
    with pytest.raises(RefusedError, match="JSON object"):
        protocol.wanted(body, None)


def test_system_messages_are_kept_apart_and_empty_answers_left_out() -> None:
    read = wanted(messages=[
        {"role": "developer", "content": "One."}, HI, {"role": "assistant", "content": ""},
        {"role": "system", "content": [{"type": "text", "text": "Two."}]},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    ])  # fmt: skip
    assert read.system == "One.\n\nTwo."
    assert [one["role"] for one in read.messages] == ["user", "user"]
