"""Backs a memory up into a folder, in which each piece of the file is stored once.

Pages that have not changed since an earlier snapshot are not written again. What is no longer to be
kept is removed after the new snapshot is durable.

Tested in tests/backups/test_folders.py.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from treemem.backups import attachments, copying, keeping, parts
from treemem.backups.attachments import Attachment
from treemem.backups.folder import Folder
from treemem.backups.single import refuse_own
from treemem.backups.snapshots import Snapshot
from treemem.backups.values import BackupProgress, BackupReport
from treemem.errors import BackupError
from treemem.store.database import Database
from treemem.store.file import aside, modes

# Bytes of a chunk. One session more in a memory of 135 MB changed 946 pages of 4 KiB: 2 MB in
# chunks of one page, 6 MB in those of four and 17 MB in those of 16; but small ones are many files.
CHUNK_BYTES = 16_384
# So many chunks are read before they are stored.
_CHUNKS_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class _Stored:
    """What has been written for a snapshot. damaged: attachments whose bytes are other ones."""

    digest: str
    chunks: tuple[str, ...]
    attachments: tuple[Attachment, ...]
    written_bytes: int
    damaged: tuple[str, ...]


def to_folder(
    database: Database, target: Path, now_ms: int, keep: str = keeping.DEFAULT,
    given: Sequence[Path] = (), progress: BackupProgress | None = None,
) -> BackupReport:  # fmt: skip
    """Adds a snapshot of the memory to a folder, and removes those that are not to be kept. See
    Memory.backup."""
    policy = keeping.parsed(keep)
    refuse_own(database, target)
    folder = Folder(target)
    memory_id = copying.memory_id(database)
    kept_in = list(dict.fromkeys([*attachments.folders(database), *given]))
    with parts.room_for(target, "the backup"), folder.writing():
        is_new = folder.create(memory_id)
        before, faults = folder.snapshots()
        try:
            last = before[-1] if before else None
            # Where the clock was set back, too, the one made last is the newest: it is what a
            # restore brings back, and is not removed as an old one.
            made_at_ms = now_ms if last is None else max(now_ms, last.made_at_ms + 1)
            snapshot, stored = _stored(folder, database, memory_id, made_at_ms, kept_in, progress)
            if last is not None and _content(last) == _content(snapshot):
                report = _report(folder, last, stored.written_bytes, is_new=False)
            else:
                size = folder.add(snapshot)
                before.append(snapshot)
                report = _report(folder, snapshot, stored.written_bytes + size, is_new=True)
        except BaseException:
            _give_up(folder, is_new=is_new)
            raise
        names = keeping.kept({one.id: one.made_at_ms for one in before}, policy)
        removed = [one.id for one in before if one.id not in names]
        folder.remove(removed)
        folder.sweep()
    notices = (*attachments.absent(database, given), *faults,
               *attachments.damaged_notice(stored.damaged))  # fmt: skip
    return replace(report, removed=tuple(removed), notices=notices)


def _report(folder: Folder, snapshot: Snapshot, written: int, *, is_new: bool) -> BackupReport:
    return BackupReport(
        path=folder.path, snapshot=snapshot.id, memory_id=snapshot.memory_id,
        made_at=snapshot.made_at, is_new=is_new, size_bytes=snapshot.size_bytes,
        stored_bytes=written, messages=snapshot.messages, sources=snapshot.sources,
        attachments=len(snapshot.attachments), removed=(), notices=(),
    )  # fmt: skip


def _give_up(folder: Folder, *, is_new: bool) -> None:
    """Removes what was written for a snapshot that does not come about."""
    aside.remove(folder.snapshot_part())
    folder.sweep()
    if is_new:
        folder.discard()


def _content(snapshot: Snapshot) -> Snapshot:
    """A snapshot without what differs between two of the same content."""
    return replace(snapshot, id="", made_at_ms=0)


def _stored(
    folder: Folder, database: Database, memory_id: str | None, now_ms: int,
    kept_in: Sequence[Path], progress: BackupProgress | None,
) -> tuple[Snapshot, _Stored]:  # fmt: skip
    """Copies the memory, checks the copy and stores its chunks, and the attachments. The snapshot
    is not there before it is added."""
    part = folder.snapshot_part()
    aside.remove(part)  # of a process that was killed
    os.close(modes.create_file(part))
    copying.copy_memory(database, part, progress)
    content = copying.checked(part, progress)
    stored = _store(folder, part, kept_in, progress)
    snapshot = Snapshot(
        folder.new_id(now_ms), memory_id, now_ms, part.stat().st_size, CHUNK_BYTES, content.schema,
        content.messages, content.sources, stored.digest, stored.chunks, stored.attachments,
    )  # fmt: skip
    aside.remove(part)
    return snapshot, stored


def _store(
    folder: Folder, part: Path, kept_in: Sequence[Path], progress: BackupProgress | None
) -> _Stored:
    digest = hashlib.blake2b(digest_size=20)
    chunks: list[str] = []
    written = 0
    total = -(-part.stat().st_size // CHUNK_BYTES)
    for batch in _batches(part):
        for piece in batch:
            digest.update(piece)
        digests, size = folder.put_chunks(batch)
        chunks += digests
        written += size
        if progress is not None:
            progress("Storing chunks", len(chunks), total)
    folder.sync_chunks(set(chunks))
    kept: list[Attachment] = []
    damaged: list[str] = []
    for attachment, path in attachments.kept_in(kept_in):
        if not attachments.is_whole(attachment, folder.attachments):
            if not attachments.copy(attachment, path, folder.attachments):
                damaged.append(str(path))
                continue
            written += attachment.size_bytes
        kept.append(attachment)
    kept.sort(key=lambda one: one.name)
    return _Stored(digest.hexdigest(), tuple(chunks), tuple(kept), written, tuple(damaged))


def _batches(part: Path) -> Iterator[list[bytes]]:
    with part.open("rb") as stream:
        while batch := [
            piece for _ in range(_CHUNKS_AT_ONCE) if (piece := stream.read(CHUNK_BYTES))
        ]:
            yield batch


def listed(target: Path) -> tuple[list[Snapshot], list[str]]:
    """The snapshots of a folder, the oldest first, and a sentence for each damaged file. Raises
    BackupError if it is no folder of backups."""
    folder = Folder(target)
    with folder.reading():
        return folder.snapshots()


def damage(
    target: Path, progress: BackupProgress | None = None
) -> tuple[list[tuple[Snapshot, tuple[str, ...]]], list[str]]:
    """The snapshots of a folder, each with a sentence for each piece of it that is missing or
    damaged, and a sentence for each damaged file of a snapshot. Raises BackupError if it is no
    folder of backups."""
    folder = Folder(target)
    with folder.reading():
        whole, faults = folder.snapshots()
        names = sorted({digest for one in whole for digest in one.chunks})
        of_chunk: dict[str, str] = {}
        for number, name in enumerate(names, 1):
            try:
                folder.chunk(name)
            except BackupError as error:
                of_chunk[name] = error.message
            if progress is not None and number % _CHUNKS_AT_ONCE == 0:
                progress("Checking chunks", number, len(names))
        of_file = {
            one: attachments.damage(one, folder.attachments)
            for one in sorted({one for snapshot in whole for one in snapshot.attachments},
                              key=lambda one: one.name)
        }  # fmt: skip
    found = []
    for snapshot in whole:
        sentences = [of_chunk[name] for name in dict.fromkeys(snapshot.chunks) if name in of_chunk]
        sentences += [said for one in snapshot.attachments if (said := of_file[one])]
        found.append((snapshot, tuple(sentences)))
    return found, faults
