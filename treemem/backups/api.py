"""Backs a memory up, lists and checks backups, and brings a memory back.

Memory inherits the method; the functions need no memory.

Tested in tests/backups/test_files.py and tests/backups/test_folders.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from treemem import times
from treemem.arguments import checked
from treemem.backups import keeping
from treemem.backups.values import (
    BackupProgress,
    BackupReport,
    ImportReport,
    MergeReport,
    RestoreReport,
    SnapshotView,
    SyncReport,
)
from treemem.errors import BackupError
from treemem.forgetting import copies
from treemem.sessions.boundary import Bounded
from treemem.store.database import Database
from treemem.store.file import aside, modes
from treemem.times import Clock
from treemem.types import TreeShape


@checked
class BackupMethods(Bounded):
    """The methods of Memory for copies of it."""

    _clock: Clock
    _shape: TreeShape

    def backup(
        self,
        target: str | Path,
        *,
        keep: str = keeping.DEFAULT,
        attachments: str | Path | Iterable[str | Path] = (),
        progress: BackupProgress | None = None,
    ) -> BackupReport:
        """Copies the memory as it is now, checked, while this and other processes go on writing.

        target: a file, which replaces an earlier backup of this memory there; or a folder, if it
        exists or ends with a slash: there each backup is a snapshot, of which only what has changed
        is stored. keep: which snapshots of a folder are kept, "all" or a list such as
        "last=7,daily=30,weekly=12"; see keeping.py. attachments: folders with attachments, besides
        those that ingest has kept, which only a folder of backups takes. Killed at any point, it
        leaves what was there. Raises BackupError if the target is anything else, DiskFullError, and
        UsageError.
        """
        from treemem.backups import single, storing

        given = [attachments] if isinstance(attachments, str | Path) else attachments
        folders = [Path(folder) for folder in given]
        place = Path(target)
        if place.is_dir() or str(target).endswith(("/", os.sep)):
            with copies.remembering(self._database, place, copies.FOLDER):
                return storing.to_folder(
                    self._database, place, self._clock(), keep, folders, progress
                )
        keeping.parsed(keep)
        if folders:
            raise BackupError(
                f"{place} would be one file, which takes no attachments. Back up into a folder: "
                f"{place}{os.sep}"
            )
        with copies.remembering(self._database, place, copies.FILE):
            return single.to_file(self._database, place, self._clock(), progress)

    def export_lines(self, *, with_key: bool = False) -> Iterator[bytes]:
        """Yields the lines of an export of what is stored now: JSON, readable without treemem.

        Has messages word for word, with ids, times, branches and origins, sources, sealed leaves,
        live sessions, what you chose, and what models wrote; not what is made again from these, nor
        attachments. with_key: also the key by which redacted messages are recognized when their
        logs are read again, which is a secret.
        """
        from treemem.backups.portable import writing

        other = Database(self._database.path, must_exist=True, key=self._database.key)
        try:
            yield from writing.lines(other, self._clock(), with_key=with_key)
        finally:
            other.close()

    def export_to(self, file: str | Path, *, with_key: bool = False) -> int:
        """Writes an export to a new, private file, durably, and returns the number of lines; see
        export_lines. Raises BackupError if the file exists, and DiskFullError."""
        from treemem.backups import parts

        target = Path(file)
        if target.exists():
            raise BackupError(f"{target} exists already. It was not changed. Name another file.")
        part = target.with_name(target.name + aside.PART)
        number = 0
        remembering = copies.remembering(self._database, target, copies.EXPORT)
        with parts.room_for(target.parent, "the export"), remembering:
            modes.create_folder(target.parent)
            with parts.new(part, f"Another export to {target}"):
                with part.open("r+b") as stream:
                    for line in self.export_lines(with_key=with_key):
                        stream.write(line)
                        number += 1
                aside.place(part, target, replacing=False)
        return number

    def import_from(self, file: str | Path) -> ImportReport:
        """Takes an export in, and makes trees, ledger and topics without a model.

        Ids are those of the export, and nothing is stored twice: a source that is there as it is is
        passed over, and one that is there otherwise is left as it is and named in differing. All
        messages must have the hashes that their ids are, else nothing is stored. Take in only what
        you have exported: the rules and choices in it become yours. Raises BackupError,
        NotFoundError.
        """
        from treemem.backups.portable import reading

        return reading.taken_in(self._database, Path(file), self._clock, self._shape)

    def merge(self, other: str | Path, *, dry_run: bool = False) -> MergeReport:
        """Takes in what another memory file has, such as that of another machine, which is only
        read and may be in use; then makes trees, ledger and topics without a model.

        Nothing is stored twice. Histories of one source are united by time, each in its own order.
        What either has forgotten is forgotten here. Of two choices about an entry the later holds.
        Live sessions, settings and rules of retention stay each machine's own. Merged in any order
        until each has merged all, memories have the same messages, histories and choices. Killed
        at any point, it goes on when the same file is merged again. dry_run: only says what would
        be taken in. Merge only files of your own: their rules and choices become yours. Raises
        BackupError if the file is damaged or of an earlier treemem, NotFoundError, UsageError for
        the same file, and DatabaseError.
        """
        from treemem.backups.merging import merging

        return merging.merged(self._database, Path(other), self._clock, self._shape,
                              dry_run=dry_run)  # fmt: skip

    def sync(
        self,
        folder: str | Path,
        *,
        code: str | None = None,
        dry_run: bool = False,
        progress: BackupProgress | None = None,
    ) -> SyncReport:
        """Takes in what other machines have put into a folder that they share with this one, as
        merge does, and puts there what is new here.

        The folder, which must exist, may be kept equal by Syncthing, Dropbox or a network drive.
        The first machine sets it up and gets a code in its report, by which others join once.
        Messages that were forgotten on one machine are forgotten on all, without a question. What
        has not arrived as a whole is taken in the next time. Killed at any point, the next sync
        goes on. Segments can be read by who can read the folder, unless the memory is encrypted.
        Raises UsageError if a code is needed or wrong, NotFoundError, BackupError and
        DiskFullError.
        """
        from treemem.backups.syncing import syncing

        return syncing.synced(self._database, Path(folder), self._clock, self._shape, code=code,
                              dry_run=dry_run, progress=progress)  # fmt: skip

    def sync_code(self, folder: str | Path) -> str:
        """Returns the code by which other machines join a folder, which is a secret. Raises
        UsageError if this memory has not joined it, and NotFoundError."""
        from treemem.backups.syncing import syncing

        return syncing.code_of(self._database, Path(folder))

    def shared_folders(self) -> list[Path]:
        """Returns the folders that this memory shares with other machines, where they were last.
        What is forgotten stays in them until the next sync."""
        from treemem.backups.syncing import state

        return state.paths(self._database)


def check_shared_folder(folder: str | Path, code: str | None = None) -> None:
    """Raises what Memory.sync would if the memory had not joined the folder: NotFoundError,
    BackupError, or UsageError if a code is needed or wrong. Call it before a memory is made."""
    from treemem.backups.syncing import syncing

    syncing.check(Path(folder), code)


def list_backups(folder: str | Path) -> list[SnapshotView]:
    """Returns the snapshots in a folder of backups, the oldest first; a damaged one with its
    damage. Raises BackupError if the folder is none."""
    from treemem.backups import storing

    whole, faults = storing.listed(Path(folder))
    return [snapshot.view() for snapshot in whole] + [_damaged(fault) for fault in faults]


def check_backups(
    folder: str | Path, *, progress: BackupProgress | None = None
) -> list[SnapshotView]:
    """Reads all that the snapshots of a folder consist of, and returns them with their damage.
    Raises BackupError if the folder is none."""
    from treemem.backups import storing

    found, faults = storing.damage(Path(folder), progress)
    views = [snapshot.view(damage) for snapshot, damage in found]
    return views + [_damaged(fault) for fault in faults]


def _damaged(fault: str) -> SnapshotView:
    return SnapshotView("", None, "", 0, 0, 0, 0, 0, (fault,))


def restore(
    backup: str | Path,
    path: str | Path,
    *,
    at: str | datetime | None = None,
    overwrite: bool = False,
    attachments: str | Path | None = None,
    progress: BackupProgress | None = None,
) -> RestoreReport:
    """Writes the memory of a backup, checked, to a path where no memory is.

    backup: a file or a folder that Memory.backup has made. at: the last snapshot made until then, a
    day (its end), a time, or words such as "yesterday"; None for the last one. overwrite: True
    replaces a memory that is at the path and not open elsewhere, and keeps that one beside it.
    attachments: the folder into which attachments are written; None for none. Raises BackupError if
    a part is damaged, which it names, NotFoundError, DiskFullError and UsageError.
    """
    from treemem.backups.restoring import Wanted, restored
    from treemem.search import date_filter

    at_ms = None
    if at is not None:
        at_ms = date_filter.bounds(None, at, times.local(times.now_ms()))[1]
    to = None if attachments is None else Path(attachments)
    wanted = Wanted(Path(backup), Path(path), at_ms, overwrite, to)
    return restored(wanted, progress)
