"""Brings a memory back from a backup, checked, under a name that is free.

The file is put together and checked under another name, so a memory is at its path whole or not at
all. One that is there already is never changed without being told to, and then kept aside.

Tested in tests/backups/test_restoring.py and tests/faults/test_backup_kills.py.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from treemem import times
from treemem.backups import attachments, copying, parts
from treemem.backups.folder import Folder
from treemem.backups.snapshots import Snapshot
from treemem.backups.values import BackupProgress, RestoreReport
from treemem.errors import BackupError, DatabaseError, Hint, NotFoundError, UsageError
from treemem.store.file import aside, modes, sidecars
from treemem.store.file.open_marker import OpenMarker

_FORMER_MAX = 1_000
_OVERWRITE = Hint(
    "Give another path, or overwrite=True, which keeps that file beside it.",
    "Give another path, or add --overwrite, which keeps that file beside it.",
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be restored. backup: a file or a folder. new: the path of the memory. at_ms: as it
    was then at the latest; None for the last snapshot. attachments_to: a folder; None for none."""

    backup: Path
    new: Path
    at_ms: int | None = None
    overwrite: bool = False
    attachments_to: Path | None = None


def restored(wanted: Wanted, progress: BackupProgress | None = None) -> RestoreReport:
    """Writes the memory of a backup to a path. See treemem.restore."""
    backup, new = wanted.backup, wanted.new
    if not backup.exists():
        raise NotFoundError(f"There is no backup at {backup}.")
    if not backup.is_dir() and (wanted.at_ms is not None or wanted.attachments_to is not None):
        raise UsageError(f"{backup} is one file, which has one state and no attachments.")
    real = sidecars.real_path(new)
    if real == sidecars.real_path(backup):
        raise UsageError(f"{new} is the backup itself. Give another path.")
    _refuse(new, real, overwrite=wanted.overwrite)
    part = real.with_name(real.name + aside.PART)
    with parts.room_for(real.parent, "the restored memory"):
        modes.create_folder(real.parent)
        with parts.new(part, f"Another restore to {new}"):
            if backup.is_dir():
                return _from_folder(wanted, part, progress)
            return _from_file(wanted, part, progress)


def _refuse(new: Path, real: Path, *, overwrite: bool) -> None:
    """Raises BackupError if there is a memory that must not be replaced."""
    if real.is_dir():
        raise UsageError(f"{new} is a folder. Name the file that the memory is to have.")
    if not real.exists():
        return
    if not overwrite:
        raise BackupError(f"{new} exists already. It was not changed.", hint=_OVERWRITE)
    pid = OpenMarker(real).other()
    if pid is not None:
        raise BackupError(
            f"{new} is open in process {pid}, which would lose what it stores. It was not changed. "
            "End that process first."
        )


def _from_file(wanted: Wanted, part: Path, progress: BackupProgress | None) -> RestoreReport:
    shutil.copyfile(wanted.backup, part)
    try:
        with copying.opened(part) as copy:
            found = copying.content(copy)
        if found.backup_of:
            copying.mark_as_backup(part, None)
        content = copying.checked(part, progress)
    except (BackupError, DatabaseError) as error:
        raise _unusable(wanted.backup, error) from error
    made_at = found.backup_of.get("made_at")
    return _placed(wanted, part, None, content, 0, None if made_at is None else str(made_at))


def _from_folder(wanted: Wanted, part: Path, progress: BackupProgress | None) -> RestoreReport:
    folder = Folder(wanted.backup)
    with folder.reading():
        snapshot = chosen(folder, wanted.at_ms)
        _assemble(folder, snapshot, part, progress)
        try:
            content = copying.checked(part, progress)
        except (BackupError, DatabaseError) as error:
            raise _unusable(wanted.backup, error) from error
        number = 0
        if wanted.attachments_to is not None:
            number = _restore_attachments(folder, snapshot, wanted.attachments_to)
        return _placed(wanted, part, snapshot, content, number, snapshot.made_at)


def chosen(folder: Folder, at_ms: int | None) -> Snapshot:
    """The last snapshot that was made until a time. Raises NotFoundError, and BackupError if none
    can be read."""
    whole, faults = folder.snapshots()
    if not whole and faults:
        raise BackupError(f"{folder.path} has no snapshot that can be read: {faults[0]}")
    if not whole:
        raise NotFoundError(f"{folder.path} has no snapshot yet.")
    fitting = [one for one in whole if at_ms is None or one.made_at_ms <= at_ms]
    if not fitting:
        raise NotFoundError(
            f"{folder.path} has no snapshot from {times.from_ms(at_ms)} or before; the first is "
            f"from {whole[0].made_at}."
        )
    return fitting[-1]


