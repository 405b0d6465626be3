"""Writes a generated conversation in the formats of agents that keep whole sessions in one store.

Those are databases, or documents that are written anew with each turn. See export_logs.py, which
lists these functions with all others.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.data.export_logs import Talk, Turn


def database(schema: str, rows: dict[str, Sequence[Sequence[object]]]) -> bytes:
    """A SQLite file with these tables and rows."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema)
        for table, values in rows.items():
            for row in values:
                marks = ",".join("?" * len(row))
                connection.execute(f"INSERT INTO {table} VALUES ({marks})", tuple(row))
        connection.commit()
        return connection.serialize()


GOOSE_SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, user_set_name BOOLEAN,
  session_type TEXT, working_dir TEXT, created_at TIMESTAMP, extension_data TEXT, recipe_json TEXT,
  parent_session_id TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT,
  role TEXT, content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
"""


def goose(talk: Talk) -> bytes:
    """Goose's sessions.db."""
    session = ("20260105_1", "A generated talk", "", True, "user", "/home/user/project",
               "2026-01-05 08:00:00", "{}", None, None)  # fmt: skip
    visible = json.dumps({"userVisible": True, "agentVisible": True})
    messages = [
        (number, f"msg_{number}", session[0], role, json.dumps(content), at, visible)
        for number, (role, content, at) in enumerate(_goose_messages(talk), 1)
    ]
    return database(GOOSE_SCHEMA, {"sessions": [session], "messages": messages})


def _goose_messages(talk: Talk) -> Iterator[tuple[str, list[dict[str, Any]], int]]:
    for turn in talk:
        at, use_id = int(turn.at.timestamp()), f"call_{turn.number}"
        content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}]
        if turn.is_users:
            yield "user", content, at
            continue
        call = {"name": "developer__shell", "arguments": {"command": turn.command}}
        value = {"status": "success", "value": call}
        yield "assistant", [*content, {"type": "toolRequest", "id": use_id, "toolCall": value}], at
        found = {"content": [{"type": "text", "text": _found(turn)}], "isError": False}
        result = {"status": "success", "value": found}
        yield "user", [{"type": "toolResponse", "id": use_id, "toolResult": result}], at + 1


def _found(turn: Turn) -> str:
    """What the command of a turn printed."""
    return f"src/step_{turn.number}.py: {turn.number} matches"


ZED_SCHEMA = """
CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL,
  data_type TEXT NOT NULL, data BLOB NOT NULL, parent_id TEXT, folder_paths TEXT,
  folder_paths_order TEXT, created_at TEXT);
"""


def zed(talk: Talk) -> bytes:
    """Zed's threads.db; the thread is not compressed, as in rows of its first versions."""
    thread = {"title": "A generated talk", "version": "0.3.0", "updated_at": "2026-01-05T08:00:00Z",
              "messages": [_zed_message(turn) for turn in talk]}  # fmt: skip
    row = ("5c0375b4-57a5-4f26-b12d-d022ee4e51b7", thread["title"], thread["updated_at"], "json",
           json.dumps(thread, ensure_ascii=False).encode(), None, "/home/user/project", "0",
           "2026-01-05T08:00:00Z")  # fmt: skip
    return database(ZED_SCHEMA, {"threads": [row]})


def _zed_message(turn: Turn) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"Text": turn.text}]
    if turn.is_users:
        return {"User": {"id": turn.uuid, "content": content}}
    use = {"id": f"call_{turn.number}", "name": "terminal", "input": {"command": turn.command},
           "raw_input": "", "is_input_complete": True}  # fmt: skip
    result = {"tool_use_id": use["id"], "tool_name": "terminal", "is_error": False,
              "content": [{"Text": _found(turn)}], "output": None}  # fmt: skip
    return {"Agent": {"content": [*content, {"ToolUse": use}],
                      "tool_results": {use["id"]: result}}}  # fmt: skip


CRUSH_SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
  message_count INTEGER, updated_at INTEGER, created_at INTEGER, summary_message_id TEXT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
  parts BLOB NOT NULL, model TEXT, created_at INTEGER, updated_at INTEGER, finished_at INTEGER,
  provider TEXT, is_summary_message INTEGER);
"""


def crush(talk: Talk) -> bytes:
    """Crush's crush.db; the parts are not compressed, as in rows of its first versions."""
    session = ("5c0375b4-57a5-4f26-b12d-d022ee4e51b7", None, "A generated talk", 0, 0, 0, None)
    rows = [
        (message_id, session[0], role, json.dumps(parts, ensure_ascii=False), None, at, at, at,
         None, 0)
        for turn in talk
        for message_id, role, parts, at in _crush_messages(turn)
    ]  # fmt: skip
    return database(CRUSH_SCHEMA, {"sessions": [session], "messages": rows})


def _crush_messages(turn: Turn) -> Iterator[tuple[str, str, list[dict[str, Any]], int]]:
    at, use_id = int(turn.at.timestamp()), f"call_{turn.number}"
    text = {"type": "text", "data": {"text": turn.text}}
    end = {"type": "finish", "data": {"reason": "stop", "time": at}}
    if turn.is_users:
        yield turn.uuid, "user", [text, end], at
        return
    use = {"id": use_id, "name": "bash", "input": json.dumps({"command": turn.command}),
           "finished": True}  # fmt: skip
    yield turn.uuid, "assistant", [text, {"type": "tool_call", "data": use}, end], at
    result = {"tool_call_id": use_id, "name": "bash", "content": _found(turn), "is_error": False}
    yield f"{turn.uuid}-result", "tool", [{"type": "tool_result", "data": result}, end], at + 1


def continue_session(talk: Talk) -> bytes:
    """A session of Continue."""
    session = {"sessionId": "5c0375b4-57a5-4f26-b12d-d022ee4e51b7", "title": "A generated talk",
               "workspaceDirectory": "file:///home/user/project",
               "history": [_continue_item(turn) for turn in talk]}  # fmt: skip
    return json.dumps(session, ensure_ascii=False).encode()


def _continue_item(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.text, "id": turn.uuid}
    item: dict[str, Any] = {"message": message, "contextItems": []}
    if turn.is_users:
        paragraph = {"type": "paragraph", "content": [{"type": "text", "text": turn.text}]}
        return item | {"editorState": {"type": "doc", "content": [paragraph]}}
    function = {
        "name": "run_terminal_command",
        "arguments": json.dumps({"command": turn.command}),
    }
    call = {"id": f"call_{turn.number}", "type": "function", "function": function}
    message["toolCalls"] = [call]
    output = [{"name": "Terminal", "description": "", "content": _found(turn)}]
    state = {"toolCallId": call["id"], "toolCall": call, "status": "done", "output": output}
    return item | {"toolCallStates": [state]}
