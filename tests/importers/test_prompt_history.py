"""Tests the lists of prompts: what is kept of them, and that a session's log has it only once."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.stores import events_of, messages, reasons, sources
from treemem import Memory, Scope
from treemem.importers import LogFile, detect
from treemem.importers.prompt_history.importer import COMMAND, EMPTY, IN_ITS_LOG, NO_PROMPT
from treemem.ingest.discovery import discover, places
from treemem.ingest.order import TOLD_WHOLE
from treemem.types import Part

GONE, HERE = (f"5c0375b4-57a5-4f26-b12d-d022ee4e51b{end}" for end in "78")
AT = 1_772_355_600_000
TURN = {"parentUuid": None, "isSidechain": False, "sessionId": HERE, "type": "user",
        "uuid": "0c0ffee0-0000-4000-8000-0000000000aa", "timestamp": "2026-03-01T09:00:00Z",
        "message": {"role": "user", "content": "Count the sacks."}}  # fmt: skip


def typed(text: str, session: str | None = GONE, **fields: Any) -> dict[str, Any]:
    named = {} if session is None else {"sessionId": session}
    return {"display": text, "pastedContents": {}, "timestamp": AT, "project": "/w/mill",
            **named, **fields}  # fmt: skip


def write(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_prompt_of_claude_code_is_the_users_with_its_project(tmp_path: Path) -> None:
    path = write(tmp_path / "history.jsonl", typed("Mend the roof."), typed("Now the wall."))
    assert detect(LogFile(path.name, path)).name == "prompt-history"
    events = events_of(path, "prompt-history")
    (source,) = sources(events)
    assert (source.id, source.project) == (f"prompt-history/claude-code/{GONE}", "/w/mill")
    first, second = messages(events)
    assert (first.role, first.kind, first.text) == ("user", "said", "Mend the roof.")
    assert first.sent_at == "2026-03-01T09:00:00+00:00"
    assert second.text == "Now the wall."


def test_prompts_of_codex_are_read_under_both_names_of_the_session(tmp_path: Path) -> None:
    path = write(
        tmp_path / "history.jsonl",
        {"session_id": GONE, "ts": AT // 1000, "text": "One."},
        {"conversation_id": HERE, "ts": AT // 1000, "text": "Two."},
    )
    assert detect(LogFile(path.name, path)).name == "prompt-history"
    events = events_of(path, "prompt-history")
    expected = [f"prompt-history/codex/{session}" for session in (GONE, HERE)]
    assert [source.id for source in sources(events)] == expected
    assert [message.text for message in messages(events)] == ["One.", "Two."]


def test_pasted_text_is_kept_and_not_typed(tmp_path: Path) -> None:
    pastes = {"1": {"id": 1, "type": "text", "content": "Always obey."},
              "2": {"id": 2, "type": "text", "contentHash": "0123456789abcdef"},
              "3": {"id": 3, "type": "text", "contentHash": "../../secret"},
              "4": {"id": 4, "type": "image"}}  # fmt: skip
    (tmp_path / "paste-cache").mkdir()
    (tmp_path / "paste-cache" / "0123456789abcdef.txt").write_text("A long log.")
    path = write(tmp_path / "history.jsonl", typed("Read [Pasted text #1]", pastedContents=pastes))
    (message,) = messages(events_of(path, "prompt-history"))
    assert message.text == "Read [Pasted text #1]\n\nAlways obey.\n\nA long log."
    assert message.parts == (
        Part("text", 23, 35, "Pasted text #1"), Part("text", 37, 48, "Pasted text #2"),
    )  # fmt: skip


def test_commands_and_empty_prompts_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "history.jsonl", typed("/model"), typed(" "), typed("/loop check it"),
                 {"other": 1}, typed("/clear ", None))  # fmt: skip
    events = events_of(path, "prompt-history")
    assert [message.text for message in messages(events)] == ["/loop check it"]
    assert reasons(events) == [COMMAND, EMPTY, NO_PROMPT, COMMAND]


def test_without_a_session_the_prompts_of_a_project_are_a_source(tmp_path: Path) -> None:
    path = write(tmp_path / "history.jsonl", typed("One.", None), typed("Two.", None, project="/x"))
    first, second = sources(events_of(path, "prompt-history"))
    assert first.id.startswith("prompt-history/claude-code/mill-")
    assert second.id.startswith("prompt-history/claude-code/x-")


@pytest.mark.parametrize(
    "log", [f"projects/-w-mill/{HERE}.jsonl", f"sessions/2026/03/01/rollout-2026-{HERE}.jsonl.zst",
            f"archived_sessions/rollout-{HERE}.jsonl"])  # fmt: skip
def test_a_session_whose_log_is_there_is_not_told_twice(log: str, tmp_path: Path) -> None:
    write(tmp_path / log, {})
    path = write(tmp_path / "history.jsonl", typed("Kept."), typed("Told.", HERE))
    events = events_of(path, "prompt-history")
    assert [message.text for message in messages(events)] == ["Kept."]
    assert reasons(events) == [IN_ITS_LOG]


def test_a_session_whose_log_is_in_the_archive_is_not_told_twice(tmp_path: Path) -> None:
    archive = tmp_path / "claude.zip"
    with zipfile.ZipFile(archive, "w") as file:
        lines = [json.dumps(typed("Kept.")), json.dumps(typed("Count the sacks.", HERE))]
        file.writestr("claude/history.jsonl", "\n".join(lines))
        file.writestr(f"claude/projects/-w-mill/{HERE}.jsonl", json.dumps(TURN))
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(archive)
        texts = [message.text for view in memory.sources()
                 for message in memory.messages(view.source.id)]  # fmt: skip
    assert sorted(texts) == ["Count the sacks.", "Kept."]


def test_a_stored_session_is_not_told_twice_when_its_log_is_removed(tmp_path: Path) -> None:
    log = write(tmp_path / f"projects/-w-mill/{HERE}.jsonl", TURN)
    path = write(tmp_path / "history.jsonl", typed("Count the sacks.", HERE))
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(log)
        log.unlink()
        report = memory.ingest(path)
        assert report.files[0].skipped == {TOLD_WHOLE: 1}
        memory.forget(Scope.source(f"claude-code/{HERE}"))
        write(path, typed("Count the sacks.", HERE), typed("More.", HERE))
        report = memory.ingest(path)
        assert report.files[0].skipped == {TOLD_WHOLE: 2}
        assert memory.sources() == []


def test_a_list_that_has_grown_or_lost_its_beginning_adds_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    prompts = [typed(f"Say {n % 2}.", timestamp=AT + n * 1000) for n in range(6)]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        for states in (prompts[:3], prompts[:5], prompts[2:]):
            memory.ingest(write(path, *states))
        texts = [message.text for message in memory.messages(f"prompt-history/claude-code/{GONE}")]
    assert texts == [prompt["display"] for prompt in prompts]


def test_the_lists_are_found(tmp_path: Path) -> None:
    for folder in (".claude", ".codex"):
        write(tmp_path / folder / "history.jsonl", typed("One."))
    (found,) = discover([place for place in places({}, tmp_path)
                         if place.format == "prompt-history"], [])  # fmt: skip
    assert found.files == 2
