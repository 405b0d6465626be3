"""Tests chats in JSON Lines, with the field names of different tools."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.importers import LogFile, Skipped, by_name
from treemem.importers.chat import importer as module
from treemem.importers.common.base import Event
from treemem.importers.common.source_ids import sent_at
from treemem.types import Message, Part, Source

ANY_ID = "0c0ffee0-0000-4000-8000-000000000001"


def read(lines: Iterable[object], label: str = "stdin") -> list[Event]:
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return list(by_name("chat").read(LogFile(label, data=data.encode())))


def messages(*lines: object) -> list[Message]:
    return [event for event in read(lines) if isinstance(event, Message)]


def reasons(*lines: object) -> list[str]:
    return [event.reason for event in read(lines) if isinstance(event, Skipped)]


@pytest.mark.parametrize(
    ("line", "role", "author", "text"),
    [
        ({"role": "user", "content": "hi"}, "user", None, "hi"),
        ({"role": "Human", "text": "hi"}, "user", None, "hi"),
        ({"sender": "bot", "message": "hi"}, "assistant", None, "hi"),
        ({"author": "Ann", "body": "hi"}, "other", "Ann", "hi"),
        ({"from": "gpt", "value": "hi"}, "assistant", None, "hi"),
        ({"role": "user", "name": "Ann", "content": "hi"}, "user", "Ann", "hi"),
        ({"role": "assistant", "author": "Max", "content": "hi"}, "assistant", "Max", "hi"),
        ({"role": "critic", "content": "hi"}, "other", "critic", "hi"),
        ({"role": "critic", "speaker": "Ann", "content": "hi"}, "other", "Ann", "hi"),
        ({"role": "function", "name": "f", "content": "hi"}, "tool", None, "hi"),
        ({"author": {"role": "assistant"}, "text": "hi"}, "assistant", None, "hi"),
        ({"author": {"name": "Ann"}, "text": "hi"}, "other", "Ann", "hi"),
        ({"role": "user", "message": {"content": [{"type": "text", "text": "hi"}]}}, "user", None,
         "hi"),
        ({"role": "user", "content": ["a", {"type": "input_text", "text": "b"}]}, "user", None,
         "a\n\nb"),
    ],
)  # fmt: skip
def test_every_shape_yields_role_author_and_text(
    line: dict[str, Any], role: str, author: str | None, text: str
) -> None:
    (message,) = messages(line)
    assert (message.role, message.author, message.text) == (role, author, text)


def test_tool_calls_and_results_are_paired() -> None:
    function = {"name": "search", "arguments": '{"q": "é"}'}
    call, answer = messages(
        {"role": "assistant", "content": None,
         "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    )  # fmt: skip
    assert (call.text, call.tool_use_ids) == ('[tool use: search] {"q": "é"}', ("c1",))
    assert (answer.text, answer.tool_result_ids) == ("found", ("c1",))
    assert answer.parts == (Part("tool_result", 0, 5, "search"),)


def test_a_picture_leaves_a_marker() -> None:
    (message,) = messages(
        {"role": "user", "content": [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        ]}
    )  # fmt: skip
    assert message.text == (
        "look\n\n[image: image/png, 3 bytes, sha256:709e80c88487]\n\n[image: https://x/y.png]"
    )
    assert len(message.blobs) == 1


@pytest.mark.parametrize("text", ["# Heading", "## User", "Human: no", "---", "a\n\n## User\n\nb"])
def test_a_heading_inside_a_message_forges_no_boundary(text: str) -> None:
    assert [message.text for message in messages({"role": "user", "content": text})] == [text]


def test_ids_times_and_sessions_are_imported() -> None:
    known, counted = messages(
        {"role": "user", "content": "a", "uuid": ANY_ID, "ts": 1_700_000_000, "session_id": "s"},
        {"role": "user", "content": "b", "id": 7, "date": "2026-01-01 10:00"},
    )
    assert (known.external_id, known.unique_id, known.session) == (ANY_ID, True, "s")
    assert known.sent_at == "2023-11-14T22:13:20+00:00"
    assert (counted.external_id, counted.unique_id) == ("7", False)
    assert counted.sent_at == "2026-01-01 10:00"


@given(st.integers(10**8, 10**11 - 1), st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_a_number_is_read_as_a_time_in_its_unit(seconds: int, scale: int) -> None:
    try:
        expected = datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError):
        return
    assert sent_at(seconds * scale) == expected


@pytest.mark.parametrize("value", [None, True, float("nan"), 10**30, 12.5, [], ""])
def test_a_value_that_is_no_time_yields_none(value: object) -> None:
    assert sent_at(value) is None


def test_a_conversation_on_a_line_is_a_source_of_its_own() -> None:
    events = read(
        [
            {"messages": [{"role": "user", "content": "a"}, None, {"role": "tool"}], "title": "T"},
            {"system": "be kind", "conversations": [{"from": "human", "value": "b"}]},
            {"role": "user", "content": "c"},
            {"messages": []},
        ]
    )
    assert [event.id for event in events if isinstance(event, Source)] == [
        "chat/stdin#1", "chat/stdin#2", "chat/stdin"
    ]  # fmt: skip
    assert [event.title for event in events if isinstance(event, Source)] == ["T", None, None]
    texts = [(event.role, event.text) for event in events if isinstance(event, Message)]
    assert texts == [("user", "a"), ("system", "be kind"), ("user", "b"), ("user", "c")]
    assert [event.reason for event in events if isinstance(event, Skipped)] == [
        module.NOT_AN_OBJECT,
        module.NO_TEXT,
        module.EMPTY_CONVERSATION,
    ]


def test_a_line_without_a_message_is_counted() -> None:
    assert reasons(1, {"a": 1}, {"role": "user"}, {"role": "user", "content": ""}) == [
        module.NOT_AN_OBJECT,
        module.NO_SPEAKER,
        module.NO_TEXT,
        module.EMPTY,
    ]


def test_two_files_of_one_name_are_two_sources(tmp_path: Path) -> None:
    ids = set()
    for folder in ("a", "b"):
        path = tmp_path / folder / "chat.jsonl"
        path.parent.mkdir()
        path.write_text('{"role":"user","content":"hi"}\n', "utf-8")
        for label in (str(path), "./chat.jsonl"):
            events = by_name("chat").read(LogFile(label, path))
            ids |= {event.id for event in events if isinstance(event, Source)}
    assert len(ids) == 2
    assert all(source_id.startswith("chat/chat-") for source_id in ids)


FIELDS = st.sampled_from(["role", "from", "content", "text", "messages", "tool_calls", "name"])
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("user")
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=10,
)


@given(st.lists(VALUES, max_size=5))
def test_a_line_with_any_content_is_counted(lines: list[object]) -> None:
    counted = [event for event in read(lines) if isinstance(event, Message | Skipped)]
    assert len(counted) >= len(lines)
