"""Tests the sessions of Factory's droid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.stores import events_of, messages, reasons, sources
from treemem import Memory
from treemem.importers import LogFile, detect
from treemem.ingest.discovery import discover, places
from treemem.types import Source

SESSION = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"
AT = "2026-03-01T09:00:00.000Z"
START = {"type": "session_start", "id": SESSION, "title": "Why is it empty", "owner": "ana",
         "version": 2, "cwd": "/w/mill"}  # fmt: skip


def said(number: int, role: str, content: object, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "id": f"0c0ffee0-0000-4000-8000-{number:012}", "timestamp": AT,
            "parentId": None, "message": {"role": role, "content": content, **fields}}  # fmt: skip


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


TALK = [
    START,
    said(1, "user", [text("<system-reminder>Today is Monday.</system-reminder>"),
                     text("Why is the export empty?")]),
    said(2, "assistant", [{"type": "thinking", "thinking": "Look first.", "signature": "x"},
                          text("I run the tests."),
                          {"type": "tool_use", "id": "t1", "name": "Execute",
                           "input": {"command": "make test"}}]),
    said(3, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "2 passed"}]),
    {"type": "todo_state", "id": "x", "timestamp": AT, "todos": []},
    {"type": "compaction_state", "id": "c1", "timestamp": AT, "summaryText": "Tests pass."},
    said(4, "assistant", "It was the filter."),
]  # fmt: skip


def write(path: Path, records: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_session_is_read_with_its_tools_and_summary(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", TALK)
    assert detect(LogFile(path.name, path)).name == "droid"
    events = events_of(path, "droid")
    expected = Source(f"droid/{SESSION}", "droid", "Why is it empty", "s.jsonl", project="/w/mill")
    assert sources(events) == [expected]
    asked, ran, result, summary, answered = messages(events)
    assert (asked.role, asked.kind, asked.sent_at) == ("user", "said", AT)
    assert asked.text.endswith("\n\nWhy is the export empty?")
    assert [part.kind for part in ran.parts] == ["thinking", "tool_use"]
    assert (result.role, result.text, result.tool_result_ids) == ("tool", "2 passed", ("t1",))
    assert (summary.kind, summary.text) == ("summary", "Tests pass.")
    assert (answered.role, answered.text) == ("assistant", "It was the filter.")
    assert reasons(events) == ["no message: session_start", "no message: todo_state"]


@pytest.mark.parametrize(
    "fields", [{"visibility": "llm_only"}, {"visibility": "user_only"},
               {"hookEventName": "Stop"}, {"userMessageSource": "automation"}])  # fmt: skip
def test_what_droid_a_hook_or_an_automation_wrote_is_not_typed(
    fields: dict[str, str], tmp_path: Path
) -> None:
    path = write(tmp_path / "s.jsonl", [START, said(1, "user", "Always obey.", **fields)])
    assert [message.kind for message in messages(events_of(path, "droid"))] == ["injected"]


def test_only_what_the_user_typed_is_of_origin_user(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [*TALK, said(5, "user", "From now on, always count twice.")])
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(path)
        memory.work(max_calls=0)
        assert [rule.text for rule in memory.rules()] == ["From now on, always count twice."]


def test_the_prompts_of_a_subagent_are_its_parents(tmp_path: Path) -> None:
    started = START | {"callingSessionId": "p1", "callingToolUseId": "t9"}
    path = write(tmp_path / "s.jsonl", [started, said(1, "user", "From now on, obey.")])
    events = events_of(path, "droid")
    assert sources(events)[0].parent_id == "droid/p1"
    assert [(m.role, m.author) for m in messages(events)] == [("other", "parent agent")]


def test_a_session_without_its_first_line_is_known_by_its_name(tmp_path: Path) -> None:
    path = write(tmp_path / f"{SESSION}.jsonl", TALK[1:4])
    assert detect(LogFile(path.name, path)).name == "droid"
    assert sources(events_of(path, "droid"))[0].id == f"droid/{SESSION}"


def test_a_session_that_has_grown_and_was_renamed_adds_what_is_new(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", TALK[:3])
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(path)
        path.unlink()
        memory.ingest(write(tmp_path / "b.jsonl", TALK))
        assert [view.source.id for view in memory.sources()] == [f"droid/{SESSION}"]
        assert len(memory.messages(f"droid/{SESSION}")) == 5


def test_sessions_are_found_without_their_settings(tmp_path: Path) -> None:
    folder = tmp_path / ".factory" / "sessions" / "-w-mill"
    write(folder / f"{SESSION}.jsonl", TALK)
    (folder / f"{SESSION}.settings.json").write_text("{}")
    (found,) = discover([p for p in places({}, tmp_path) if p.format == "droid"], [])
    assert found.files == 1
