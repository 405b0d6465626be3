"""Tests that opencode's folder, database and exports yield the same messages."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.stores import (
    ODD,
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
from treemem.importers.opencode.speech import Reverted, Speech
from treemem.types import Message, Part, Source

BEGAN = 1_760_000_000_000
SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, title text,
  revert text, time_created integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer,
  time_created integer, data text);
"""

Turn = tuple[dict[str, Any], list[dict[str, Any]]]


def session(session_id: str = "ses_a", **fields: Any) -> dict[str, Any]:
    base = {
        "id": session_id,
        "version": "1.0",
        "projectID": "p1",
        "directory": "/w",
        "title": "Fix the export",
        "time": {"created": BEGAN, "updated": BEGAN + 9},
    }
    return base | fields


def turn(number: int, role: str, *parts: dict[str, Any], **fields: Any) -> Turn:
    head = {"id": f"msg_{number:03}", "sessionID": "ses_a", "role": role,
            "time": {"created": BEGAN + number}}  # fmt: skip
    return head | fields, list(parts)


def text(words: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": words} | fields


BASH = {"type": "tool", "tool": "bash", "callID": "call_1", "state": {
    "status": "completed", "input": {"command": "make test"}, "output": "2 passed\n"}}  # fmt: skip
TURNS = [
    turn(1, "user", text("Why is the export empty?"), text("<file>x</file>", synthetic=True)),
    turn(2, "assistant", {"type": "step-start"}, {"type": "reasoning", "text": "Look first."},
         text("I run the tests."), BASH, {"type": "step-finish", "reason": "stop"}),
    turn(3, "user", text("Go on.", synthetic=True)),
    turn(4, "assistant", text("It was the filter."), summary=True),
]  # fmt: skip


def write_folder(root: Path, about: dict[str, Any], turns: list[Turn]) -> Path:
    """Writes the storage folder; returns the path of the session's file in it."""
    for head, parts in turns:
        write_json(root / "message" / about["id"] / f"{head['id']}.json", head)
        for at, part in enumerate(parts):
            ids = {"id": f"prt_{at:03}", "messageID": head["id"], "sessionID": about["id"]}
            write_json(root / "part" / head["id"] / f"{ids['id']}.json", ids | part)
    write_json(root / "project" / "p1.json", {"id": "p1", "worktree": "/w"})
    return write_json(root / "session" / "p1" / f"{about['id']}.json", about)


def write_database(path: Path, about: dict[str, Any], turns: list[Turn]) -> Path:
    revert = json.dumps(about["revert"]) if "revert" in about else None
    rows: dict[str, list[tuple[object, ...]]] = {
        "session": [(about["id"], "p1", about.get("parentID"), about["title"], revert, BEGAN)],
        "message": [], "part": [],
    }  # fmt: skip
    for head, parts in turns:
        data = {key: value for key, value in head.items() if key not in ("id", "sessionID")}
        created = head["time"]["created"]
        rows["message"].append((head["id"], about["id"], created, json.dumps(data)))
        for at, part in enumerate(parts):
            row = (f"{head['id']}/{at:03}", head["id"], about["id"], json.dumps(part))
            rows["part"].append(row)
    return write_store(path, SCHEMA, rows)


def read_all(tmp_path: Path, about: dict[str, Any], turns: list[Turn]) -> list[list[Event]]:
    """The events of the folder, the database and the export, with the same label."""
    export = {"info": about, "messages": [{"info": head, "parts": p} for head, p in turns]}
    paths = [
        write_folder(tmp_path / "storage", about, turns),
        write_database(tmp_path / "opencode.db", about, turns),
        write_json(tmp_path / "export.json", export),
    ]
    return [events_of(path, "opencode") for path in paths]


def test_folder_database_and_export_yield_the_same_messages(tmp_path: Path) -> None:
    folder, database, export = read_all(tmp_path, session(), TURNS)
    assert messages(folder) == messages(database) == messages(export)
    prompt, answered, injected, summed_up = messages(folder)
    assert prompt.text == "Why is the export empty?\n\n<file>x</file>"
    assert (prompt.role, prompt.kind, prompt.unique_id) == ("user", "said", True)
    assert prompt.parts == (Part("marker", 26, 40, "synthetic"),)
    assert prompt.sent_at == "2025-10-09T08:53:20.001000+00:00"
    assert answered.text == (
        'Look first.\n\nI run the tests.\n\n[tool use: bash] {"command":"make test"}\n\n2 passed\n'
    )
    assert [part.kind for part in answered.parts] == ["thinking", "tool_use", "tool_result"]
    assert answered.tool_use_ids == answered.tool_result_ids == ("call_1",)
    assert (injected.kind, summed_up.kind) == ("injected", "summary")
    (source,) = sources(folder)
    about = ("opencode/ses_a", "opencode", "Fix the export", "ses_a.json")
    assert source == Source(*about, rewritten=True, project="/w")


def test_a_subagents_session_names_its_parent_and_a_default_title_is_dropped(
    tmp_path: Path,
) -> None:
    about = session("ses_b", parentID="ses_a", title="Child session - 2026-01-01T00:00:00.000Z")
    for events in read_all(tmp_path, about, TURNS[:1]):
        (source,) = sources(events)
        assert (source.parent_id, source.title) == ("opencode/ses_a", None)


@pytest.mark.parametrize(
    ("revert", "active"),
    [({"messageID": "msg_003"}, [True, True, False, False]),
     ({"messageID": "msg_003", "partID": "prt_1"}, [True, True, True, False]),
     ({"messageID": "msg_999"}, [True] * 4), ({}, [True] * 4)],
)  # fmt: skip
def test_reverted_messages_are_inactive(
    tmp_path: Path, revert: dict[str, str], active: list[bool]
) -> None:
    for events in read_all(tmp_path, session(revert=revert), TURNS):
        assert [message.active for message in messages(events)] == active


def test_a_fork_under_new_ids_adds_only_its_new_turn(tmp_path: Path) -> None:
    fork = [(head | {"id": f"msg_9{head['id'][-2:]}"}, parts) for head, parts in TURNS]
    fork.append(turn(500, "user", text("And the import?")))
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        first = memory.ingest(write_folder(tmp_path / "a", session(), TURNS))
        second = memory.ingest(write_database(tmp_path / "b.db", session("ses_f"), fork))
        again = memory.ingest(write_database(tmp_path / "c.db", session(), TURNS))
    assert (first.added, second.added, second.known) == (4, 1, 4)
    assert (again.added, again.known) == (0, 4)


def test_two_messages_of_one_millisecond_are_two(tmp_path: Path) -> None:
    first, second = turn(1, "user", text("one")), turn(2, "user", text("two"))
    second[0]["time"] = first[0]["time"]
    for events in read_all(tmp_path, session(), [first, second]):
        assert len({message.external_id for message in messages(events)}) == 2


def test_a_grown_session_adds_its_tail_and_replaces_unfinished_messages(tmp_path: Path) -> None:
    cut = [*TURNS[:1], turn(2, "assistant", text("I run"))]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(write_folder(tmp_path / "a", session(), cut))
        grown = memory.ingest(write_folder(tmp_path / "a", session(), TURNS))
    # The message's file of parts has changed, so the session is read again.
    assert (grown.added, grown.known) == (3, 1)


def test_message_files_are_read_alone_only_without_their_session(tmp_path: Path) -> None:
    path = write_folder(tmp_path, session(), TURNS)
    message = tmp_path / "message" / "ses_a" / "msg_001.json"
    part = tmp_path / "part" / "msg_001" / "prt_000.json"
    for file in (path, message, part):
        assert detect(LogFile(file.name, file)).name == "opencode"
    assert reasons(events_of(message, "opencode")) == ["read with its session"]
    assert reasons(events_of(part, "opencode")) == ["read with its session"]
    path.unlink()
    assert roles_and_texts(events_of(message, "opencode")) == [("user", TURNS[0][1][0]["text"] +
                                                     "\n\n<file>x</file>")]  # fmt: skip
    message.unlink()
    assert reasons(events_of(part, "opencode")) == ["part without its message"]


def test_a_folder_in_an_archive_is_read_like_a_folder(tmp_path: Path) -> None:
    write_folder(tmp_path / "storage", session(), TURNS)
    packed = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "storage"))
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert memory.ingest(packed).added == 4
        again = memory.ingest(tmp_path / "storage")
        assert (again.added, again.known) == (0, 4)


