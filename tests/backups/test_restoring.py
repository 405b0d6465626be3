"""A memory comes back whole, at a free path, and never over another one by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.backups.conftest import debris, message_ids, say
from tests.conftest import FakeClock
from treemem import BackupError, Memory, NotFoundError, UsageError, restore
from treemem.backups import copying
from treemem.store import settings


def test_a_restored_memory_equals_the_one_that_was_backed_up(
    filled: Memory, tmp_path: Path
) -> None:
    filled.backup(f"{tmp_path}/folder/")
    filled.backup(tmp_path / "file.sqlite3")
    expected = picture(filled)
    for number, backup in enumerate(("folder", "file.sqlite3")):
        report = restore(tmp_path / backup, tmp_path / f"{number}.sqlite3")
        assert (report.messages, report.sources, report.former) == (60, 2, None)
        with Memory.open(report.path) as restored:
            assert picture(restored) == expected
            assert restored.setting(settings.BACKUP_OF) is None  # it is a memory again
    assert debris(tmp_path) == []


def picture(memory: Memory) -> object:
    from treemem import Scope

    return (
        [(view, memory.messages(view.source.id)) for view in memory.sources()],
        memory.ledger(Scope.everything()),
        memory.tree(Scope.everything()),
    )


def test_a_memory_that_is_there_is_not_overwritten(filled: Memory, tmp_path: Path) -> None:
    filled.backup(tmp_path / "copy.sqlite3")
    target = tmp_path / "target.sqlite3"
    with Memory.open(target) as other:
        say(other, "chat/7", 0, 3)
    before = target.read_bytes()
    with pytest.raises(BackupError, match=r"exists already\. It was not changed"):
        restore(tmp_path / "copy.sqlite3", target)
    assert target.read_bytes() == before
    report = restore(tmp_path / "copy.sqlite3", target, overwrite=True)
    assert len(message_ids(target)) == 60
    assert report.former is not None
    assert len(message_ids(report.former)) == 3


def test_what_was_in_the_wal_file_of_an_overwritten_memory_is_kept_with_it(
    filled: Memory, tmp_path: Path
) -> None:
    filled.backup(tmp_path / "copy.sqlite3")
    target = tmp_path / "target.sqlite3"
    with Memory.open(target) as other:
        say(other, "chat/7", 0, 3)
        names = [target.with_name(target.name + suffix) for suffix in ("", "-wal")]
        killed = [path.read_bytes() for path in names if path.exists()]
    for path, data in zip(names, killed, strict=False):  # as after a kill
        path.write_bytes(data)
    former = restore(tmp_path / "copy.sqlite3", target, overwrite=True).former
    assert former is not None
    assert len(message_ids(former)) == 3
    assert len(message_ids(target)) == 60


def test_a_memory_that_is_open_elsewhere_is_not_replaced(
    filled: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treemem.store.file.open_marker import OpenMarker

    filled.backup(tmp_path / "copy.sqlite3")
    restore(tmp_path / "copy.sqlite3", tmp_path / "target.sqlite3")
    monkeypatch.setattr(OpenMarker, "other", lambda _: 4242)
    with pytest.raises(BackupError, match="is open in process 4242"):
        restore(tmp_path / "copy.sqlite3", tmp_path / "target.sqlite3", overwrite=True)


def test_the_snapshot_of_a_time_is_the_last_one_until_then(
    filled: Memory, tmp_path: Path, clock: FakeClock
) -> None:
    for day in range(3):
        say(filled, "days", day, 1)
        filled.backup(f"{tmp_path}/folder/")
        clock.advance(86_400)
    made = restore(tmp_path / "folder", tmp_path / "a", at="2025-11-25T23:00:00Z").made_at
    assert made == "2025-11-25T16:00:00+00:00"
    assert restore(tmp_path / "folder", tmp_path / "b").made_at == "2025-11-26T16:00:00+00:00"
    with pytest.raises(NotFoundError, match="the first is from 2025-11-24"):
        restore(tmp_path / "folder", tmp_path / "c", at="2025-11-01")


def test_a_damaged_backup_is_never_brought_back(filled: Memory, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite3"
    filled.backup(copy)
    whole = copy.read_bytes()
    target = tmp_path / "target.sqlite3"
    where = whole.index(b"Module 0 writes its report")
    damaged = {
        "a letter": whole[:where] + b"Xodule" + whole[where + 6 :],
        "its end is missing": whole[: len(whole) // 2],
        "nothing": b"",
        "a text": b"Dear Ana,\n" * 500,
        "zeros": whole[:8192] + bytes(len(whole) - 8192),
    }
    for name, data in damaged.items():
        copy.write_bytes(data)
        with pytest.raises(BackupError, match="cannot be restored"):
            restore(copy, target)
        assert not target.exists(), name
    assert debris(tmp_path) == []


def test_a_target_or_a_backup_that_makes_no_sense_is_refused(
    filled: Memory, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.sqlite3"
    filled.backup(copy)
    with pytest.raises(NotFoundError, match="There is no backup at"):
        restore(tmp_path / "none", tmp_path / "new")
    with pytest.raises(UsageError, match="is the backup itself"):
        restore(copy, copy, overwrite=True)
    with pytest.raises(UsageError, match="is a folder"):
        restore(copy, tmp_path)
    with pytest.raises(UsageError, match="has one state"):
        restore(copy, tmp_path / "new", at="yesterday")
    with pytest.raises(BackupError, match="is no folder of backups"):
        restore(tmp_path, tmp_path / "new")
    (tmp_path / "gone-wal").write_bytes(b"of a memory that was here")
    with pytest.raises(BackupError, match="belongs to a memory that was at this path"):
        restore(copy, tmp_path / "gone")


def test_a_copy_is_read_without_anything_beside_it(filled: Memory, tmp_path: Path) -> None:
    """So that a backup on a disk that cannot be written can be read."""
    place = tmp_path / "there" / "copy.sqlite3"
    filled.backup(place)
    copying.checked(place)
    assert [path.name for path in place.parent.iterdir()] == [place.name]
