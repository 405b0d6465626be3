"""Copies an open memory file with SQLite's online backup, while others write.

Nothing here knows the driver: it gets a connection, and what opens one.

Tested in tests/backups/test_files.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from treemem.store.file import sqlite_errors

# After so many pages the copy lets other threads run, and says how far it is.
_PAGES_AT_ONCE = 1_000
# What SQLite reports of the file that is read; all else is about the one that is written.
_OF_SOURCE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_BUSY", "SQLITE_LOCKED",
              "SQLITE_IOERR_READ", "SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_CORRUPTFS")  # fmt: skip


def copy(
    connection: Any,
    connect: Callable[[str], Any],
    target: Path,
    progress: Callable[[str, int, int], object] | None,
) -> None:
    """Copies what a connection reads in its open transaction into an empty file.

    Subtle: without a read that came before in the transaction, the copy would begin anew whenever
    another process writes. The file is not durable yet. progress: what is done, how many pages of
    how many. Raises DatabaseError about the target, and the driver's errors about the source.
    """
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()

    def tell(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress("Copying pages", total - remaining, total)

    copied = connect(str(target))
    try:
        # A copy that was not completed is of no use, so nothing has to be rolled back.
        copied.execute("PRAGMA journal_mode = OFF")
        copied.execute("PRAGMA synchronous = OFF")
        connection.backup(copied, pages=_PAGES_AT_ONCE, progress=tell, sleep=0.05)
    except connection.Error as error:
        if getattr(error, "sqlite_errorname", "").startswith(_OF_SOURCE):
            raise
        raise sqlite_errors.translate(error, target, "") from error
    finally:
        copied.close()