def test_attachments_leave_markers_and_errors_are_imported(tmp_path: Path) -> None:
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}
    failed = {"type": "tool", "tool": "read", "callID": "c", "state": {
        "status": "error", "input": {}, "error": "No such file"}}  # fmt: skip
    linked = {"type": "file", "mime": "text/plain", "url": "file:///w/a.py", "source": {
        "type": "file", "path": "a.py", "text": {"value": "@a.py"}}}  # fmt: skip
    turns = [turn(1, "user", text("see"), picture, linked), turn(2, "assistant", failed)]
    for events in read_all(tmp_path, session(), turns):
        seen, told_error = messages(events)
        assert seen.text.startswith("see\n\n[image: image/png, 3 bytes, sha256:")
        assert seen.text.endswith("[file: file:///w/a.py]")
        assert [blob.size_bytes for blob in seen.blobs] == [3]
        assert told_error.text == "[tool use: read] {}\n\nNo such file"


def test_the_newer_table_is_read_if_the_older_one_is_empty(tmp_path: Path) -> None:
    tool = {"type": "tool", "id": "call_2", "name": "grep", "state": {
        "status": "completed", "input": {"q": "é"}, "content": [{"type": "text", "text": "3 hits"}]}
    }  # fmt: skip
    entries = [
        ("user", {"text": "Find it.", "files": []}),
        ("assistant", {"content": [text("Searching."), tool]}),
        ("shell", {"callID": "s1", "command": "ls", "output": "a.py\n"}),
        ("synthetic", {"text": "Plan mode is on."}),
        ("compaction", {"summary": "We look for it.", "recent": ""}),
        ("idle", {"outcome": "succeeded"}),
        ("novel", {}),
    ]
    rows = [
        (f"msg_{at}", "ses_a", kind, at, BEGAN + at,
         json.dumps(data | {"time": {"created": BEGAN + at}}))
        for at, (kind, data) in enumerate(entries)
    ]  # fmt: skip
    about = [("ses_a", "p1", None, "New", None, BEGAN)]
    path = write_store(tmp_path / "n.db", SCHEMA, {"session": about, "session_message": rows})
    events = events_of(path, "opencode")
    assert roles_and_texts(events) == [
        ("user", "Find it."),
        ("assistant", 'Searching.\n\n[tool use: grep] {"q":"é"}\n\n3 hits'),
        ("user", "[tool use: shell] ls\n\na.py\n"),
        ("user", "Plan mode is on."),
        ("assistant", "We look for it."),
    ]
    assert [message.kind for message in messages(events)][3:] == ["injected", "summary"]
    assert reasons(events) == ["no message: idle", "no message: unknown"]
    assert messages(events)[1].tool_result_ids == ("call_2",)


