"""Copies a memory file, as it is at one moment, into a file of its own, and checks the copy.

The copy is made with SQLite's online backup, in one read transaction: with a -wal file, all others
go on writing meanwhile, and what they store is not in it. VACUUM INTO would make a smaller file,
but moves all pages, so that the next snapshot of a folder would share none with it.

Tested in tests/backups/test_files.py.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treemem.backups.values import BackupProgress
from treemem.diagnostics import doctor
from treemem.errors import BackupError, DatabaseError, DatabaseReadOnlyError
from treemem.store import json_text, migrations, settings
from treemem.store.access import drivers
from treemem.store.database import Database, Row
from treemem.store.file import aside, sqlite_errors
from treemem.store.proof.digests import Digests
from treemem.store.schema import matching

# How many findings an error lists.
_FINDINGS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Content:
    """What a copy of a memory contains. backup_of: the memory id and the time, if the file was
    made as a backup; else empty."""

    memory_id: str | None
    schema: int
    messages: int
    sources: int
    backup_of: dict[str, Any]


class Copy:
    """A complete copy, opened to be read only, without any file beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with self._translated():
            self._connection = drivers.open_copy(path, uri, uri=True, isolation_level=None)
            self._connection.text_factory = lambda data: data.decode("utf-8", "replace")
            # Whoever has written the file does not have anything run here.
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.execute("PRAGMA cell_size_check = ON")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except drivers.errors() as error:
            raise sqlite_errors.translate(error, self.path, "") from error

    def refuse_strangers(self) -> None:
        """Raises DatabaseVersionError if the schema of the file has anything of others."""
        with self._translated():
            matching.refuse_strangers(self._connection, self.path)

    def execute(self, sql: str, parameters: tuple[Any, ...] = ()) -> Any:
        """Runs a query and yields its rows."""
        with self._translated():
            yield from self._connection.execute(sql, parameters)

    def rows(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[Row]:
        """The rows of a query."""
        return list(self.execute(sql, parameters))

    def value(self, sql: str) -> Any:
        """The first column of the first row; None if there is no row."""
        row = next(iter(self.rows(sql)), None)
        return None if row is None else row[0]

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()


@contextmanager
def opened(path: Path) -> Iterator[Copy]:
    """Opens a copy, and closes it at the end. Raises DatabaseError for what is no database."""
    copy = Copy(path)
    try:
        yield copy
    finally:
        copy.close()


def memory_id(database: Database) -> str | None:
    """The id by which backups of this memory are told from those of others. The first call gives
    it one; None if the file cannot be written."""
    known = settings.get(database, settings.MEMORY_ID)
    if known is not None:
        return known
    try:
        return settings.put_new(database, settings.MEMORY_ID, secrets.token_hex(8))
    except DatabaseReadOnlyError:
        return None


def content(copy: Copy) -> Content:
    """What a copy contains. Raises BackupError if it is no memory or one of a newer treemem."""
    if copy.value("PRAGMA application_id") != migrations.APPLICATION_ID:
        raise BackupError(f"{copy.path} is no memory file of treemem.")
    schema = copy.value("PRAGMA user_version")
    if schema > migrations.SCHEMA_VERSION:
        raise BackupError(
            f"{copy.path} was written by a newer treemem (schema {schema}, this one knows "
            f"{migrations.SCHEMA_VERSION}). Upgrade treemem to read it."
        )
    try:
        copy.refuse_strangers()
        set_: dict[str, str] = dict(copy.rows("SELECT name, value FROM setting"))
        messages = copy.value("SELECT count(*) FROM message")
        sources = copy.value("SELECT count(*) FROM source")
    except DatabaseError as error:
        raise BackupError(f"{copy.path} is damaged: {error.message}") from error
    return Content(set_.get(settings.MEMORY_ID), schema, messages, sources,
                   json_text.object_of(set_.get(settings.BACKUP_OF)))  # fmt: skip


def checked(path: Path, progress: BackupProgress | None = None) -> Content:
    """What a copy contains, after its pages and each of its messages were checked. Raises
    BackupError if it is damaged."""
    with opened(path) as copy:
        return _checked(copy, progress)


def _checked(copy: Copy, progress: BackupProgress | None) -> Content:
    found = content(copy)
    try:
        faults = [str(answer) for (answer,) in copy.rows("PRAGMA integrity_check(3)")]
        faults = [] if faults == ["ok"] else faults
        if not faults and found.schema == migrations.SCHEMA_VERSION:
            for number, finding in enumerate(doctor.message_findings(copy), 1):
                if finding:
                    faults.append(finding)
                if progress is not None and number % 1_000 == 0:
                    progress("Checking messages", number, found.messages)
    except DatabaseError as error:
        faults = [error.message]
    if faults:
        more = f" and {len(faults) - _FINDINGS_SHOWN:,} more" * (len(faults) > _FINDINGS_SHOWN)
        raise BackupError(
            f"{copy.path.name} is damaged: {'; '.join(faults[:_FINDINGS_SHOWN])}{more}."
        )
    return found


def copy_memory(database: Database, target: Path, progress: BackupProgress | None) -> None:
    """Copies the memory, as it is now, into an empty file, and makes that durable. Raises
    DatabaseError, and DiskFullError in one sentence."""
    # Another connection, since the memory's own would not be free for its other threads.
    other = Database(database.path, must_exist=True, key=database.key)
    try:
        other.copy_to(target, progress)
    finally:
        other.close()
    aside.sync(target)


def mark_as_backup(target: Path, made: dict[str, Any] | None) -> None:
    """Writes into a copy of which memory it is a backup, and when it was made; None removes it, for
    a copy that becomes a memory again."""
    try:
        connection = drivers.open_copy(target, str(target), isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = MEMORY")
            connection.execute("PRAGMA secure_delete = ON")
            written = Digests(connection)
            written.watch()
            connection.execute("DELETE FROM setting WHERE name = ?", (settings.BACKUP_OF,))
            if made is not None:
                messages = connection.execute("SELECT count(*) FROM message").fetchone()[0]
                row = (settings.BACKUP_OF, json.dumps({**made, "messages": messages}))
                connection.execute("INSERT INTO setting (name, value) VALUES (?, ?)", row)
            written.store()
        finally:
            connection.close()
    except drivers.errors() as error:
        raise sqlite_errors.translate(error, target, "") from error
    aside.sync(target)
