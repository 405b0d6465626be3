"""A memory file among the logs is left alone: opening it would cost its locks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from treemem import Memory, Message
from treemem.ingest.walk import find_files
from treemem.store.file.sidecars import beside, is_own
from treemem.watch.follower import Follower, Target, WatchEvent

LOCKS = Path("/proc/locks")


@pytest.fixture
def among_logs(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "logs" / "memory.sqlite3") as memory:
        memory.append("chat/1", [Message("user", "We ship on Friday.")])
        (tmp_path / "logs" / "note.txt").write_text("The pump runs at night.")
        yield memory


@pytest.fixture(autouse=True)
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


def locks(folder: Path) -> set[str]:
    """The files of the folder that this process holds locks on."""
    names = {str(path.stat().st_ino): path.name for path in folder.iterdir()}
    rows = [line.split() for line in LOCKS.read_text().splitlines()]
    return {names.get(row[5].rpartition(":")[2], "") for row in rows
            if row[4] == str(os.getpid())} - {""}  # fmt: skip


@pytest.mark.skipif(not LOCKS.exists(), reason="locks are listed on Linux only")
@pytest.mark.parametrize("how", ["ingest", "plan", "watch"])
def test_ingesting_the_folder_of_a_memory_drops_none_of_its_locks(
    among_logs: Memory, logs: Path, tmp_path: Path, how: str
) -> None:
    before = locks(logs)
    link = tmp_path / "link"  # the same folder, by another name
    link.symlink_to(logs)
    events: list[WatchEvent] = []
    if how == "ingest":
        assert among_logs.ingest(logs).added == 1
    elif how == "plan":
        assert among_logs.plan(logs).messages_new == 1
    else:
        Follower(among_logs, [Target.of(link)], events.append, poll=True).run(once=True)
    assert locks(logs) == before
    assert [event.text for event in events if event.kind == "error"] == []


def test_a_folder_skips_its_memory_file_and_naming_that_file_is_an_error(
    among_logs: Memory, logs: Path
) -> None:
    assert [Path(file.path).name for file in among_logs.ingest(logs).files] == ["note.txt"]
    (report,) = among_logs.ingest(among_logs.path).files
    assert report.error is not None
    assert "is not a log" in report.error


def test_a_memory_file_is_recognized_under_any_name(among_logs: Memory, tmp_path: Path) -> None:
    link = tmp_path / "notes.txt"
    link.symlink_to(among_logs.path)
    assert is_own(among_logs.path, link)
    assert all(is_own(among_logs.path, path) for path in beside(among_logs.path) if path.exists())
    assert not is_own(among_logs.path, tmp_path / "logs" / "note.txt")
    assert not is_own(among_logs.path, tmp_path / "gone")


def test_a_folder_deleted_while_it_is_walked_does_not_affect_the_others(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (logs / name / "below").mkdir(parents=True)
        (logs / name / "below" / "log.txt").write_text(name)
    scandir = os.scandir

    def scan(path: str | Path) -> object:
        if Path(path).name == "b":
            Path(path).rename(tmp_path / "gone")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scan)
    names = [file.path.parent.parent.name for file in find_files([logs]) if file.path]
    assert names == ["a", "c"]
