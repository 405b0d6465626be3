"""Defines what the functions of this folder return, and the errors they raise.

Tested in tests/backups/test_files.py and test_folders.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# What happens now, such as "Copying", how much of it is done, and its total.
BackupProgress = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What a backup has stored.

    path: the file or the folder. snapshot: the name of the snapshot in the folder; None for a file.
    memory_id: of the memory; None if it could not be given one. made_at: ISO 8601 in UTC.
    is_new: False if nothing had changed since the last snapshot, which then stands for this one.
    size_bytes: of the memory file. stored_bytes: what was written. messages, sources: in the copy.
    attachments: files of attachments in the backup. removed: names of the snapshots that were no
    longer to be kept. notices: sentences about what the backup does not have.
    """

    path: Path
    snapshot: str | None
    memory_id: str | None
    made_at: str
    is_new: bool
    size_bytes: int
    stored_bytes: int
    messages: int
    sources: int
    attachments: int
    removed: tuple[str, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SnapshotView:
    """A snapshot in a folder of backups. Fields as in BackupReport. schema: of the memory file.
    damage: sentences about pieces that are missing or damaged; empty if none was looked for."""

    id: str
    memory_id: str | None
    made_at: str
    size_bytes: int
    messages: int
    sources: int
    attachments: int
    schema: int
    damage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What was restored. path: the memory file. snapshot: its name; None from a file. former: where
    the memory that was there before is now; None if there was none. attachments: files of
    attachments that were written. Others as in BackupReport."""

    path: Path
    snapshot: str | None
    memory_id: str | None
    made_at: str | None
    size_bytes: int
    messages: int
    sources: int
    attachments: int
    former: Path | None


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was taken in from an export. path: of the file. sources, messages: that are new. known:
    sources that were there as they are. differing: ids of sources that were there otherwise, and
    were left as they are. forgotten: of sources that were left out, since something in them was
    forgotten here. statements: of models, that passed the checks; refused: that did not.
    is_unfinished: jobs of a process that was killed are not free yet; to import the file again in a
    minute takes in topics and what models wrote."""

    path: Path
    sources: int
    messages: int
    known: int
    differing: tuple[str, ...]
    forgotten: tuple[str, ...]
    statements: int
    refused: int
    is_unfinished: bool


@dataclass(frozen=True, slots=True)
class MergeReport:
    """What was taken in from another memory file. path: of the file. sources: that are new here.
    grown: ids of sources whose history here has changed. messages: that are new. known: that were
    here. kept_out: that were forgotten here, and stay so. forgotten: messages that were forgotten
    here now, since they were there. choices: about entries and rules, and names: of topics, that
    hold here now. statements: of models, that passed the checks; refused: that did not. sessions:
    ids of live sessions, which stay where they are. dry_run: True if nothing was changed; choices,
    names and statements are not counted then. is_unfinished: jobs of a process that was killed are
    not free yet; to merge again in a minute takes in names and what models wrote."""

    path: Path
    sources: int
    grown: tuple[str, ...]
    messages: int
    known: int
    kept_out: int
    forgotten: int
    choices: int
    names: int
    statements: int
    refused: int
    sessions: tuple[str, ...]
    dry_run: bool
    is_unfinished: bool


@dataclass(frozen=True, slots=True)
class SyncTaken:
    """What was taken in of a machine. machine: its id in the folder. segments: files that were
    read. name: of the machine, as its system says; "" if nothing was read. Others as in
    MergeReport, of all of them together."""

    machine: str
    segments: int = 0
    sources: int = 0
    grown: int = 0
    messages: int = 0
    forgotten: int = 0
    choices: int = 0
    names: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync has done. folder: the shared one. machine: the id of this memory there; None in a
    dry run before it has one. is_new_machine: it has this id since now. former: the id that
    it had before, under which another copy of it has written; None without one. code: by which
    other machines join, if it was made now; else None. taken: by machine, what was taken in.
    sources, messages: that were written. segments: files that were written, of written_bytes
    together. removed: own files that others have replaced. waiting: sentences about files that are
    not whole yet or cannot be taken in now, and are tried again the next time. refused: about files
    that were made without the code, or are damaged. dry_run: True if nothing was changed; of taken,
    only segments are counted then."""

    folder: Path
    machine: str | None
    is_new_machine: bool
    former: str | None
    code: str | None
    taken: tuple[SyncTaken, ...]
    sources: int
    messages: int
    segments: int
    written_bytes: int
    removed: int
    waiting: tuple[str, ...]
    refused: tuple[str, ...]
    dry_run: bool
