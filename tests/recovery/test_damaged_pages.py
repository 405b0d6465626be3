"""Pages are read of files whose header, -wal file or journal is damaged."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers.damages import SAID, Whole, truth_of
from treemem import Memory, Message
from treemem.recovery.damaged_pages import DamagedPages
from treemem.store.database import Database, driver
from treemem.store.file.sidecars import JOURNAL, WAL


@pytest.mark.parametrize("size", [512, 65_536])
def test_the_size_of_pages_is_found_without_the_header(whole: Whole, hurt: Path, size: int) -> None:
    with closing(driver.connect(str(whole.path))) as connection:
        connection.execute(f"VACUUM INTO '{hurt}'")
    with closing(driver.connect(str(hurt), isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(f"PRAGMA page_size = {size}")
        connection.execute("VACUUM")
    data = hurt.read_bytes()
    for header in (data[:100], bytes(100), b"\xff" * 100, data[:16] + b"\x20\x00" + data[18:100]):
        hurt.write_bytes(header + data[100:])
        with closing(DamagedPages(hurt)) as pages:
            assert pages.size == size
    hurt.write_bytes(bytes(size) + data[size:])
    said, _, _ = truth_of(hurt)
    assert said == whole.said


@pytest.fixture
def with_wal(whole: Whole, hurt: Path, tmp_path: Path) -> set[tuple[object, ...]]:
    """A file of a process that died before the -wal file was merged, and what is in it."""
    live = tmp_path / "live.sqlite3"
    live.write_bytes(whole.data)
    with Memory.open(live) as memory:
        for number in range(30):
            memory.append("wal/1", [Message(text=f"Goat {number} is in the -wal file.")])
        for suffix in ("", WAL):
            shutil.copy(f"{live}{suffix}", f"{hurt}{suffix}")
        with closing(Database(live)) as database:
            return set(database.rows(SAID))


def seen_by_sqlite(hurt: Path) -> set[tuple[object, ...]]:
    copy = hurt.with_name("seen.sqlite3")
    for suffix in ("", WAL):
        shutil.copy(f"{hurt}{suffix}", f"{copy}{suffix}")
    with closing(driver.connect(str(copy))) as connection:
        found = set(connection.execute(SAID))
    for file in hurt.parent.glob("seen.sqlite3*"):
        file.unlink()
    return found


def test_what_is_only_in_the_wal_file_is_read(
    whole: Whole, with_wal: set[tuple[object, ...]], hurt: Path
) -> None:
    assert len(with_wal) == len(whole.said) + 30
    said, _, _ = truth_of(hurt)
    assert said == with_wal
    Path(f"{hurt}{WAL}").unlink()
    said, _, _ = truth_of(hurt)
    assert said == whole.said


def test_of_a_torn_wal_file_no_less_is_read_than_by_sqlite(
    with_wal: set[tuple[object, ...]], hurt: Path
) -> None:
    wal = Path(f"{hurt}{WAL}")
    data = wal.read_bytes()
    chance = random.Random(3)
    more = 0
    for number in range(6):
        changed = bytearray(data)
        at = chance.randrange(len(data))
        if number % 2:
            del changed[at:]
        else:
            changed[at : at + 200] = chance.randbytes(len(changed[at : at + 200]))
        wal.write_bytes(changed)
        said, _, _ = truth_of(hurt)
        seen = seen_by_sqlite(hurt)
        assert seen <= said <= with_wal
        more += len(said - seen)
    assert more > 0  # frames after a damaged one
    wal.write_bytes(bytes(32) + data[32:])
    said, _, _ = truth_of(hurt)
    assert said == with_wal


def test_a_transaction_that_did_not_end_is_undone_by_the_journal(
    whole: Whole, hurt: Path, tmp_path: Path
) -> None:
    live = tmp_path / "live.sqlite3"
    live.write_bytes(whole.data)
    with closing(driver.connect(str(live), isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA cache_size = 3")
        connection.execute("BEGIN")
        connection.execute("DELETE FROM message_alias")
        connection.execute("UPDATE message SET author = 'nobody', text = upper(text) || text")
        for suffix in ("", JOURNAL):
            shutil.copy(f"{live}{suffix}", f"{hurt}{suffix}")
    assert hurt.read_bytes() != whole.data
    said, _, _ = truth_of(hurt)
    assert said == whole.said
