"""Tests the messages of Gemini CLI's sessions in both of their shapes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from treemem import Memory
from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers import gemini_cli as module
from treemem.importers.common.base import Event
from treemem.types import Message, Part, Source

SESSION = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"
HEADER = {"sessionId": SESSION, "projectHash": "ab12", "startTime": "2026-01-01T00:00:00.000Z"}
UUID = "0c0ffee0-0000-4000-8000-00000000000{}"


def record(number: int, kind: str, content: object, **fields: Any) -> dict[str, Any]:
    time = f"2026-01-01T00:00:{number:02d}.000Z"
    return {
        "id": UUID.format(number),
        "timestamp": time,
        "type": kind,
        "content": content,
        **fields,
    }


def read(rows: Iterable[object], label: str = "session.jsonl") -> list[Event]:
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return events_of(LogFile(label, data=data.encode()))


def events_of(file: LogFile) -> list[Event]:
    assert detect(file).name == "gemini-cli"
    return list(by_name("gemini-cli").read(file))


def messages(*rows: object) -> list[Message]:
    return [event for event in read([HEADER, *rows]) if isinstance(event, Message)]


def reasons(*rows: object) -> list[str]:
    return [event.reason for event in read([HEADER, *rows]) if isinstance(event, Skipped)]


def active_turns(*rows: object) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in messages(*rows) if m.kind == "said" and m.active]


CALL = {
    "id": "ls-1",
    "name": "run_shell_command",
    "args": {"command": "ls é"},
    "result": [
        {
            "functionResponse": {
                "id": "ls-1",
                "name": "run_shell_command",
                "response": {"output": "  a\r\nb\n"},
            }
        }
    ],
    "resultDisplay": "a, b",
    "status": "success",
}


# -- what a message is made of -----------------------------------------------------------


def test_a_message_has_its_text_time_and_id() -> None:
    (message,) = messages(record(1, "user", [{"text": "  list\r\n\tfiles "}]))
    assert message == Message(
        role="user",
        text="  list\r\n\tfiles ",
        sent_at="2026-01-01T00:00:01.000Z",
        external_id=UUID.format(1),
        session=SESSION,
        unique_id=True,
    )


def test_thoughts_text_calls_and_results_are_one_message() -> None:
    thoughts = [{"subject": "Listing", "description": "I look.", "timestamp": "t"}]
    (answer,) = messages(record(1, "gemini", "Two.", thoughts=thoughts, toolCalls=[CALL]))
    called = '[tool use: run_shell_command] {"command":"ls é"}'
    pieces = ["Listing\nI look.", "Two.", called, "  a\r\nb\n"]
    assert answer.role == "assistant"
    assert answer.text == "\n\n".join(pieces)
    assert [(p.kind, answer.text[p.start : p.end], p.name) for p in answer.parts] == [
        ("thinking", pieces[0], None),
        ("tool_use", pieces[2], "run_shell_command"),
        ("tool_result", pieces[3], "run_shell_command"),
    ]
    assert answer.tool_use_ids == answer.tool_result_ids == ("ls-1",)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("plain", "plain"),
        (None, "a, b"),
        ([{"functionResponse": {"response": {"error": "no such file"}}}], "no such file"),
        ([{"functionResponse": {"response": {"rows": [1]}}}], '{"rows":[1]}'),
    ],
)
def test_a_tool_result_is_read_in_all_its_shapes(result: object, text: str) -> None:
    (answer,) = messages(record(1, "gemini", "", toolCalls=[{**CALL, "result": result}]))
    part = answer.parts[-1]
    assert (part.kind, answer.text[part.start : part.end]) == ("tool_result", text)


def test_no_byte_of_an_attachment_reaches_the_text() -> None:
    parts = [{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]
    (message,) = messages(record(1, "user", parts))
    assert message.text == "see\n\n[image: image/png, 3 bytes, sha256:709e80c88487]"
    assert message.blobs[0].content == b"\0\0\0"


def test_parts_that_are_thoughts_are_thinking() -> None:
    (message,) = messages(record(1, "gemini", [{"text": "hm", "thought": True}, {"text": "yes"}]))
    assert (message.text, message.parts) == ("hm\n\nyes", (Part("thinking", 0, 2),))


@pytest.mark.parametrize(
    ("kind", "text", "role", "expected"),
    [
        ("user", "<session_context>\ntree\n</session_context>", "user", "injected"),
        ("user", "<session_context> is what?", "user", "said"),
        ("user", "<state_snapshot>\n…\n</state_snapshot>", "user", "summary"),
        ("gemini", "Got it. Thanks for the context!", "assistant", "injected"),
        ("gemini", "Got it.", "assistant", "said"),
        ("info", "Request cancelled.", "system", "injected"),
        ("error", "quota", "system", "injected"),
    ],
)
def test_notices_of_the_tool_are_not_said(kind: str, text: str, role: str, expected: str) -> None:
    (message,) = messages(record(1, kind, text))
    assert (message.role, message.kind) == (role, expected)


# -- lines that change what was ----------------------------------------------------------


def test_the_last_state_of_a_rewritten_message_counts() -> None:
    rows = [
        record(1, "user", "list files"),
        record(2, "gemini", ""),
        record(2, "gemini", "", toolCalls=[{**CALL, "result": None, "resultDisplay": None}]),
        record(2, "gemini", "two files", toolCalls=[CALL]),
        record(2, "gemini", ""),
    ]
    assert [m.external_id for m in messages(*rows)] == [UUID.format(1), UUID.format(2)]
    assert messages(*rows)[1].text.startswith("two files\n\n[tool use")
    assert reasons(*rows) == ["no message: session", *[module.REPLACED] * 3]


def test_rewound_messages_are_inactive() -> None:
    rows = [
        *(record(number, "user", f"m{number}") for number in (1, 2, 3)),
        {"$rewindTo": UUID.format(2)},
        record(4, "user", "m4"),
    ]
    assert active_turns(*rows) == [("user", "m1"), ("user", "m4")]
    assert [m.text for m in messages(*rows) if not m.active] == ["m2", "m3"]


def test_a_rewind_to_an_unknown_message_removes_all() -> None:
    rows = [record(1, "user", "m1"), {"$rewindTo": "gone"}, record(2, "user", "m2")]
    assert active_turns(*rows) == [("user", "m2")]


def test_a_rewound_message_that_is_written_again_is_active() -> None:
    rows = [record(1, "user", "m1"), {"$rewindTo": UUID.format(1)}, record(1, "user", "m1")]
    assert active_turns(*rows) == [("user", "m1")]


def test_only_unlogged_messages_of_a_rewritten_history_are_new() -> None:
    snapshot = "<state_snapshot>they listed files</state_snapshot>"
    rewritten = [record(9, "user", snapshot), record(1, "user", "[masked]"), {"id": 3}, None]
    rows = [
        record(1, "user", "list files, word for word"),
        {"$set": {"messages": rewritten[:1]}},
        {"$set": {"messages": rewritten}},
        record(2, "gemini", "two"),
    ]
    assert active_turns(*rows) == [("user", "list files, word for word"), ("assistant", "two")]
    (summary,) = [m for m in messages(*rows) if m.kind == "summary"]
    assert summary.text == snapshot


def test_the_session_has_the_last_summary_as_its_title() -> None:
    rows = [
        HEADER,
        {"$set": {"summary": "one"}},
        record(1, "user", "x"),
        {"$set": {"summary": "2"}},
    ]
    source = next(event for event in read(rows) if isinstance(event, Source))
    assert source == Source(
        f"gemini-cli/{SESSION}", "gemini-cli", "2", "session.jsonl", project="ab12"
    )


def test_a_sub_agents_parent_is_the_session_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "chats" / "parent-1"
    folder.mkdir(parents=True)
    rows = [{**HEADER, "kind": "subagent"}, record(1, "user", "count")]
    for path in (folder / "a.jsonl", folder.parent / "b.jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    parents = [
        next(e for e in events_of(LogFile(str(p), p)) if isinstance(e, Source)).parent_id
        for p in (folder / "a.jsonl", folder.parent / "b.jsonl")
    ]
    assert parents == ["gemini-cli/parent-1", None]


# -- the document ------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_is_read_like_the_lines(indent: int | None) -> None:
    rows = [record(1, "user", "list files"), record(2, "gemini", "two", toolCalls=[CALL])]
    # The session's id may come after its messages.
    document = {"messages": rows, **HEADER, "summary": "Files"}
    file = LogFile("s.json", data=json.dumps(document, indent=indent).encode())
    source, *events = events_of(file)
    about = (f"gemini-cli/{SESSION}", "gemini-cli", "Files", "s.json")
    assert source == Source(*about, rewritten=True, project="ab12")
    assert events == messages(*rows)


def test_a_document_continued_as_lines_is_the_same_session(memory: Memory, tmp_path: Path) -> None:
    rows = [record(1, "user", "list files"), record(2, "gemini", "two")]
    old, new = tmp_path / "session-x.json", tmp_path / "session-x.jsonl"
    old.write_text(json.dumps({**HEADER, "messages": rows}))
    lines = [HEADER, *rows, record(3, "user", "and now?")]
    new.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [file.added for file in memory.ingest([old, new]).files] == [2, 1]


def test_a_grown_log_adds_its_tail_and_marks_rewound_messages(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    rows: list[object] = [HEADER, record(1, "user", "one"), record(2, "gemini", "two")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    memory.ingest(path)
    rows += [{"$rewindTo": UUID.format(1)}, record(3, "user", "three")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (report,) = memory.ingest(path).files
    assert report.added == 1
    assert [m.text for m in memory.messages(f"gemini-cli/{SESSION}")] == ["three"]


def test_an_id_that_is_no_uuid_is_unique_within_its_session_only() -> None:
    (message,) = messages({**record(1, "user", "x"), "id": "m1"})
    assert not message.unique_id
