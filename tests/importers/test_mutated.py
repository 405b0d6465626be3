"""Tests that values of any type in a log cost its damaged records, never the file."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.importers import LogFile, Skipped, by_name
from treemem.importers.common.records import read_records
from treemem.types import Message, Source

SESSION = "019a0000-0000-7000-8000-000000000001"
TIME = "2026-01-01T00:00:00.000Z"


def enveloped(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": TIME, "type": kind, "payload": payload}


TEXT = [{"type": "input_text", "text": "one"}, {"type": "output_text", "text": "two"}]
CALL = {"id": "c", "name": "sh", "args": {"a": [1]}, "result": [{"functionResponse": {"id": "c"}}]}
ENTRY = {"type": "message", "timestamp": TIME}
SHELL = {"role": "bashExecution", "command": "ls"}
BLOCKS = [{"type": "thinking", "thinking": "x"}, {"type": "tool_use", "id": "c", "name": "sh"}]
RESULT = {"type": "tool_result", "tool_use_id": "c", "content": TEXT}
LOGS: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {"role": "user", "content": TEXT, "id": "1", "timestamp": TIME},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "sh"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ],
    "claude-code": [
        {"type": "user", "uuid": "1", "parentUuid": None, "message": {"content": TEXT}},
        {"type": "assistant", "uuid": "2", "message": {"id": "m", "content": BLOCKS}},
        {"type": "assistant", "uuid": "3", "message": {"id": "m", "content": TEXT}},
        {"type": "user", "uuid": "4", "parentUuid": "2", "message": {"content": [RESULT]}},
        {"type": "user", "uuid": "5", "isSidechain": True, "agentId": "a", "message": {}},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": TEXT}},
    ],
    "codex": [
        enveloped("session_meta", id=SESSION, source={"subagent": {"thread_spawn": {}}}),
        enveloped("turn_context", turn_id=SESSION),
        enveloped("response_item", type="message", role="user", content=TEXT),
        enveloped("event_msg", type="user_message", message="one", images=["data:x;base64,AA"]),
        enveloped("response_item", type="reasoning", summary=TEXT),
        enveloped("response_item", type="function_call", name="sh", arguments="{}", call_id="c"),
        enveloped("response_item", type="function_call_output", output="ok", call_id="c"),
        enveloped("event_msg", type="item_completed", item={"type": "Plan", "text": "x"}),
        enveloped("event_msg", type="thread_rolled_back", num_turns=1),
        enveloped("compacted", message="so far", replacement_history=[]),
    ],
    "gemini-cli": [
        {"sessionId": SESSION, "projectHash": "h", "startTime": TIME},
        {"id": "1", "timestamp": TIME, "type": "user", "content": [{"text": "one"}]},
        {"id": "2", "type": "gemini", "content": "two", "thoughts": [{"subject": "x"}]},
        {"id": "2", "type": "gemini", "content": "two", "toolCalls": [CALL]},
        {"$set": {"summary": "a title", "kind": "subagent"}},
        {"$rewindTo": "2"},
    ],
    "pi": [
        {"type": "session", "version": 3, "id": SESSION, "timestamp": TIME, "cwd": "/p"},
        {**ENTRY, "id": "1", "parentId": None, "message": {"role": "user", "content": TEXT}},
        {**ENTRY, "id": "2", "parentId": "1", "message": {"role": "toolResult", "content": TEXT}},
        {**ENTRY, "id": "3", "parentId": "1", "message": SHELL},
        {"type": "compaction", "id": "4", "parentId": "2", "timestamp": TIME, "summary": "x"},
        {"type": "session_info", "id": "5", "parentId": "4", "name": "a title"},
    ],
    "copilot-cli": [
        {"type": "session.start", "data": {"sessionId": SESSION}, "id": "0", "timestamp": TIME},
        {"type": "user.message", "data": {"content": "one", "attachments": [{"path": "a"}]}},
        {"type": "assistant.message", "data": {"toolRequests": [{"toolCallId": "c"}]}},
        {"type": "tool.execution_complete", "data": {"toolCallId": "c", "result": {"x": 1}}},
        {"type": "assistant.message", "data": {"content": "x"}, "id": "4", "agentId": "a"},
        {"type": "session.snapshot_rewind", "data": {"upToEventId": "4"}},
    ],
}  # fmt: skip
ODD: list[object] = [
    None, True, -1, 10**30, 1.5, "", "\ud83d", "x\0y", [], {}, [[]], [None, {"text": 1}],
    {"type": "text"}, {"role": {}}, "9" * 400,
]  # fmt: skip


def places(value: object) -> list[tuple[Any, Any]]:
    """Every container in a JSON value, with each key or index of it."""
    result: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        for key in keys:
            result += [(value, key), *places(value[key])]
    return result


def mutated(records: list[dict[str, Any]], chance: random.Random) -> list[object]:
    """A log in which some values are replaced, and some records moved, repeated or removed."""
    rows: list[object] = list(copy.deepcopy(records))
    for _ in range(chance.randrange(1, 6)):
        container, key = chance.choice(places(rows))
        if chance.random() < 0.2 and isinstance(container, dict):
            del container[key]
        else:
            container[key] = copy.deepcopy(chance.choice(ODD))
    if chance.random() < 0.3:
        chance.shuffle(rows)
    return rows + rows[: chance.randrange(len(rows))]


@pytest.mark.parametrize("name", LOGS)
@settings(max_examples=200)
@given(seed=st.integers(0, 2**32))
def test_a_record_with_any_content_ends_in_one_event(name: str, seed: int) -> None:
    chance = random.Random(seed)
    rows = mutated(LOGS[name], chance)
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if chance.random() < 0.3:
        data = data[: chance.randrange(len(data))]
    file = LogFile("x.jsonl", data=data)
    for each in LOGS:
        assert 0 <= by_name(each).recognizes(file, file.head()) <= 1
    events = list(by_name(name).read(file))
    with file.open() as stream:
        records = sum(1 for _ in read_records(stream))
    assert sum(isinstance(event, Message | Skipped) for event in events) == records
    is_open = False
    for event in events:
        is_open |= isinstance(event, Source)
        assert is_open or not isinstance(event, Message)
        if isinstance(event, Message):
            assert all(0 <= part.start < part.end <= len(event.text) for part in event.parts)


@pytest.mark.parametrize("name", LOGS)
def test_the_unchanged_logs_contain_messages(name: str) -> None:
    data = "".join(json.dumps(row) + "\n" for row in LOGS[name]).encode()
    events = list(by_name(name).read(LogFile("x.jsonl", data=data)))
    assert sum(isinstance(event, Message) for event in events) >= 2


@pytest.mark.parametrize("name", LOGS)
def test_a_nesting_bomb_costs_its_record(name: str) -> None:
    bomb = '{"type": "message", "payload": ' + "[" * 200_000
    rows = [json.dumps(row) for row in LOGS[name]]
    data = "\n".join([*rows, bomb, *rows]).encode()
    events = list(by_name(name).read(LogFile("x.jsonl", data=data)))
    assert sum(isinstance(event, Skipped) and event.problem for event in events) == 1
