"""The sentences about a memory file, and about this machine, that are not errors.

Tested in tests/store/test_database.py and tests/store/file/test_opening.py.
"""

from __future__ import annotations

from pathlib import Path

from treemem.errors import Hint, Notice
from treemem.packages import install_command

UNDECODABLE = Notice(
    "Some stored text is not valid UTF-8: damaged bytes are shown as U+FFFD.",
    Hint("The rows are named by: memory.diagnose()", "The rows are named by: treemem doctor"),
)


def python_fault(version: tuple[int, ...]) -> Notice:
    """For a Python whose expressions match wrongly."""
    return Notice(
        f"Python {'.'.join(map(str, version))} has a fault in its expressions, by which search "
        "misses accented and non-Latin words. Use Python 3.11.5 or later.",
        is_lasting=True,
    )


def wal_fault(sqlite_version: str) -> Notice:
    """For a SQLite that may damage a file in WAL mode, where the mode cannot be changed."""
    return Notice(
        f"SQLite {sqlite_version} has a fault with several writers in WAL mode. Run one treemem "
        f"process at a time, or: {install_command('pysqlite3')}",
        is_lasting=True,
    )


def lost_wal(name: str) -> Notice:
    """For a file that a process had open when it died, and whose -wal file is missing."""
    after = "then ingest the last logs again (nothing is stored twice)."
    return Notice(
        f"{name} was not closed properly and its -wal file is gone. What was stored last may be "
        "missing.",
        Hint(f"Call memory.diagnose(), {after}", f"Run treemem doctor, {after}"),
    )


def not_encrypted(path: Path) -> Notice:
    """For a plain file that is opened where a key is given."""
    return Notice(
        f"A key is given, but {path} is not encrypted.",
        Hint("Encrypt it: treemem.encrypt_file(path, key)", "Encrypt it: treemem encrypt"),
        is_lasting=True,
    )
