"""Opens the SQLite file, runs transactions and SQL, and translates the driver's errors.

Everything that keeps the file safe is here: FULL synchronous commits, IMMEDIATE write transactions,
the choice of journal mode, and the check that the path still leads to the open file before a
transaction is acknowledged. Knows no tables.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from treemem.errors import (
    ConstraintError,
    DatabaseError,
    DatabaseKeyError,
    DatabaseReplacedError,
    UsageError,
)
from treemem.packages import install_command
from treemem.store import migrations
from treemem.store.access import drivers, keys
from treemem.store.access.drivers import WAL_SAFE_SINCE
from treemem.store.access.keys import Key
from treemem.store.file import (
    notices,
    online_copy,
    opening,
    rescue,
    sidecars,
    sqlite_errors,
    upgrading,
)
from treemem.store.file.guard import FileGuard, Loss, identity_of
from treemem.store.file.open_marker import OpenMarker
from treemem.store.file.pages import Pages
from treemem.store.proof import digests, surprises
from treemem.store.schema import matching

driver = drivers.plain

# How long a statement waits for another process's lock.
BUSY_TIMEOUT_MS = 30_000
SQLITE_VERSION: tuple[int, ...] = tuple(driver.sqlite_version_info)
# Required for STRICT tables (3.37) and UPDATE … RETURNING (3.35).
SQLITE_VERSION_MIN = (3, 37, 0)

# Older ones match possessive groups wrongly, see github.com/python/cpython/issues/106052.
PYTHON_VERSION = sys.version_info[:3]
PYTHON_SOUND_SINCE = (3, 11, 5)

# The largest number that SQLite stores. Ids are numbers from 1 up to it.
INTEGER_MAX = 2**63 - 1
# The path of a database that is never written to a disk.
IN_MEMORY = ":memory:"
# Losses after which the content of the open file is not at its path.
_ELSEWHERE = ("gone", "replaced", "overwritten")
# How long to wait for a file that is gone. A file rescued into a folder that is being deleted would
# keep it from being deleted, or be deleted itself.
GONE_SECONDS = 0.5
# How often a file is opened again that is replaced at the same moment.
CONNECT_TRIES = 3
# When so many bytes of the -wal file are not in the memory file yet, they are copied into it: eight
# times SQLite's own limit, since a page that several transactions change is then copied once.
CHECKPOINT_BYTES = 8_000 * 4_120

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

    path: ":memory:" for a database that is never written to a disk. must_exist: raise if there
    is no file, instead of creating it. key: of an encrypted file; None takes that of the
    environment. A new file is encrypted if there is a key. notices: sentences for the user about
    this file or this SQLite. Raises DatabaseError or a subclass if the file cannot be used.
    """

    def __init__(
        self, path: Path, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS, must_exist: bool = False,
        key: Key | None = None,
    ) -> None:  # fmt: skip
        if SQLITE_VERSION < SQLITE_VERSION_MIN:
            newer = install_command("pysqlite3")
            raise DatabaseError(f"SQLite {driver.sqlite_version} is older than 3.37. Run: {newer}")
        self._driver, self._key = driver, key
        self.path = path
        self.notices: list[str] = []
        if PYTHON_VERSION < PYTHON_SOUND_SINCE:
            self.notices.append(notices.python_fault(PYTHON_VERSION))
        self._lock = threading.RLock()
        self._depth = 0
        self._wal = False
        self._vector_functions: bool | None = None
        self._real = sidecars.real_path(path)
        self._marker = OpenMarker(self._real)
        self._guard: FileGuard | None = None
        self._replaced: str | None = None  # the message, once the file was found replaced
        self._is_rescued = False
        self._has_written = False
        self.is_read_only = False  # True for that of a past time, which no work completes
        self._connection: Any = None
        self._digests: digests.Digests | None = None  # while the schema is that of this version
        with self._translated():
            if str(path) == IN_MEMORY:
                self._key = None
                self._connect(IN_MEMORY)
                self._configure(busy_timeout_ms, existed=False)
            else:
                self._open(busy_timeout_ms, must_exist=must_exist)

    def _open(self, busy_timeout_ms: int, *, must_exist: bool) -> None:
        existed = opening.prepare(self.path, self._real, must_exist=must_exist)
        self._driver, self._key, added = drivers.choose(
            self.path, self._real, self._key, existed=existed
        )
        self.notices += added
        with opening.one_creator(self._real, busy_timeout_ms):
            leftovers = opening.set_aside_leftovers(self._real, self._marker)
            if existed and not leftovers:
                self._notice_lost_wal()
            self.notices += leftovers + opening.mode_notices(self._real)
            if (obstacle := self._marker.obstacle()) is not None:
                self.notices.append(obstacle)
            for _ in range(CONNECT_TRIES):
                before = identity_of(self._real)
                self._connect(str(self._real))
                if identity_of(self._real) == before:
                    break
                self._connection.close()
            else:
                raise DatabaseError(f"{self.path} is being replaced by another program. Try again.")
            try:
                self._configure(busy_timeout_ms, existed=existed)
                self._guard = FileGuard(self.path, self._real, wal=self._wal)
                if self._guard.is_unsettled():  # a process died, or runs a checkpoint
                    self._checkpoint()
            except BaseException:
                self._connection.close()
                raise
            self._put_marker(wal=self._wal)
            upgrading.remove_old_copies(self._real)

    def _connect(self, name: str) -> None:
        self._connection = self._connected(
            name, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        self._connection.text_factory = self._text

    def _connected(self, name: str, **options: Any) -> Any:
        """A new connection to a file that is encrypted if this one is."""
        connection = self._driver.connect(name, **options)
        if self._key is not None:
            drivers.unlock(connection, self._key)
        return connection

    @property
    def key(self) -> Key | None:
        """The key of the file; None if it is not encrypted."""
        return self._key

    @property
    def sqlite_version(self) -> tuple[int, ...]:
        """The version of the SQLite that reads this file."""
        return tuple(self._driver.sqlite_version_info)

    def _configure(self, busy_timeout_ms: int, *, existed: bool) -> None:
        execute = self._connection.execute
        execute(f"PRAGMA busy_timeout = {int(busy_timeout_ms)}")
        drivers.restrain(self._driver, self._connection)
        version = execute("PRAGMA user_version").fetchone()[0]
        if existed:
            matching.refuse_others(self._connection, version, self.path)
        self._choose_journal()
        # An acknowledged commit must survive a power cut, which NORMAL does not guarantee.
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA foreign_keys = ON")
        execute("PRAGMA recursive_triggers = ON")  # else OR REPLACE deletes rows without them
        execute("PRAGMA secure_delete = ON")
        execute("PRAGMA cache_size = -16000")
        execute("PRAGMA temp_store = MEMORY")
        # _acknowledge() runs the checkpoints, after it has looked at the file.
        execute("PRAGMA wal_autocheckpoint = 0")
        execute(f"PRAGMA journal_size_limit = {CHECKPOINT_BYTES // 2}")
        if version < migrations.SCHEMA_VERSION:
            self._migrate()
        self._digests = digests.Digests(self._connection)

    def _migrate(self) -> None:
        with self.transaction():
            self.notices += upgrading.upgrade(
                self._connection, self._real, self._driver, self._connected
            )

    def _choose_journal(self) -> None:
        preferred = "wal" if self.sqlite_version >= WAL_SAFE_SINCE else "delete"
        try:
            mode = self._connection.execute(f"PRAGMA journal_mode = {preferred}").fetchone()[0]
        except self._driver.OperationalError:  # another connection prevents the change
            mode = self._connection.execute("PRAGMA journal_mode").fetchone()[0]
        self._wal = mode == "wal"
        if self._wal and preferred == "delete":
            self.notices.append(notices.wal_fault(self._driver.sqlite_version))

    # -- reading and writing -----------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Runs a write transaction. A nested one joins the outer one.

        It begins IMMEDIATE, since a transaction that reads first and writes later fails at once
        if another connection has committed in between.
        """
        with self._lock, self._translated():
            if self._depth == 0:
                self._begin()
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0:
                    self._roll_back()
                raise
            self._depth -= 1
            if self._depth == 0:
                self._commit()

    @property
    def is_writing(self) -> bool:
        """Whether a write transaction is open."""
        return self._depth > 0

    def _begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")  # which may have waited for long
        try:
            self._require_present()
            self.watch_tables()
        except BaseException:
            self._roll_back()
            raise

    def watch_tables(self) -> None:
        """Has digests of the rows of all tables. Call it after a table was added."""
        if self._digests is not None:
            self._digests.watch()

    def _commit(self) -> None:
        try:
            if self._digests is not None:
                self._digests.store()
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        self._acknowledge()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        if self._digests is not None:
            self._digests.forget()

    def _acknowledge(self) -> None:
        """Raises DatabaseReplacedError if what was committed is not in the file at the path."""
        self._has_written = True
        self._require_present()
        if self._guard is not None and self._guard.waiting_bytes >= CHECKPOINT_BYTES:
            self._checkpoint()

    def _checkpoint(self) -> None:
        """Copies the pages of the -wal file into the memory file, as far as no reader needs them.
        A full disk is no error: they stay in the -wal file."""
        with contextlib.suppress(self._driver.DatabaseError):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if self._guard is not None:
            self._guard.settle()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Runs a read transaction, in which all reads see the same state of the file."""
        with self._lock, self._translated():
            if self._depth or self._connection.in_transaction:
                yield
                return
            self._require_present()
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                # Nothing was written, and on a damaged page a COMMIT fails.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            self._require_present()

    def pages(self) -> Pages | None:
        """The pages of the file, in a reading() that has read already; None for a database in
        memory. Raises ValueError for a damaged file, DatabaseError without what decrypts it."""
        return None if self._guard is None else self._guard.pages(self._key)

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

    @contextlib.contextmanager
    def _statement(self, sql: str) -> Iterator[None]:
        """Runs one statement. Outside a transaction it is one of its own."""
        with self._lock:
            try:
                is_alone = self._depth == 0 and not self._connection.in_transaction
                if is_alone and digests.WRITES.match(sql):
                    with self.transaction():
                        yield
                    return
                if is_alone and not (self._guard is not None and self._guard.is_same()):
                    self._require_present()
                yield
            except (self._driver.Error, OSError) as error:
                raise self._failure(error) from error
            except OverflowError as error:
                raise UsageError(
                    "A number is too large: SQLite stores none above 9,223,372,036,854,775,807."
                ) from error
            except UnicodeEncodeError as error:
                raise UsageError(f"{error.object!r} is not valid Unicode text.") from error

    def execute(self, sql: str, parameters: Parameters = ()) -> Any:
        with self._statement(sql):
            return self._connection.execute(sql, parameters)

    def many(self, sql: str, rows: Iterable[Parameters]) -> None:
        with self._statement(sql):
            self._connection.executemany(sql, rows)

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        with self._statement(sql):
            rows: list[Row] = self._connection.execute(sql, parameters).fetchall()
            return rows

    def row(self, sql: str, parameters: Parameters = ()) -> Row | None:
        with self._statement(sql):
            row: Row | None = self._connection.execute(sql, parameters).fetchone()
            return row

    def value(self, sql: str, parameters: Parameters = ()) -> Any:
        """The first column of the first row; None if there is no row."""
        row = self.row(sql, parameters)
        return None if row is None else row[0]

    def insert(self, sql: str, parameters: Parameters = ()) -> int:
        """Runs an INSERT and returns the rowid of the new row."""
        return int(self.execute(sql, parameters).lastrowid)

    def changed(self, sql: str, parameters: Parameters = ()) -> int:
        """Runs an UPDATE or DELETE and returns the number of rows that it changed."""
        return int(self.execute(sql, parameters).rowcount)

    def can_load_extensions(self) -> bool:
        return hasattr(self._connection, "enable_load_extension")

    def has_vector_functions(self) -> bool:
        """Whether sqlite-vec's functions are available. The first call loads them."""
        with self._lock:
            if self._vector_functions is None:
                add = drivers.add_vector_functions if self.can_load_extensions() else None
                self._vector_functions = add is not None and add(self._driver, self._connection)
            return self._vector_functions

    def copy_to(
        self, target: Path, progress: Callable[[str, int, int], object] | None = None
    ) -> None:
        """Copies the file as it is now into an empty file; see online_copy.py."""
        with self.reading():
            online_copy.copy(self._connection, self._connected, target, progress)

    def compact(self) -> None:
        """Rewrites the whole file, so that neither its pages nor the -wal file contain deleted
        data. Raises DatabaseLockedError while another process reads or writes."""
        with self._lock, self._translated():
            execute = self._connection.execute
            self._require_present()
            # VACUUM makes a temporary copy of the file, which may not fit into memory.
            execute("PRAGMA temp_store = FILE")
            try:
                execute("VACUUM")
                if self._wal and execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    raise self._driver.OperationalError("the -wal file is locked by a reader")
            finally:
                execute("PRAGMA temp_store = MEMORY")
            if self._guard is not None:
                upgrading.remove_copies(self._real)
                self._guard.settle()
                self._require_present()

    def close(self) -> None:
        """Closes the connection. The last one to close merges the -wal file into the main file.

        Raises DatabaseReplacedError, after closing, if the file was replaced since the last step
        and this connection had stored anything.
        """
        with self._lock:
            if isinstance(self._connection, drivers.Closed):
                return
            said = self._replaced
            with contextlib.suppress(DatabaseError), self._translated():
                self._require_present()
            if self._replaced is None and self._guard is not None:
                # A kill between closing the file and removing the marker loses nothing.
                self._put_marker(wal=False)
            self._connection.close()
            self._connection = drivers.Closed(self.path)
            if self._guard is not None:
                self._guard.close()
            self._clear_marker()
            if self._replaced is not None and self._replaced != said and self._is_rescued:
                raise DatabaseReplacedError(self._replaced)

    def _put_marker(self, *, wal: bool) -> None:
        if self._guard is not None:
            self._marker.put(wal=wal, memory=self._guard.memory, wal_file=self._guard.wal)

    def _clear_marker(self) -> None:
        """Removes the marker, unless another process has the database open."""
        if self._guard is None:
            return
        if self._replaced is None and sidecars.wal_of(self._real).exists():
            self._put_marker(wal=True)
        # While there is a -wal file, the marker tells which file it belongs to.
        is_ours = self._replaced is None or self._marker.pid() == os.getpid()
        if is_ours and not sidecars.wal_of(self._real).exists():
            self._marker.remove()

    # -- a file that was replaced, and errors --------------------------------------------

    def _require_present(self) -> None:
        """Raises DatabaseReplacedError if the path no longer leads to the open file."""
        loss = None if self._is_rescued or self._guard is None else self._guard.loss()
        if loss is not None and loss.kind == "gone" and self._guard is not None:
            # Its folder is perhaps being deleted, or another file put in its place.
            time.sleep(GONE_SECONDS)
            loss = self._guard.loss()
        if loss is not None and (self._replaced is None or loss.kind in _ELSEWHERE):
            self._lose(loss)
        if self._replaced is not None:
            raise DatabaseReplacedError(self._replaced)

    def _lose(self, loss: Loss) -> None:
        """Saves what this connection alone still has. From now on every use of the database raises
        a message that says where it is."""
        self._replaced = loss.sentence  # in case that saving fails in an unforeseen way
        if self._connection.in_transaction:
            with contextlib.suppress(self._driver.Error):
                self._connection.execute("ROLLBACK")
        again = "Close every treemem process, then run the last step again."
        if loss.kind == "relinked":
            outcome = f"All that was stored before is in {self._real}. {again}"
        elif loss.kind == "shm":
            outcome = f"All that was stored is in the file and its -wal file. {again}"
        elif loss.kind == "wal" and self._merge_wal():
            outcome = f"What was stored has been saved into the main file. {again}"
        elif self._has_written or loss.kind == "overwritten":
            self._is_rescued = True
            outcome = f"{self._rescue(loss)} The last step was not acknowledged."
        else:
            outcome = "Nothing was stored by this process. Run it again to use what is there now."
        self._replaced = f"{loss.sentence} {outcome}"

    def _merge_wal(self) -> bool:
        """Copies the pages of a deleted -wal file, which is still open, into the main file.
        Returns whether all were copied."""
        try:
            row = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except self._driver.Error:
            return False
        return row is not None and row[0] == 0

    def _rescue(self, loss: Loss) -> str:
        """Copies the open file into a new one, and keeps its -wal file from being merged into
        another file. Returns sentences that say what was saved and where."""
        wal = sidecars.wal_of(self._real)
        copies = [rescue.copy_memory]
        if loss.kind == "overwritten":
            copies.append(rescue.copy_readable_rows)
        try:
            target = self._first_copy(copies)
        except (self._driver.Error, OSError, ValueError) as error:
            saved = f"What this process had stored before could not be saved ({error})."
            with contextlib.suppress(OSError):
                if self._guard is not None and identity_of(wal) == self._guard.wal is not None:
                    saved += f" Its -wal file was kept as {rescue.copy_wal(self._real)}."
        else:
            saved = f"What this process had stored before was copied to {target}."
            if loss.kind == "overwritten":
                saved = (
                    f"What could still be read was copied to {target}; what was overwritten before "
                    f"may be missing there, see: treemem --db {target} doctor."
                )
        self._drop_wal(loss)
        return saved

    def _first_copy(self, copies: Sequence[Callable[[Any, Path, Any], Path]]) -> Path:
        """The file of the first way to copy that does not fail; raises the error of the last."""
        for copy in copies[:-1]:
            with contextlib.suppress(self._driver.Error, OSError, ValueError):
                return copy(self._connection, self._real, self._connected)
        return copies[-1](self._connection, self._real, self._connected)

    def _drop_wal(self, loss: Loss) -> None:
        """Keeps SQLite from merging the -wal file into the content that is now at the path."""
        guard, wal = self._guard, sidecars.wal_of(self._real)
        if guard is None or guard.wal is None:
            return
        with contextlib.suppress(OSError):
            if loss.kind == "overwritten" and identity_of(wal) == guard.wal:
                os.truncate(wal, 0)  # SQLite would merge it when it closes the file
            elif loss.kind in ("gone", "replaced"):
                rescue.drop_sidecars(self._real, guard.is_own)

    def add_notices(self, added: Iterable[str]) -> None:
        """Adds notices for the user, each once."""
        self.notices += [notice for notice in dict.fromkeys(added) if notice not in self.notices]

    def _text(self, data: bytes) -> str:
        """The text of a column. Damaged bytes are replaced, so that they stop no command."""
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.add_notices([notices.UNDECODABLE])
            return data.decode("utf-8", "replace")

    def _notice_lost_wal(self) -> None:
        """Adds a notice if a process died with this file open and the -wal file is missing."""
        if self._marker.is_stale() and not sidecars.wal_of(self._real).exists():
            self.notices.append(notices.lost_wal(self.path.name))
            self._marker.remove()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (self._driver.Error, OSError) as error:
            raise self._failure(error) from error
        except surprises.SURPRISES as error:
            surprises.raise_if_damaged(self._connection, self.path, error)
            raise

    def _failure(self, error: Exception) -> DatabaseError:
        """What an error of the driver or the system means: that the file was replaced, or what it
        says."""
        if isinstance(error, OSError):
            return DatabaseError(f"{self.path}: {error.strerror or error}")
        try:
            self._require_present()
        except DatabaseReplacedError as replaced:
            return replaced
        except OSError:
            pass
        if isinstance(error, self._driver.IntegrityError):
            return ConstraintError(f"{self.path}: {error}")
        if self._key is not None and "not a database" in str(error):
            return DatabaseKeyError(keys.WRONG.format(self.path), hint=keys.GIVE_KEY)
        return sqlite_errors.translate(error, self.path, self._marker.holder())