def test_damaged_files_and_rows_are_reported_and_do_not_affect_others(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "storage", session(), TURNS[:2])
    (tmp_path / "storage" / "message" / "ses_a" / "msg_000.json").write_text('{"id": "msg_0')
    events = events_of(path, "opencode")
    assert reasons(events) == ["damaged record"]
    assert len(messages(events)) == 2
    database = write_database(tmp_path / "o.db", session(), TURNS[:2])
    write_store(database, "", {"message": [("msg_999", "ses_x", 1, "{"), ("m", None, 2, None)]})
    events = events_of(database, "opencode")
    assert len(messages(events)) == 2
    assert reasons(events) == ["damaged record", "damaged record"]


@given(st.data())
def test_a_value_of_a_wrong_type_costs_at_most_its_message(draw: st.DataObject) -> None:
    holders: list[Any] = []

    def collect(value: Any) -> None:
        if isinstance(value, dict | list):
            holders.append(value)
            for inner in value.values() if isinstance(value, dict) else value:
                collect(inner)

    turns: list[Any] = json.loads(json.dumps(TURNS))
    collect(turns)
    for _ in range(draw.draw(st.integers(1, 4))):
        holder = draw.draw(st.sampled_from(holders))
        if holder is turns or holder in turns or not holder:
            continue
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        holder[draw.draw(st.sampled_from(sorted(keys)))] = draw.draw(st.sampled_from(ODD))
    speech, reverted = Speech(), Reverted({"revert": draw.draw(st.sampled_from(ODD))})
    for head, parts in turns:
        if isinstance(head, dict) and isinstance(parts, list):
            event = speech.message(head, parts, active=not reverted.reaches("m"))
            assert isinstance(event, Message) or event.reason
