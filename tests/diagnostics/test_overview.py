"""The overview counts what is stored, and the logs of tools that are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treemem import Memory, Message, Overview
from treemem.diagnostics.overview import read_overview
from treemem.store.database import Database


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def log(home: Path, name: str, messages: int = 1) -> Path:
    path = home / ".claude" / "projects" / "-farm" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"type": "user", "uuid": f"{name}-{number}", "sessionId": name, "cwd": "/farm",
         "timestamp": "2026-01-01T10:00:00Z",
         "message": {"role": "user", "content": f"Feed the {name} {number} times. " * 9}}
        for number in range(messages)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_it_counts_what_is_stored(memory: Memory) -> None:
    memory.append("chat/1", [Message(text="a", sent_at="2026-01-01T10:00:00Z")])
    memory.append("chat/2", [Message(text="b", sent_at="2026-01-03T10:00:00Z"), Message(text="c")])
    overview = memory.overview()
    assert (overview.sources, overview.messages, overview.latest) == (2, 3, "chat/2")
    assert (overview.started_at or "")[:10] == "2026-01-01"
    assert (overview.ended_at or "")[:10] == "2026-01-03"
    assert overview.size_bytes == memory.path.stat().st_size
    assert (overview.new_logs, overview.grown_logs, overview.is_complete) == ({}, {}, True)


def test_logs_are_new_until_they_are_stored_and_when_they_have_grown(
    memory: Memory, home: Path
) -> None:
    first, _ = log(home, "walrus"), log(home, "heron")
    (home / ".claude" / "projects" / "-farm" / "empty.jsonl").touch()
    assert memory.overview().new_logs == {"claude-code": 2}
    memory.ingest([first])
    assert memory.overview().new_logs == {"claude-code": 1}
    memory.ingest([home])
    overview = memory.overview()
    assert (overview.new_logs, overview.grown_logs) == ({}, {})
    log(home, "walrus", messages=9)
    overview = memory.overview()
    assert (overview.new_logs, overview.grown_logs) == ({}, {"claude-code": 1})
    memory.ingest([home])
    assert memory.overview().grown_logs == {}


def test_it_stops_looking_after_a_time(database: Database, home: Path) -> None:
    log(home, "walrus")
    overview = read_overview(database, max_seconds=-1)
    assert (overview.new_logs, overview.is_complete) == ({}, False)


def test_without_a_memory_all_logs_are_new(home: Path, tmp_path: Path) -> None:
    log(home, "walrus")
    overview = Overview.without_memory(tmp_path / "none.sqlite3")
    assert (overview.messages, overview.new_logs) == (0, {"claude-code": 1})
    assert not (tmp_path / "none.sqlite3").exists()
