"""Opens another memory file to be read only, and refuses one that cannot be merged.

Tested in tests/backups/merging/test_refusals.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treemem.backups import copying
from treemem.errors import BackupError, NotFoundError, UsageError
from treemem.store import migrations
from treemem.store.database import Database
from treemem.store.file import sidecars


@contextmanager
def opened(database: Database, path: Path) -> Iterator[Database]:
    """Opens the other memory and closes it at the end. Opening neither upgrades nor creates it.
    Raises NotFoundError, UsageError for the same file, BackupError and DatabaseError."""
    if not path.is_file():
        raise NotFoundError(f"There is no file {path}.")
    real = sidecars.real_path(path)
    if str(database.path) != ":memory:" and real.samefile(sidecars.real_path(database.path)):
        raise UsageError(f"{path} is the memory itself. Name the file of another machine.")
    _refuse_older(path)
    other = Database(path, must_exist=True, key=database.key)
    try:
        yield other
    finally:
        other.close()


def _refuse_older(path: Path) -> None:
    with copying.opened(path) as copy:
        schema = copy.value("PRAGMA user_version")
        is_ours = copy.value("PRAGMA application_id") == migrations.APPLICATION_ID
    if is_ours and schema < migrations.SCHEMA_VERSION:
        raise BackupError(
            f"{path} was written by an earlier treemem (schema {schema}, this one has "
            f"{migrations.SCHEMA_VERSION}), and is not changed. Upgrade it, or a copy of it, with: "
            f"treemem --db {path} status"
        )
    if path.stat().st_size == 0:
        raise BackupError(f"{path} is empty, and no memory file of treemem.")


def check(other: Database) -> None:
    """Raises BackupError if pages are damaged. What comes of them is checked when it is stored."""
    faults = [str(answer) for (answer,) in other.rows("PRAGMA integrity_check(3)")]
    if faults != ["ok"]:
        raise BackupError(f"{other.path} is damaged: {'; '.join(faults)}. Nothing was stored. "
                          f"See: treemem recover {other.path} NEW")  # fmt: skip
