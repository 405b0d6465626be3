"""Tests how logs are taken apart into records, and which message came from which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treemem.importers import by_name
from treemem.importers.common.base import LogFile
from treemem.sessions.logs.layout import Document, Lines, dumped, layouts, traced
from treemem.types import Message

CHAT = [{"role": "user", "content": f"Word {number}."} for number in range(3)]


def messages_of(name: str, data: bytes) -> tuple[LogFile, list[Message]]:
    file = LogFile("log.jsonl", data=data)
    events = by_name(name).read(file)
    return file, [event for event in events if isinstance(event, Message)]


@pytest.mark.parametrize(
    "data",
    [b'{"a": 1}\n{"b": 2}\n', b'{"a":1}\r\n{"b":2}', b'{"a": "\xe2\x80\xa8"}\n\n{broken\n', b""],
)
def test_lines_are_put_together_byte_for_byte(data: bytes) -> None:
    lines = Lines.of(data)
    assert lines.built(range(len(lines.records))) == data


def test_a_line_without_its_end_gets_one_before_another() -> None:
    lines = Lines.of(b'{"a":1}\n{"b":2}')
    assert lines.built([1, 0]) == b'{"b":2}\n{"a":1}\n'
    assert lines.built([1, {"c": 3}]) == b'{"b":2}\n{"c":3}\n'


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ([{"a": 1}, {"b": [1.5, None]}], {}),
        ({"messages": [{"a": "é"}], "x": 10**30}, {"indent": 2}),
        ({"messages": [{"a": "é"}]}, {"indent": 4, "ensure_ascii": False}),
        ([{"a": 1}], {"separators": (",", ":")}),
        ([{"a": "\ud83d"}], {}),
    ],
)
def test_a_document_is_written_in_its_own_style(value: object, options: dict[str, object]) -> None:
    data = json.dumps(value, **options).encode() + b"\n"  # type: ignore[arg-type]
    document = next(one for one in layouts(data) if isinstance(one, Document))
    assert document.built(range(len(document.records))) == data


def test_the_longest_list_of_a_document_comes_first() -> None:
    data = json.dumps({"a": [{"x": 1}], "b": {"c": CHAT}}).encode()
    found = [one.way for one in layouts(data) if isinstance(one, Document)]
    assert found == [("b", "c"), ("a",)]
    assert dumped({"é": 1}, "é".encode()) == '{"é": 1}'.encode()


def test_each_message_is_traced_to_its_line() -> None:
    rows = [{"note": "no message"}, *CHAT]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    file, messages = messages_of("chat", data)
    trace = traced(by_name("chat"), file, Lines.of(data), messages)
    assert trace.of_message == [[1], [2], [3]]


def test_equal_messages_are_traced_in_order() -> None:
    data = b'{"role":"user","content":"go on"}\n' * 3
    file, messages = messages_of("chat", data)
    assert traced(by_name("chat"), file, Lines.of(data), messages).of_message == [[0], [1], [2]]


def test_a_message_of_several_records_has_them_all(tmp_path: Path) -> None:
    def record(number: int, text: str) -> bytes:
        message = {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": text}]}
        return json.dumps({
            "type": "assistant", "uuid": f"u{number}", "parentUuid": None, "sessionId": "s",
            "message": message, "timestamp": "2026-01-05T09:00:00Z",
        }).encode() + b"\n"  # fmt: skip

    data = record(0, "One.") + record(1, "Two.") + record(2, "Three.")
    file, messages = messages_of("claude-code", data)
    assert [message.text for message in messages] == ["One.\n\nTwo.\n\nThree."]
    assert traced(by_name("claude-code"), file, Lines.of(data), messages).of_message == [[0, 1, 2]]


def test_a_message_that_no_record_has_is_not_traced() -> None:
    file, messages = messages_of("chat", b'{"role":"user","content":"here"}\n')
    other = [Message(role="user", text="elsewhere")]
    layout = Lines.of(b'{"role":"user","content":"here"}\n')
    assert traced(by_name("chat"), file, layout, [*messages, *other]).of_message == [[0], []]
