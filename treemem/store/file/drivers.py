"""Chooses the SQLite driver of a file, and restrains a connection to a file of unknown origin.

Only this module imports a driver. pysqlite3 bundles a recent SQLite; where it is missing, the
standard library's sqlite3 is used. Encrypted files need sqlcipher3, which is the same code with
another SQLite.

Tested in tests/store/test_hostile_memory.py.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

# SQLite before 3.51.3 can corrupt a WAL file when two connections checkpoint and write at the same
# time (sqlite.org/wal.html, "the WAL-reset bug"), so older versions use a rollback journal.
WAL_SAFE_SINCE = (3, 51, 3)
# Flags of sqlite3_db_config that the standard library names since Python 3.12, and their values:
# no statement may write to tables that SQLite and FTS5 keep for themselves.
_CONFIG = (("SQLITE_DBCONFIG_DEFENSIVE", True), ("SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION", False))


def _plain() -> Any:
    """pysqlite3, which bundles a recent SQLite, or else the standard library's sqlite3."""
    if os.environ.get("TREEMEM_SQLITE") != "stdlib":
        with contextlib.suppress(ImportError):
            import pysqlite3

            return pysqlite3
    import sqlite3

    return sqlite3


plain = _plain()


def restrain(driver: Any, connection: Any, *, length_bytes_max: int | None = None) -> None:
    """Keeps the content of a file from another from running anything. Reads nothing of the file.

    length_bytes_max: the longest value that is read, where the driver can limit it; else, and for
    None, SQLite's own thousand million, and never more than the file has.
    """
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")
    if tuple(driver.sqlite_version_info) >= WAL_SAFE_SINCE:
        # In older versions this setting keeps triggers from writing to FTS5.
        connection.execute("PRAGMA trusted_schema = OFF")
    if hasattr(connection, "setconfig"):
        for name, value in _CONFIG:
            connection.setconfig(getattr(driver, name), value)
    if length_bytes_max is not None and hasattr(connection, "setlimit"):
        connection.setlimit(driver.SQLITE_LIMIT_LENGTH, length_bytes_max)
