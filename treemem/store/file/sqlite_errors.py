"""Translates the errors of SQLite into those of treemem, by their codes.

Knows no driver: any error with SQLite's text is translated, one with sqlite_errorcode exactly.

"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from treemem.errors import (
    OTHER_FILE,
    DatabaseCorruptError,
    DatabaseError,
    DatabaseLockedError,
    DatabaseReadOnlyError,
    DiskError,
    DiskFullError,
    Hint,
)
from treemem.store.file.sidecars import beside

# sqlite.org/rescode.html. The low byte of an extended code is its primary code.
_BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _FULL, _CANTOPEN, _NOTADB = 5, 6, 8, 10, 11, 13, 14, 26
# A database has many zero bytes in its first page.
_HEAD_BYTES = 4_096
# For drivers that give no code. "malformed" alone may be about JSON.
_CODES_BY_TEXT = {
    "database is locked": _BUSY,
    "database table is locked": _LOCKED,
    "readonly database": _READONLY,
    "disk I/O error": _IOERR,
    "disk image is malformed": _CORRUPT,
    "disk is full": _FULL,
    "unable to open database": _CANTOPEN,
    "not a database": _NOTADB,
}


def translate(error: Exception, path: Path, holder: str) -> DatabaseError:
    """The error that the user sees. holder: " (process PID has it open)", or ""."""
    text = str(error)
    code = _code_of(error, text)
    if code in (_BUSY, _LOCKED):
        return DatabaseLockedError(
            f"{path} is locked by another process{holder}. "
            "Wait for it to finish, or stop it, and try again."
        )
    if code == _NOTADB and _is_text_of_another(path):
        return DatabaseError(
            f"{path} is no memory file but a text. It was not changed.", hint=OTHER_FILE
        )
    if code in (_CORRUPT, _NOTADB):
        return DatabaseCorruptError(
            f"{path} is damaged or no SQLite database ({text}). It was not changed.",
            hint=recover_hint(path),
        )
    if code == _FULL:
        return DiskFullError(
            f"{path}: {text}. The last step was rolled back; free some space and run the "
            "same command again."
        )
    if code == _IOERR:
        return _disk_error(error, path)
    if code in (_READONLY, _CANTOPEN):
        return DatabaseReadOnlyError(
            f"{path} cannot be written ({text}). Check the permissions of the file and "
            "its folder, or choose another.",
            hint=OTHER_FILE,
        )
    return DatabaseError(f"{path}: {text}")


def recover_hint(path: Path) -> Hint:
    """The way out for a damaged file."""
    new = path.with_name("recovered.sqlite3")
    after = "stores what can be read in a new file; ingesting the logs again adds the rest."
    return Hint(
        f"treemem.recover({str(path)!r}, {str(new)!r}) {after}",
        f"`treemem recover {shlex.quote(str(path))} {shlex.quote(str(new))}` {after}",
    )


def _is_text_of_another(path: Path) -> bool:
    """Whether a file is a text that never was a memory file."""
    if any(file.exists() for file in beside(path)[1:]):
        return False
    # Subtle: reading it would drop the locks of SQLite on it, but nobody can have it open.
    try:
        with path.open("rb") as file:
            return b"\0" not in file.read(_HEAD_BYTES)
    except OSError:
        return False


def _code_of(error: Exception, text: str) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int):
        return code & 0xFF
    return next((code for part, code in _CODES_BY_TEXT.items() if part in text), None)


def _disk_error(error: Exception, path: Path) -> DiskError:
    """SQLite says "full" only if a write reports it. A limit of the file size, and a full disk at
    an fsync, are I/O errors for it."""
    name = getattr(error, "sqlite_errorname", None)
    reason = f"{error} ({name})" if isinstance(name, str) else str(error)
    if (limit := _size_limit()) is not None:
        return DiskFullError(
            f"{path}: {reason}. The last step was rolled back. Files of this process are limited "
            f"to {limit:,} bytes (ulimit -f): raise the limit or free some space, and run the "
            "same command again."
        )
    if _is_full(path):
        return DiskFullError(
            f"{path}: {reason}. The disk is full. The last step was rolled back; free some space "
            "and run the same command again."
        )
    return DiskError(
        f"{path}: {reason}. The disk could not be read or written; the last step was rolled back. "
        "Check the disk and its cable or connection, then run the same command again."
    )


def _size_limit() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return None if soft == resource.RLIM_INFINITY else soft


def _is_full(path: Path) -> bool:
    if not hasattr(os, "statvfs"):
        return False
    try:
        return os.statvfs(path.parent).f_bavail == 0
    except OSError:
        return False
