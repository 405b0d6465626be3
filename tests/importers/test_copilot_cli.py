"""Tests that a session of Copilot CLI yields each message once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from treemem import Memory
from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers import copilot_cli as module
from treemem.importers.common.base import Event
from treemem.types import Message, Part, Source

SESSION = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"
UUID = "0c0ffee0-0000-4000-8000-0000000000{:02d}"


def event(number: int, kind: str, data: object, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "data": data,
        "id": UUID.format(number),
        "timestamp": f"2026-01-01T00:00:{number:02d}.000Z",
        "parentId": UUID.format(number - 1) if number else None,
        **fields,
    }


START = event(0, "session.start", {"sessionId": SESSION, "producer": "copilot-agent"})


def user(number: int, text: str, **data: Any) -> dict[str, Any]:
    return event(number, "user.message", {"content": text, **data})


def answer(number: int, text: str, **data: Any) -> dict[str, Any]:
    return event(number, "assistant.message", {"messageId": "m", "content": text, **data})


def read(rows: Iterable[object], label: str = "events.jsonl") -> list[Event]:
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    file = LogFile(label, data=data.encode())
    assert detect(file).name == "copilot-cli"
    return list(by_name("copilot-cli").read(file))


def messages(*rows: object) -> list[Message]:
    return [item for item in read([START, *rows]) if isinstance(item, Message)]


def reasons(*rows: object) -> list[str]:
    return [item.reason for item in read([START, *rows]) if isinstance(item, Skipped)]


# -- what a message is made of -----------------------------------------------------------


def test_a_message_has_its_text_time_and_id() -> None:
    (message,) = messages(user(1, " fix\r\n it ", transformedContent="<time>now</time> fix it"))
    assert message == Message(
        role="user",
        text=" fix\r\n it ",
        sent_at="2026-01-01T00:00:01.000Z",
        external_id=UUID.format(1),
        session=SESSION,
        unique_id=True,
    )


def test_reasoning_text_and_requests_are_one_message_and_the_result_another() -> None:
    request = {
        "toolCallId": "c1",
        "name": "bash",
        "arguments": {"command": "ls é"},
        "type": "function",
    }
    rows = [
        event(1, "assistant.reasoning", {"reasoningId": "r", "content": "hm"}),
        answer(2, "I look.", reasoningText="hm", toolRequests=[request]),
        event(3, "tool.execution_start", {"toolCallId": "c1", "toolName": "bash", "arguments": {}}),
        event(
            4,
            "tool.execution_complete",
            {
                "toolCallId": "c1",
                "success": True,
                "result": {"content": " a\n", "detailedContent": "a"},
            },
        ),
    ]
    message, tool = messages(*rows)
    assert message.text == 'hm\n\nI look.\n\n[tool use: bash] {"command":"ls é"}'
    assert [part.kind for part in message.parts] == ["thinking", "tool_use"]
    assert (tool.role, tool.text) == ("tool", " a\n")
    assert tool.parts == (Part("tool_result", 0, 3, "bash"),)
    assert message.tool_use_ids == tool.tool_result_ids == ("c1",)
    assert reasons(*rows) == ["no message: session.start", *[module.REPEATED] * 2]


def test_content_of_one_event_only_is_imported() -> None:
    rows = [
        event(1, "assistant.reasoning", {"content": "hm"}),
        event(
            2, "tool.execution_start", {"toolCallId": "c", "toolName": "bash", "arguments": "ls"}
        ),
    ]
    assert [m.text for m in messages(*rows)] == ["hm", "[tool use: bash] ls"]


def test_calls_without_ids_are_not_confused() -> None:
    rows = [
        answer(1, "", toolRequests=[{"name": "bash"}]),
        event(2, "tool.execution_start", {"toolName": "view"}),
        event(3, "assistant.reasoning", {"content": 7}),
    ]
    assert [m.text for m in messages(*rows)] == ["[tool use: bash] null", "[tool use: view] null"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"result": "plain"}, "plain"),
        ({"error": {"message": "denied", "code": "E"}}, "denied"),
        ({"result": {"rows": [1]}}, '{"rows":[1]}'),
        ({"result": None, "error": {"message": "denied"}}, "denied"),
    ],
)
def test_a_tool_result_is_read_in_all_its_shapes(data: dict[str, Any], text: str) -> None:
    (tool,) = messages(event(1, "tool.execution_complete", {"toolCallId": "c", **data}))
    assert tool.text == text


def test_an_attachment_leaves_a_marker() -> None:
    attached = [
        {"type": "blob", "data": "AAAA", "mimeType": "image/png"},
        {"type": "file", "path": "/p/a.py", "displayName": "a.py"},
    ]
    (message,) = messages(user(1, "see", attachments=attached))
    assert message.text == (
        "see\n\n[image: image/png, 3 bytes, sha256:709e80c88487]\n\n[file: /p/a.py]"
    )


@pytest.mark.parametrize(
    ("row", "role", "kind"),
    [
        (user(1, "x", source="user"), "user", "said"),
        (user(1, "x", source="skill-pdf"), "user", "injected"),
        (user(1, "x", isAutopilotContinuation=True), "user", "injected"),
        (event(1, "skill.invoked", {"name": "pdf", "content": "x"}), "user", "injected"),
        (event(1, "system.message", {"role": "system", "content": "x"}), "system", "injected"),
        (event(1, "system.notification", {"content": "x"}), "system", "injected"),
        (
            event(1, "session.compaction_complete", {"success": True, "summaryContent": "x"}),
            "assistant",
            "summary",
        ),
    ],
)
def test_notices_are_injected_or_a_summary(row: dict[str, Any], role: str, kind: str) -> None:
    (message,) = messages(row)
    assert (message.role, message.kind, message.text) == (role, kind, "x")


def test_events_without_a_message_are_counted_by_type() -> None:
    rows = [
        event(1, "assistant.turn_start", {"turnId": "0"}),
        event(2, "assistant.message_delta", {"deltaContent": "x"}),
        answer(3, ""),
        {"data": {}},
        7,
    ]
    assert reasons(*rows)[1:] == [
        "no message: assistant.turn_start",
        "no message: assistant.message_delta",
        module.EMPTY,
        "no message: no type",
        module.NOT_AN_OBJECT,
    ]


# -- sessions and sub-agents -------------------------------------------------------------


def test_a_sub_agent_is_a_source_of_its_own() -> None:
    rows = [
        START,
        user(1, "count"),
        event(2, "assistant.message", {"content": "I count."}, agentId="agent-1"),
        event(3, "assistant.message", {"content": "Older.", "parentToolCallId": "call-9"}),
        answer(4, "Three."),
    ]
    imported = [e for e in read(rows) if isinstance(e, Source | Message)]
    main = f"copilot-cli/{SESSION}"
    assert [e.text if isinstance(e, Message) else (e.id, e.parent_id) for e in imported] == [
        (main, None),
        "count",
        (f"{main}/agent-agent-1", main),
        "I count.",
        (f"{main}/agent-call-9", main),
        "Older.",
        (main, None),
        "Three.",
    ]


def test_the_last_title_is_the_title() -> None:
    rows = [START, user(1, "x"), event(2, "session.title_changed", {"title": "Counting"})]
    source = next(e for e in read(rows) if isinstance(e, Source))
    about = (f"copilot-cli/{SESSION}", "copilot-cli", "Counting", "events.jsonl")
    assert source == Source(*about, rewritten=True)


def test_a_file_without_its_first_event_takes_its_id_from_its_folder() -> None:
    for label in (
        f"s/{SESSION}/events.jsonl",
        f"s/{SESSION}.jsonl",
        f"x.zip!{SESSION}/events.jsonl",
    ):
        source = next(e for e in read([user(1, "x")], label) if isinstance(e, Source))
        assert source.id == f"copilot-cli/{SESSION}"


def test_rewound_events_are_inactive() -> None:
    rows = [
        user(1, "one"),
        user(2, "two"),
        answer(3, "three"),
        event(4, "session.snapshot_rewind", {"upToEventId": UUID.format(2), "eventsRemoved": 2}),
        user(5, "four"),
    ]
    assert [m.text for m in messages(*rows) if m.active] == ["one", "four"]


def test_a_resumed_session_adds_its_new_events_only(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    rows = [START, user(1, "one"), answer(2, "two")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    memory.ingest(path)
    rows += [event(3, "session.resume", {"eventCount": 3}), user(4, "three")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (report,) = memory.ingest(path).files
    assert (report.added, report.known) == (1, 2)
    assert [m.text for m in memory.messages(f"copilot-cli/{SESSION}")] == ["one", "two", "three"]
