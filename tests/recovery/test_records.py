"""Rows are decoded of pages that SQLite wrote, and damaged ones raise nothing."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest

from treemem.recovery.damaged_pages import DamagedPages
from treemem.recovery.records import Records, Value
from treemem.store.database import driver

ROWS: list[tuple[Value, ...]] = [
    (None, 0, 1, -1, 127, -129, 1 << 20),
    (1 << 40, -(1 << 60), 1.5, -2.25, "", b"", "ü" * 30_000),
    ("a", b"\0\xff", (1 << 63) - 1, -(1 << 63), 255, 32_768, "x" * 4_030),
]


@pytest.fixture(params=["table", "without rowid"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of many rows, on pages of three levels."""
    path = tmp_path / "rows.db"
    with closing(driver.connect(str(path))) as connection:
        connection.execute("PRAGMA page_size = 1024")
        key = "k" if request.param == "table" else "k, PRIMARY KEY (k)"
        tail = "" if request.param == "table" else " WITHOUT ROWID"
        connection.execute(f"CREATE TABLE t (a, b, c, d, e, f, g, {key}){tail}")
        for number in range(400):
            row = (*ROWS[number % 3][:6], number if number > 2 else ROWS[number][6], number)
            connection.execute(f"INSERT INTO t VALUES ({','.join('?' * 8)})", row)
        connection.commit()
        path.with_suffix(".rows").write_text(
            repr(sorted(connection.execute("SELECT k, a, b, c, d, e, f, g FROM t")))
        )
    return path


def rows_of(path: Path) -> list[tuple[Value, ...]]:
    with closing(DamagedPages(path)) as pages:
        records = Records(pages)
        found = []
        for number in range(2, pages.count + 1):
            for cell in records.cells(number):
                values = records.values(cell)
                if values is not None and len(values) == 8:
                    # The key comes first in a table without row numbers.
                    is_table = cell.rowid is not None
                    found.append((values[7], *values[:7]) if is_table else values)
        return sorted(found, key=lambda row: row[0])  # type: ignore[arg-type,return-value]


def test_all_values_are_decoded_also_those_in_overflow_pages(file: Path) -> None:
    assert repr(rows_of(file)) == file.with_suffix(".rows").read_text()


def test_every_page_below_a_root_is_reached(file: Path) -> None:
    with closing(DamagedPages(file)) as pages:
        records = Records(pages)
        reached, waiting = set(), [2]
        while waiting:
            number = waiting.pop()
            reached.add(number)
            waiting += records.children(number)
        leaves = {n for n in range(2, pages.count + 1) if list(records.cells(n))}
        assert leaves <= reached


def test_damaged_bytes_raise_nothing(file: Path) -> None:
    data = file.read_bytes()
    right = rows_of(file)
    chance = random.Random(5)
    for _ in range(15):
        changed = bytearray(data)
        for _ in range(200):
            changed[chance.randrange(1_024, len(data))] = chance.randrange(256)
        file.write_bytes(changed)
        assert len(rows_of(file)) <= len(right) + 200
        with closing(DamagedPages(file)) as pages:
            for number in range(1, pages.count + 1):
                Records(pages).children(number)
