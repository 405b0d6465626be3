"""The bytes of tables are counted as SQLite's own dbstat counts them, also in a -wal file."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from treemem.store.database import Database, driver
from treemem.store.file.btree import TreeSizes
from treemem.store.file.held import HeldFile
from treemem.store.file.pages import Pages

DBSTAT = """
import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute(
    "SELECT name, count(*), sum(unused) FROM dbstat GROUP BY name")
print(json.dumps({name: [pages, unused] for name, pages, unused in rows}))
"""
LOCK = """
import sqlite3, sys
sqlite3.connect(sys.argv[1], timeout=0).execute("BEGIN IMMEDIATE")
"""
EVERYTHING = 1_000_000
Counts = dict[str, tuple[int, int]]


def by_dbstat(path: Path) -> Counts:
    """Pages and unused bytes of each tree, by a Python whose SQLite has dbstat."""
    import json

    for python in (sys.executable, "/usr/bin/python3"):
        if shutil.which(python):
            run = subprocess.run([python, "-c", DBSTAT, path], capture_output=True, check=False)
            if run.returncode == 0:
                return {name: tuple(counts) for name, counts in json.loads(run.stdout).items()}
    pytest.skip("no SQLite here has dbstat")


def by_walking(path: Path, leaves_max: int = EVERYTHING) -> tuple[Pages, Counts]:
    connection = driver.connect(str(path))
    connection.execute("BEGIN")
    trees = connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0")
    roots = {"sqlite_schema": 1, **dict(trees.fetchall())}
    pages = Pages(HeldFile(path), path.with_name(path.name + "-wal"))
    sizes = TreeSizes(pages, leaves_max)
    found = {name: sizes.of(root) for name, root in roots.items()}
    connection.close()
    return pages, {name: (size.pages, size.unused) for name, size in found.items()}


def fill(connection: sqlite3.Connection, seed: int) -> None:
    """Rows of all lengths, with an index, a table without row numbers, and deleted rows."""
    chance = random.Random(seed)
    connection.executescript("""
        CREATE TABLE IF NOT EXISTS text (seq INTEGER PRIMARY KEY, value TEXT);
        CREATE INDEX IF NOT EXISTS text_value ON text (value);
        CREATE TABLE IF NOT EXISTS pair (a TEXT, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID;
    """)
    for _ in range(500):
        length = int(10 ** chance.uniform(0, 4.3))
        connection.execute("INSERT INTO text (value) VALUES (?)", (chance.randbytes(length).hex(),))
        connection.execute(
            "INSERT OR IGNORE INTO pair VALUES (?, ?)",
            ("w" * int(10 ** chance.uniform(0, 3.5)), chance.randrange(1_000)),
        )
    connection.execute("DELETE FROM text WHERE seq % 3 = 0")
    connection.commit()


@pytest.mark.parametrize("page_bytes", [512, 4096, 65536])
def test_pages_and_unused_bytes_are_those_of_dbstat(tmp_path: Path, page_bytes: int) -> None:
    path = tmp_path / "some.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA page_size = {page_bytes}")
    fill(connection, seed=page_bytes)
    connection.close()
    assert by_walking(path)[1] == by_dbstat(path)


@pytest.mark.parametrize("close", [True, False])
def test_trees_and_free_pages_are_the_whole_file(tmp_path: Path, close: bool) -> None:
    path = tmp_path / "some.db"
    connection = driver.connect(str(path))
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    fill(connection, seed=1)
    if close:
        connection.close()
    else:
        assert path.stat().st_size < 10_000, "all is in the -wal file"
    pages, counts = by_walking(path)
    assert sum(count for count, _ in counts.values()) + pages.free == pages.count > 1_000
    assert pages.free > 0


def test_of_large_trees_some_leaves_are_read_and_the_rest_is_estimated(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    connection = sqlite3.connect(path)
    fill(connection, seed=2)
    connection.close()
    pages, whole = by_walking(path)
    _, sampled = by_walking(path, leaves_max=30)
    for name, (count, _) in whole.items():
        assert sampled[name][0] == pytest.approx(count, rel=0.4)
    sizes = TreeSizes(pages, 30)
    assert not all(sizes.of(root).exact for root in (2, 3, 4))


def test_uncommitted_pages_of_another_connection_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    connection = driver.connect(str(path))
    connection.execute("PRAGMA journal_mode = wal")
    fill(connection, seed=3)
    _, before = by_walking(path)
    connection.execute("PRAGMA cache_size = 10")  # so that pages reach the -wal file at once
    connection.execute("BEGIN")
    connection.execute("UPDATE text SET value = value || value")
    assert by_walking(path)[1] == before
    connection.rollback()


def zero(data: bytearray) -> None:
    data[4096:8192] = bytes(4096)


def cut(data: bytearray) -> None:
    del data[5 * 4096 :]


def loop(data: bytearray) -> None:
    """Makes an interior page its own child."""
    at = next(at for at in range(4096, len(data), 4096) if data[at] == 5)
    data[at + 8 : at + 12] = (at // 4096 + 1).to_bytes(4, "big")


@pytest.mark.parametrize("harm", [zero, cut, loop])
def test_a_damaged_tree_is_an_error_and_ends(
    tmp_path: Path, harm: Callable[[bytearray], None]
) -> None:
    path = tmp_path / "some.db"
    connection = sqlite3.connect(path)
    fill(connection, seed=4)
    connection.close()
    data = bytearray(path.read_bytes())
    harm(data)
    path.write_bytes(data)
    pages = Pages(HeldFile(path), path.with_name("none"))
    sizes = TreeSizes(pages, EVERYTHING)
    with pytest.raises(ValueError, match="page"):
        list(map(sizes.of, (2, 3, 4)))


def test_reading_pages_leaves_the_locks_of_the_process_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    first, second = Database(path), Database(path)
    with first.transaction():
        with second.reading():
            second.value("PRAGMA schema_version")
            assert second.pages() is not None
        second.close()
        command = [sys.executable, "-c", LOCK, path]
        run = subprocess.run(command, capture_output=True, check=False)
        assert b"locked" in run.stderr
    first.close()
