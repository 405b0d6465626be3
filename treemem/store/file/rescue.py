"""Saves the content of an open memory file that its path no longer leads to.

The connection still reads the file, so SQLite can copy it into a new one. Nothing here knows the
driver: its errors pass through.

Tested in tests/store/file/test_rescue.py.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treemem.store.file import aside, modes
from treemem.store.file.sidecars import RESCUED, SHM, WAL

# The longest file name of common file systems.
_NAME_BYTES_MAX = 255


def copy_memory(connection: Any, memory: Path, connect: Callable[[str], Any]) -> Path:
    """Copies all that the connection can read into a new memory file beside `memory`, checks it,
    and returns its path.

    connect: opens a file with the driver. Removes what it wrote if it fails. Raises OSError, an
    error of the driver, or ValueError if the copy is damaged.
    """
    return _copy(memory, connect, connection.backup)


def copy_readable_rows(connection: Any, memory: Path, connect: Callable[[str], Any]) -> Path:
    """Like copy_memory, for a file with pages that cannot be read: copies the rows of each table
    from both of its ends, up to the first page that is missing.

    What a process has just stored is in the -wal file or its memory, so its rows can be read.
    """
    return _copy(memory, connect, lambda copy: _copy_rows(connection, copy))


# Tables that SQLite and FTS5 keep for themselves are not copied, but made again.
_TABLES = """
SELECT name, (SELECT group_concat(quote(c.name)) FROM pragma_table_info(t.name) c WHERE c.pk)
FROM pragma_table_list t
WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
"""
_INDEXES = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'virtual'"
_SCHEMA = """
SELECT s.sql FROM sqlite_schema s LEFT JOIN pragma_table_list t
  ON t.schema = 'main' AND t.name = s.name
WHERE s.sql IS NOT NULL AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
  AND coalesce(t.type, '') <> 'shadow' ORDER BY s.type <> 'table'
"""


def _copy_rows(connection: Any, copy: Any) -> None:
    copy.isolation_level = None
    copy.execute("PRAGMA foreign_keys = OFF")
    copy.execute("BEGIN")
    for (sql,) in connection.execute(_SCHEMA).fetchall():
        copy.execute(sql)
    for name in ("user_version", "application_id"):
        value = connection.execute(f"PRAGMA {name}").fetchone()[0]
        copy.execute(f"PRAGMA {name} = {int(value)}")
    for table, key in connection.execute(_TABLES).fetchall():
        columns = key.replace("'", '"') if key else "rowid"
        for order in ("ASC", "DESC"):
            ordered = ", ".join(f"{column} {order}" for column in columns.split(","))
            with contextlib.suppress(connection.Error):
                sql = f'SELECT * FROM "{table}" ORDER BY {ordered}'  # noqa: S608
                for row in connection.execute(sql):
                    marks = ", ".join("?" * len(row))
                    insert = f'INSERT OR IGNORE INTO "{table}" VALUES ({marks})'  # noqa: S608
                    copy.execute(insert, row)
    for (index,) in copy.execute(_INDEXES).fetchall():
        copy.execute(f'INSERT INTO "{index}" ("{index}") VALUES (\'rebuild\')')  # noqa: S608
    copy.execute("COMMIT")


def _copy(memory: Path, connect: Callable[[str], Any], fill: Callable[[Any], None]) -> Path:
    modes.create_folder(memory.parent)  # which may have been deleted together with the file
    target = _new_file(memory, "")
    try:
        copy = connect(str(target))
        try:
            fill(copy)
            answer = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
        finally:
            copy.close()
        if answer != "ok":
            raise ValueError(f"the copy is damaged: {answer}")
        _sync(target)
    except BaseException:
        aside.remove(target)
        raise
    return target


def set_aside(path: Path, memory: Path) -> Path:
    """Renames a -wal or -journal file of another memory file, so that SQLite does not merge it
    into the one at the path. Returns its new path. Raises OSError."""
    status = path.lstat()
    target = _new_file(memory, path.name.removeprefix(memory.name))
    try:
        path.replace(target)
    except OSError:
        target.unlink(missing_ok=True)
        raise
    moved = target.lstat()
    if (moved.st_dev, moved.st_ino) != (status.st_dev, status.st_ino):
        # Another process was faster and has created a new file: give that back.
        with contextlib.suppress(OSError):
            os.link(target, path)
            target.unlink()
    return target


def copy_wal(memory: Path) -> Path:
    """Copies the -wal file of a memory file beside it and returns the path. Raises OSError."""
    import shutil

    target = _new_file(memory, WAL)
    try:
        shutil.copyfile(memory.with_name(memory.name + WAL), target)
        _sync(target)
    except OSError:
        target.unlink(missing_ok=True)
        raise
    return target


def drop_sidecars(memory: Path, is_ours: Callable[[Path], bool]) -> None:
    """Removes the -wal and -shm files at a path, which would be merged into another file there.
    is_ours: whether a path leads to a file of the connection."""
    for suffix in (WAL, SHM):
        path = memory.with_name(memory.name + suffix)
        with contextlib.suppress(OSError):
            if is_ours(path):
                path.unlink()


def _new_file(memory: Path, suffix: str) -> Path:
    """Creates an empty file NAME.rescued-TIME beside a memory file."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for number in range(1, 1_000):
        again = "" if number == 1 else f"-{number}"
        end = f"{RESCUED}{moment}{again}{suffix}"
        stem = os.fsdecode(os.fsencode(memory.name)[: _NAME_BYTES_MAX - len(end)])
        target = memory.with_name(stem + end)
        with contextlib.suppress(FileExistsError):
            os.close(modes.create_file(target))
            return target
    raise FileExistsError(17, "too many rescued files", str(memory))


def _sync(path: Path) -> None:
    """Makes a file and its name survive a power cut."""
    aside.sync(path)
    modes.sync_folder(path.parent)
