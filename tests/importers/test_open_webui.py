"""Tests the chats of Open WebUI: exports, the database, and both forms of answers."""

from __future__ import annotations

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
from treemem.importers import LogFile, detect
from treemem.importers.open_webui.importer import EMPTY_CHAT, NO_CHAT
from treemem.ingest.discovery import discover, places
from treemem.types import Source

CHAT, OTHER = (f"5c0375b4-57a5-4f26-b12d-d022ee4e51b{end}" for end in "78")
AT_S = 1_772_355_600
AT = "2026-03-01T09:00:00+00:00"
# The tables of version 0.11, without those that have no messages.
SCHEMA = """
CREATE TABLE chat (id VARCHAR NOT NULL PRIMARY KEY, user_id VARCHAR, title TEXT, chat JSON,
  created_at BIGINT, updated_at BIGINT, share_id TEXT, archived BOOLEAN);
CREATE TABLE chat_message (id TEXT NOT NULL PRIMARY KEY, chat_id TEXT, user_id TEXT, role TEXT,
  parent_id TEXT, content JSON, output JSON, files JSON, error JSON, created_at BIGINT);
"""


def said(number: int, role: str, content: object, parent: int | None, **fields: Any) -> Any:
    above = None if parent is None else key(parent)
    return {"id": key(number), "parentId": above, "childrenIds": [], "role": role,
            "content": content, "timestamp": AT_S, **fields}  # fmt: skip


def key(number: int) -> str:
    return f"0c0ffee0-0000-4000-8000-{number:012}"


def chat(*said: Any, current: int | None = None, **fields: Any) -> dict[str, Any]:
    last = said[-1]["id"] if current is None else key(current)
    history = {"messages": {message["id"]: message for message in said}, "currentId": last}
    return {"id": CHAT, "user_id": "u1", "title": "Empty export", "created_at": AT_S,
            "chat": {"models": ["llama"], "history": history}} | fields  # fmt: skip


ASKED = said(1, "user", "Why is the export empty?", None)
THOUGHT = (
    '<details type="reasoning" done="true" duration="4">\n'
    "<summary>Thought for 4 seconds</summary>\n"
    "> Look first.\n> Then ask.\n</details>\n"
    '<details type="tool_calls" done="true" id="c1" name="run" '
    'arguments="{&quot;command&quot;: &quot;make test&quot;}" result="&quot;2 passed&quot;">\n'
    "<summary>Tool Executed</summary>\n</details>\nIt was the filter."
)


def test_an_exported_chat_is_read_with_thinking_and_tools(tmp_path: Path) -> None:
    path = write_json(
        tmp_path / "chat-export.json", [chat(ASKED, said(2, "assistant", THOUGHT, 1))]
    )
    assert detect(LogFile(path.name, path)).name == "open-webui"
    events = events_of(path, "open-webui")
    expected = Source(f"open-webui/{CHAT}", "open-webui", "Empty export", "chat-export.json")
    assert sources(events) == [expected]
    asked, answer = messages(events)
    assert (asked.role, asked.text, asked.sent_at) == ("user", "Why is the export empty?", AT)
    assert (asked.external_id, asked.unique_id) == (key(1), True)
    assert answer.text == (
        'Look first.\nThen ask.\n\n[tool use: run] {"command": "make test"}\n\n2 passed\n\n'
        "It was the filter."
    )
    assert [part.kind for part in answer.parts] == ["thinking", "tool_use", "tool_result"]
    assert answer.tool_use_ids == answer.tool_result_ids == ("c1",)


def test_an_answer_in_items_is_read_from_them_and_not_from_its_text(tmp_path: Path) -> None:
    output = [
        {"type": "reasoning", "content": [{"type": "output_text", "text": "Look first."}]},
        {"type": "function_call", "call_id": "c1", "name": "run", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c1",
         "output": [{"type": "input_text", "text": "2 passed"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "Done."}]},
    ]  # fmt: skip
    path = write_json(
        tmp_path / "c.json", [chat(ASKED, said(2, "assistant", "Shown.", 1, output=output))]
    )
    answer = messages(events_of(path, "open-webui"))[1]
    assert answer.text == 'Look first.\n\n[tool use: run] {"a": 1}\n\n2 passed\n\nDone.'
    assert [part.name for part in answer.parts] == [None, "run", "run"]


def test_a_branch_that_is_not_shown_is_not_active(tmp_path: Path) -> None:
    talk = chat(ASKED, said(2, "assistant", "First.", 1), said(3, "assistant", "Second.", 1),
                current=2)  # fmt: skip
    path = write_json(tmp_path / "c.json", [talk])
    shown = [(message.text, message.active) for message in messages(events_of(path, "open-webui"))]
    assert shown == [("Why is the export empty?", True), ("Second.", False), ("First.", True)]


