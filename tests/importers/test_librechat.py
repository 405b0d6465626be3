"""Tests LibreChat's exports: lists, trees, and the parts of answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.helpers.stores import events_of, messages, roles_and_texts, sources, write_json
from treemem import Memory
from treemem.importers import LogFile, detect
from treemem.types import Source

CHAT = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"
NOBODY = "00000000-0000-0000-0000-000000000000"


def key(number: int) -> str:
    return f"0c0ffee0-0000-4000-8000-{number:012}" if number else NOBODY


def said(number: int, parent: int, text: str = "", *parts: Any, **fields: Any) -> dict[str, Any]:
    content = {"content": list(parts)} if parts else {}
    return {"messageId": key(number), "parentMessageId": key(parent), "conversationId": CHAT,
            "sender": "User" if number % 2 else "GPT-4", "isCreatedByUser": number % 2 == 1,
            "text": text, "createdAt": "2026-03-01T09:00:00.000Z", "error": False,
            **content, **fields}  # fmt: skip


def export(path: Path, messages: list[Any], **fields: Any) -> Path:
    return write_json(path, {
        "conversationId": CHAT, "endpoint": "openAI", "title": "Empty export",
        "exportAt": "09:00:00 GMT+0000", "branches": True, "recursive": False,
        "options": {"promptPrefix": "Obey."}, "messages": messages,
    } | fields)  # fmt: skip


ANSWER = [
    {"type": "think", "think": "Look first."},
    {"type": "text", "text": {"value": "I run them."}},
    {"type": "tool_call", "tool_call": {"id": "c1", "name": "run", "args": '{"command":"make"}',
                                        "type": "tool_call", "output": "2 passed"}},
    {"type": "agent_update", "agent_update": {"index": 0}},
]  # fmt: skip


def test_a_conversation_is_read_with_thinking_and_tools(tmp_path: Path) -> None:
    path = export(tmp_path / "chat.json", [said(1, 0, "Why is it empty?"), said(2, 1, "", *ANSWER)])
    assert detect(LogFile(path.name, path)).name == "librechat"
    events = events_of(path, "librechat")
    expected = Source(f"librechat/{CHAT}", "librechat", "Empty export", "chat.json")
    assert sources(events) == [expected]
    asked, answer = messages(events)
    assert (asked.role, asked.text) == ("user", "Why is it empty?")
    assert (asked.external_id, asked.unique_id) == (key(1), True)
    assert asked.sent_at == "2026-03-01T09:00:00.000Z"
    assert answer.text == (
        'Look first.\n\nI run them.\n\n[tool use: run] {"command":"make"}\n\n2 passed'
    )
    assert [part.kind for part in answer.parts] == ["thinking", "tool_use", "tool_result"]


def test_a_tree_and_a_list_have_the_same_messages_and_branches(tmp_path: Path) -> None:
    flat = [said(1, 0, "One?"), said(2, 1, "Old."), said(4, 1, "New.")]
    tree = [flat[0] | {"children": [flat[1] | {"children": []}, flat[2] | {"children": []}]}]
    first = messages(events_of(export(tmp_path / "a.json", flat), "librechat"))
    second = messages(events_of(export(tmp_path / "b.json", [], messagesTree=tree), "librechat"))
    assert first == second
    assert [(m.text, m.active) for m in first] == [("One?", True), ("Old.", False), ("New.", True)]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert memory.ingest(tmp_path / "a.json").files[0].added == 3
        assert memory.ingest(tmp_path / "b.json").files[0].added == 0


def test_errors_are_not_said_and_files_are_markers(tmp_path: Path) -> None:
    files = [{"filename": "plan.pdf", "type": "application/pdf", "text": "Always obey."}]
    path = export(tmp_path / "c.json", [
        said(1, 0, "Read it.", files=files), said(2, 1, "No such model.", error=True),
        said(3, 2, ""), "odd",
    ])  # fmt: skip
    events = events_of(path, "librechat")
    assert roles_and_texts(events) == [
        ("user", "Read it.\n\n[file: plan.pdf]"), ("assistant", "No such model."),
    ]  # fmt: skip
    assert [message.kind for message in messages(events)] == ["said", "injected"]


def test_an_export_that_has_grown_adds_what_is_new(tmp_path: Path) -> None:
    talk = [said(number, number - 1, f"Say {number}.") for number in range(1, 6)]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        for count in (2, 5, 5):
            memory.ingest(export(tmp_path / f"export-{count}.json", talk[:count]))
        texts = [message.text for message in memory.messages(f"librechat/{CHAT}")]
    assert texts == [message["text"] for message in talk]


def test_a_very_deep_tree_is_read(tmp_path: Path) -> None:
    tree: dict[str, Any] = said(150, 149, "The last.")
    for number in range(149, 0, -1):
        tree = said(number, number - 1, f"Say {number}.") | {"children": [tree]}
    path = export(tmp_path / "d.json", [], messagesTree=[tree])
    assert len(messages(events_of(path, "librechat"))) == 150
