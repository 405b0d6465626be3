"""Chooses the SQLite driver of a file, and restrains a connection to a file of unknown origin.

Only this module imports a driver. pysqlite3 bundles a recent SQLite; where it is missing, the
standard library's sqlite3 is used. Encrypted files need sqlcipher3, which is the same code with
another SQLite.

Tested in tests/store/test_hostile_memory.py.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from treemem.errors import DatabaseError, DatabaseKeyError, Notice
from treemem.packages import KEY_VARIABLES, extra_command
from treemem.store.access import keys
from treemem.store.access.keys import Key
from treemem.store.file import notices

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


def choose(
    path: Path, real: Path, key: Key | None, *, existed: bool
) -> tuple[Any, Key | None, list[Notice]]:
    """The driver of a file, its key if it is encrypted, and notices. A new file is encrypted if
    there is a key, any other if it was.

    path: as the user wrote it; real: where it leads. key: None takes that of the environment.
    Raises DatabaseKeyError if the key or the driver is missing.
    """
    is_encrypted = keys.is_encrypted(real)
    if existed and not is_encrypted:
        is_given = key is not None or any(map(os.environ.get, KEY_VARIABLES[:3]))
        return plain, None, [notices.not_encrypted(path)] if is_given else []
    key = key or keys.configured()
    if key is None and is_encrypted:
        raise DatabaseKeyError(
            f"{path} is encrypted, or no memory file. It was not changed. Its key is missing.",
            hint=keys.GIVE_KEY,
        )
    return (plain, None, []) if key is None else (encrypted(), key, [])


def add_vector_functions(driver: Any, connection: Any) -> bool:
    """Loads sqlite-vec into a connection that can load extensions, and returns whether it is there.
    No other extension can be loaded then."""
    # Importing its Python package would load numpy and the standard library's driver.
    package = importlib.util.find_spec("sqlite_vec")
    if package is None or package.origin is None:
        return False
    try:
        connection.enable_load_extension(True)
        connection.load_extension(str(Path(package.origin).with_name("vec0")))
    except driver.Error:  # built for another processor, or extensions are disabled
        return False
    finally:
        connection.enable_load_extension(False)
    return True


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


def encrypted() -> Any:
    """sqlcipher3. Raises DatabaseKeyError if it is missing."""
    try:
        import sqlcipher3
    except ImportError as error:
        raise DatabaseKeyError(
            f"An encrypted memory file needs a package: {extra_command('encrypted')}"
        ) from error
    return sqlcipher3


def errors() -> tuple[type[Exception], ...]:
    """The errors of the drivers that are loaded."""
    loaded = sys.modules.get("sqlcipher3")
    return (plain.Error,) if loaded is None else (plain.Error, loaded.Error)


def unlock(connection: Any, key: Key) -> None:
    """Gives a new connection of sqlcipher3 its key. That it is wrong shows when a page is read."""
    connection.execute("PRAGMA cipher_log_level = NONE")  # else it prints to stderr
    connection.set_key(key.for_sqlcipher())
    keys.use(key)


def open_copy(path: Path, name: str, **options: Any) -> Any:
    """A connection to a copy of a memory, which has the key of the environment, or one that this
    process has used. name: the path or URI for the driver. Raises DatabaseKeyError."""
    if not keys.is_encrypted(path):
        return plain.connect(name, **options)
    driver = encrypted()
    for key in keys.candidates():
        connection = driver.connect(name, **options)
        unlock(connection, key)
        try:
            connection.execute("PRAGMA user_version").fetchone()
        except driver.DatabaseError:
            connection.close()
        else:
            return connection
    raise DatabaseKeyError(
        f"{path} is encrypted, and its key is missing or wrong.", hint=keys.GIVE_KEY
    )


class Closed:
    """Replaces the connection of a closed database; every use raises DatabaseError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        raise DatabaseError(f"{self._path} was closed. Open it again with Memory.open.")
