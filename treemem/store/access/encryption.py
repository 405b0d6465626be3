"""Encrypts a memory file, decrypts it, and changes its key.

The content is copied into a new file, which is compared with the old one table by table before it
takes its place. A plain file is then overwritten, as far as the system does that in place.

Tested in tests/store/test_encryption.py.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from treemem.errors import DatabaseCorruptError, DatabaseError, DatabaseLockedError, UsageError
from treemem.store.access import drivers, keys
from treemem.store.access.keys import Key
from treemem.store.database import Database
from treemem.store.file import aside, modes, sidecars, upgrading
from treemem.store.file.held import is_held
from treemem.store.file.open_marker import OpenMarker

# Ends the name of the file that is being written.
_NEW = ".encrypting"
_ZEROS = bytes(1 << 20)
_TABLES = """
SELECT name, wr FROM pragma_table_list
WHERE schema = 'main' AND type IN ('table', 'shadow') AND name <> 'sqlite_schema' ORDER BY name
"""
_HEADER = ("user_version", "application_id")


def encrypt_file(path: str | Path, key: str, *, old_key: str | None = None) -> bool:
    """Encrypts a memory file, or gives an encrypted one another key. No process may have it open.

    key: a passphrase, or 64 hexadecimal digits, which are the key itself. old_key: of a file that
    is encrypted; None takes that of the environment. Returns whether the plain file was
    overwritten: not if other names lead to it. A disk that writes elsewhere, as all SSDs do, keeps
    old pages until it uses them again. Raises DatabaseError or a subclass; the file is then as it
    was.
    """
    real = _checked(path)
    was_plain = not keys.is_encrypted(real)
    old = None if was_plain else Key(old_key) if old_key else None
    return _convert(real, old, Key(key)) and was_plain


def decrypt_file(path: str | Path, key: str | None = None) -> None:
    """Makes an encrypted memory file a plain one. No process may have it open. key: None takes that
    of the environment. Raises UsageError for a file that is not encrypted, and DatabaseError or a
    subclass; the file is then as it was."""
    real = _checked(path)
    if not keys.is_encrypted(real):
        raise UsageError(f"{path} is not encrypted.")
    _convert(real, Key(key) if key else None, None)


def _checked(path: str | Path) -> Path:
    real = sidecars.real_path(Path(path))
    if not real.is_file() or not real.stat().st_size:
        raise DatabaseError(f"File {path} does not exist, or is empty.")
    return real


def _convert(real: Path, old: Key | None, new: Key | None) -> bool:
    """Replaces the file by one with another key; None is no key. Returns whether the pages of the
    old file were overwritten."""
    # Subtle: the locks of one SQLite do not hold off another one in the same process.
    if is_held(real):
        raise DatabaseLockedError(f"This process has {real} open. Close it, and try again.")
    holder = OpenMarker(real).other()
    database = Database(real, must_exist=True, key=old)  # of the newest schema
    old = database.key
    database.close()
    if holder is not None:
        raise DatabaseLockedError(f"Process {holder} has {real} open. Stop it, and try again.")
    driver, target = drivers.encrypted(), real.with_name(real.name + _NEW)
    aside.remove(target)
    os.close(modes.create_file(target))
    source = _connect(driver, real, old)
    try:
        _hold(source, real)
        _export(source, target, new)
        _compare(source, _connect(driver, target, new), real)
        is_overwritten = _swap(real, target)
        upgrading.remove_copies(real)  # with the old key, or with none
    except driver.Error as error:
        raise DatabaseError(f"{real}: {error}. It was not changed.") from error
    else:
        return is_overwritten
    finally:
        source.close()
        aside.remove(target)


def _connect(driver: Any, path: Path, key: Key | None) -> Any:
    connection = driver.connect(str(path), isolation_level=None)
    if key is not None:
        drivers.unlock(connection, key)
    drivers.restrain(driver, connection)
    return connection


def _hold(source: Any, real: Path) -> None:
    """Locks the file until the connection is closed, with all of it in the file itself."""
    source.execute("PRAGMA busy_timeout = 1000")
    try:
        # Only the last connection can leave the mode of a -wal file.
        is_alone = source.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete"
        source.execute("PRAGMA locking_mode = EXCLUSIVE")
        source.execute("BEGIN EXCLUSIVE")
        source.execute("COMMIT")
    except source.OperationalError:
        is_alone = False
    if not is_alone:
        raise DatabaseLockedError(f"Another process has {real} open. Stop it, and try again.")


def _export(source: Any, target: Path, key: Key | None) -> None:
    secret = "" if key is None else key.for_sqlcipher()
    source.execute("ATTACH DATABASE ? AS copy KEY ?", (str(target), secret))
    source.execute("SELECT sqlcipher_export('copy')")
    for name in _HEADER:
        value = source.execute(f"PRAGMA main.{name}").fetchone()[0]
        source.execute(f"PRAGMA copy.{name} = {int(value)}")
    source.execute("DETACH DATABASE copy")


def _compare(source: Any, copy: Any, real: Path) -> None:
    """Raises DatabaseCorruptError unless the copy has the same rows, and is intact."""
    try:
        is_whole = copy.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok"
        for sql in (*(f"PRAGMA {name}" for name in _HEADER), *_selects(source)):
            one, other = source.execute(sql), copy.execute(sql)
            while is_whole:
                row = one.fetchone()
                is_whole = row == other.fetchone()
                if row is None:
                    break
    finally:
        copy.close()
    if not is_whole:
        raise DatabaseCorruptError(
            f"{real} cannot be copied without a change, so it was not. Run doctor on it."
        )


def _selects(source: Any) -> list[str]:
    """Queries of all rows of all tables, in an order that does not depend on the file."""
    selects = ["SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"]
    for name, has_no_rowid in source.execute(_TABLES).fetchall():
        if name.startswith("sqlite_") and name != "sqlite_sequence":
            continue
        key = source.execute(
            "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info(?) WHERE pk", (name,)
        ).fetchone()[0]
        order = key if has_no_rowid or key else "rowid"
        selects.append(f'SELECT * FROM "{name}" ORDER BY {order}')  # noqa: S608
    return selects


def _swap(real: Path, target: Path) -> bool:
    """Puts the new file in the place of the old one, and overwrites what that had."""
    with real.open("r+b", buffering=0) as old:
        is_only_name = os.fstat(old.fileno()).st_nlink == 1
        target.chmod(real.stat().st_mode & 0o777)
        aside.place(target, real, replacing=True)
        if is_only_name:
            left = os.fstat(old.fileno()).st_size
            while left > 0:
                left -= old.write(_ZEROS[: min(left, len(_ZEROS))]) or 0
            os.fsync(old.fileno())
    return is_only_name
