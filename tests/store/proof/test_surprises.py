"""Rows that do not fit each other are told as damage, and a fault of treemem's as what it is."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.helpers.logs import prose
from treemem import DatabaseCorruptError, Memory, Message, Scope
from treemem.store.database import Database, driver


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.append("s", [Message(text=f"We chose plan {n}. {prose(n, 8)}") for n in range(30)])
    memory.work(max_calls=0)
    return memory


def damage(memory: Memory, sql: str) -> None:
    with closing(driver.connect(str(memory.path), isolation_level=None)) as connection:
        assert connection.execute(sql).rowcount > 0


def test_a_row_that_points_nowhere_is_told_as_damage(filled: Memory) -> None:
    damage(filled, "UPDATE citation SET message_seq = message_seq - 30244")
    with pytest.raises(DatabaseCorruptError, match="is damaged: rows of citation"):
        list(filled.tree(Scope.source("s")).nodes())


@pytest.mark.parametrize("writes", [False, True])
def test_a_fault_in_a_whole_file_stays_what_it_is(database: Database, writes: bool) -> None:
    with pytest.raises(KeyError), database.transaction() if writes else database.reading():
        raise KeyError("a fault")


def test_what_a_transaction_has_written_itself_is_no_damage(database: Database) -> None:
    def fail() -> None:
        with database.transaction():
            database.execute("INSERT INTO setting (name, value) VALUES ('a', 'b')")
            raise KeyError("a fault")

    with pytest.raises(KeyError):
        fail()
