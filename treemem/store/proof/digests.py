"""Keeps a digest of each group of rows, and finds the groups that are not as they were written.

The triggers are in the connection, not in the file: they note the groups that a transaction of
treemem changes, and before it commits, the digests of these are computed again. What changes a row
otherwise, such as a damaged disk or another program, leaves a digest that does not match.

Tested in tests/store/proof/test_digests.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import orjson

from treemem.patterns import lazy_regex
from treemem.store.proof.tables import PROOF, Table, with_digests

# Statements that change rows.
WRITES = lazy_regex(
    r"\s*(?:INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|WITH\b.*\b(?:INSERT|UPDATE|DELETE))\b", re.S
)
_BYTES = 8
_TOUCHED = """
CREATE TEMP TABLE IF NOT EXISTS touched (name TEXT, part, PRIMARY KEY (name, part))
WITHOUT ROWID
"""
_TRIGGER = """
CREATE TEMP TRIGGER IF NOT EXISTS {table}_{event} AFTER {event} ON main.{table} BEGIN {notes} END
"""
# Subtle: an OR IGNORE would give way to what the statement says that fires the trigger.
_NOTE = "INSERT INTO touched VALUES ('{table}', {part}) ON CONFLICT DO NOTHING;"
_EVENTS = {"INSERT": ("new.",), "UPDATE": ("old.", "new."), "DELETE": ("old.",)}
# The digest of a group that was found changed, which nothing but its deletion ends.
_CHANGED = b""
_PUT = f"""
INSERT INTO main.{PROOF} (name, part, digest) VALUES (?, ?, ?)
ON CONFLICT (name, part) DO UPDATE SET digest = excluded.digest WHERE digest <> x''
"""  # noqa: S608
_MARK = f"INSERT OR REPLACE INTO main.{PROOF} (name, part, digest) VALUES (?, ?, ?)"  # noqa: S608
_DELETE = f"DELETE FROM main.{PROOF} WHERE name = ? AND part = ?"  # noqa: S608
_STORED = f"SELECT part, digest FROM main.{PROOF} WHERE name = ?"  # noqa: S608


class Digests:
    """The digests of what a connection writes. Call all in its write transactions."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._schema: int | None = None
        self._tables: dict[str, Table] = {}

    def watch(self) -> None:
        """Notes from now on which groups are changed, also of tables that were added."""
        execute = self._connection.execute
        schema = execute("PRAGMA main.schema_version").fetchone()[0]
        if schema == self._schema:
            return
        execute(_TOUCHED)
        found = {table.name: table for table in with_digests(self._connection)}
        for name, table in found.items():
            for event, rows in _EVENTS.items():
                notes = [_NOTE.format(table=name, part=table.part.format(row)) for row in rows]
                execute(_TRIGGER.format(table=name, event=event, notes=" ".join(notes)))
        self._tables, self._schema = found, schema

    def forget(self) -> None:
        """Has the triggers made again, which a transaction that was rolled back may have made."""
        self._schema = None

    def store(self) -> None:
        """Computes the digests of the groups that were changed."""
        execute = self._connection.execute
        changed = execute("SELECT name, part FROM temp.touched").fetchall()
        if not changed:
            return
        kept, gone = [], []
        for name, part in changed:
            table = self._tables.get(name)
            rows = [] if table is None else execute(*table.rows_of(part)).fetchall()
            if rows:
                kept.append((name, part, digest_of(rows)))
            else:
                gone.append((name, part))
        self._connection.executemany(_PUT, kept)
        self._connection.executemany(_DELETE, gone)
        execute("DELETE FROM temp.touched")


def digest_of(rows: list[Any]) -> bytes:
    """The digest of rows, in their order."""
    data = orjson.dumps(rows, default=bytes.hex)
    return hashlib.blake2b(data, digest_size=_BYTES).digest()


def make_all(connection: Any) -> None:
    """Computes the digests of all rows, in the caller's transaction."""
    connection.execute(f"DELETE FROM main.{PROOF}")  # noqa: S608
    for table in with_digests(connection):
        rows = ((table.name, part, digest) for part, digest in _groups(connection, table))
        connection.executemany(_PUT, list(rows))


def _groups(connection: Any, table: Table) -> Iterator[tuple[Any, bytes]]:
    """The groups of a table and their digests. The rows of a group follow each other, since its
    number is made of the beginning of the key; but for those of paths."""
    part = table.part.format("")
    found: dict[Any, list[Any]] = {}
    sql = table.rows.replace("SELECT ", f"SELECT {part}, ", 1) + table.order
    for number, rows in groupby(connection.execute(sql), key=lambda row: row[0]):
        if not table.is_scattered:
            yield number, digest_of([row[1:] for row in rows])
        else:
            found.setdefault(number, []).extend(row[1:] for row in rows)
    for number, scattered in found.items():
        yield number, digest_of(scattered)


def mark_changed(connection: Any, table: Table, part: Any) -> None:
    """Keeps a group from getting a digest that matches, so that what has changed it is found again;
    in the caller's write transaction. A group without rows is forgotten."""
    if connection.execute(*table.rows_of(part)).fetchone() is None:
        connection.execute(_DELETE, (table.name, part))
    else:
        connection.execute(_MARK, (table.name, part, _CHANGED))


def looked_at(connection: Any) -> Iterator[tuple[Table, Any | None]]:
    """Yields for each group its table, and its number if it is not as it was written."""
    for table in with_digests(connection):
        stored = dict(connection.execute(_STORED, (table.name,)).fetchall())
        for part, digest in _groups(connection, table):
            yield table, None if stored.pop(part, None) == digest else part
        for part in stored:
            yield table, part
