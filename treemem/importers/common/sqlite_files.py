"""Reads the SQLite files of other programs: never writes, never locks for long.

The program may be running, so the file is opened read-only together with its -wal file. Damage
raises ImportFileError. SQLite does not enforce declared types: importers check the values.

Tested in tests/importers/test_llm.py and test_cursor.py.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from treemem.errors import ImportFileError
from treemem.importers.common.base import LogFile
from treemem.store.access import drivers

MAGIC = b"SQLite format 3\0"
VALUE_BYTES_MAX = 256 * 1024**2

_BUSY_SECONDS = 5.0
# The longest wait for one row. A query over a large file finds one much sooner, but a view that a
# hostile file has in place of a table may never end.
_ROW_SECONDS = 60.0
# How many instructions SQLite runs between two looks at the clock, which takes about a millisecond.
_INSTRUCTIONS = 100_000


class Tables:
    """The tables of an open file. Every method raises ImportFileError if the file is damaged."""

    def __init__(self, connection: Any, label: str) -> None:
        self._connection = connection
        self._label = label
        self._row_until = time.monotonic() + _ROW_SECONDS
        connection.set_progress_handler(self._is_late, _INSTRUCTIONS)

    def columns(self) -> dict[str, frozenset[str]]:
        """The columns of each table by its name."""
        # Subtle: what sqlite_master says of its rows is not what SQLite makes of their SQL, so a
        # view there may be called a table. Generated columns are not listed.
        sql = (
            "SELECT t.name, group_concat(c.name, char(0)) FROM pragma_table_list t "
            "JOIN pragma_table_info(t.name) c "
            "WHERE t.schema = 'main' AND t.type IN ('table', 'shadow') "
            "AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' GROUP BY t.name"
        )
        return {name: frozenset(columns.split("\0")) for name, columns in self.rows(sql)}

    def rows(self, sql: str, parameters: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Yields the rows of a query; text that is not UTF-8 contains lone surrogates.

        A parameter with lone surrogates matches no row, since it cannot be passed to SQLite.
        """
        try:
            self._row_until = time.monotonic() + _ROW_SECONDS
            for row in self._connection.execute(sql, parameters):
                yield row
                self._row_until = time.monotonic() + _ROW_SECONDS
        except UnicodeEncodeError:
            return
        except (drivers.plain.Error, UnicodeDecodeError) as error:
            raise ImportFileError(f"{self._label} cannot be read: {error}.") from error

    def grouped(self, sql: str, parameters: tuple[object, ...] = ()) -> dict[object, list[object]]:
        """The second columns of the rows of a query, by the first, in the order of the rows."""
        groups: dict[object, list[object]] = {}
        for group, value in self.rows(sql, parameters):
            groups.setdefault(group, []).append(value)
        return groups

    def _is_late(self) -> bool:
        """Whether SQLite is to give up."""
        return time.monotonic() > self._row_until


def table_columns(file: LogFile, head: bytes) -> dict[str, frozenset[str]]:
    """The columns of each table, to recognize a file; empty if it is not a SQLite file."""
    if not head.startswith(MAGIC):
        return {}
    try:
        with open_tables(file) as tables:
            return tables.columns()
    except ImportFileError:
        return {}


def companions(file: LogFile) -> Iterable[LogFile]:
    """The -wal file next to a database, which contains the latest writes."""
    wal = file.neighbour(f"{file.name}-wal")
    return () if wal is None else (wal,)


@contextmanager
def open_tables(file: LogFile) -> Iterator[Tables]:
    """Opens the file's tables. Raises ImportFileError if it is not a SQLite file or is locked."""
    with file.on_disk() as path:
        try:
            connection = drivers.plain.connect(
                f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS,
                check_same_thread=False,
            )  # fmt: skip
        except drivers.plain.Error as error:
            raise ImportFileError(f"{file.label} cannot be opened: {error}.") from error
        try:
            connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            connection.execute("PRAGMA query_only = ON")
            drivers.restrain(drivers.plain, connection, length_bytes_max=VALUE_BYTES_MAX)
            connection.execute("PRAGMA trusted_schema = OFF")  # nothing is written to FTS5 here
            yield Tables(connection, file.label)
        except drivers.plain.Error as error:
            raise ImportFileError(f"{file.label} cannot be read: {error}.") from error
        finally:
            connection.close()
