"""Whatever an event brings, a hook ends well, says what it has to, and writes down how it went."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hooks.conftest import RULE, WriteLog
from treemem import Memory
from treemem.hooks import beginning, record, running

STORED: list[tuple[Path, str]] = []


@pytest.fixture
def database(home: Path, write_log: WriteLog) -> Path:
    STORED.clear()
    path = home / "m.sqlite3"
    with Memory.open(path) as memory:
        memory.ingest(write_log("one", f"{RULE} Go.", "Done."))
    return path


def responded(database: Path, **event: object) -> tuple[str, str]:
    ours, theirs = os.pipe()
    os.write(theirs, json.dumps({"session_id": "s1", "cwd": str(Path.cwd()), **event}).encode())
    os.close(theirs)
    try:
        return running.respond(ours, database, lambda log, session: STORED.append((log, session)))
    finally:
        os.close(ours)


@pytest.mark.parametrize("source", ["startup", "clear", "compact"])
def test_a_new_window_gets_the_context(source: str, database: Path) -> None:
    answer, problem = responded(database, hook_event_name="SessionStart", source=source)
    assert RULE in json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    assert problem == ""
    (run,) = record.last(5)
    assert (run.event, run.session, run.failed, run.memory) == (
        "SessionStart", "s1", False, str(database),
    )  # fmt: skip


@pytest.mark.parametrize("source", ["resume", "fork", "", 3])
def test_a_window_that_has_it_already_gets_nothing(source: object, database: Path) -> None:
    assert responded(database, hook_event_name="SessionStart", source=source) == ("", "")


def test_a_project_of_which_nothing_is_stored_gets_nothing(home: Path, database: Path) -> None:
    start = {"hook_event_name": "SessionStart", "source": "startup"}
    assert responded(database, **start, cwd="/w/other") == ("", "")
    assert responded(home / "none.sqlite3", **start) == ("", "")
    assert not (home / "none.sqlite3").exists()
    assert [run.note for run in record.last(5)] == [
        "nothing is stored yet", "nothing is stored about this project",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["SessionEnd", "PreCompact"])
def test_a_log_is_stored_when_it_ends_and_before_it_is_compacted(
    name: str, database: Path, write_log: WriteLog
) -> None:
    log = write_log("two", "Hi.")
    assert responded(database, hook_event_name=name, transcript_path=str(log)) == ("", "")
    assert [(log, "s1")] == STORED
    assert running.stored(log, "s1", database) == ""
    assert [(run.event, run.note) for run in record.last(2)] == [
        ("store", "1 message added"), (name, "its log is being stored"),
    ]  # fmt: skip


def test_what_goes_wrong_is_said_in_one_line_and_written_down(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(beginning, "context_of", fail)
    problems = [
        responded(database, hook_event_name="SessionStart", source="startup"),
        responded(database, hook_event_name="SessionEnd", transcript_path="/none.jsonl"),
        responded(database, hook_event_name="SessionEnd"),
        responded(database, hook_event_name="Stop"),
        ("", running.stored(Path("/etc/passwd"), "s1", database)),
    ]
    runs = record.last(9)[::-1]
    assert [run.failed for run in runs] == [True] * 5
    assert runs[0].note == "RuntimeError: two lines"
    for (answer, problem), run in zip(problems, runs, strict=True):
        assert answer == ""
        assert problem == f"treemem: {run.note} See: treemem hooks status"
    assert STORED == []


def test_a_memory_that_cannot_be_opened_holds_nothing_up(home: Path) -> None:
    (home / "broken.sqlite3").write_text("no database")
    start = {"hook_event_name": "SessionStart", "source": "startup"}
    answer, problem = responded(home / "broken.sqlite3", **start)
    assert answer == ""
    assert "broken.sqlite3" in problem


def test_a_beginning_loads_no_model_and_nothing_of_the_network(database: Path) -> None:
    event = {"hook_event_name": "SessionStart", "source": "startup", "cwd": str(Path.cwd())}
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from treemem.hooks import running\n"
        "answer, problem = running.respond(0, Path(sys.argv[1]), print)\n"
        "assert answer and not problem, problem\n"
        "heavy = {'numpy', 'networkx', 'httpx', 'socket', 'mcp', 'pydantic', 'llama_cpp', 'rich',\n"
        "         'treemem.importers', 'importlib.metadata'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(database)], input=json.dumps(event), text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"
