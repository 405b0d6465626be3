"""A memory knows where its copies are, and which may have what was forgotten."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import FakeClock
from treemem import BackupError, Memory, MemoryCopy, Message, restore
from treemem.store import settings
from treemem.store.database import Database

SECOND_MS = 1_000


def filled(tmp_path: Path, clock: FakeClock) -> Memory:
    memory = Memory.open(tmp_path / "memory.sqlite3", clock=clock)
    memory.append("diary", [Message(text="The party is a surprise."), Message(text="Buy a cake.")])
    return memory


def made_before(memory: Memory) -> dict[str, tuple[int, int]]:
    """Of each copy the name, how many are older than the forgetting, and how many there are."""
    return {Path(copy.path).name: (copy.before_forgetting, copy.number) for copy in memory.copies()}


def test_copies_of_each_kind_are_named_after_forgetting_until_they_are_renewed(
    tmp_path: Path, clock: FakeClock
) -> None:
    with filled(tmp_path, clock) as memory:
        memory.backup(f"{tmp_path}/folder/")
        memory.backup(tmp_path / "copy.sqlite3")
        memory.export_to(tmp_path / "export.jsonl")
        assert made_before(memory) == {
            "folder": (0, 1), "copy.sqlite3": (0, 1), "export.jsonl": (0, 1),
        }  # fmt: skip
        would = memory.forget(text="surprise", dry_run=True)
        report = memory.forget(text="surprise")
        assert would.copies == report.copies == memory.copies()
        assert {Path(copy.path).name for copy in report.copies if copy.before_forgetting} == {
            "folder", "copy.sqlite3", "export.jsonl",
        }  # fmt: skip
        assert any("3 copies of the memory may have" in said for said in memory.status().missing)
        clock.advance(1)
        memory.backup(f"{tmp_path}/folder/")
        assert made_before(memory)["folder"] == (1, 2)
        clock.advance(1)
        memory.append("diary", [Message(text="Flowers, too.")])
        memory.backup(f"{tmp_path}/folder/", keep="last=1")
        memory.backup(tmp_path / "copy.sqlite3")
        (tmp_path / "export.jsonl").unlink()
        memory.export_to(tmp_path / "export.jsonl")
        assert made_before(memory) == {
            "folder": (0, 1), "copy.sqlite3": (0, 1), "export.jsonl": (0, 1),
        }  # fmt: skip
        assert not any("copies of the memory" in said for said in memory.status().missing)


def test_a_backup_of_the_same_memory_still_changes_nothing(
    tmp_path: Path, clock: FakeClock
) -> None:
    with filled(tmp_path, clock) as memory:
        assert memory.backup(f"{tmp_path}/folder/").is_new
        clock.advance(SECOND_MS)
        assert not memory.backup(f"{tmp_path}/folder/").is_new


def test_what_is_not_there_is_said_and_let_go_only_if_it_was_deleted(
    tmp_path: Path, clock: FakeClock
) -> None:
    with filled(tmp_path, clock) as memory:
        memory.backup(tmp_path / "disk" / "copy.sqlite3")
        memory.backup(tmp_path / "deleted.sqlite3")
        shutil.rmtree(tmp_path / "disk")
        (tmp_path / "deleted.sqlite3").unlink()
        report = memory.forget(text="surprise")
        missing = [
            MemoryCopy(str(tmp_path / name), "file", None, None, 0, 1, is_there=False)
            for name in ("disk/copy.sqlite3", "deleted.sqlite3")
        ]
        assert report.copies == missing
        assert memory.copies() == missing[:1]


def test_what_cannot_be_written_is_not_remembered(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "notes.txt").write_text("Mine.")
    with filled(tmp_path, clock) as memory:
        for target in (tmp_path / "notes.txt", f"{tmp_path}/"):
            with pytest.raises(BackupError):
                memory.backup(target)
        assert memory.copies() == []


def test_files_beside_the_memory_and_a_restored_memory_are_known(
    tmp_path: Path, clock: FakeClock
) -> None:
    folder = f"{tmp_path}/folder/"
    with filled(tmp_path, clock) as memory:
        memory.backup(folder)
    restore(folder, tmp_path / "memory.sqlite3", overwrite=True)
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        assert [copy.kind for copy in memory.copies()] == ["folder", "kept"]
        report = memory.forget(text="surprise")
        assert [copy.before_forgetting for copy in report.copies] == [1, 1]


def test_what_a_rule_of_retention_forgets_daily_makes_no_backup_outdated(
    tmp_path: Path, clock: FakeClock
) -> None:
    with filled(tmp_path, clock) as memory:
        memory.append("old", [Message(text="Long ago.", sent_at="2001-01-01T00:00:00Z")])
        memory.backup(f"{tmp_path}/folder/")
        memory.retention.set(30)
        assert memory.retention.apply() == 1
        assert made_before(memory) == {"folder": (0, 1)}


def test_undone_forgetting_makes_no_backup_outdated(tmp_path: Path, clock: FakeClock) -> None:
    with filled(tmp_path, clock) as memory:
        memory.backup(f"{tmp_path}/folder/")
        report = memory.forget(text="surprise")
        assert made_before(memory) == {"folder": (1, 1)}
        memory.forget.undo(report.id or 0)
        assert made_before(memory) == {"folder": (0, 1)}


def test_a_made_up_place_is_never_followed_into_a_pipe(tmp_path: Path, clock: FakeClock) -> None:
    os.mkfifo(tmp_path / "pipe")
    with filled(tmp_path, clock) as memory:
        memory.forget(text="surprise")
    database = Database(tmp_path / "memory.sqlite3")
    with database.transaction():
        settings.put(database, settings.COPIES,
                     f'[["{tmp_path}/pipe", "export"], ["", "file"], 7, ["x"]]')  # fmt: skip
    database.close()
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        assert [(copy.number, copy.before_forgetting) for copy in memory.copies()] == [(0, 0)]


def test_a_made_up_name_keeps_nothing_from_being_forgotten(
    tmp_path: Path, clock: FakeClock
) -> None:
    filled(tmp_path, clock).close()
    database = Database(tmp_path / "memory.sqlite3")
    places = [[f"/{'a' * 5_000}", kind] for kind in ("folder", "file", "export")]
    with database.transaction():
        settings.put(database, settings.COPIES, json.dumps([*places, ["\0", "file"]]))
    database.close()
    with Memory.open(tmp_path / "memory.sqlite3", clock=clock) as memory:
        assert memory.forget(text="surprise").messages == 1
        assert memory.copies() == []  # as of those that were deleted
