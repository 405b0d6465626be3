"""treemem hooks install shows, asks and writes; what it writes is run as Claude Code runs it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import treemem
from tests.helpers.memories import assert_whole
from tests.hooks.conftest import RULE, WriteLog
from treemem import Memory
from treemem.hooks import record
from treemem_cli.main import cli

ROOT = Path(treemem.__file__).parent.parent
SECONDS = 60


def output_of(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, ["hooks", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def sent(home: Path, event: str, *, cwd: Path | None = None, **more: str) -> Any:
    """What the installed command answers to an event, started as the reference says: by a shell,
    in the project's folder, with the event on standard input."""
    settings = json.loads((home / ".claude" / "settings.json").read_text())
    (group,) = settings["hooks"][event]
    (handler,) = group["hooks"]
    folder = cwd or home / "shop"
    data = {"session_id": "s1", "cwd": str(folder), "hook_event_name": event, **more}
    return subprocess.run(
        ["bash", "-c", handler["command"]], input=json.dumps(data), cwd=folder, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'cli'}"}, capture_output=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip


def stored_runs(count: int) -> list[record.Run]:
    """The processes that hooks have started, once so many have ended."""
    for _ in range(SECONDS * 10):
        runs = [run for run in record.last(99) if run.event == "store"]
        if len(runs) >= count:
            return runs
        time.sleep(0.1)
    raise AssertionError(record.last(99))


def test_install_shows_what_changes_and_uninstall_undoes_it(home: Path) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    before = '{"env": {"KEY": "secret-of-mine"},\n "hooks": {"Stop": []}}\n'
    path.write_text(before)
    output = output_of("install", "--yes")
    assert '+    "SessionStart": [' in output
    assert "secret-of-mine" not in output
    assert "already" in output_of("install", "--yes")
    assert "installed      " in output_of("status")
    assert "Written." in output_of("uninstall", "--yes")
    assert path.read_text() == before
    assert "Nothing was changed" in output_of("uninstall", "--yes")
    assert len(list(path.parent.glob("settings.json.before-treemem-*"))) == 2


def test_each_scope_has_its_file(home: Path) -> None:
    assert "names Python on this machine" in output_of("install", "--scope", "project", "--yes")
    output_of("install", "--scope", "local", "--yes")
    states = json.loads(output_of("status", "--json"))["settings"]
    assert [bool(state["commands"]) for state in states] == [False, True, True]
    assert sorted(path.name for path in (home / "shop" / ".claude").iterdir()) == [
        "settings.json", "settings.local.json",
    ]  # fmt: skip


def test_without_a_yes_nothing_is_written(home: Path) -> None:
    output_of("install", code=2)
    assert json.loads(output_of("install", "--print"))["hooks"]["SessionEnd"]
    assert not (home / ".claude").exists()


def test_status_says_what_is_turned_off_or_cannot_be_read(home: Path) -> None:
    output_of("install", "--yes")
    path = home / ".claude" / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "disableAllHooks": True}))
    (home / "shop" / ".claude").mkdir()
    (home / "shop" / ".claude" / "settings.json").write_text("{")
    output = output_of("status")
    assert "turned off" in output
    assert "unreadable" in output


def test_what_a_session_said_is_told_to_the_next(home: Path, write_log: WriteLog) -> None:
    output_of("install", "--yes")
    log = write_log("one", f"{RULE} Add the upload.", "Done. TODO: test it.")
    ended = sent(home, "SessionEnd", transcript_path=str(log), reason="prompt_input_exit")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    (run,) = stored_runs(1)
    assert (run.note, run.session) == ("2 messages added", "s1")
    begun = sent(home, "SessionStart", source="startup")
    assert (begun.returncode, begun.stderr) == (0, "")
    told = json.loads(begun.stdout)["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart"
    assert RULE in told["additionalContext"]
    assert "SessionStart" in output_of("status")


def test_sessions_may_end_at_once(home: Path, write_log: WriteLog) -> None:
    output_of("install", "--yes")
    logs = [write_log(f"s{number}", f"Question {number}?", "Yes.") for number in range(4)]
    for log in [*logs, logs[0]]:
        assert sent(home, "SessionEnd", transcript_path=str(log)).returncode == 0
    assert [run.failed for run in stored_runs(5)] == [False] * 5
    with Memory.open() as memory:
        assert sum(view.messages for view in memory.sources()) == 8
        assert_whole(memory)


@pytest.mark.parametrize("path", ["/none.jsonl", "/etc/passwd", "/dev/zero", "relative", ""])
def test_another_path_than_that_of_a_log_is_not_stored(path: str, home: Path) -> None:
    output_of("install", "--yes")
    before = sent(home, "PreCompact", transcript_path=path, trigger="auto")
    assert before.returncode == 0
    assert before.stdout == ""
    if not before.stderr:  # only the process that reads it sees what it is
        assert stored_runs(1)[0].failed
    with Memory.open() as memory:
        assert memory.is_empty


def test_a_module_in_the_project_is_not_run(home: Path, write_log: WriteLog) -> None:
    output_of("install", "--yes")
    for name in ("treemem.py", "json.py", "click.py", "sitecustomize.py"):
        (home / "shop" / name).write_text("raise SystemExit('from the project')")
    begun = sent(home, "SessionStart", source="startup")
    assert (begun.returncode, begun.stdout, begun.stderr) == (0, "", "")


def test_no_exit_code_blocks_a_compaction(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEMEM_DB", str(home))  # a folder, which is wrong use
    path = home / ".claude" / "settings.json"
    monkeypatch.delenv("TREEMEM_DB")
    output_of("install", "--yes")
    monkeypatch.setenv("TREEMEM_DB", str(home))
    text = path.read_text()
    assert "--db" not in text
    assert sent(home, "PreCompact").returncode == 1
