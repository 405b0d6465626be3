"""A rescued file is whole or not there, and never takes the place of another file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from treemem import Memory
from treemem.store.database import Database, driver
from treemem.store.file import rescue


def test_a_copy_is_a_whole_database_that_no_other_user_can_read(
    database: Database, tmp_path: Path
) -> None:
    database.execute("INSERT INTO setting (name, value) VALUES ('a', '1')")
    connection = driver.connect(str(database.path))
    target = rescue.copy_memory(connection, tmp_path / "x.sqlite3", driver.connect)
    again = rescue.copy_memory(connection, tmp_path / "x.sqlite3", driver.connect)
    connection.close()
    assert target != again
    assert target.name.startswith("x.sqlite3.rescued-")
    for path in (target, again):
        assert os.name != "posix" or path.stat().st_mode & 0o777 == 0o600
        saved = Database(path)
        assert saved.value("SELECT value FROM setting WHERE name = 'a'") == "1"
        saved.close()


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    Memory.open(path).close()
    os.truncate(path, path.stat().st_size // 3)
    connection = driver.connect(str(path))
    with pytest.raises((driver.Error, ValueError)):
        rescue.copy_memory(connection, path, driver.connect)
    connection.close()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_the_longest_file_name_still_gets_a_rescued_file(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 120)
    wal = path.with_name(path.name + "-wal")
    wal.write_bytes(b"pages")
    target = rescue.set_aside(wal, path)
    assert target.read_bytes() == b"pages"
    assert not wal.exists()
    assert len(os.fsencode(target.name)) <= 255


def test_files_of_another_process_are_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "m"
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).write_bytes(b"theirs")
    rescue.drop_sidecars(path, lambda file: file.name.endswith("-shm"))
    assert [file.name for file in tmp_path.iterdir()] == ["m-wal"]
