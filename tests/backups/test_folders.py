"""A folder of backups stores each piece once, prunes by policy, and names what is damaged."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from tests.backups.conftest import debris, message_ids, say
from tests.conftest import FakeClock
from treemem import (
    BackupError,
    Memory,
    UsageError,
    check_backups,
    list_backups,
    restore,
)
from treemem.backups import storing
from treemem.backups.folder import Folder
from treemem.store.file import aside


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups"


def back_up(memory: Memory, folder: Path, keep: str = "all") -> str:
    snapshot = memory.backup(f"{folder}/", keep=keep).snapshot
    assert snapshot is not None
    return snapshot


def test_what_has_not_changed_is_stored_once(
    filled: Memory, folder: Path, clock: FakeClock
) -> None:
    first = filled.backup(f"{folder}/")
    say(filled, "chat/1", 500, 1)
    clock.advance(3600)
    second = filled.backup(folder)
    assert (first.messages, second.messages) == (60, 61)
    assert first.stored_bytes < first.size_bytes
    assert second.stored_bytes < first.stored_bytes
    assert [one.messages for one in list_backups(folder)] == [60, 61]


def test_nothing_new_adds_no_snapshot(filled: Memory, folder: Path, clock: FakeClock) -> None:
    first = filled.backup(f"{folder}/")
    clock.advance(3600)
    again = filled.backup(folder)
    assert (first.is_new, again.is_new, again.stored_bytes) == (True, False, 0)
    assert again.snapshot == first.snapshot
    assert len(list_backups(folder)) == 1


def test_each_snapshot_is_the_memory_of_its_time(
    filled: Memory, folder: Path, tmp_path: Path, clock: FakeClock
) -> None:
    expected = []
    for number in range(4):
        back_up(filled, folder)
        expected.append((clock.now_ms, message_ids(filled.path)))
        say(filled, "chat/3", 10 * number, 2)
        clock.advance(86_400)
    for number, (view, (_, ids)) in enumerate(zip(list_backups(folder), expected, strict=True)):
        restore(folder, tmp_path / f"{number}.sqlite3", at=view.made_at)
        assert message_ids(tmp_path / f"{number}.sqlite3") == ids


def test_old_snapshots_and_what_only_they_named_are_removed(
    filled: Memory, folder: Path, tmp_path: Path, clock: FakeClock
) -> None:
    removed = []
    for number in range(5):
        removed += filled.backup(f"{folder}/", keep="last=2").removed
        say(filled, "chat/3", 10 * number, 2)
        clock.advance(60)
    assert len(removed) == 3
    assert len(list_backups(folder)) == 2
    named = {name for one in Folder(folder).snapshots()[0] for name in one.chunks}
    assert {path.stem for path in (folder / "chunks").rglob("*.z")} == named
    assert [one.damage for one in check_backups(folder)] == [(), ()]
    restore(folder, tmp_path / "restored.sqlite3")
    assert len(message_ids(tmp_path / "restored.sqlite3")) == 68


def test_the_last_one_is_the_newest_also_if_the_clock_was_set_back(
    filled: Memory, folder: Path, tmp_path: Path, clock: FakeClock
) -> None:
    back_up(filled, folder)
    clock.advance(-86_400)
    say(filled, "chat/later", 900, 2)
    expected = message_ids(filled.path)
    last = back_up(filled, folder, keep="last=1")
    assert [view.id for view in list_backups(folder)] == [last]
    restore(folder, tmp_path / "new.sqlite3")
    assert message_ids(tmp_path / "new.sqlite3") == expected


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_all_of_it_is_private(filled: Memory, folder: Path) -> None:
    before = os.umask(0)
    try:
        back_up(filled, folder)
    finally:
        os.umask(before)
    for path in [folder, *folder.rglob("*")]:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


def test_a_damaged_chunk_is_found_named_and_written_again(
    filled: Memory, folder: Path, tmp_path: Path, clock: FakeClock
) -> None:
    snapshot = back_up(filled, folder)
    chunks = sorted((folder / "chunks").rglob("*.z"))
    cut, missing = chunks[0], chunks[-1]
    data = cut.read_bytes()
    cut.write_bytes(data[: len(data) // 2])  # not each bit of compressed bytes is one of theirs
    missing.unlink()
    (view,) = check_backups(folder)
    assert view.id == snapshot
    assert sorted(view.damage) == [
        f"The chunk {cut} is damaged.", f"The chunk {missing} is missing.",
    ]  # fmt: skip
    with pytest.raises(BackupError, match=f"of snapshot {snapshot}, so that cannot be restored"):
        restore(folder, tmp_path / "restored.sqlite3")
    assert not (tmp_path / "restored.sqlite3").exists()
    assert debris(tmp_path) == []
    clock.advance(60)
    assert filled.backup(folder).is_new is False  # the memory still has what was damaged
    assert [one.damage for one in check_backups(folder)] == [()]
    restore(folder, tmp_path / "restored.sqlite3")


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"format": "treemem snapshot"}', None])
def test_a_damaged_snapshot_is_named_and_nothing_is_swept(
    filled: Memory, folder: Path, tmp_path: Path, clock: FakeClock, content: bytes | None
) -> None:
    first = back_up(filled, folder)
    path = folder / "snapshots" / f"{first}.json"
    whole = path.read_bytes()
    path.write_bytes(
        whole.replace(b'"messages":60', b'"messages":61') if content is None else content
    )
    say(filled, "chat/3", 0, 40)
    filled.work(max_calls=0)
    clock.advance(60)
    report = filled.backup(folder, keep="last=1")
    assert any(f"{path} is damaged" in notice for notice in report.notices)
    views = check_backups(folder)
    assert [bool(view.damage) for view in views] == [False, True]
    path.write_bytes(whole)  # brought back from elsewhere: nothing of it was removed
    assert [one.damage for one in check_backups(folder)] == [(), ()]
    restore(folder, tmp_path / "first.sqlite3", at=list_backups(folder)[0].made_at)
    assert len(message_ids(tmp_path / "first.sqlite3")) == 60


def test_a_snapshot_that_names_other_files_is_refused(filled: Memory, folder: Path) -> None:
    """Whoever can write into the folder could else have any file read or written."""
    import orjson

    from treemem.backups import snapshots

    first = back_up(filled, folder)
    path = folder / "snapshots" / f"{first}.json"
    for key, value in (
        ("chunks", ["../../memory.sqlite3"]), ("attachments", [["../../evil", 3]]),
        ("chunk_bytes", 0), ("size_bytes", -1), ("chunks", "x"), ("attachments", [3]),
    ):  # fmt: skip
        content = orjson.loads(path.read_bytes())
        del content["seal"]
        content[key] = value
        content["seal"] = snapshots.digest_of(orjson.dumps(content))
        other = folder / "snapshots" / "20200101T000000Z.json"
        other.write_bytes(orjson.dumps(content))
        with pytest.raises(BackupError, match="damaged or no snapshot"):
            snapshots.read(other)


def test_a_folder_belongs_to_one_memory(filled: Memory, folder: Path, tmp_path: Path) -> None:
    """A new memory at the place of a lost one does not push the backups of that out."""
    back_up(filled, folder)
    with Memory.open(tmp_path / "new.sqlite3") as new:
        say(new, "chat/1", 0, 1)
        with pytest.raises(BackupError, match="has the backups of another memory"):
            new.backup(folder, keep="last=1")
    restore(folder, tmp_path / "restored.sqlite3")
    with Memory.open(tmp_path / "restored.sqlite3") as restored:
        say(restored, "chat/1", 900, 1)
        assert restored.backup(folder).messages == 61


def test_a_folder_with_other_things_is_not_touched(filled: Memory, tmp_path: Path) -> None:
    other = tmp_path / "documents"
    other.mkdir()
    (other / "letter.txt").write_text("Dear …")
    with pytest.raises(BackupError, match=r"has other things in it, such as 'letter.txt'"):
        filled.backup(other)
    assert [path.name for path in other.iterdir()] == ["letter.txt"]
    with pytest.raises(BackupError, match="is no folder of backups"):
        list_backups(other)


def test_one_backup_at_a_time_writes_a_folder(filled: Memory, folder: Path) -> None:
    back_up(filled, folder)
    with Folder(folder).writing():
        with pytest.raises(BackupError, match="is running already"):
            filled.backup(folder)
        with pytest.raises(BackupError, match="is running already"):
            check_backups(folder)
    with Folder(folder).reading(), Folder(folder).reading():
        pass


def test_a_policy_is_read_before_anything_is_written(filled: Memory, folder: Path) -> None:
    with pytest.raises(UsageError, match="does not say what is kept"):
        filled.backup(f"{folder}/", keep="forever")
    assert not folder.exists()


def test_a_folder_of_a_newer_version_is_left_alone(filled: Memory, folder: Path) -> None:
    back_up(filled, folder)
    marker = folder / "treemem-backup.json"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "version": 2}))
    with pytest.raises(BackupError, match="newer treemem"):
        filled.backup(folder)


def test_what_a_killed_backup_has_left_is_removed_by_the_next(
    filled: Memory, folder: Path, clock: FakeClock
) -> None:
    back_up(filled, folder)
    (folder / "snapshot.part").write_bytes(b"half")
    stray = folder / "chunks" / "00" / f"{'0' * 40}.z.part"
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"half")
    (folder / "snapshots" / "20260101T000000Z.json.part").write_bytes(b"half")
    clock.advance(60)
    filled.backup(folder)
    assert debris(folder) == []


def test_a_folder_can_be_moved_and_copied(filled: Memory, folder: Path, tmp_path: Path) -> None:
    back_up(filled, folder)
    shutil.copytree(folder, tmp_path / "elsewhere")
    shutil.rmtree(folder)
    restore(tmp_path / "elsewhere", tmp_path / "restored.sqlite3")
    assert len(message_ids(tmp_path / "restored.sqlite3")) == 60


def test_the_size_of_chunks_is_that_of_whole_pages() -> None:
    assert storing.CHUNK_BYTES % 4_096 == 0
    assert aside.PART == ".part"
