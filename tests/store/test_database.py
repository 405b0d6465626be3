"""One connection keeps its promises: whole transactions, durable commits, clear errors.

Faults of files and disks (deleted, damaged, locked, full) are in tests/regressions/test_storage.py
and tests/regressions/test_disks.py.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from treemem import DatabaseError, DatabaseVersionError, Memory, Message, TreememError
from treemem.store import migrations
from treemem.store.database import SQLITE_VERSION, WAL_SAFE_SINCE, Database, driver

OPENERS = 6


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "memory.sqlite3")
    yield opened
    opened.close()


def put(database: Database, name: str, value: str = "1") -> None:
    database.execute("INSERT INTO setting (name, value) VALUES (?, ?)", (name, value))


def names(database: Database) -> list[str]:
    return [name for (name,) in database.rows("SELECT name FROM setting ORDER BY name")]


def pragma(database: Database, name: str) -> object:
    return database.value(f"PRAGMA {name}")


# -- transactions ----------------------------------------------------------------------


def test_a_transaction_is_stored_whole(database: Database) -> None:
    with database.transaction():
        put(database, "a")
        put(database, "b")
    assert names(database) == ["a", "b"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_transaction_ended_by_any_exception_stores_nothing(
    database: Database, error: type[BaseException]
) -> None:
    def fail() -> None:
        with database.transaction():
            put(database, "a")
            raise error

    with pytest.raises(error):
        fail()
    assert names(database) == []
    put(database, "b")
    assert names(database) == ["b"]


def test_an_inner_transaction_joins_the_outer_one(database: Database) -> None:
    def fail_outside() -> None:
        with database.transaction():
            with database.transaction():
                put(database, "a")
            raise ValueError

    with pytest.raises(ValueError):
        fail_outside()
    assert names(database) == []


def test_a_statement_that_fails_rolls_back_its_whole_transaction(database: Database) -> None:
    def fail() -> None:
        with database.transaction():
            put(database, "a")
            put(database, "a")

    with pytest.raises(DatabaseError, match="UNIQUE"):
        fail()
    assert names(database) == []


def test_all_reads_of_one_transaction_see_the_same_state(database: Database) -> None:
    other = Database(database.path)
    with database.reading():
        assert names(database) == []
        if pragma(database, "journal_mode") == "wal":
            put(other, "a")
        assert names(database) == []
    other.close()


def test_reading_can_be_nested_in_reading_and_in_a_transaction(database: Database) -> None:
    with database.transaction():
        put(database, "a")
        with database.reading(), database.reading():
            assert names(database) == ["a"]
    with database.reading(), database.reading():
        assert names(database) == ["a"]


def test_threads_share_a_connection_without_mixing_their_transactions(
    database: Database,
) -> None:
    def write(number: int) -> None:
        for step in range(10):
            with database.transaction():
                put(database, f"{number}/{step}/a")
                put(database, f"{number}/{step}/b")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert len(names(database)) == 160


def test_another_thread_waits_for_a_transaction_to_end(database: Database) -> None:
    seen: list[list[str]] = []
    with database.transaction():
        put(database, "a")
        reader = threading.Thread(target=lambda: seen.append(names(database)))
        reader.start()
        reader.join(0.05)
        assert seen == []
        put(database, "b")
    reader.join(10)
    assert seen == [["a", "b"]]


# -- the file --------------------------------------------------------------


def test_commits_are_durable_and_references_checked(database: Database) -> None:
    assert pragma(database, "synchronous") == 2
    assert pragma(database, "foreign_keys") == 1
    assert pragma(database, "secure_delete") == 1


def test_the_journal_is_a_wal_only_where_sqlite_handles_it_safely(database: Database) -> None:
    expected = "wal" if SQLITE_VERSION >= WAL_SAFE_SINCE else "delete"
    assert pragma(database, "journal_mode") == expected


@pytest.mark.parametrize("fails", [False, True])
def test_only_the_undurable_transaction_itself_is_undurable(
    database: Database, fails: bool
) -> None:
    def claim() -> None:
        with database.undurable():
            put(database, "a")
            if fails:
                raise ValueError

    if fails:
        with pytest.raises(ValueError):
            claim()
    else:
        claim()
    assert pragma(database, "synchronous") == 2
    assert names(database) == ([] if fails else ["a"])


def test_a_reference_to_a_missing_row_is_refused(database: Database) -> None:
    with pytest.raises(DatabaseError, match="FOREIGN KEY"):
        database.execute("INSERT INTO tree_node VALUES (1, 0, 0, 99)")


def test_opening_again_migrates_nothing_and_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    for number in range(3):
        opened = Database(path)
        put(opened, str(number))
        assert names(opened) == [str(n) for n in range(number + 1)]
        assert pragma(opened, "user_version") == migrations.SCHEMA_VERSION
        assert pragma(opened, "application_id") == migrations.APPLICATION_ID
        opened.close()


def test_connections_that_open_a_new_file_at_once_get_the_same_schema(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    together = threading.Barrier(OPENERS)

    def open_and_put(number: int) -> None:
        together.wait()
        opened = Database(path)
        put(opened, str(number))
        opened.close()

    with ThreadPoolExecutor(OPENERS) as pool:
        list(pool.map(open_and_put, range(OPENERS)))
    opened = Database(path)
    assert len(names(opened)) == OPENERS
    opened.close()


def test_a_closed_file_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    opened = Database(path)
    put(opened, "a")
    opened.close()
    opened.close()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_closing_one_of_two_connections_leaves_the_other_working(tmp_path: Path) -> None:
    one = Database(tmp_path / "memory.sqlite3")
    other = Database(tmp_path / "memory.sqlite3")
    put(one, "a")
    other.close()
    put(one, "b")
    assert names(one) == ["a", "b"]
    one.close()
    reopened = Database(tmp_path / "memory.sqlite3")
    assert reopened.notices == []
    reopened.close()


def test_using_a_closed_memory_raises_an_error_that_says_so(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "memory.sqlite3")
    memory.close()
    with pytest.raises(TreememError, match="closed"):
        memory.append("s", [Message(text="late")])
    with pytest.raises(TreememError, match="closed"):
        memory.sources()


# -- where the file is -----------------------------------------------------------------


def test_missing_folders_are_created(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folders" / "memory.sqlite3"
    Database(path).close()
    assert path.exists()


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="is a folder"):
        Database(tmp_path)


def test_a_file_where_a_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DatabaseError, match="cannot be created"):
        Database(tmp_path / "file" / "memory.sqlite3")


@pytest.mark.parametrize("name", ["mémoire 记忆.sqlite3", "a b?c#d%41.sqlite3", "-wal", "x'y\"z"])
def test_any_file_name_can_be_used(tmp_path: Path, name: str) -> None:
    opened = Database(tmp_path / name)
    put(opened, "a")
    opened.close()
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_an_empty_file_becomes_a_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    path.touch()
    Database(path).close()
    assert path.stat().st_size > 0


def test_an_empty_database_of_sqlites_becomes_a_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    connection = driver.connect(str(path))
    connection.execute("PRAGMA page_size = 4096")
    connection.execute("VACUUM")
    connection.close()
    opened = Database(path)
    assert names(opened) == []
    opened.close()


def test_the_error_for_a_newer_file_names_both_schema_versions(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    opened = Database(path)
    opened.execute(f"PRAGMA user_version = {migrations.SCHEMA_VERSION + 7}")
    opened.close()
    with pytest.raises(DatabaseVersionError, match=f"schema {migrations.SCHEMA_VERSION + 7}"):
        Database(path)


def test_a_python_that_matches_words_wrongly_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treemem.store.database.PYTHON_VERSION", (3, 11, 2))
    with contextlib.closing(Database(tmp_path / "a.db")) as opened:
        assert any("Python 3.11.2 has a fault" in notice for notice in opened.notices)
    monkeypatch.setattr("treemem.store.database.PYTHON_VERSION", (3, 11, 5))
    with contextlib.closing(Database(tmp_path / "a.db")) as opened:
        assert not any("Python" in notice for notice in opened.notices)
