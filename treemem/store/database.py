"""Opens the SQLite file, runs transactions and SQL, and translates the driver's errors.

No other module imports the driver. Everything that keeps the file safe is here: FULL synchronous
commits, IMMEDIATE write transactions, the choice of journal mode, and the check for a lost -wal
file. Knows no tables.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from treemem.errors import (
    ConstraintError,
    DatabaseCorruptError,
    DatabaseError,
    DatabaseLockedError,
    DatabaseVersionError,
    DiskFullError,
)
from treemem.store import migrations
from treemem.store.open_marker import OpenMarker


def _driver() -> Any:
    """pysqlite3, which bundles a recent SQLite, or else the standard library's sqlite3."""
    if os.environ.get("TREEMEM_SQLITE") != "stdlib":
        with contextlib.suppress(ImportError):
            import pysqlite3

            return pysqlite3
    import sqlite3

    return sqlite3


driver = _driver()

# How long a statement waits for another process's lock.
BUSY_TIMEOUT_MS = 30_000
SQLITE_VERSION: tuple[int, ...] = tuple(driver.sqlite_version_info)
# SQLite before 3.51.3 can corrupt a WAL file when two connections checkpoint and write at the same
# time (sqlite.org/wal.html, "the WAL-reset bug"), so older versions use a rollback journal.
WAL_SAFE_SINCE = (3, 51, 3)
# Required for STRICT tables (3.37) and UPDATE … RETURNING (3.35).
SQLITE_VERSION_MIN = (3, 37, 0)

Row = tuple[Any, ...]
Parameters = Mapping[str, Any] | tuple[Any, ...]


def json_list(values: Iterable[object]) -> str:
    """The values as a JSON list, to pass any number of them as one parameter of json_each()."""
    return orjson.dumps(list(values)).decode()


