"""The log of a session that ends is stored once, whoever names it, and nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.helpers.memories import assert_whole, texts
from tests.hooks.conftest import WriteLog
from treemem import ImportFileError, Memory, UsageError
from treemem.hooks import ending


def test_only_what_is_new_is_added(home: Path, write_log: WriteLog, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        log = write_log("one", "First.", "Second.")
        assert ending.store(memory, log).added == 2
        assert ending.store(memory, log).added == 0
        log = write_log("one", "First.", "Second.", "Third.")
        assert ending.store(memory, log).added == 1
        (source,) = memory.sources()
        assert texts(memory, source.source.id) == ["First.", "Second.", "Third."]
        assert source.root_id is not None
        assert_whole(memory)


def test_the_agents_of_a_session_are_stored_with_it(write_log: WriteLog, tmp_path: Path) -> None:
    log, other = write_log("one", "First."), write_log("agent", "I look.")
    agents = log.with_suffix("") / "subagents" / "deep"
    agents.mkdir(parents=True)
    other.rename(agents / "agent-1.jsonl")
    (agents / "notes.md").write_text("# Notes\n\nMine.\n")
    (agents / ".env").write_text("A=1\n")
    (agents / "agent-1.meta.json").write_text('{"agentType": "Explore"}')
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert ending.store(memory, log).added == 2
        assert len(memory.sources()) == 2


@pytest.mark.parametrize(
    "content", [b"", b"root:x:0:0\n", b'{"password": "hunter2"}\n', b"# Notes\n\nMine.\n", b"\0\1"]
)
def test_a_file_that_is_no_log_of_a_session_is_not_stored(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        with pytest.raises((UsageError, ImportFileError)):
            ending.store(memory, path)
        assert memory.is_empty


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (
        None,
        pipe,
        tmp_path,
        tmp_path / "missing",
        Path("/dev/zero"),
        tmp_path / ("x" * 300),
    ):
        with pytest.raises(UsageError):
            ending.regular_file(path)
