"""Faults of the file: a lost -wal file, foreign and damaged files, locks."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.logs import prose
from tests.helpers.memories import assert_whole, run_child, texts
from treemem import (
    DatabaseCorruptError,
    DatabaseError,
    DatabaseKeyError,
    DatabaseLockedError,
    DatabaseVersionError,
    Memory,
    Message,
)
from treemem.queue import jobs
from treemem.reports import WorkReport
from treemem.store import migrations
from treemem.store.database import Database, driver

if TYPE_CHECKING:
    from tests.conftest import FakeClock

PAGE_BYTES = 4_096

RESCUE = "deleted while the database was in use"

DIES = """
import os, sys
from treemem import Memory, Message
memory = Memory.open(sys.argv[1])
memory.append("s", [Message(text="the last words")])
os._exit(9)
"""


def is_wal(path: Path) -> bool:
    """Whether the file, which is open, has a -wal file beside it."""
    return wal_of(path).exists()


def wal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_wal_file_deleted_under_an_open_memory_is_noticed_and_its_data_rescued(
    memory: Memory, clock: FakeClock
) -> None:
    if not is_wal(memory.path):
        pytest.skip("this SQLite works without a -wal file")
    memory.append("s", [Message(text=f"message {n}") for n in range(50)])
    wal_of(memory.path).unlink()
    with pytest.raises(DatabaseError, match=RESCUE):
        memory.append("s", [Message(text="too late")])
    memory.close()
    with Memory.open(memory.path, clock=clock) as again:
        assert texts(again, "s") == [f"message {n}" for n in range(50)]
        again.append("s", [Message(text="in time")])
        assert_whole(again)


def test_a_wal_file_deleted_under_a_running_worker_loses_nothing(
    memory: Memory, clock: FakeClock
) -> None:
    if not is_wal(memory.path):
        pytest.skip("this SQLite works without a -wal file")
    for source in range(3):
        memory.append(f"s{source}", [Message(text=prose(source, 3))])

    def delete(report: WorkReport, kind: str) -> None:
        del report, kind
        wal_of(memory.path).unlink(missing_ok=True)

    with pytest.raises(DatabaseError, match=RESCUE):
        memory.work(max_calls=0, progress=delete)
    memory.close()
    clock.advance(jobs.LEASE_MS / 1000)
    with Memory.open(memory.path, clock=clock) as again:
        again.work(max_calls=0)
        assert [texts(again, f"s{n}") for n in range(3)] == [[prose(n, 3)] for n in range(3)]
        assert_whole(again)


def test_a_wal_file_deleted_after_an_unclean_exit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    with Memory.open(path) as memory:
        if not is_wal(memory.path):
            pytest.skip("this SQLite works without a -wal file")
        memory.append("s", [Message(text="the first words")])
    assert run_child(DIES, path).returncode == 9
    wal_of(path).unlink()
    with Memory.open(path) as memory:
        assert any("-wal file is gone" in notice for notice in memory.notices)
        assert texts(memory, "s") == ["the first words"]
    with Memory.open(path) as memory:
        assert memory.notices == ()


@pytest.mark.parametrize("sqlite", ["", "stdlib"])
def test_an_unclean_exit_alone_loses_nothing_and_adds_no_notice(
    tmp_path: Path, sqlite: str
) -> None:
    path = tmp_path / "memory.sqlite3"
    assert run_child(DIES, path, TREEMEM_SQLITE=sqlite).returncode == 9
    look = (
        "import sys; from treemem import Memory; memory = Memory.open(sys.argv[1]); "
        "print(memory.notices, [m.text for m in memory.messages('s')])"
    )
    outcome = run_child(look, path, TREEMEM_SQLITE=sqlite)
    assert outcome.stdout == "() ['the last words']\n", outcome.stderr


def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    database = Database(path)
    with Memory(database) as memory:
        memory.append("s", [Message(text="from the future")])
        database.execute(f"PRAGMA user_version = {migrations.SCHEMA_VERSION + 1}")
    before = bytes_in(tmp_path)
    for _ in range(2):
        with pytest.raises(DatabaseVersionError, match="newer treemem"):
            Memory.open(path)
        assert bytes_in(tmp_path) == before


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("application_id", [0, 0x0F055112])
def test_a_foreign_sqlite_file_is_refused_and_left_as_it_is(
    tmp_path: Path, journal: str, application_id: int
) -> None:
    path = tmp_path / "places.sqlite"
    connection = driver.connect(str(path), isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute(f"PRAGMA application_id = {application_id}")
    connection.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, text TEXT)")
    connection.execute("INSERT INTO message (text) VALUES ('not yours')")
    connection.close()
    before = bytes_in(tmp_path)
    with pytest.raises(DatabaseVersionError, match="not one of treemem's"):
        Memory.open(path)
    assert bytes_in(tmp_path) == before


@pytest.mark.parametrize(
    ("data", "error"),
    [(b"This is no database at all. " * 300, DatabaseError), (b"\0" * 5_000, DatabaseCorruptError),
     (os.urandom(20_000), DatabaseKeyError), (b"xy", DatabaseError),
     (b"SQLite format 3\0" + b"\xff" * 5_000, DatabaseCorruptError)],
    ids=["text", "zeros", "noise", "two bytes", "broken header"],
)  # fmt: skip
def test_a_file_in_another_format_is_refused_and_left_as_it_is(
    tmp_path: Path, data: bytes, error: type[DatabaseError]
) -> None:
    path = tmp_path / "memory.sqlite3"
    path.write_bytes(data)
    with pytest.raises(error, match="was not changed") as raised:
        Memory.open(path)
    assert type(raised.value) is error  # a text was never a memory, so it is not damaged
    assert bytes_in(tmp_path) == {path.name: data}


def filled_file(path: Path) -> bytes:
    with Memory.open(path) as memory:
        memory.append("s", [Message(text=prose(n, 8)) for n in range(60)])
        memory.work(max_calls=0)
    return path.read_bytes()


@pytest.mark.parametrize("damage", ["cut off", "overwritten"])
def test_a_damaged_file_is_reported_and_left_as_it_is(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "memory.sqlite3"
    whole = filled_file(path)
    half = len(whole) // 8 // PAGE_BYTES * PAGE_BYTES
    tail = b"" if damage == "cut off" else b"\xa5" * (len(whole) - half)
    path.write_bytes(whole[:half] + tail)
    for _ in range(2):
        with pytest.raises(DatabaseCorruptError, match="was not changed"):
            Memory.open(path)
        assert bytes_in(tmp_path) == {path.name: whole[:half] + tail}


def test_a_damaged_page_is_reported_and_the_rest_can_be_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.sqlite3"
    whole = filled_file(path)
    page = 30 * PAGE_BYTES
    path.write_bytes(whole[:page] + b"\xa5" * PAGE_BYTES + whole[page + PAGE_BYTES :])
    with Memory.open(path) as memory:
        diagnosis = memory.diagnose()
        assert not diagnosis.healthy
        assert memory.sources()[0].source.id == "s"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another connection holds the write lock."""
    other = Database(path)
    with other.transaction():
        other.execute("INSERT INTO setting (name, value) VALUES ('locked', '1')")
        yield
    other.close()


def test_a_locked_database_is_waited_for_and_then_reported_as_locked(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    memory = Memory(Database(path, busy_timeout_ms=200))
    with locked(path):
        began = time.monotonic()
        with pytest.raises(DatabaseLockedError, match="locked by another process"):
            memory.append("s", [Message(text="impatient")])
        assert time.monotonic() - began >= 0.19
        if is_wal(memory.path):
            assert memory.sources() == []
    memory.append("s", [Message(text="patient")])
    assert texts(memory, "s") == ["patient"]
    memory.close()


def test_a_lock_that_is_released_in_time_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    memory = Memory(Database(path, busy_timeout_ms=20_000))
    is_locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(path):
            is_locked.set()
            done.wait(0.3)

    holder = threading.Thread(target=hold)
    holder.start()
    is_locked.wait(10)
    memory.append("s", [Message(text="patient")])
    holder.join()
    assert texts(memory, "s") == ["patient"]
    memory.close()


def test_a_memory_can_be_opened_while_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    Database(path).close()
    with locked(path):
        opened = Database(path, busy_timeout_ms=200)
        opened.close()
