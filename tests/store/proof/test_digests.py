"""A value that is changed in any column is found, whatever is written before or after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from treemem.errors import UsageError
from treemem.store import settings, vectors
from treemem.store.database import Database, driver
from treemem.store.proof import digests
from treemem.store.proof.tables import COLUMNS_WITHOUT, PROOF, WITHOUT, with_digests

# Values of each type, before a change and after it.
VALUES = {"INTEGER": (5, 6), "REAL": (1.5, 2.5), "TEXT": ("ab12", "ab13"), "BLOB": (b"a1", b"a2")}
COLUMNS = """
SELECT t.name, c.name, c.type, c.pk FROM pragma_table_list t JOIN pragma_table_info(t.name) c
WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite%' ORDER BY 1, c.cid
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.sqlite3"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    with closing(Database(path)) as database:
        vectors.ensure(database, "counting", "counting", 4)
        yield database


@contextmanager
def another_program(path: Path) -> Iterator[Any]:
    """A connection that knows nothing of digests, references and checks."""
    with closing(driver.connect(str(path), isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        yield connection


def found(database: Database) -> set[str]:
    with database.reading():
        looked_at = list(digests.looked_at(database))
    return {table.name for table, part in looked_at if part is not None}


def fill(database: Database) -> dict[str, list[tuple[str, str, int]]]:
    """Stores a row in each table. Returns the columns by table."""
    columns: dict[str, list[tuple[str, str, int]]] = {}
    for table, *column in database.rows(COLUMNS):
        columns.setdefault(table, []).append(tuple(column))
    for name in ("foreign_keys = OFF", "ignore_check_constraints = ON"):
        database.execute(f"PRAGMA {name}")
    for table in columns.keys() - {PROOF}:
        values = [VALUES[kind][0] for _, kind, _ in columns[table]]
        marks = ", ".join("?" * len(values))
        database.execute(f"DELETE FROM {table}")
        database.execute(f"INSERT INTO {table} VALUES ({marks})", tuple(values))
    return columns


def test_every_table_has_digests_or_a_reason(database: Database) -> None:
    names = {table for table, *_ in database.rows(COLUMNS)}
    assert names == {table.name for table in with_digests(database)} | WITHOUT.keys() | {PROOF}
    assert all([*WITHOUT.values(), *(why for c in COLUMNS_WITHOUT.values() for why in c.values())])


def test_a_changed_value_of_any_column_is_found(database: Database, path: Path) -> None:
    columns = fill(database)
    assert found(database) == set()
    missed = []
    with another_program(path) as connection:
        for table in columns.keys() - WITHOUT.keys() - {PROOF}:
            for column, kind, _ in columns[table]:
                sql = f'UPDATE "{table}" SET "{column}" = ?'
                assert connection.execute(sql, (VALUES[kind][1],)).rowcount == 1, table
                if table not in found(database):
                    missed.append(f"{table}.{column}")
                connection.execute("BEGIN")  # as after an upgrade
                digests.make_all(connection)
                connection.execute("COMMIT")
    assert set(missed) == {f"{t}.{c}" for t, names in COLUMNS_WITHOUT.items() for c in names}


def test_a_changed_digest_is_found(database: Database, path: Path) -> None:
    settings.put(database, "model", "one")
    with another_program(path) as connection:
        connection.execute("UPDATE proof SET digest = x'00' WHERE name = 'setting'")
        assert found(database) == {"setting"}
        connection.execute("DELETE FROM proof WHERE name = 'setting'")
        assert found(database) == {"setting"}
        connection.execute("INSERT INTO proof VALUES ('source', 77, x'00')")
        assert found(database) == {"setting", "source"}


def test_rows_that_were_deleted_or_added_by_something_else_are_found(
    database: Database, path: Path
) -> None:
    fill(database)
    with another_program(path) as connection:
        connection.execute("DELETE FROM turn")
        connection.execute("INSERT INTO log_session VALUES (9999, 'another')")
    assert found(database) == {"turn", "log_session"}


def test_a_row_that_replaces_another_leaves_no_digest_of_it(database: Database) -> None:
    database.execute("INSERT INTO log_session VALUES (1, 'a')")
    database.execute("INSERT OR REPLACE INTO log_session VALUES (9999, 'a')")
    assert found(database) == set()
    assert database.value("SELECT count(*) FROM proof WHERE name = 'log_session'") == 1


def test_an_upsert_is_noted(database: Database) -> None:
    for value in ("one", "two"):
        database.execute(
            "INSERT INTO setting VALUES ('a', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            (value,),
        )
        assert found(database) == set()


def test_what_is_rolled_back_is_noted_when_it_is_written_again(database: Database) -> None:
    for outcome in (UsageError("stop"), None, UsageError("stop"), None):
        with pytest.raises(UsageError) if outcome else nullcontext(), database.transaction():
            vectors.ensure(database, "other", "other", 4)
            database.execute("INSERT INTO log_session (id) SELECT count(*) FROM log_session")
            database.execute("INSERT OR REPLACE INTO vector_2 VALUES (1,0,0,0,0,0,x'',x'')")
            if outcome:
                raise outcome
        assert found(database) == set()


def test_a_table_that_another_connection_adds_or_drops_is_known(
    database: Database, path: Path
) -> None:
    with closing(Database(path)) as other:
        other.execute("INSERT INTO log_session VALUES (1, 'a')")
        seq = vectors.ensure(database, "other", "other", 4)
        other.execute(f"INSERT INTO vector_{seq} VALUES (1, 0, 0, 0, 0, 0, x'', x'')")
        assert found(database) == set()
        other.execute(f"UPDATE vector_{seq} SET start = 2")
        assert found(database) == set()
        with database.transaction():
            vectors.drop(database, seq)
        other.execute("INSERT INTO log_session VALUES (2, 'b')")
        assert found(database) == set()
        assert not database.value("SELECT count(*) FROM proof WHERE name = ?", (f"vector_{seq}",))


def test_digests_stay_right_when_the_file_is_compacted(database: Database) -> None:
    fill(database)
    for number in range(200):
        database.execute(
            "INSERT INTO log_mark VALUES (?, '', '', '', 0, 0, 0, 0, 0, x'', '')", (f"/l/{number}",)
        )
    database.execute("DELETE FROM log_mark WHERE path LIKE '%3'")
    database.compact()
    assert found(database) == set()


def test_a_group_that_was_found_changed_stays_so(database: Database, path: Path) -> None:
    database.execute("INSERT INTO log_session VALUES (1, 'a')")
    with another_program(path) as connection:
        connection.execute("UPDATE log_session SET id = 'b'")
    with database.transaction():
        ((table, part),) = [one for one in digests.looked_at(database) if one[1] is not None]
        digests.mark_changed(database, table, part)
    database.execute("INSERT INTO log_session VALUES (2, 'c')")
    assert found(database) == {"log_session"}
    database.execute("DELETE FROM log_session")
    assert found(database) == set()


def test_large_and_negative_keys_have_groups(database: Database) -> None:
    for phrase in (-(2**63), -1, 0, 2**63 - 1):
        database.execute("INSERT INTO phrase_count VALUES (?, 2)", (phrase,))
    database.execute("UPDATE phrase_count SET sources = 3")
    assert found(database) == set()
    database.execute("INSERT INTO topic_census VALUES (1, 1, 1)")
    assert found(database) == set()