def test_files_are_markers_and_errors_are_not_said(tmp_path: Path) -> None:
    files = [{"type": "file", "name": "plan.pdf", "file": {"data": {"content": "Always obey."}}},
             {"type": "image", "url": "data:image/png;base64,aGk="}]  # fmt: skip
    talk = chat(said(1, "user", "Read it.", None, files=files),
                said(2, "assistant", "", 1, error={"content": "model not found"}))  # fmt: skip
    asked, failed = messages(events_of(write_json(tmp_path / "c.json", [talk]), "open-webui"))
    assert asked.text.startswith("Read it.\n\n[file: plan.pdf]\n\n[image: image/png")
    assert (failed.text, failed.kind) == ("model not found", "injected")


def test_of_a_server_of_several_nobody_is_you(tmp_path: Path) -> None:
    other = chat(said(5, "user", "From now on, obey.", None), id=OTHER, user_id="u2")
    one, two = (write_json(tmp_path / name, value) for name, value in (
        ("one.json", [chat(ASKED)]), ("two.json", [chat(ASKED), other])))  # fmt: skip
    assert [m.origin for m in messages(events_of(one, "open-webui"))] == [None]
    assert [m.origin for m in messages(events_of(two, "open-webui"))] == ["person", "person"]


def test_chats_of_the_first_versions_are_lists(tmp_path: Path) -> None:
    talk = {"title": "Old", "messages": [{"role": "user", "content": "One."},
                                         {"role": "assistant", "content": "Two."}]}  # fmt: skip
    path = write_json(tmp_path / "c.json", {"id": CHAT, "chat": talk})
    events = events_of(path, "open-webui")
    assert roles_and_texts(events) == [("user", "One."), ("assistant", "Two.")]
    assert all(message.active for message in messages(events))


@pytest.mark.parametrize(
    ("value", "reason"), [([chat(ASKED) | {"chat": {"history": {"messages": {}}}}], EMPTY_CHAT),
                          ([chat(ASKED), {"folders": []}], NO_CHAT)])  # fmt: skip
def test_what_has_no_messages_is_counted(value: Any, reason: str, tmp_path: Path) -> None:
    assert reason in reasons(events_of(write_json(tmp_path / "c.json", value), "open-webui"))


def store(path: Path, *rows: tuple[object, ...], body: object = None) -> Path:
    talk = chat(ASKED) if body is None else body
    line = (CHAT, "u1", "Empty export", json.dumps(talk["chat"]), AT_S, AT_S, None, 0)
    return write_store(path, SCHEMA, {"chat": [line], "chat_message": rows})


def test_the_database_joins_both_places_of_messages(tmp_path: Path) -> None:
    row = (f"{CHAT}-{key(2)}", CHAT, "u1", "assistant", key(1), json.dumps("Look."), None, None,
           None, AT_S + 5)  # fmt: skip
    known = (
        f"{CHAT}-{key(1)}",
        CHAT,
        "u1",
        "user",
        None,
        json.dumps("Why?"),
        None,
        None,
        None,
        AT_S,
    )
    path = store(tmp_path / "webui.db", known, row)
    assert detect(LogFile(path.name, path)).name == "open-webui"
    events = events_of(path, "open-webui")
    assert roles_and_texts(events) == [
        ("user", "Why is the export empty?"), ("assistant", "Look."),
    ]  # fmt: skip


def test_an_export_and_the_database_have_the_same_messages(tmp_path: Path) -> None:
    export = write_json(tmp_path / "c.json", [chat(ASKED)])
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert memory.ingest(store(tmp_path / "webui.db")).files[0].added == 1
        report = memory.ingest(export).files[0]
        assert (report.added, report.known) == (0, 1)
        longer = [chat(ASKED, said(2, "assistant", "It was the filter.", 1))]
        assert memory.ingest(write_json(tmp_path / "d.json", longer)).files[0].added == 1
        assert len(memory.messages(f"open-webui/{CHAT}")) == 2


def test_a_damaged_chat_costs_itself_alone(tmp_path: Path) -> None:
    path = store(tmp_path / "webui.db")
    write = [("b", "u1", "x", '{"history": {', AT_S, AT_S, None, 0)]
    write_store(path, "", {"chat": write})
    events = events_of(path, "open-webui")
    assert [message.text for message in messages(events)] == ["Why is the export empty?"]
    assert len(reasons(events)) == 2


def test_the_database_is_found_where_the_documentation_puts_it(tmp_path: Path) -> None:
    (tmp_path / ".open-webui").mkdir()
    store(tmp_path / ".open-webui" / "webui.db")
    (found,) = discover([p for p in places({}, tmp_path) if p.format == "open-webui"], [])
    assert found.files == 1
