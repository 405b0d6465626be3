"""Tests `treemem watch` as a process: logs grow, move and rotate, and it is killed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.helpers.command_line import run
from tests.helpers.logs import ClaudeSession, prose
from tests.helpers.watchers import WAIT_SECONDS, append, line, stored_texts, until
from treemem import Memory
from treemem.watch import follower
from treemem_cli.logs import watch
from treemem_cli.logs.watch import UNKNOWN_SHOWN
from treemem_cli.main import cli


class Watcher:
    """`treemem watch --json` as a process. events: those it has printed so far."""

    def __init__(self, database: Path, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "treemem_cli.main", "--db", str(database), "watch", "--json",
             *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.events: list[dict[str, object]] = []
        threading.Thread(target=self._listen, daemon=True).start()
        until(lambda: bool(self.events))

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for text in self.process.stdout:
            self.events.append(json.loads(text))

    @property
    def added(self) -> int:
        return sum(int(str(event.get("added", 0))) for event in self.events)

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(timeout=WAIT_SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "watched.sqlite3"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


def test_lines_are_stored_as_they_are_written_and_a_partial_line_once_it_is_complete(
    database: Path, logs: Path
) -> None:
    append(logs / "a.jsonl", line("first"))
    watcher = Watcher(database, logs)
    until(lambda: watcher.added == 1)
    append(logs / "a.jsonl", line("second"))
    began = time.monotonic()
    until(lambda: watcher.added == 2)
    assert time.monotonic() - began < 20
    whole = line("third")
    append(logs / "a.jsonl", whole[:20])
    time.sleep(1.5)
    append(logs / "a.jsonl", whole[20:])
    until(lambda: watcher.added == 3)
    (logs / "new").mkdir()
    append(logs / "new" / "b.jsonl", line("elsewhere"))
    until(lambda: watcher.added == 4)
    assert watcher.end() == 0
    assert [event["event"] for event in watcher.events][-1] == "stopped"
    assert sorted(stored_texts(database)) == ["elsewhere", "first", "second", "third"]


def test_a_log_can_be_rotated_by_moving_or_by_copying(database: Path, logs: Path) -> None:
    log = logs / "a.jsonl"
    append(log, line("one " * 200) + line("two"))
    watcher = Watcher(database, logs)
    until(lambda: watcher.added == 2)
    # Moved: its last line was not read yet, and the new log begins at once.
    append(log, line("three"))
    log.rename(logs / "a.jsonl.1")
    append(log, line("four " * 200))
    until(lambda: watcher.added == 4)
    # Copied and cut off.
    (logs / "a.jsonl.2").write_bytes(log.read_bytes())
    log.write_text("")
    append(log, line("five"))
    until(lambda: watcher.added == 5)
    time.sleep(2)
    assert watcher.end(signal.SIGINT) == 130
    assert watcher.added == 5
    texts = stored_texts(database)
    assert sorted(text.split()[0] for text in texts) == ["five", "four", "one", "three", "two"]
    with Memory.open(database) as memory:
        assert len(memory.sources()) == 1
        assert memory.diagnose().healthy


def test_a_watcher_that_is_killed_and_restarted_stores_nothing_twice(
    database: Path, logs: Path
) -> None:
    session = ClaudeSession("killed")
    for turn in range(3):
        session.say(*(prose(10 * turn + each, 30) for each in range(8)))
        session.write(logs)
        watcher = Watcher(database, logs)
        time.sleep(0.4 * turn)
        assert watcher.end(signal.SIGKILL) == -signal.SIGKILL
    watcher = Watcher(database, logs)
    until(lambda: len(stored_texts(database)) == 24)
    assert watcher.end() == 0
    with Memory.open(database) as memory:
        texts = [message.text for message in memory.messages(session.source_id)]
        assert texts == session.active_texts()
        assert memory.diagnose().healthy


def test_several_watchers_and_an_ingest_can_run_together(database: Path, logs: Path) -> None:
    watchers = [Watcher(database, logs) for _ in range(2)]
    session = ClaudeSession("busy")
    for number in range(6):
        session.say(prose(number, 20), prose(100 + number, 20))
        path = session.write(logs)
        subprocess.run(
            [sys.executable, "-m", "treemem_cli.main", "--db", str(database), "ingest", str(path)],
            check=True, capture_output=True,
        )  # fmt: skip
    until(lambda: len(stored_texts(database)) == 12)
    assert [watcher.end() for watcher in watchers] == [0, 0]
    with Memory.open(database) as memory:
        texts = [message.text for message in memory.messages(session.source_id)]
        assert texts == session.active_texts()
        assert memory.diagnose().healthy


def test_a_line_counts_stored_messages_and_redacted_secrets(logs: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    append(logs / "a.jsonl", line("We ship on Friday.") + line(f"The token is {secret} for now."))
    result = CliRunner().invoke(cli, ["watch", str(logs), "--once"])
    assert result.exit_code == 0, result.output
    assert "chat  a.jsonl: 2 messages added, 1 secret redacted (" in result.stdout
    assert f"Reading {logs}." in result.stderr
    assert "Stopped. Everything that was read is stored." in result.stderr
    again = CliRunner().invoke(cli, ["watch", str(logs), "--once"])
    assert again.stdout == ""


def test_a_missing_path_cannot_be_watched(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["watch", str(tmp_path / "gone")])
    assert result.exit_code == 1
    assert "neither a file nor a folder" in result.stderr


def test_damage_is_reported_and_lines_about_other_files_are_limited(logs: Path) -> None:
    append(logs / "a.jsonl", line("We ship on Friday.") + "{damaged\n" + line("On Monday."))
    for number in range(UNKNOWN_SHOWN + 5):
        (logs / f"{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    result = CliRunner().invoke(cli, ["watch", str(logs), "--once"])
    assert "chat  a.jsonl: 2 messages added, 1 damaged record (" in result.stdout
    assert result.stderr.count("a.jsonl:2: damaged record (") == 1
    assert result.stderr.count(".png is in an unknown format") == UNKNOWN_SHOWN
    assert result.stderr.count("are not listed") == 1


def test_the_many_files_of_a_first_look_are_summed_up(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        append(logs / f"{number}.jsonl", line(f"question {number}"))
    monkeypatch.setattr(follower, "FILES_ANNOUNCED", 5)
    (summed,) = run("watch", str(logs), "--once").stdout.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d  5 files: 5 messages added", summed)
    append(logs / "0.jsonl", line("more"))
    monkeypatch.setattr(follower, "FILES_ANNOUNCED", 100)
    (single,) = run("watch", str(logs), "--once").stdout.splitlines()
    assert "  0.jsonl: 1 message added (" in single


def test_a_long_first_look_says_now_and_then_how_far_it_is(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        append(logs / f"{number}.jsonl", line(f"question {number}"))
    monkeypatch.setattr(follower, "FILES_ANNOUNCED", 5)
    monkeypatch.setattr(watch, "SUM_SECONDS", 0.0)
    lines = run("watch", str(logs), "--once").stdout.splitlines()
    assert [text.split("  ")[1] for text in lines] == ["1 file: 1 message added"] * 5