def storable_text(text: str) -> tuple[str, bytes | None]:
    """Returns the text as SQLite can store it, and its exact bytes if that is a different text.

    Lone surrogates have no UTF-8 encoding. Each is replaced by U+FFFD, so offsets stay valid.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        exact = text.encode("utf-8", "surrogatepass")
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text), exact
    return text, None


class Database:
    """A connection to a memory file, usable from several threads.

    notices: sentences for the user about this file or this SQLite. Raises DatabaseError or a
    subclass if the file cannot be used.
    """

    def __init__(self, path: Path, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> None:
        if SQLITE_VERSION < SQLITE_VERSION_MIN:
            raise DatabaseError(
                f"SQLite {driver.sqlite_version} is too old, 3.37 is needed. "
                "Install a newer one: pip install pysqlite3"
            )
        self.path = path
        self.notices: list[str] = []
        self._lock = threading.RLock()
        self._depth = 0
        self._wal = False
        self._vector_functions: bool | None = None
        self._marker = OpenMarker(path)
        self._wal_name = str(_wal_path(path))  # checked before every write
        self._connection: Any = None
        with self._translated():
            self._open(busy_timeout_ms)

    def _open(self, busy_timeout_ms: int) -> None:
        _check_folder(self.path)
        existed = self.path.exists() and self.path.stat().st_size > 0
        if existed:
            self._notice_lost_wal()
        self._connection = driver.connect(
            str(self.path), isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            self._configure(busy_timeout_ms, existed=existed)
        except BaseException:
            self._connection.close()
            raise
        self._marker.put(wal=self._wal)

    def _configure(self, busy_timeout_ms: int, *, existed: bool) -> None:
        execute = self._connection.execute
        execute(f"PRAGMA busy_timeout = {int(busy_timeout_ms)}")
        version = execute("PRAGMA user_version").fetchone()[0]
        if existed:
            self._check_version(version)
        self._choose_journal()
        # An acknowledged commit must survive a power cut, which NORMAL does not guarantee.
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA foreign_keys = ON")
        execute("PRAGMA secure_delete = ON")
        execute("PRAGMA cache_size = -32000")
        execute("PRAGMA temp_store = MEMORY")
        if SQLITE_VERSION >= WAL_SAFE_SINCE:
            # A file from elsewhere may contain hostile views and triggers. (In older versions this
            # setting keeps triggers from writing to FTS5.)
            execute("PRAGMA trusted_schema = OFF")
        if version < migrations.SCHEMA_VERSION:
            self._migrate()

    def _migrate(self) -> None:
        with self.transaction():
            # Another process may have migrated while this one waited for the lock.
            if self.value("PRAGMA user_version") < migrations.SCHEMA_VERSION:
                migrations.apply(self._connection, driver.complete_statement, SQLITE_VERSION)

    def _check_version(self, version: int) -> None:
        if version > migrations.SCHEMA_VERSION:
            raise DatabaseVersionError(
                f"{self.path} was written by a newer treemem (schema {version}, this one knows "
                f"{migrations.SCHEMA_VERSION}). It was not touched. "
                "Upgrade: pip install --upgrade treemem"
            )
        application = self._connection.execute("PRAGMA application_id").fetchone()[0]
        tables = self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if tables and application != migrations.APPLICATION_ID:
            raise DatabaseVersionError(
                f"{self.path} is a SQLite database, but not one of treemem's (application id "
                f"{application:#x}). It was not touched. Choose another file with --db."
            )

    def _choose_journal(self) -> None:
        preferred = "wal" if SQLITE_VERSION >= WAL_SAFE_SINCE else "delete"
        try:
            mode = self._connection.execute(f"PRAGMA journal_mode = {preferred}").fetchone()[0]
        except driver.OperationalError:  # another connection prevents the change
            mode = self._connection.execute("PRAGMA journal_mode").fetchone()[0]
        self._wal = mode == "wal"
        if self._wal and preferred == "delete":
            self.notices.append(
                f"SQLite {driver.sqlite_version} has a fault with several writers in WAL mode. "
                "Run one treemem process at a time, or pip install pysqlite3."
            )

    # -- reading and writing -----------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Runs a write transaction. A nested one joins the outer one.

        It begins IMMEDIATE, since a transaction that reads first and writes later fails at once
        if another connection has committed in between.
        """
        with self._lock, self._translated():
            if self._depth == 0:
                self._rescue_lost_wal()
                self._connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0 and self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._depth -= 1
            if self._depth == 0:
                self._commit()

    def _commit(self) -> None:
        try:
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Runs a read transaction, in which all reads see the same state of the file."""
        with self._lock, self._translated():
            if self._depth or self._connection.in_transaction:
                yield
                return
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                # Nothing was written, and on a damaged page a COMMIT fails.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def undurable(self) -> Iterator[None]:
        """Runs a write transaction whose commit may be lost in a power cut. In WAL mode it skips
        the fsync, which is several times faster. Only for leases: a lost claim can be repeated."""
        with self._lock:
            if self._wal and self._depth == 0:
                self._connection.execute("PRAGMA synchronous = NORMAL")
            try:
                with self.transaction():
                    yield
            finally:
                if self._wal and self._depth == 0:
                    self._connection.execute("PRAGMA synchronous = FULL")

    def execute(self, sql: str, parameters: Parameters = ()) -> Any:
        with self._lock, self._translated():
            return self._connection.execute(sql, parameters)

    def many(self, sql: str, rows: Iterable[Parameters]) -> None:
        with self._lock, self._translated():
            self._connection.executemany(sql, rows)

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        with self._lock, self._translated():
            rows: list[Row] = self._connection.execute(sql, parameters).fetchall()
            return rows

    def row(self, sql: str, parameters: Parameters = ()) -> Row | None:
        with self._lock, self._translated():
            row: Row | None = self._connection.execute(sql, parameters).fetchone()
            return row

    def value(self, sql: str, parameters: Parameters = ()) -> Any:
        """The first column of the first row; None if there is no row."""
        row = self.row(sql, parameters)
        return None if row is None else row[0]

    def insert(self, sql: str, parameters: Parameters = ()) -> int:
        """Runs an INSERT and returns the rowid of the new row."""
        with self._lock, self._translated():
            return int(self._connection.execute(sql, parameters).lastrowid)

    def changed(self, sql: str, parameters: Parameters = ()) -> int:
        """Runs an UPDATE or DELETE and returns the number of rows that it changed."""
        with self._lock, self._translated():
            return int(self._connection.execute(sql, parameters).rowcount)

    def can_load_extensions(self) -> bool:
        return hasattr(self._connection, "enable_load_extension")

    def has_vector_functions(self) -> bool:
        """Whether sqlite-vec's functions are available. The first call loads them."""
        with self._lock:
            if self._vector_functions is None:
                self._vector_functions = self._load_vector_functions()
            return self._vector_functions

    def _load_vector_functions(self) -> bool:
        # Importing its Python package would load numpy and the standard library's driver.
        package = importlib.util.find_spec("sqlite_vec")
        if package is None or package.origin is None or not self.can_load_extensions():
            return False
        try:
            self._connection.enable_load_extension(True)
            self._connection.load_extension(str(Path(package.origin).with_name("vec0")))
        except driver.Error:  # built for another processor, or extensions are disabled
            return False
        finally:
            self._connection.enable_load_extension(False)
        return True

    def compact(self) -> None:
        """Rewrites the whole file, so that neither its pages nor the -wal file contain deleted
        data. Raises DatabaseLockedError while another process reads or writes."""
        with self._lock, self._translated():
            execute = self._connection.execute
            # VACUUM makes a temporary copy of the file, which may not fit into memory.
            execute("PRAGMA temp_store = FILE")
            try:
                execute("VACUUM")
                if self._wal and execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    raise driver.OperationalError("the -wal file is locked by a reader")
            finally:
                execute("PRAGMA temp_store = MEMORY")

    def close(self) -> None:
        """Closes the connection. The last one to close merges the -wal file into the main file."""
        with self._lock:
            if isinstance(self._connection, _Closed):
                return
            # A kill between closing the file and removing the marker loses nothing.
            self._marker.put(wal=False)
            self._connection.close()
            self._connection = _Closed(self.path)
            if _wal_path(self.path).exists():  # another process has the database open
                self._marker.put(wal=True)
            if not _wal_path(self.path).exists():
                self._marker.remove()

    # -- lost files and errors ---------------------------------------------------------

    def _notice_lost_wal(self) -> None:
        """Adds a notice if a process died with this file open and the -wal file is missing."""
        if self._marker.is_stale() and not _wal_path(self.path).exists():
            self.notices.append(
                f"{self.path.name} was not closed properly and its -wal file is gone. What was "
                "stored last may be missing: run treemem doctor, then ingest the last logs again "
                "(nothing is stored twice)."
            )
            self._marker.remove()

    def _rescue_lost_wal(self) -> None:
        """Saves the content of a -wal file that was deleted while it was in use, and raises
        DatabaseError.

        This connection still has the deleted file open. Other processes would create a new one,
        and the two would overwrite each other.
        """
        if not self._wal or self._depth or os.path.exists(self._wal_name):  # noqa: PTH110
            return
        with contextlib.suppress(driver.DatabaseError):
            self._connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
        if _wal_path(self.path).exists():  # it did not exist before the first read
            return
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        raise DatabaseError(
            f"{_wal_path(self.path)} was deleted while the database was in use. What was stored "
            "has been saved into the main file. Close every treemem process and start again; "
            "the interrupted step is repeated."
        )

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except driver.Error as error:
            raise self._translate(error) from error
        except OSError as error:
            raise DatabaseError(f"{self.path}: {error.strerror or error}") from error

    def _translate(self, error: Exception) -> DatabaseError:
        text = str(error)
        if isinstance(error, driver.IntegrityError):
            return ConstraintError(f"{self.path}: {text}")
        if "locked" in text or "busy" in text:
            return DatabaseLockedError(
                f"{self.path} is locked by another process{self._marker.holder()}. "
                "Wait for it to finish, or stop it, and try again."
            )
        if "malformed" in text or "not a database" in text or "corrupt" in text:
            return DatabaseCorruptError(
                f"{self.path} is damaged or no SQLite database ({text}). It was not changed. "
                f"Keep a copy; then `sqlite3 {self.path} .recover | sqlite3 recovered.sqlite3` "
                "saves what is readable, and ingesting the logs again adds the rest."
            )
        if "disk is full" in text or "disk I/O error" in text:
            return DiskFullError(
                f"{self.path}: {text}. The last step was rolled back; free some space and run the "
                "same command again."
            )
        if "readonly" in text or "unable to open" in text:
            return DatabaseError(
                f"{self.path} cannot be written ({text}). Check the permissions of the file and "
                "its folder, or choose another file with --db."
            )
        return DatabaseError(f"{self.path}: {text}")


class _Closed:
    """Replaces the connection of a closed database; every use raises DatabaseError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        raise DatabaseError(f"{self._path} was closed. Open it again with Memory.open.")


def _wal_path(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _check_folder(path: Path) -> None:
    if path.is_dir():
        raise DatabaseError(f"{path} is a folder. Name a file with --db.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseError(
            f"The folder {path.parent} cannot be created ({error.strerror}). "
            "Choose another place with --db."
        ) from error
