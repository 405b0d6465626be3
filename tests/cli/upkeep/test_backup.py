"""Tests `treemem backup` and `treemem restore`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message


@pytest.fixture(autouse=True)
def _stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEMEM_DB", str(tmp_path / "memory.sqlite3"))
    with Memory.open() as memory:
        memory.append("chat/1", [Message(text="We ship on Friday.")])


def test_a_file_is_backed_up_and_restored(tmp_path: Path) -> None:
    copy, new = str(tmp_path / "copy.sqlite3"), str(tmp_path / "new.sqlite3")
    said = run("backup", copy)
    assert said.exit_code == 0
    assert said.stdout.startswith(f"Backed up 1 message of 1 source to {copy} (")
    restored = run("restore", copy, new)
    assert restored.stdout.startswith("Restored 1 message of 1 source from 20")
    assert f"treemem --db {new}" in restored.stderr
    assert "We ship" in run("--db", new, "search", "ship").stdout
    again = run("restore", copy, new)
    assert (again.exit_code, again.stdout) == (1, "")
    assert again.stderr.startswith(f"Error: {new} exists already.")
    assert "--overwrite" in again.stderr
    replaced = run("restore", copy, new, "--overwrite")
    assert f"What was there before is now {new}.before-restore-" in replaced.stdout


def test_a_folder_is_listed_checked_and_restored(tmp_path: Path) -> None:
    folder = f"{tmp_path}/backups/"
    first = run_json("backup", folder)
    assert (first["is_new"], first["messages"], first["removed"]) == (True, 1, [])
    assert run("backup", folder).stdout.startswith("Nothing has changed since 20")
    (listed,) = run_json("backup", "list", folder)
    assert listed["id"] == first["snapshot"]
    assert run("backup", "list", folder).stdout.count(listed["id"]) == 1
    assert run("backup", "check", folder).exit_code == 0
    report = run_json("restore", folder, str(tmp_path / "new.sqlite3"))
    assert (report["snapshot"], report["messages"]) == (first["snapshot"], 1)
    chunk = next(Path(folder, "chunks").rglob("*.z"))
    chunk.unlink()
    checked = run("backup", "check", folder)
    assert checked.exit_code == 1
    assert "damaged" in checked.stdout
    assert f"The chunk {chunk} is missing." in checked.stderr
    broken = run("restore", folder, str(tmp_path / "other.sqlite3"))
    assert f"Which snapshots are whole: treemem backup check {tmp_path}/backups" in broken.stderr


def test_a_target_may_have_options_before_it_and_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("backup", "--keep", "last=3", "weekly/").exit_code == 0
    assert run("backup", "./list").exit_code == 0
    assert Path("list").is_file()
    assert run("backup", "--db", "memory.sqlite3", "copy").exit_code == 0
    refused = run("backup", "--keep", "sometimes", "weekly/")
    assert refused.exit_code == 1
    assert "last=7,daily=30,weekly=12" in refused.stderr


def test_a_backup_of_nothing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEMEM_DB", str(tmp_path / "none.sqlite3"))
    result = run("backup", str(tmp_path / "copy.sqlite3"))
    assert result.exit_code == 1
    assert not (tmp_path / "copy.sqlite3").exists()
    assert not (tmp_path / "none.sqlite3").exists()


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_every_goes_on_through_errors_until_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "backups").write_text("in the way at first")
    command = [sys.executable, "-m", "treemem", "backup", f"{tmp_path}/backups/", "--every", "0.1s"]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stderr.readline().startswith("Error: ")
    (tmp_path / "backups").unlink()
    assert child.stdout.readline().startswith("Backed up 1 message")
    assert child.stdout.readline().startswith("Nothing has changed")
    child.send_signal(signal.SIGINT)
    started = time.monotonic()
    child.communicate(timeout=30)
    assert time.monotonic() - started < 10
    assert child.returncode == 130
