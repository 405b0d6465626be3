"""Reads the SQLite files of other programs: never writes, never locks for long.

The program may be running, so the file is opened read-only together with its -wal file. Damage
raises ImportFileError. SQLite does not enforce declared types: importers check the values.

Tested in tests/importers/test_llm.py and test_cursor.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from treemem.errors import ImportFileError
from treemem.importers.common.base import LogFile
from treemem.store.database import driver

MAGIC = b"SQLite format 3\0"
VALUE_BYTES_MAX = 256 * 1024**2

_BUSY_SECONDS = 5.0


class Tables:
    """The tables of an open file. Every method raises ImportFileError if the file is damaged."""

    def __init__(self, connection: Any, label: str) -> None:
        self._connection = connection
        self._label = label

    def columns(self) -> dict[str, frozenset[str]]:
        """The columns of each table by its name."""
        sql = (
            "SELECT m.name, group_concat(c.name, char(0)) FROM sqlite_master m "
            "JOIN pragma_table_info(m.name) c WHERE m.type = 'table' GROUP BY m.name"
        )
        return {name: frozenset(columns.split("\0")) for name, columns in self.rows(sql)}

    def rows(self, sql: str, parameters: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Yields the rows of a query; text that is not UTF-8 contains lone surrogates.

        A parameter with lone surrogates matches no row, since it cannot be passed to SQLite.
        """
        try:
            yield from self._connection.execute(sql, parameters)
        except UnicodeEncodeError:
            return
        except (driver.Error, UnicodeDecodeError) as error:
            raise ImportFileError(f"{self._label} cannot be read: {error}.") from error


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
            connection = driver.connect(
                f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS,
                check_same_thread=False,
            )  # fmt: skip
        except driver.Error as error:
            raise ImportFileError(f"{file.label} cannot be opened: {error}.") from error
        try:
            _restrain(connection)
            yield Tables(connection, file.label)
        except driver.Error as error:
            raise ImportFileError(f"{file.label} cannot be read: {error}.") from error
        finally:
            connection.close()


def _restrain(connection: Any) -> None:
    """Disables functions that a hostile schema could call, and limits the size of values."""
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    if hasattr(connection, "setlimit"):
        connection.setlimit(driver.SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)
