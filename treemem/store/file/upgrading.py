"""Keeps a memory file safe while its schema is changed for a newer version of treemem.

The change is one transaction. Before it the file is copied, for a way back to the earlier version,
and after it every message is compared with what it was; if anything differs, or the copy cannot be
made, the transaction is rolled back. It gets the driver, whose errors pass through.

Tested in tests/store/file/test_upgrading.py.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import math
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treemem.errors import DatabaseError, DiskFullError
from treemem.store import migrations
from treemem.store.file import aside, online_copy
from treemem.store.file.sidecars import BEFORE, WAL
from treemem.store.migrations import SCHEMA_VERSION
from treemem.store.proof import digests

# Set to "no" to change a file without a copy.
VARIABLE = "TREEMEM_UPGRADE_COPY"
_BYTES = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
KEPT_DAYS = 30
_DAY_SECONDS = 86_400
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# What no step may change. All versions have these columns.
_FACTS = (
    "SELECT seq, id, identity, external_id, role, author, kind, sent_at, sent_at_ms, text, exact "
    "FROM message ORDER BY seq",
    "SELECT source_seq, position, message_seq, state FROM source_message ORDER BY 1, 2",
    "SELECT seq, id, format, title, origin, parent_id FROM source ORDER BY seq",
    "SELECT alias, message_seq FROM message_alias ORDER BY 1, 2",
)


def upgrade(connection: Any, memory: Path, driver: Any, connect: Callable[[str], Any]) -> list[str]:
    """Brings the schema of a memory file up to that of this version, if it is older, after a copy
    of the file was made. connect: opens a file with the driver, and the key if the memory has one.
    Returns sentences for the user.

    Call it in a write transaction, so that nothing is stored meanwhile. Raises DatabaseError, and
    DiskFullError if there is no room for the copy; the transaction must then be rolled back.
    """
    before = connection.execute("PRAGMA user_version").fetchone()[0]
    if before >= SCHEMA_VERSION:  # another process has done it while this one waited for the lock
        return []
    if before == 0:  # a new file
        _apply(connection, driver)
        return []
    is_kept = os.environ.get("TREEMEM_UPGRADE_COPY") != "no"
    copy = _copied(memory, before, connect) if is_kept else None
    try:
        facts = _digests(connection)
        _apply(connection, driver)
        if _digests(connection) != facts:
            raise DatabaseError(
                f"{memory} could not be changed for this version: messages would differ. It is as "
                "it was, and the earlier version can go on with it. Please report this."
            )
    except BaseException:
        if copy is not None:
            copy.unlink(missing_ok=True)
        raise
    kept = ""
    if copy is not None:
        size = _size(copy.stat().st_size)
        kept = (
            f" The file as it was is {copy} ({size}), for {KEPT_DAYS} days, or until something is "
            "scrubbed or forgotten."
        )
    return [f"{memory} was changed from schema {before} to {SCHEMA_VERSION}.{kept}"]


def _apply(connection: Any, driver: Any) -> None:
    version = tuple(driver.sqlite_version_info)
    migrations.apply(connection, driver.complete_statement, version)
    digests.make_all(connection)


def remove_copies(memory: Path, latest: float = math.inf) -> None:
    """Removes the copies of a memory file that were made before it was changed. latest: keeps those
    that were made later, in seconds since 1970."""
    for earlier in range(1, SCHEMA_VERSION):
        copy = _name(memory, earlier)
        with contextlib.suppress(OSError):
            if copy.stat().st_mtime <= latest:
                copy.unlink()


def remove_old_copies(memory: Path) -> None:
    """The same for those that have been kept long enough."""
    remove_copies(memory, time.time() - KEPT_DAYS * _DAY_SECONDS)


def _name(memory: Path, version: int) -> Path:
    return memory.with_name(f"{memory.name}{BEFORE}{version}")


def _copied(memory: Path, version: int, connect: Callable[[str], Any]) -> Path:
    """Copies a memory file, whose schema has this version, and returns the path."""
    target = _name(memory, version)
    needed = memory.stat().st_size
    with contextlib.suppress(OSError):
        needed += memory.with_name(memory.name + WAL).stat().st_size
    free = shutil.disk_usage(memory.parent).free
    way_out = (
        "It was not changed. Free some space, or set "
        f"{VARIABLE}=no to go without the copy; the change is one transaction, which is undone "
        "if it fails."
    )
    if free < needed:
        raise DiskFullError(
            f"{memory} is of an earlier version (schema {version}). A copy is made before it is "
            f"changed for this one, which takes {_size(needed)}, but {_size(free)} are free. "
            f"{way_out}"
        )
    try:
        with aside.written(target) as part:
            _fill(memory, part, connect)
    except Exception as error:
        is_full = getattr(error, "errno", None) in _FULL or "full" in str(error)
        raise (DiskFullError if is_full else DatabaseError)(
            f"No copy of {memory} could be made in {target.parent} before it is changed for this "
            f"version ({error}). {way_out}"
        ) from error
    return target


def _fill(memory: Path, part: Path, connect: Callable[[str], Any]) -> None:
    """Copies the last commit. Subtle: by a connection of its own, since that which holds the write
    lock cannot be copied from."""
    with contextlib.closing(connect(str(memory))) as source:
        source.execute("BEGIN")
        online_copy.copy(source, connect, part, None)
        if part.stat().st_size < source.execute(_BYTES).fetchone()[0]:
            raise ValueError("it is not whole")


def _digests(connection: Any) -> list[str]:
    """A hash over all rows of each of _FACTS."""
    found = []
    for sql in _FACTS:
        digest = hashlib.blake2b(digest_size=16)
        for row in connection.execute(sql):
            digest.update(repr(row).encode())
        found.append(digest.hexdigest())
    return found


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
