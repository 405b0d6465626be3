"""A backup into a file is whole, has what was acknowledged before, and replaces only its like."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import threading
from pathlib import Path

import pytest

from tests.backups.conftest import debris, message_ids, say
from tests.conftest import START_MS
from treemem import BackupError, DiskFullError, Memory, UsageError, restore
from treemem.backups import copying, parts
from treemem.store.database import Database, driver


def test_a_copy_has_all_messages_and_can_be_opened(filled: Memory, tmp_path: Path) -> None:
    report = filled.backup(tmp_path / "copy.sqlite3")
    assert message_ids(report.path) == message_ids(filled.path)
    assert (report.messages, report.sources, report.is_new) == (60, 2, True)
    assert report.size_bytes == report.path.stat().st_size
    assert debris(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_a_copy_is_private_and_a_new_folder_too(filled: Memory, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        filled.backup(tmp_path / "new" / "copy.sqlite3")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").rglob("*")]
    assert modes == [0o600]
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_copy_names_its_memory_and_its_time(filled: Memory, tmp_path: Path) -> None:
    report = filled.backup(tmp_path / "copy.sqlite3")
    with copying.opened(report.path) as copy:
        found = copying.content(copy)
    assert found.memory_id == report.memory_id != ""
    assert found.backup_of == {
        "memory": report.memory_id, "made_at": report.made_at, "messages": 60,
        "made_at_ms": START_MS,
    }  # fmt: skip


def test_an_earlier_backup_is_replaced(filled: Memory, tmp_path: Path) -> None:
    filled.backup(tmp_path / "copy.sqlite3")
    say(filled, "chat/1", 500, 5)
    assert filled.backup(tmp_path / "copy.sqlite3").messages == 65
    assert len(message_ids(tmp_path / "copy.sqlite3")) == 65


def test_no_other_file_is_ever_replaced(filled: Memory, tmp_path: Path) -> None:
    others = {
        name: tmp_path / name for name in ("text", "empty", "sqlite", "memory", "other", "used")
    }
    others["text"].write_text("notes")
    others["empty"].touch()
    with driver.connect(str(others["sqlite"])) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with Memory.open(others["memory"]) as other:
        say(other, "chat/1", 0, 2)
        other.backup(others["other"])
    filled.backup(others["used"])
    with Memory.open(others["used"]) as used:  # a backup that became somebody's memory
        say(used, "chat/9", 0, 2)
    for name, path in others.items():
        before = path.read_bytes()
        with pytest.raises(BackupError, match="It was not changed"):
            filled.backup(path)
        assert path.read_bytes() == before, name
    assert debris(tmp_path) == []


def test_the_memory_itself_is_no_target_by_any_name(filled: Memory, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(filled.path)
    (tmp_path / "hard").hardlink_to(filled.path)
    wal = filled.path.with_name(filled.path.name + "-wal")
    for path in (filled.path, tmp_path / "link", tmp_path / "hard", wal):
        with pytest.raises(UsageError, match="is the memory itself"):
            filled.backup(path)
    with Memory.open(":memory:") as kept_nowhere, pytest.raises(UsageError, match="has no file"):
        kept_nowhere.backup(tmp_path / "copy.sqlite3")


def test_every_copy_has_what_was_acknowledged_before_it_began(
    filled: Memory, tmp_path: Path
) -> None:
    """Two writers append all the time. Each copy is whole, and none of them waits for a copy."""
    acknowledged: set[str] = set()
    done = threading.Event()

    def write(source: str, first: int) -> None:
        with Memory.open(filled.path) as memory:
            while not done.is_set():
                acknowledged.update(say(memory, source, first, 2))
                first += 2
                done.wait(0.005)

    writers = [threading.Thread(target=write, args=(f"live/{n}", 1_000 * n)) for n in (1, 2)]
    for writer in writers:
        writer.start()
    try:
        lost = 0
        for number in range(6):
            before = set(acknowledged)
            report = filled.backup(tmp_path / f"copy{number}.sqlite3")
            lost += len(before - message_ids(report.path))
        after_all = len(acknowledged)
    finally:
        done.set()
        for writer in writers:
            writer.join()
    assert lost == 0
    assert after_all > 20


def test_what_is_stored_during_a_copy_does_not_make_it_begin_anew(
    filled: Memory, database: Database, tmp_path: Path
) -> None:
    steps: list[int] = []

    def progress(what: str, done: int, _: int) -> None:
        if what == "Copying pages":
            steps.append(done)
            with Memory.open(filled.path) as writer:
                say(writer, "chat/1", 7_000 + 10 * len(steps), 1)

    from treemem.store.file import online_copy

    at_once = online_copy._PAGES_AT_ONCE
    online_copy._PAGES_AT_ONCE = 20
    try:
        report = filled.backup(tmp_path / "copy.sqlite3", progress=progress)
    finally:
        online_copy._PAGES_AT_ONCE = at_once
    assert len(steps) > 3
    assert steps == sorted(steps)
    assert report.messages == 60


def test_a_full_disk_is_one_sentence_and_leaves_the_former_backup(
    filled: Memory, tmp_path: Path
) -> None:
    place = tmp_path / "there" / "copy.sqlite3"
    filled.backup(place)
    before = place.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        with pytest.raises(DiskFullError, match="There is no room for the backup in") as raised:
            filled.backup(place)
        with pytest.raises(DiskFullError, match="There is no room for the backup in"):
            filled.backup(f"{tmp_path}/folder/")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(raised.value)
    assert place.read_bytes() == before
    assert [path.name for path in place.parent.iterdir()] == [place.name]
    assert not (tmp_path / "folder").exists()
    assert filled.diagnose().healthy


def test_a_damaged_copy_never_takes_the_place_of_a_whole_one(
    filled: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "copy.sqlite3"
    filled.backup(place)
    before = place.read_bytes()
    say(filled, "chat/1", 500, 5)
    copy_memory = copying.copy_memory

    def damaging(database: Database, target: Path, progress: None) -> None:
        copy_memory(database, target, progress)
        with driver.connect(str(target)) as connection:
            connection.execute("UPDATE message SET text = 'Nobody said this.' WHERE seq = 3")
        connection.close()

    monkeypatch.setattr(copying, "copy_memory", damaging)
    for target in (str(place), f"{tmp_path}/folder/"):
        with pytest.raises(BackupError, match=r"does not match its id|are recorded"):
            filled.backup(target)
    assert place.read_bytes() == before
    assert debris(tmp_path) == []
    assert not (tmp_path / "folder").exists()


def test_two_backups_at_once_to_one_place_do_not_mix(filled: Memory, tmp_path: Path) -> None:
    place = tmp_path / "copy.sqlite3"
    with (
        parts.locked(place.with_name("copy.sqlite3.part"), "x"),
        pytest.raises(BackupError, match=r"Another backup to .* is running already"),
    ):
        filled.backup(place)
    filled.backup(place)


def test_a_file_system_without_links_is_enough(
    filled: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    filled.backup(tmp_path / "copy.sqlite3")
    filled.backup(tmp_path / "copy.sqlite3")
    assert len(message_ids(tmp_path / "copy.sqlite3")) == 60


def test_a_backup_of_a_memory_that_cannot_be_written_is_made(
    filled: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treemem import DatabaseReadOnlyError
    from treemem.store import settings

    def refuse(*_: object) -> str:
        raise DatabaseReadOnlyError("read-only")

    monkeypatch.setattr(settings, "put_new", refuse)
    report = filled.backup(tmp_path / "copy.sqlite3")
    assert report.memory_id is None
    assert len(message_ids(tmp_path / "copy.sqlite3")) == 60
    shutil.rmtree(tmp_path / "f", ignore_errors=True)
    assert filled.backup(f"{tmp_path}/f/").snapshot is not None


def test_a_part_that_is_a_second_name_of_a_whole_file_is_no_way_to_empty_it(
    filled: Memory, tmp_path: Path
) -> None:
    """As a process leaves it that is killed between giving a file its name and taking the old."""
    place, restored = tmp_path / "copy.sqlite3", tmp_path / "restored.sqlite3"
    filled.backup(place)
    restore(place, restored)
    os.link(place, tmp_path / "copy.sqlite3.part")
    os.link(restored, tmp_path / "restored.sqlite3.part")
    say(filled, "chat/1", 500, 5)
    former = restore(place, restored, overwrite=True).former
    assert former is not None
    assert len(message_ids(former)) == 60
    with pytest.raises(BackupError, match="Nobody"):
        filled.backup(place, progress=_stop)
    assert len(message_ids(place)) == 60
    assert debris(tmp_path) == []


def _stop(*_: object) -> None:
    raise BackupError("Nobody wants this.")
