"""Backs a memory up into one file.

The copy is made and checked under another name in the same folder, and then takes the place of the
former one, so that whoever is killed at any point leaves the former backup as it was.

Tested in tests/backups/test_files.py.
"""

from __future__ import annotations

from pathlib import Path

from treemem import times
from treemem.backups import attachments, copying, parts
from treemem.backups.values import BackupProgress, BackupReport
from treemem.errors import BackupError, DatabaseError, UsageError
from treemem.reports import count_of
from treemem.store.database import IN_MEMORY, Database
from treemem.store.file import aside, modes, sidecars
from treemem.store.file.open_marker import OpenMarker


def to_file(
    database: Database, target: Path, now_ms: int, progress: BackupProgress | None = None
) -> BackupReport:
    """Copies the memory into a file, in place of an earlier backup of it. See Memory.backup."""
    refuse_own(database, target)
    real = sidecars.real_path(target)
    part = real.with_name(real.name + aside.PART)
    own_id = copying.memory_id(database)
    with parts.room_for(real.parent, "the backup"):
        modes.create_folder(real.parent)
        exists = _is_former_backup(real, own_id)
        with parts.new(part, f"Another backup to {target}"):
            copying.copy_memory(database, part, progress)
            made_at = times.from_ms(now_ms) or ""
            copying.mark_as_backup(
                part, {"memory": own_id, "made_at": made_at, "made_at_ms": now_ms}
            )
            content = copying.checked(part, progress)
            try:
                aside.place(part, real, replacing=exists)
            except FileExistsError:
                raise _other(target, "was created by another program meanwhile") from None
    size = real.stat().st_size
    return BackupReport(
        path=target, snapshot=None, memory_id=own_id, made_at=made_at, is_new=True,
        size_bytes=size, stored_bytes=size, messages=content.messages, sources=content.sources,
        attachments=0, removed=(), notices=attachments.left_out(database),
    )  # fmt: skip


def refuse_own(database: Database, target: Path) -> None:
    """Raises UsageError if a backup would be written over the memory or a file beside it."""
    if str(database.path) == IN_MEMORY:
        raise UsageError("A memory in working memory has no file to back up.")
    if sidecars.is_own(database.path, target):
        raise UsageError(f"{target} is the memory itself, or a file of it. Name another file.")


def _is_former_backup(real: Path, own_id: str | None) -> bool:
    """Whether there is an earlier backup of this memory. Raises BackupError for any other file."""
    if not real.exists():
        return False
    if not real.is_file():
        raise _other(real, "is no file")
    try:
        with copying.opened(real) as copy:
            found = copying.content(copy)
    except (DatabaseError, BackupError) as error:
        raise _other(real, "is no backup that treemem has made") from error
    if not found.backup_of:
        raise _other(real, "is a memory, and no backup that treemem has made")
    if found.backup_of.get("memory") != own_id:
        raise _other(real, "is a backup of another memory")
    more = found.messages - int(found.backup_of.get("messages") or 0)
    if more != 0 or OpenMarker(real).other() is not None:
        said = count_of(abs(more), "message")
        raise _other(real, f"was a backup, but is used as a memory since ({said} more or less)")
    return True


def _other(path: Path, what: str) -> BackupError:
    return BackupError(f"{path} {what}. It was not changed. Name another file.")
