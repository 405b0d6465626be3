"""Acknowledged messages are on the disk: how the connection commits, and what a kill leaves.

A power cut cannot be tested here. These tests show that each commit of data has SQLite wait for
the disk (synchronous = FULL), and that every message that a killed process acknowledged is stored.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fault_logs
import pytest
from fault_field import DRIVER

from treemem import Memory, Message
from treemem.errors import DatabaseError, DatabaseLockedError
from treemem.queue import jobs
from treemem.store.database import SQLITE_VERSION, WAL_SAFE_SINCE, Database

NORMAL, FULL = 1, 2
WRITES = re.compile(r"\s*(?:INSERT|UPDATE|DELETE|REPLACE|CREATE)\b", re.IGNORECASE)
NO_DATA = re.compile(
    r"\s*(?:UPDATE job SET|INSERT INTO main\.proof [^']*'job'|DELETE FROM temp\.touched)"
)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "memory.sqlite3", busy_timeout_ms=50)
    yield opened
    opened.close()


def synchronous(database: Database) -> int:
    return int(database.value("PRAGMA synchronous"))


# -- how a commit is made --------------------------------------------------------------


def test_data_is_committed_with_synchronous_full(database: Database) -> None:
    assert synchronous(database) == FULL
    with database.transaction():
        assert synchronous(database) == FULL


@pytest.mark.skipif(SQLITE_VERSION < WAL_SAFE_SINCE, reason="only a WAL commit is made cheaper")
def test_undurable_lowers_the_level_only_within_its_block(database: Database) -> None:
    with database.undurable():
        assert synchronous(database) == NORMAL
    assert synchronous(database) == FULL


def test_undurable_inside_of_a_transaction_lowers_nothing(database: Database) -> None:
    with database.transaction(), database.undurable():
        assert synchronous(database) == FULL
    assert synchronous(database) == FULL


def test_undurable_puts_full_back_after_an_exception(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.undurable():
        raise ZeroDivisionError
    assert synchronous(database) == FULL
    with pytest.raises(KeyboardInterrupt), database.undurable():
        raise KeyboardInterrupt
    assert synchronous(database) == FULL


def test_undurable_puts_full_back_when_the_file_is_locked(database: Database) -> None:
    other = Database(database.path)
    with other.transaction(), pytest.raises(DatabaseLockedError), database.undurable():
        raise AssertionError("another connection has the lock")
    other.close()
    assert synchronous(database) == FULL


def test_undurable_puts_full_back_when_its_commit_fails(database: Database) -> None:
    # This check of a foreign key waits for the commit.
    database.execute(
        "CREATE TABLE late (seq INTEGER REFERENCES tree DEFERRABLE INITIALLY DEFERRED)"
    )
    with pytest.raises(DatabaseError, match="FOREIGN KEY"), database.undurable():
        database.execute("INSERT INTO late (seq) VALUES (99)")
    assert synchronous(database) == FULL
    assert database.value("SELECT count(*) FROM late") == 0


def test_everything_but_leases_is_committed_with_synchronous_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[tuple[int, list[str]]] = []
    written: list[str] = []
    commit = Database._commit

    def watched(self: Database) -> None:
        level = synchronous(self)
        commit(self)  # which writes digests first
        levels.append((level, written.copy()))
        written.clear()

    monkeypatch.setattr(Database, "_commit", watched)
    fault_logs.write(tmp_path / "logs", 1)
    opened = Database(tmp_path / "memory.sqlite3")
    with Memory(opened) as memory:
        trace: Any = opened._connection.set_trace_callback
        trace(lambda sql: written.append(sql) if WRITES.match(sql) else None)
        memory.ingest(tmp_path / "logs")
        memory.append("chat", [Message(text="We ship on Friday.")])
        memory.work(max_calls=0)
        claim = jobs.Claim(1, "seal", {}, 1, "nobody's token")
        jobs.renew(opened, claim, 0)
    durable = [sqls for level, sqls in levels if level == FULL]
    cheap = [sql for level, sqls in levels if level != FULL for sql in sqls]
    assert any("INSERT INTO message " in sql for sqls in durable for sql in sqls)
    assert any("INSERT INTO node " in sql for sqls in durable for sql in sqls)
    assert [sql for sql in cheap if not NO_DATA.match(sql)] == []


# -- what a kill leaves ----------------------------------------------------------------


@pytest.mark.parametrize("sqlite", ["", "stdlib"])
def test_every_acknowledged_message_survives_a_kill(tmp_path: Path, sqlite: str) -> None:
    path = tmp_path / "memory.sqlite3"
    draw = random.Random(20260303)
    acked = -1
    for _ in range(4):
        acked = max(acked, append_and_kill(path, draw.uniform(0.05, 0.5), sqlite))
        with Memory.open(path) as memory:
            texts = [message.text for message in memory.messages("chat")]
        # The last one may have been stored and not yet acknowledged.
        assert len(texts) in (acked + 1, acked + 2)
        assert texts == [f"message {number}" for number in range(len(texts))]
    with Memory.open(path) as memory:
        assert memory.diagnose().healthy


def append_and_kill(path: Path, seconds: float, sqlite: str) -> int:
    """Kills a child that appends after some seconds. Returns the last number it acknowledged."""
    process = subprocess.Popen(
        [sys.executable, str(DRIVER), "append", "--db", str(path)],
        env=os.environ | {"TREEMEM_SQLITE": sqlite},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGKILL)
    rest, problems = process.communicate()
    assert first, problems
    # A line that the kill cut off is no acknowledgement.
    lines = [line for line in (first + rest).splitlines(keepends=True) if line.endswith("\n")]
    return int(lines[-1].removeprefix("acked "))
