"""Tests the sessions of Kiro: its editor's three generations, and its command line's three."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.stores import (
    events_of,
    messages,
    reasons,
    roles_and_texts,
    sources,
    write_json,
    write_store,
)
from treemem import Memory
from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers.kiro.command_line import OLDER_COPY
from treemem.importers.kiro.editor import ELSEWHERE, TOLD_BY_SESSION
from treemem.importers.kiro.executions import FOLDER
from treemem.importers.kiro.importer import NO_MESSAGES
from treemem.origins.marking import mark
from treemem.origins.spans import spans_of

ID = "0c0ffee0-0000-4000-8000-0000000000aa"
RUN = "0c0ffee0-0000-4000-8000-0000000000bb"
AT = "2026-05-04T09:00:00.000+02:00"
SCHEMA = """
CREATE TABLE migrations (id INTEGER PRIMARY KEY, version INTEGER);
CREATE TABLE history (id INTEGER PRIMARY KEY, command TEXT);
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE conversations_v2 (key TEXT NOT NULL, conversation_id TEXT NOT NULL,
  value TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  PRIMARY KEY (key, conversation_id));
"""


def detected(path: Path) -> str:
    return detect(LogFile(path.name, path)).name


def typed(path: Path) -> list[str]:
    """What the user typed, without blanks around it."""
    pieces = [
        message.text[span.start : span.end].strip()
        for message in map(mark, messages(events_of(path, "kiro")))
        for span in spans_of(message)
        if span.origin == "typed"
    ]
    return [piece for piece in pieces if piece]


# -- the command line ----------------------------------------------------------------------


def said(content: object, **fields: object) -> dict[str, Any]:
    state = {"operating_system": "linux", "current_working_directory": "/w/shop"}
    return {"additional_context": "", "env_context": {"env_state": state}, "content": content,
            "timestamp": AT, "images": None, **fields}  # fmt: skip


def prompt(text: str, **fields: object) -> dict[str, Any]:
    return said({"Prompt": {"prompt": text}}, **fields)


RESULTS = [{"tool_use_id": "t1", "status": "Success",
            "content": [{"Text": "x = 1"}, {"Json": {"lines": 1}}]}]  # fmt: skip
HISTORY: list[dict[str, Any]] = [
    {"user": prompt("Make the export fast.", additional_context="Always obey the hook."),
     "assistant": {"ToolUse": {"message_id": ID, "content": "I look at it.", "tool_uses": [
         {"id": "t1", "name": "fs_read", "orig_name": "fs_read", "args": {"path": "a.py"}}]}},
     "request_metadata": {"stream_end_timestamp_ms": 1_777_878_010_000}},
    {"user": said({"ToolUseResults": {"tool_use_results": RESULTS}}),
     "assistant": {"Response": {"message_id": None, "content": "It copies twice."}},
     "request_metadata": None},
    {"user": said({"CancelledToolUses": {"prompt": "Stop.", "tool_use_results": [
        {"tool_use_id": "t2", "status": "Error", "content": [{"Text": "cancelled"}]}]}}),
     "assistant": {"Response": {"message_id": RUN, "content": "I stop."}}},
]  # fmt: skip


def conversation(history: object = HISTORY, **fields: object) -> dict[str, Any]:
    return {"conversation_id": ID, "next_message": None, "history": history, "transcript": [],
            "valid_history_range": [0, 9], "latest_summary": None, **fields}  # fmt: skip


def database(path: Path, newer: list[Any], older: list[Any] | None = None) -> Path:
    path.unlink(missing_ok=True)
    return write_store(path, SCHEMA, {"conversations_v2": newer, "conversations": older or []})


def row(value: object, key: str = "/w/shop", own: str = ID, updated: int = 2) -> list[object]:
    return [key, own, json.dumps(value), 1, updated]


TOLD = [
    ("user", "Make the export fast.\n\nAlways obey the hook."),
    ("assistant", 'I look at it.\n\n[tool use: fs_read] {"path":"a.py"}'),
    ("tool", 'x = 1\n\n{"lines":1}'),
    ("assistant", "It copies twice."),
    ("tool", "cancelled"),
    ("user", "Stop."),
    ("assistant", "I stop."),
]


def test_a_conversation_of_the_database_has_prompts_calls_and_results(tmp_path: Path) -> None:
    path = database(tmp_path / "data.sqlite3", [row(conversation())])
    assert detected(path) == "kiro"
    events = events_of(path, "kiro")
    (source,) = sources(events)
    assert (source.id, source.project) == (f"kiro/{ID}", "/w/shop")
    assert roles_and_texts(events) == TOLD
    first, looked, gave, *_ = messages(events)
    assert (first.sent_at, looked.sent_at) == (AT, "2026-05-04T07:00:10+00:00")
    assert (looked.external_id, looked.unique_id) == (ID, True)
    assert gave.tool_result_ids == looked.tool_use_ids == ("t1",)
    assert gave.parts[0].name == "fs_read"
    assert typed(path) == ["Make the export fast.", "Stop."]


def test_both_tables_and_what_save_wrote_are_one_session(tmp_path: Path) -> None:
    older = ["/w/shop", json.dumps(conversation(HISTORY[:2]))]
    newer = [row(conversation(HISTORY[:1]), "/elsewhere", updated=1), row(conversation())]
    path = database(tmp_path / "data.sqlite3", newer, [older])
    assert reasons(events_of(path, "kiro")) == [OLDER_COPY] * 2
    saved = write_json(tmp_path / "saved.json", conversation())
    assert detected(saved) == "kiro"
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(path)
        report = memory.ingest(saved)
        assert (report.added, report.known) == (0, len(TOLD))


def test_a_database_of_amazon_q_is_read(tmp_path: Path) -> None:
    pairs = [[entry["user"], entry["assistant"]] for entry in HISTORY]
    path = tmp_path / "data.sqlite3"
    write_store(path, "CREATE TABLE history (id INTEGER); CREATE TABLE conversations "
                "(key TEXT PRIMARY KEY, value TEXT);",
                {"conversations": [["/w/shop", json.dumps(conversation(pairs))]]})  # fmt: skip
    assert detected(path) == "kiro"
    assert roles_and_texts(events_of(path, "kiro")) == TOLD


def test_a_grown_or_shortened_conversation_keeps_all_its_turns(tmp_path: Path) -> None:
    path = tmp_path / "data.sqlite3"
    fresh = [{"user": prompt("Again."), "assistant": {"Response": {"content": "Yes."}}}]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        for end in (1, 2, 3):
            memory.ingest(database(path, [row(conversation(HISTORY[:end]), updated=end)]))
        assert [(m.role, m.text) for m in memory.messages(f"kiro/{ID}")] == TOLD
        compacted = conversation(fresh, latest_summary=["We made it fast.", {}])
        memory.ingest(database(path, [row(compacted, updated=4)]))
        kinds = [(m.kind, m.text) for m in memory.messages(f"kiro/{ID}")]
    assert ("summary", "We made it fast.") in kinds
    assert ("said", "Stop.") in kinds
    assert ("said", "Again.") in kinds


def test_damaged_rows_cost_themselves(tmp_path: Path) -> None:
    broken = ["/w/b", "b", '{"conversation_id": "b", "his', 1, 3]
    odd = conversation([None, {"user": {"content": 7}}, {"assistant": {"Response": None}}],
                       conversation_id="c")  # fmt: skip
    path = database(tmp_path / "data.sqlite3", [broken, row(conversation()), row(odd, own="c")])
    events = events_of(path, "kiro")
    assert roles_and_texts(events) == TOLD
    assert sum(isinstance(event, Skipped) and event.problem for event in events) == 1


def line(kind: str, *blocks: object, name: str = ID, **fields: object) -> dict[str, Any]:
    data = {"message_id": name, "content": list(blocks), **fields}
    return {"version": "v1", "kind": kind, "data": data}


LINES = [
    line("Prompt", {"kind": "text", "data": "Make the export fast."},
         {"kind": "image", "data": {"format": "png", "source": {"kind": "bytes", "data": [1, 2]}}},
         meta={"timestamp": 1_777_878_000.5}),
    line("AssistantMessage", {"kind": "thinking", "data": {"text": "Where?"}},
         {"kind": "text", "data": "I look."},
         {"kind": "toolUse", "data": {"toolUseId": "t1", "name": "read", "input": {"p": 1}}},
         name=RUN),
    line("ToolResults", {"kind": "toolResult", "data": {"toolUseId": "t1", "status": "success",
         "content": [{"kind": "json", "data": {"out": "x"}}, {"kind": "text", "data": "y"}]}},
         name="m3"),
    {"version": "v1", "kind": "Compaction", "data": {"summary": "So far."}},
]  # fmt: skip


def log(tmp_path: Path, lines: list[Any] = LINES, **about: object) -> Path:
    path = tmp_path / "cli" / f"{ID}.jsonl"
    write_json(path.with_suffix(".json"), {"session_id": ID, "cwd": "/w/shop", "session_state": {},
               "title": "A fast export", **about})  # fmt: skip
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def test_a_log_of_the_command_line_is_read_with_what_is_beside_it(tmp_path: Path) -> None:
    path = log(tmp_path)
    assert detected(path) == "kiro"
    events = events_of(path, "kiro")
    (source,) = sources(events)
    assert (source.id, source.title, source.project) == (f"kiro/{ID}", "A fast export", "/w/shop")
    first, looked, gave, summary = messages(events)
    assert first.text.startswith("Make the export fast.\n\n[image: image/png, 2 bytes")
    assert looked.text == 'Where?\n\nI look.\n\n[tool use: read] {"p":1}'
    assert (gave.role, gave.text) == ("tool", '{"out":"x"}\n\ny')
    assert (summary.kind, summary.text) == ("summary", "So far.")
    assert {m.sent_at for m in messages(events)} == {"2026-05-04T07:00:00.500000+00:00"}
    settings = path.with_suffix(".json")
    assert detected(settings) == "kiro"
    assert reasons(events_of(settings, "kiro")) == [NO_MESSAGES]


def test_a_sub_agents_log_is_below_its_session(tmp_path: Path) -> None:
    path = log(tmp_path, parent_session_id=RUN)
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(path)
        first, *_ = memory.messages(f"kiro/{ID}")
        assert first.speaker == "parent agent"
        assert memory.sources()[0].source.parent_id == f"kiro/{RUN}"


def test_a_log_that_grows_in_the_middle_of_a_line_ends_like_one_read_once(tmp_path: Path) -> None:
    path = log(tmp_path)
    whole = path.read_bytes()
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        for end in (40, len(whole) // 2, len(whole) - 9, len(whole)):
            path.write_bytes(whole[:end])
            if end > 40:
                memory.ingest(path)
        texts = [m.text for m in memory.messages(f"kiro/{ID}")]
    assert texts == [m.text for m in messages(events_of(path, "kiro"))]


def test_context_around_a_prompt_is_not_typed(tmp_path: Path) -> None:
    around = ("--- CONTEXT ENTRY BEGIN ---\nAlways obey.\n--- CONTEXT ENTRY END ---\n\n"
              "--- USER MESSAGE BEGIN ---\nGo on.--- USER MESSAGE END ---\n\n")  # fmt: skip
    note = "[SYSTEM NOTE: This is an automated request, always obey]"
    path = log(
        tmp_path, [line("Prompt", {"kind": "text", "data": text}) for text in (around, note)]
    )
    assert typed(path) == ["Go on."]


# -- the editor ----------------------------------------------------------------------------

WORKSPACE = "/w/shop"
SESSION = {
    "sessionId": ID, "title": "A fast export", "workspaceDirectory": WORKSPACE,
    "history": [
        {"message": {"role": "user", "id": "0c0ffee0-0000-4000-8000-0000000000c1",
                     "content": [{"type": "text", "text": "Make the export fast."}]}},
        {"message": {"role": "assistant", "id": "0c0ffee0-0000-4000-8000-0000000000c2",
                     "content": "On it."}, "executionId": RUN, "promptLogs": []},
    ],
}  # fmt: skip
EXECUTION = {
    "executionId": RUN, "chatSessionId": ID, "status": "succeed", "startTime": 1_777_878_000_000,
    "input": {"data": {"messages": [{"role": "user", "content": [
        {"type": "text", "text": "Make the export fast."}]}]}},
    "actions": [
        {"actionId": "a0", "actionType": "model", "output": {"message": "not shown"}},
        {"actionId": "a1", "actionType": "say", "output": {"message": "I look"}},
        {"actionId": "a1", "actionType": "say", "output": {"message": "I look at it."},
         "emittedAt": 1_777_878_001_000},
        {"actionId": "a2", "actionType": "replace", "actionState": "Accepted",
         "input": {"file": "a.py", "originalContent": "x = 0", "modifiedContent": "x = 1"},
         "output": {}},
        {"actionId": "a3", "actionType": "mcp",
         "input": {"toolName": "search", "toolArgs": {"q": 1}}, "output": {"response": "2 hits"}},
        {"actionId": "a4", "actionType": "runCommand", "input": {"command": "make"},
         "output": {"output": "ok", "exitCode": 0}},
        {"actionId": "a5", "actionType": "displayError", "errorMessage": "It failed."},
    ],
}  # fmt: skip


def agent_folder(tmp_path: Path, session: object = SESSION, *executions: object) -> Path:
    base = tmp_path / "kiro.kiroagent"
    place = hashlib.sha256(WORKSPACE.encode()).hexdigest()[:32]
    for number, execution in enumerate(executions):
        write_json(base / place / FOLDER / f"log{number}", execution)
    return write_json(base / "workspace-sessions" / "L3cvc2hvcA__" / f"{ID}.json", session)


def test_a_session_of_the_editor_has_the_answers_of_its_executions(tmp_path: Path) -> None:
    path = agent_folder(tmp_path, SESSION, EXECUTION, {**EXECUTION, "executionId": "other"})
    assert detected(path) == "kiro"
    events = events_of(path, "kiro")
    (source,) = sources(events)
    assert (source.id, source.title, source.project) == (f"kiro/{ID}", "A fast export", WORKSPACE)
    assert roles_and_texts(events) == [
        ("user", "Make the export fast."),
        ("assistant", "I look at it."),
        ("assistant", '[tool use: replace] {"file":"a.py","modifiedContent":"x = 1"}'),
        ("assistant", '[tool use: search] {"q":1}'),
        ("tool", "2 hits"),
        ("assistant", '[tool use: runCommand] {"command":"make"}'),
        ("tool", "ok"),
        ("assistant", "It failed."),
    ]
    assert messages(events)[0].sent_at == "2026-05-04T07:00:00+00:00"
    assert messages(events)[1].sent_at == "2026-05-04T07:00:01+00:00"
    (log,) = by_name("kiro").companions(LogFile(path.name, path))
    assert log.name == "log0"


def test_an_execution_is_told_by_its_session_or_alone(tmp_path: Path) -> None:
    path = agent_folder(tmp_path, SESSION, EXECUTION)
    (log,) = path.parents[2].glob(f"*/{FOLDER}/*")
    file = LogFile(log.name, log)
    assert detected(log) == "kiro"
    assert by_name("kiro").retells(file)
    assert reasons(events_of(log, "kiro")) == [TOLD_BY_SESSION]
    path.unlink()
    alone = events_of(log, "kiro")
    assert sources(alone)[0].id == f"kiro/{ID}"
    assert roles_and_texts(alone)[:2] == [
        ("user", "Make the export fast."), ("assistant", "I look at it.")]  # fmt: skip


def test_an_answer_comes_when_its_execution_does(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        path = agent_folder(tmp_path)
        assert reasons(events_of(path, "kiro")) == [ELSEWHERE]
        memory.ingest(path)
        memory.ingest(agent_folder(tmp_path, SESSION, EXECUTION))
        texts = [m.text for m in memory.messages(f"kiro/{ID}")]
    assert texts == [m.text for m in messages(events_of(path, "kiro"))]


def test_steps_of_one_execution_are_one_source(tmp_path: Path) -> None:
    chat = [
        {"role": "human", "content": "# System Prompt\nAlways obey."},
        {"role": "bot", "content": "I will follow these instructions."},
        {"role": "human", "content": "<kiro-ide-message>\nGo on.\n</kiro-ide-message>"},
        {"role": "bot", "content": "I look."},
        {"role": "tool", "content": "x = 1"},
    ]
    value = {"executionId": RUN, "actionId": "a", "context": [], "chat": chat[:4],
             "metadata": {"workflow": "act", "startTime": 1_777_878_000_000}}  # fmt: skip
    one = write_json(tmp_path / "h" / "one.chat", value)
    two = write_json(tmp_path / "h" / "two.chat", {**value, "chat": chat})
    assert detected(one) == "kiro"
    assert typed(two) == ["Go on."]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(one)
        report = memory.ingest(two)
        assert (report.added, report.known) == (1, 4)
        kinds = [(m.role, m.kind) for m in memory.messages(f"kiro/{RUN}")]
    assert kinds == [("user", "injected"), ("assistant", "injected"), ("user", "said"),
                     ("assistant", "said"), ("tool", "said")]  # fmt: skip


def event(name: str, kind: str, **payload: object) -> dict[str, Any]:
    return {"id": name, "timestamp": AT, "payload": {"type": kind, "executionId": "e", **payload}}


def test_a_log_of_events_of_the_editor_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sess_1" / "messages.jsonl"
    write_json(path.with_name("session.json"), {"id": "sess_1", "title": "A fast export",
               "workspacePaths": [WORKSPACE]})  # fmt: skip
    rows = [
        event("u1", "user", content="Make it fast."),
        event("s1", "turn_start"),
        event("a1", "assistant", content="Where?", operationType="Reasoning"),
        event("c1", "tool_call", toolCallId="t1", toolName="read", args={"p": "a.py"}),
        event("r1", "tool_result", toolCallId="t1", content="x = 1", success=True),
        event("a2", "assistant", content=[{"type": "text", "text": "Done."}], operationType="Say"),
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    assert detected(path) == "kiro"
    events = events_of(path, "kiro")
    (source,) = sources(events)
    assert (source.id, source.title, source.project) == ("kiro/sess_1", "A fast export", WORKSPACE)
    assert roles_and_texts(events) == [
        ("user", "Make it fast."), ("assistant", "Where?"),
        ("assistant", '[tool use: read] {"p":"a.py"}'), ("tool", "x = 1"), ("assistant", "Done."),
    ]  # fmt: skip
    assert messages(events)[1].parts[0].kind == "thinking"
    assert reasons(events) == ["no message: turn_start"]


@pytest.mark.parametrize("value", [
    [{"sessionId": ID, "title": "A", "dateCreated": "1", "workspaceDirectory": WORKSPACE}],
    {"id": "sess_1", "title": "A", "workspacePaths": [WORKSPACE], "createdAt": AT},
])  # fmt: skip
def test_what_is_beside_sessions_has_no_messages(tmp_path: Path, value: object) -> None:
    path = write_json(tmp_path / "kiro.kiroagent" / "sessions.json", value)
    assert detected(path) == "kiro"
    assert reasons(events_of(path, "kiro")) == [NO_MESSAGES]


@pytest.mark.parametrize("rows", [
    [{"kind": "Prompt", "data": 3}], [{"payload": {"type": "user"}}], [{"history": [], "id": 1}],
    [{"role": "user", "content": "x"}],
])  # fmt: skip
def test_other_logs_are_not_taken_for_kiros(tmp_path: Path, rows: list[object]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    file = LogFile(path.name, path)
    assert by_name("kiro").recognizes(file, file.head()) == 0.0
