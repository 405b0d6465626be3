"""Tests that Goose's database, its older session files and its exports yield the same messages."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.data.agent_stores import GOOSE_SCHEMA
from tests.helpers.reading import retyped
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
from treemem.importers.common.base import Event
from treemem.importers.goose.speech import Session, Speech
from treemem.ingest.discovery import places
from treemem.types import Message, Part, Source

BEGAN = 1_760_000_000
ID = "20251009_1"
FOR_ALL = {"userVisible": True, "agentVisible": True}
FOR_AGENT = {"userVisible": False, "agentVisible": True}
FOR_USER = {"userVisible": True, "agentVisible": False}
FOR_NOBODY = {"userVisible": False, "agentVisible": False}
CONTINUED = "The previous message contains a summary that was prepared. Continue the session."


def said(at: int, role: str, *content: Any, visible: dict[str, bool] = FOR_ALL) -> dict[str, Any]:
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block
              for block in content]  # fmt: skip
    return {"id": None, "role": role, "created": BEGAN + at, "content": blocks,
            "metadata": visible}  # fmt: skip


def call(use_id: str, name: str, **arguments: object) -> dict[str, Any]:
    value = {"name": name, "arguments": arguments}
    return {"type": "toolRequest", "id": use_id,
            "toolCall": {"status": "success", "value": value}}  # fmt: skip


def result(use_id: str, *items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "toolResponse", "id": use_id,
            "toolResult": {"status": "success", "value": list(items)}}  # fmt: skip


def text(words: str, *audience: str) -> dict[str, Any]:
    annotations = {"annotations": {"audience": list(audience), "priority": 0.0}} if audience else {}
    return {"type": "text", "text": words} | annotations


TALK = [
    said(0, "user", "Why is the export empty?"),
    said(1, "assistant", {"type": "thinking", "thinking": "Look first.", "signature": "x"},
         "I run the tests.", call("c1", "developer__shell", command="make test")),
    said(2, "user", result("c1", text("2 passed\n", "assistant"), text("2 passed\n", "user"))),
    said(3, "assistant", "It was the filter."),
]  # fmt: skip
ABOUT = {
    "id": ID, "name": "Empty export", "user_set_name": False, "session_type": "user",
    "working_dir": "/w/mill", "extension_data": {}, "message_count": 4,
}  # fmt: skip


def database(path: Path, talk: list[dict[str, Any]], **fields: Any) -> Path:
    about = ABOUT | fields
    names = ("id", "name", "description", "user_set_name", "session_type", "working_dir",
             "created_at", "extension_data", "recipe_json", "parent_session_id")  # fmt: skip
    session = [about.get(name) if name != "extension_data" else "{}" for name in names]
    rows = [
        (None, f"msg_{number}", about["id"], turn["role"], json.dumps(turn["content"]),
         turn["created"], json.dumps(turn["metadata"]))
        for number, turn in enumerate(talk)
    ]  # fmt: skip
    return write_store(path, GOOSE_SCHEMA, {"sessions": [session], "messages": rows})


def session_file(path: Path, talk: list[dict[str, Any]]) -> Path:
    header = {"working_dir": "/w/mill", "description": "Empty export", "schedule_id": None,
              "message_count": len(talk), "total_tokens": 9}  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in (header, *talk)), "utf-8")
    return path


def read_all(tmp_path: Path, talk: list[dict[str, Any]], **fields: Any) -> list[list[Event]]:
    export = write_json(tmp_path / "export.json", ABOUT | fields | {"conversation": talk})
    paths = [
        database(tmp_path / "sessions.db", talk, **fields),
        session_file(tmp_path / f"{ID}.jsonl", talk),
        export,
    ]
    for path in paths:
        assert detect(LogFile(path.name, path)).name == "goose"
    return [events_of(path, "goose") for path in paths]


def test_database_session_file_and_export_yield_the_same_messages(tmp_path: Path) -> None:
    stored, lines, export = read_all(tmp_path, TALK)
    assert messages(stored) == messages(lines) == messages(export)
    asked, ran, printed, answered = messages(stored)
    assert (asked.role, asked.kind, asked.unique_id) == ("user", "said", True)
    assert asked.sent_at == "2025-10-09T08:53:20+00:00"
    assert ran.text == (
        'Look first.\n\nI run the tests.\n\n[tool use: developer__shell] {"command":"make test"}'
    )
    assert [part.kind for part in ran.parts] == ["thinking", "tool_use"]
    assert (printed.role, printed.text) == ("tool", "2 passed\n")
    assert printed.parts == (Part("tool_result", 0, 9, "developer__shell"),)
    assert ran.tool_use_ids == printed.tool_result_ids == ("c1",)
    assert answered.role == "assistant"
    expected = Source(f"goose/{ID}", "goose", "Empty export", "sessions.db", rewritten=True,
                      project="/w/mill")  # fmt: skip
    assert sources(stored) == [expected]
    assert [source.id for source in sources(lines)] == [f"goose/{ID}"]


def test_a_session_file_that_goose_copied_into_its_database_adds_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        first = memory.ingest(session_file(tmp_path / "sessions" / f"{ID}.jsonl", TALK))
        # The copy has ids of its own, and results in the newer form.
        newer = json.loads(json.dumps(TALK))
        value = newer[2]["content"][0]["toolResult"]
        value["value"] = {"content": value["value"], "isError": False}
        again = memory.ingest(database(tmp_path / "sessions.db", newer))
        assert (first.added, again.added, again.known) == (4, 0, 4)
        assert [view.source.id for view in memory.sources()] == [f"goose/{ID}"]


def test_a_copied_session_shares_its_messages(tmp_path: Path) -> None:
    copied = [*TALK, said(60, "user", "And the import?")]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(database(tmp_path / "a.db", TALK))
        copy = memory.ingest(database(tmp_path / "b.db", copied, id="20251009_2"))
        assert (copy.added, copy.known) == (1, 4)


def test_a_compaction_leaves_a_summary_and_the_prompt_once(tmp_path: Path) -> None:
    prompt = said(5, "user", "And the import?", visible=FOR_NOBODY)
    talk = [
        *({**turn, "metadata": FOR_USER} for turn in TALK),
        prompt,
        said(6, "assistant", {"type": "systemNotification", "notificationType": "inlineMessage",
                              "msg": "Exceeded auto-compact threshold of 80%."}, visible=FOR_USER),
        said(7, "user", "The export was empty.", visible=FOR_AGENT),
        said(7, "assistant", CONTINUED, visible=FOR_AGENT),
        said(7, "user", "And the import?"),
        said(8, "assistant", "It works."),
    ]  # fmt: skip
    for events in read_all(tmp_path, talk):
        assert [(m.role, m.kind, m.text) for m in messages(events)][4:] == [
            ("user", "said", "And the import?"),
            ("system", "injected", "Exceeded auto-compact threshold of 80%."),
            ("user", "summary", "The export was empty."),
            ("assistant", "injected", CONTINUED),
            ("assistant", "said", "It works."),
        ]
        assert "prompt, repeated after a compaction" in reasons(events)
        assert all(message.active for message in messages(events))


def test_a_summary_joined_with_the_text_behind_it_is_a_summary(tmp_path: Path) -> None:
    both = said(4, "assistant", "The export was empty.", CONTINUED, visible=FOR_AGENT)
    for events in read_all(tmp_path, [*TALK, both]):
        assert [message.kind for message in messages(events)] == ["said"] * 4 + ["summary"]


def test_a_message_for_the_agent_alone_is_not_the_users(tmp_path: Path) -> None:
    note = said(4, "user", "Always call the final tool.", visible=FOR_AGENT)
    for events in read_all(tmp_path, [*TALK, note]):
        assert messages(events)[-1].kind == "injected"


@pytest.mark.parametrize(
    ("fields", "speaker"),
    [
        ({"session_type": "sub_agent", "parent_session_id": "20251009_7"},
         ("other", "said", "parent agent")),
        ({"session_type": "specialist"}, ("other", "said", "parent agent")),
        ({"session_type": "scheduled"}, ("user", "injected", None)),
        ({"session_type": "acp"}, ("user", "said", None)),
        ({"session_type": "gateway"}, ("user", "said", None)),
        ({"recipe_json": json.dumps({"title": "x", "prompt": "Why is the export empty?"})},
         ("user", "injected", None)),
    ],
)  # fmt: skip
def test_only_what_the_user_typed_is_the_users(
    tmp_path: Path, fields: dict[str, Any], speaker: tuple[str, str, str | None]
) -> None:
    events = events_of(database(tmp_path / "sessions.db", TALK, **fields), "goose")
    asked = messages(events)[0]
    assert (asked.role, asked.kind, asked.author) == speaker
    parent = fields.get("parent_session_id")
    assert sources(events)[0].parent_id == (f"goose/{parent}" if parent else None)


def test_the_shells_commands_are_no_prompts(tmp_path: Path) -> None:
    """Goose logs them in milliseconds, and repeats them above the next prompt."""
    logged = said(0, "user", "ls", visible=FOR_USER) | {"created": (BEGAN + 1) * 1000}
    asked = said(2, "user", "<shell_history>\nmake\n</shell_history>\n\nWhy did it fail?")
    path = database(tmp_path / "sessions.db", [asked, logged], session_type="terminal")
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(path)
        command, prompt = memory.messages(f"goose/{ID}")
    assert (command.text, command.kind) == ("ls", "injected")
    assert command.sent_at == "2025-10-09T08:53:21+00:00"
    history = prompt.text.index("\n\nWhy")
    assert prompt.parts == (Part("injected", 0, history, "shell_history"),)


def test_turns_that_an_edit_removed_are_abandoned(tmp_path: Path) -> None:
    edited = [*TALK[:1], said(30, "user", "Is the export full?"), said(31, "assistant", "Yes.")]
    path = tmp_path / "sessions.db"
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(database(path, TALK))
        path.unlink()
        memory.ingest(database(path, edited))
        texts = [message.text for message in memory.messages(f"goose/{ID}")]
        assert texts == ["Why is the export empty?", "Is the export full?", "Yes."]


def test_what_is_in_the_wal_of_a_running_goose_is_read(tmp_path: Path) -> None:
    path = database(tmp_path / "sessions.db", TALK[:2])
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert memory.ingest(path).added == 2
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        for turn in TALK[2:]:
            row = (ID, turn["role"], json.dumps(turn["content"]), turn["created"])
            connection.execute(
                "INSERT INTO messages (session_id, role, content_json, created_timestamp) "
                "VALUES (?, ?, ?, ?)", row)  # fmt: skip
            connection.commit()
        assert (tmp_path / "sessions.db-wal").stat().st_size
        grown = memory.ingest(path)
        assert (grown.added, grown.known) == (2, 2)
        connection.close()


def test_failed_calls_images_resources_and_forms_are_kept(tmp_path: Path) -> None:
    failed = {"type": "toolRequest", "id": "c2",
              "toolCall": {"status": "error", "error": "-32602: no such tool"}}  # fmt: skip
    talk = [
        said(0, "user", "See.", {"type": "image", "data": "AAAA", "mimeType": "image/png"}),
        said(1, "assistant", failed),
        said(2, "user", {"type": "toolResponse", "id": "c2", "toolResult": {
            "status": "error", "error": "no result"}}),
        said(3, "user", result("c3", {"type": "resource", "resource": {
            "uri": "file:///a.md", "mimeType": "text/markdown", "text": "# A"}})),
        said(4, "assistant", {"type": "toolConfirmationRequest", "id": "c4", "toolName": "x",
                              "arguments": {}, "prompt": None}),
        said(5, "assistant", {"type": "actionRequired", "data": {
            "actionType": "elicitation", "id": "e", "message": "Which one?"}}),
        said(6, "user", {"type": "actionRequired", "data": {
            "actionType": "elicitationResponse", "id": "e", "userData": {"one": "b"}}}),
    ]  # fmt: skip
    for events in read_all(tmp_path, talk):
        assert roles_and_texts(events)[1:] == [
            ("assistant", "-32602: no such tool"), ("tool", "no result"), ("tool", "# A"),
            ("assistant", "Which one?"), ("user", '{"one":"b"}'),
        ]  # fmt: skip
        seen = messages(events)[0]
        assert seen.text.startswith("See.\n\n[image: image/png, 3 bytes, sha256:")
        assert [blob.size_bytes for blob in seen.blobs] == [3]
        assert "empty message" in reasons(events)


def test_a_damaged_row_and_a_torn_line_cost_only_themselves(tmp_path: Path) -> None:
    path = database(tmp_path / "sessions.db", TALK)
    write_store(path, "", {"messages": [(None, "m", ID, "user", "[{", BEGAN + 9, None)]})
    events = events_of(path, "goose")
    assert (len(messages(events)), reasons(events)) == (4, ["damaged record"])
    torn = session_file(tmp_path / "torn.jsonl", TALK)
    torn.write_bytes(torn.read_bytes()[:-20])
    assert reasons(events_of(torn, "goose"))[-1] == "record cut off at the end of the file"


def test_the_first_files_without_metadata_are_recognized_by_their_blocks(tmp_path: Path) -> None:
    bare = [{key: turn[key] for key in ("role", "created", "content")} for turn in TALK]
    path = tmp_path / "old.jsonl"
    path.write_text("".join(json.dumps(turn) + "\n" for turn in bare))
    assert detect(LogFile(path.name, path)).name == "goose"
    assert [message.external_id for message in messages(events_of(path, "goose"))] == [
        message.external_id
        for message in messages(events_of(session_file(tmp_path / "a.jsonl", TALK), "goose"))
    ]


def test_goose_path_root_moves_its_sessions() -> None:
    root = {"GOOSE_PATH_ROOT": "/g"}
    moved = {place.folder.as_posix() for place in places(root, Path("/h"))
             if place.format == "goose"}  # fmt: skip
    assert "/g/data/sessions" in moved
    assert "/h/.local/share/goose/sessions" not in moved


@given(st.integers(0, 2**32))
def test_a_value_of_a_wrong_type_costs_at_most_its_message(seed: int) -> None:
    chance = random.Random(seed)
    session = Session(is_agents=chance.random() < 0.3, is_shell=chance.random() < 0.3)
    speech = Speech(session)
    turns = retyped(json.loads(json.dumps(TALK)), seed)
    for turn in turns if isinstance(turns, list) else ():
        if isinstance(turn, dict):
            for event in speech.read(turn):
                assert isinstance(event, Message) or event.reason
    assert all(isinstance(event, Message) for event in speech.rest())