def _assemble(
    folder: Folder, snapshot: Snapshot, part: Path, progress: BackupProgress | None
) -> None:
    """Writes the memory file of a snapshot. Raises BackupError, which names the chunk that is
    missing or damaged, and OSError."""
    digest = hashlib.blake2b(digest_size=20)
    with part.open("r+b") as stream:
        for number, name in enumerate(snapshot.chunks, 1):
            try:
                piece = folder.chunk(name)
            except BackupError as error:
                start = (number - 1) * snapshot.chunk_bytes
                raise BackupError(
                    f"{error.message} It has the bytes from {start:,} on of snapshot "
                    f"{snapshot.id}, so that cannot be restored. Nothing was written.",
                    hint=Hint("treemem.check_backups(folder) says which snapshots are whole.",
                              f"Which snapshots are whole: treemem backup check {folder.path}"),
                ) from error  # fmt: skip
            digest.update(piece)
            stream.write(piece)
            if progress is not None:
                progress("Reading chunks", number, len(snapshot.chunks))
    if digest.hexdigest() != snapshot.digest or part.stat().st_size != snapshot.size_bytes:
        raise BackupError(
            f"Snapshot {snapshot.id} of {folder.path} does not have the file it says."
        )


def _restore_attachments(folder: Folder, snapshot: Snapshot, target: Path) -> int:
    number = 0
    with parts.room_for(target, "the attachments"):
        for attachment in snapshot.attachments:
            if attachments.is_whole(attachment, target):
                continue
            path = folder.attachments / attachment.name
            if (said := attachments.damage(attachment, folder.attachments)) is not None:
                raise BackupError(f"{said} Restore without attachments to have the memory.")
            attachments.copy(attachment, path, target)
            number += 1
    return number


def _placed(
    wanted: Wanted, part: Path, snapshot: Snapshot | None, content: copying.Content,
    attached: int, made_at: str | None,
) -> RestoreReport:  # fmt: skip
    """Gives the memory its name, and keeps what was there aside."""
    real = sidecars.real_path(wanted.new)
    _refuse(wanted.new, real, overwrite=wanted.overwrite)
    size = part.stat().st_size
    former = _kept_aside(real)
    try:
        aside.place(part, real, replacing=former is not None)
    except FileExistsError:
        raise BackupError(
            f"{wanted.new} was created by another program meanwhile. It was not changed."
        ) from None
    return RestoreReport(
        path=wanted.new, snapshot=None if snapshot is None else snapshot.id,
        memory_id=content.memory_id, made_at=made_at, size_bytes=size, messages=content.messages,
        sources=content.sources, attachments=attached, former=former,
    )  # fmt: skip


def _kept_aside(real: Path) -> Path | None:
    """Gives a memory that is to be replaced another name beside it, with what is in its -wal file,
    and returns it; None if there is none. The old name still leads to it, so that there is a memory
    at each moment, but what SQLite has beside it, which would be merged into the new one, is gone.
    """
    if not real.exists():
        for suffix in (sidecars.WAL, sidecars.JOURNAL):
            if real.with_name(real.name + suffix).exists():
                raise BackupError(
                    f"{real}{suffix} belongs to a memory that was at this path, and may have what "
                    "it stored last. Move it away, or give another path."
                )
        return None
    former = _free_name(real)
    for suffix in ("", sidecars.WAL, sidecars.JOURNAL):
        file = real.with_name(real.name + suffix)
        if file.exists():
            kept = former.with_name(former.name + suffix)
            try:
                os.link(file, kept)
            except OSError:  # a file system without links
                shutil.copyfile(file, kept)
                kept.chmod(modes.PRIVATE_FILE)
                aside.sync(kept)
    modes.sync_folder(real.parent)
    for suffix in sidecars.SUFFIXES[1:]:
        with contextlib.suppress(OSError):
            real.with_name(real.name + suffix).unlink(missing_ok=True)
    return former


def _free_name(real: Path) -> Path:
    moment = parts.name_of(times.now_ms())
    for number in range(1, _FORMER_MAX):
        again = "" if number == 1 else f"-{number}"
        former = real.with_name(f"{real.name}{sidecars.FORMER}{moment}{again}")
        if not former.exists():
            return former
    raise BackupError(f"{real.parent} has too many files of earlier restores. Move them away.")


def _unusable(backup: Path, error: BackupError | DatabaseError) -> BackupError:
    return BackupError(f"{backup} cannot be restored: {error.message} Nothing was written.")
