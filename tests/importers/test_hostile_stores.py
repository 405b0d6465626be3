"""A SQLite file of another program, made by somebody hostile, runs nothing when it is read."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from treemem.errors import ImportFileError
from treemem.importers import LogFile, detect
from treemem.importers.common import sqlite_files

ENDLESS = (
    "WITH RECURSIVE n (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
)
TABLES = (
    "CREATE TABLE ItemTable (key TEXT, value BLOB);"
    "CREATE TABLE cursorDiskKV (key TEXT, value BLOB);"
)


def store(path: Path, script: str) -> LogFile:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return LogFile(path.name, path)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_files, "_ROW_SECONDS", 0.2)


def test_a_view_in_place_of_a_table_is_no_table(tmp_path: Path) -> None:
    script = (
        f"CREATE VIEW ItemTable AS SELECT ({ENDLESS}) AS key, 1 AS value;"
        f"CREATE VIEW cursorDiskKV AS SELECT ({ENDLESS}) AS key, 1 AS value"
    )
    file = store(tmp_path / "state.vscdb", script)
    assert sqlite_files.table_columns(file, sqlite_files.MAGIC) == {}
    with pytest.raises(ImportFileError):
        detect(file)


def test_a_generated_column_is_no_column(tmp_path: Path) -> None:
    columns = "key TEXT, value BLOB AS (hex(zeroblob(900000000)))"
    file = store(tmp_path / "state.vscdb", f"CREATE TABLE ItemTable ({columns})")
    assert sqlite_files.table_columns(file, sqlite_files.MAGIC) == {"ItemTable": {"key"}}


def test_a_query_that_never_finds_a_row_is_ended(tmp_path: Path) -> None:
    file = store(tmp_path / "state.vscdb", f"{TABLES} CREATE VIEW v AS {ENDLESS}")
    with (
        pytest.raises(ImportFileError, match="interrupted"),
        sqlite_files.open_tables(file) as tables,
    ):
        list(tables.rows("SELECT * FROM v"))


def test_a_reader_that_takes_its_time_for_a_row_is_not(tmp_path: Path) -> None:
    import time

    script = f"{TABLES} INSERT INTO ItemTable SELECT value, 1 FROM json_each('[1, 2, 3]')"
    file = store(tmp_path / "state.vscdb", script)
    with sqlite_files.open_tables(file) as tables:
        for _ in tables.rows("SELECT key FROM ItemTable"):
            time.sleep(0.25)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO ItemTable VALUES (1, 2)",
        "SELECT load_extension('evil')",
        "SELECT writefile('x', 'y')",
    ],
)
def test_nothing_is_written_or_loaded(tmp_path: Path, sql: str) -> None:
    file = store(tmp_path / "state.vscdb", TABLES)
    with sqlite_files.open_tables(file) as tables, pytest.raises(ImportFileError):
        list(tables.rows(sql))
