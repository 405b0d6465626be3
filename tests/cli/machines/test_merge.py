"""Tests `treemem merge`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TREEMEM_DB", str(tmp_path / "memory.sqlite3"))
    path = tmp_path / "other.sqlite3"
    for file in (None, path):
        with Memory.open(file) as memory:
            memory.append("chat/1", [Message(text="We ship on Friday, Željko.")])
    with Memory.open(path) as memory:
        memory.append("chat/1", [Message(text="The Želva office is closed.")])
        memory.append("chat/2", [Message(text="Good.")])
        memory.session("live/1", window=4_000).append({"role": "user", "content": "Hello."})
    return str(path)


def test_a_memory_is_merged_and_said_what_came(other: str) -> None:
    told = run("merge", other, "--dry-run")
    assert told.stdout == (
        "Would add 2 messages and 1 source; 1 message known.\nTo unite: 1 source that both have.\n"
    )
    done = run("merge", other)
    assert done.exit_code == 0
    assert done.stdout == (
        "Added 2 messages and 1 source; 1 message known.\nUnited: 1 source that both have.\n"
    )
    assert done.stderr == "A live session stays where it is: live/1\n"
    assert "Želva" in run("search", "Želva office").stdout
    assert run("merge", other).stdout == "Added 0 messages and 0 sources; 3 messages known.\n"


def test_the_report_is_json(other: str) -> None:
    report = run_json("merge", other)
    assert (report["sources"], report["messages"], report["grown"], report["forgotten"]) == (
        1, 2, ["chat/1"], 0)  # fmt: skip


def test_a_file_that_is_no_memory_is_an_error(other: str, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"role": "user", "content": "hello"}\n' * 300)
    result = run("merge", str(tmp_path / "log.jsonl"))
    assert result.exit_code == 1
    assert "log.jsonl" in result.stderr
    assert run("merge", str(tmp_path / "missing")).exit_code == 2


def test_it_asks_before_it_forgets_what_was_forgotten_there(other: str) -> None:
    assert run("--db", other, "forget", "--text", "on Friday", "--yes").exit_code == 0
    refused = run("merge", other)
    assert refused.exit_code != 0
    assert "Forget 1 message in " in refused.stderr
    assert "add --yes" in refused.stderr
    assert "Friday" in run("search", "ship on Friday").stdout
    assert "Forgot 1 message forgotten in" in run("merge", other, "--yes").stdout
    assert "Friday" not in run("search", "ship on Friday").stdout
