"""Every error of SQLite is named for what it is, and the advice fits."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from treemem.errors import (
    DatabaseCorruptError,
    DatabaseError,
    DatabaseLockedError,
    DatabaseReadOnlyError,
    DiskError,
    DiskFullError,
)
from treemem.store.file import sqlite_errors


class CodedError(Exception):
    """An error of a driver that gives SQLite's code."""

    def __init__(self, text: str, code: int, name: str) -> None:
        super().__init__(text)
        self.sqlite_errorcode = code
        self.sqlite_errorname = name


def translated(error: Exception, path: Path = Path("m.db")) -> DatabaseError:
    return sqlite_errors.translate(error, path, "")


@pytest.mark.parametrize(
    ("code", "kind"),
    [(5, DatabaseLockedError), (6, DatabaseLockedError), (261, DatabaseLockedError),
     (11, DatabaseCorruptError), (26, DatabaseCorruptError), (267, DatabaseCorruptError),
     (13, DiskFullError), (10, DiskError), (1034, DiskError), (778, DiskError),
     (8, DatabaseReadOnlyError), (1032, DatabaseReadOnlyError), (14, DatabaseReadOnlyError),
     (1, DatabaseError)],
)  # fmt: skip
def test_the_code_decides_whatever_the_text(code: int, kind: type[DatabaseError]) -> None:
    text = "database is locked, malformed, disk is full, not a database"
    assert type(translated(CodedError(text, code, "SQLITE_X"))) is kind


def test_a_driver_without_codes_is_understood_by_its_text() -> None:
    assert type(translated(Exception("database is locked"))) is DatabaseLockedError
    assert type(translated(Exception("database disk image is malformed"))) is DatabaseCorruptError
    assert type(translated(Exception("disk I/O error"))) is DiskError
    assert type(translated(Exception("malformed JSON"))) is DatabaseError


def test_a_failing_disk_is_not_called_full(tmp_path: Path) -> None:
    error = translated(
        CodedError("disk I/O error", 1034, "SQLITE_IOERR_FSYNC"), tmp_path / "memory.sqlite3"
    )
    assert not isinstance(error, DiskFullError)
    assert "disk I/O error (SQLITE_IOERR_FSYNC)" in str(error)
    assert "free some space" not in str(error)


def test_a_limit_of_the_file_size_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (350_000, -1))
    error = translated(CodedError("disk I/O error", 778, "SQLITE_IOERR_WRITE"))
    assert isinstance(error, DiskFullError)
    assert "350,000 bytes" in str(error)


def test_a_text_that_never_was_a_memory_file_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("# A farm\n" * 1_000)
    error = CodedError("file is not a database", 26, "SQLITE_NOTADB")
    found = translated(error, path)
    assert type(found) is DatabaseError
    assert str(found).startswith(f"{path} is no memory file but a text. It was not changed.")
    assert "recover" not in str(found)
    (tmp_path / "README.md-open").touch()  # somebody has it open as a memory file
    assert type(translated(error, path)) is DatabaseCorruptError
    (tmp_path / "README.md-open").unlink()
    path.write_bytes(b"x" * 50 + bytes(4_046))
    assert type(translated(error, path)) is DatabaseCorruptError
