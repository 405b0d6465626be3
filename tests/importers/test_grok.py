"""Tests Grok's data export."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from tests.helpers.stores import events_of, messages, reasons, sources, write_json
from treemem import Memory
from treemem.importers import LogFile, detect
from treemem.importers.grok.importer import EMPTY, EMPTY_CONVERSATION, NO_SPEAKER
from treemem.types import Source

CHAT = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"


def key(number: int) -> str:
    return f"0c0ffee0-0000-4000-8000-{number:012}"


def said(number: int, sender: str, message: str, **fields: Any) -> dict[str, Any]:
    time = {"$date": {"$numberLong": str(1_772_355_600_000 + number * 1000)}}
    return {"response": {"_id": key(number), "conversation_id": CHAT, "message": message,
                         "sender": sender, "create_time": time, "model": "grok-4",
                         **fields}, "share_link": None}  # fmt: skip


def chat(*responses: Any, **fields: Any) -> dict[str, Any]:
    about = {"id": CHAT, "title": "Empty export", "create_time": "2026-03-01T09:00:00Z"} | fields
    return {"conversation": about, "responses": list(responses)}


def export(path: Path, *chats: Any) -> Path:
    return write_json(path, {"conversations": list(chats), "projects": [], "tasks": []})


def test_an_export_is_read_with_times_and_thinking(tmp_path: Path) -> None:
    path = export(tmp_path / "prod-grok-backend.json", chat(
        said(1, "human", "Why is it empty?", file_attachments=["f1"]),
        said(2, "ASSISTANT", "The filter.", thinking_trace="Look first."),
    ))  # fmt: skip
    assert detect(LogFile(path.name, path)).name == "grok"
    events = events_of(path, "grok")
    expected = Source(f"grok/{CHAT}", "grok", "Empty export", "prod-grok-backend.json")
    assert sources(events) == [expected]
    asked, answer = messages(events)
    assert (asked.role, asked.text) == ("user", "Why is it empty?\n\n[file: f1]")
    assert (asked.sent_at, asked.unique_id) == ("2026-03-01T09:00:01+00:00", True)
    assert (answer.role, answer.text) == ("assistant", "Look first.\n\nThe filter.")
    assert [part.kind for part in answer.parts] == ["thinking"]


def test_answers_that_were_replaced_are_not_active(tmp_path: Path) -> None:
    path = export(tmp_path / "g.json", chat(
        said(1, "human", "One?"), said(2, "assistant", "Old.", parent_response_id=key(1)),
        said(3, "assistant", "New.", parent_response_id=key(1)),
    ))  # fmt: skip
    shown = [(message.text, message.active) for message in messages(events_of(path, "grok"))]
    assert shown == [("One?", True), ("Old.", False), ("New.", True)]


def test_without_parents_all_turns_are_active_in_their_order(tmp_path: Path) -> None:
    path = export(tmp_path / "g.json", chat(*(said(n, "human", f"Say {n}.") for n in range(4))))
    told = messages(events_of(path, "grok"))
    assert [(m.text, m.active) for m in told] == [(f"Say {n}.", True) for n in range(4)]


def test_what_is_no_message_is_counted(tmp_path: Path) -> None:
    odd = {"response": {"_id": "x", "message": "Who?"}}
    path = export(tmp_path / "g.json", chat(), chat(said(1, "human", " "), odd, id="b"))
    assert reasons(events_of(path, "grok")) == [EMPTY_CONVERSATION, EMPTY, NO_SPEAKER]


def test_a_later_export_in_an_archive_adds_what_is_new(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(export(tmp_path / "g.json", chat(said(1, "human", "One?"))))
        archive = tmp_path / "grok.zip"
        later = {"conversations": [chat(said(1, "human", "One?"), said(2, "assistant", "Two."))]}
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("ttl/30d/export_data/u1/prod-grok-backend.json", json.dumps(later))
            file.writestr("ttl/30d/export_data/u1/prod-mc-auth-mgmt-api.json", '{"user": {}}')
        memory.ingest(archive)
        assert [message.text for message in memory.messages(f"grok/{CHAT}")] == ["One?", "Two."]
