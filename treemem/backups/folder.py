"""Owns the layout of a folder of backups: what belongs to which memory, chunks, snapshots.

    treemem-backup.json             of which memory it is, and what its parts are
    lock                            held by whoever writes or reads the folder
    snapshots/20260301T080000Z.json what a snapshot is made of, see snapshots.py
    chunks/3a/3a51….z               a piece of memory files, compressed, by its digest
    attachments/70/709e….png        a file of an attachment, by its digest

A chunk is durable before the snapshot that names it, so a snapshot is whole or not there.

Tested in tests/backups/test_folders.py.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from treemem.backups import parts, snapshots
from treemem.backups.snapshots import SUFFIX, Snapshot
from treemem.errors import BackupError
from treemem.store.file import aside, modes

FORMAT = "treemem backup"
VERSION = 1
_MARKER = "treemem-backup.json"
_LOCK = "lock"
_MARKER_BYTES_MAX = 65_536
# A higher level makes chunks a tenth smaller, and takes twice the time.
_ZLIB_LEVEL = 1
_CHUNK_SUFFIX = ".z"
# How many chunks are written at a time.
_WRITERS = 8
_EXPLAINED = (
    "Snapshots of a treemem memory. Each file in snapshots/ lists the chunks of which the memory "
    "file consists; a chunk is in chunks/, named by its BLAKE2b-160 and compressed with zlib. "
    "To bring one back: treemem restore FOLDER NEW"
)


class Folder:
    """A folder of backups of one memory. path: of the folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.attachments = path / "attachments"
        self._snapshots = path / "snapshots"
        self._chunks = path / "chunks"

    # -- the folder itself -----------------------------------------------------------------

    def create(self, memory_id: str | None) -> bool:
        """Makes the folder one for backups of a memory; returns False if it was one. Raises
        BackupError if it is for another memory, and OSError."""
        is_new = not (self.path / _MARKER).exists()
        if is_new:
            content = {"format": FORMAT, "version": VERSION, "memory": memory_id,
                       "explanation": _EXPLAINED}  # fmt: skip
            aside.write(self.path / _MARKER, json.dumps(content, indent=1).encode())
            modes.sync_folder(self.path)
        known = self.memory_id()
        if None not in (known, memory_id) and known != memory_id:
            raise BackupError(
                f"{self.path} has the backups of another memory (id {known}, this one is "
                f"{memory_id}). It was not changed. Use another folder for this memory, or bring "
                "back the other one first if it is lost."
            )
        return is_new

    def discard(self) -> None:
        """Removes the folder, if it has no snapshots, nor anything of others."""
        with contextlib.suppress(OSError):
            for folder in (self._chunks, self.attachments, self._snapshots):
                if folder.exists():
                    folder.rmdir()
            for name in (_MARKER, _LOCK):
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()

    def _refuse_foreign(self) -> None:
        foreign = sorted(
            path.name for path in self.path.iterdir() if path.name != _LOCK
            and not (path.name.startswith(_MARKER) and path.suffix == aside.PART)
        )  # fmt: skip
        if foreign:
            raise BackupError(
                f"{self.path} is no folder of backups, and has other things in it, such as "
                f"{foreign[0]!r}. It was not changed. Name an empty folder or a new one."
            )

    def memory_id(self) -> str | None:
        """Of which memory the folder has backups; None if that memory has no id. Raises BackupError
        if it is no folder of backups."""
        marker = self.path / _MARKER
        try:
            with marker.open("rb") as stream:
                content = json.loads(stream.read(_MARKER_BYTES_MAX))
            is_ours, version = content["format"] == FORMAT, content["version"]
            memory_id = content["memory"]
        except FileNotFoundError:
            raise BackupError(
                f"{self.path} is no folder of backups: it has no {_MARKER}."
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BackupError(f"{marker} is damaged: {error}.") from error
        if not is_ours or version != VERSION:
            raise BackupError(f"{marker} was written by a newer treemem. Upgrade treemem.")
        return None if memory_id is None else str(memory_id)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Keeps others from writing or reading the folder, which is created if it is missing.
        Raises BackupError if they do, or if it has anything else in it."""
        modes.create_folder(self.path)
        if not (self.path / _MARKER).exists():
            self._refuse_foreign()
        with parts.locked(self.path / _LOCK, f"Another use of {self.path}"):
            yield

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Keeps others from removing what is read. Raises BackupError if it is being written, or is
        no folder of backups."""
        self.memory_id()
        with parts.locked(self.path / _LOCK, f"A backup to {self.path}", shared=True):
            yield

    # -- snapshots -------------------------------------------------------------------------

    def snapshots(self) -> tuple[list[Snapshot], list[str]]:
        """The snapshots, the oldest first, and a sentence for each file that is damaged."""
        whole, faults = [], []
        for path in sorted(self._snapshots.glob(f"*{SUFFIX}")):
            if not snapshots.is_id(path.name.removesuffix(SUFFIX)):
                continue
            try:
                whole.append(snapshots.read(path))
            except BackupError as error:
                faults.append(error.message)
        return sorted(whole, key=lambda one: (one.made_at_ms, one.id)), faults

    def new_id(self, made_at_ms: int) -> str:
        """A name for a snapshot that none has."""
        moment = parts.name_of(made_at_ms)
        name, number = moment, 1
        while (self._snapshots / f"{name}{SUFFIX}").exists():
            number += 1
            name = f"{moment}-{number}"
        return name

    def add(self, snapshot: Snapshot) -> int:
        """Writes a snapshot, after all that it names, and returns its size. Raises OSError."""
        modes.create_folder(self._snapshots)
        size = snapshots.write(snapshot, self._snapshots)
        modes.sync_folder(self._snapshots)
        modes.sync_folder(self.path)
        return size

    def remove(self, snapshot_ids: list[str]) -> None:
        """Removes snapshots. What only they named is removed by sweep()."""
        for name in snapshot_ids:
            (self._snapshots / f"{name}{SUFFIX}").unlink(missing_ok=True)
        if snapshot_ids:
            modes.sync_folder(self._snapshots)

    def sweep(self) -> int:
        """Removes what no snapshot names and what was not completed, and returns how many bytes.

        Does nothing if the file of a snapshot is damaged, since nobody knows what it names."""
        whole, faults = self.snapshots()
        if faults:
            return 0
        named = {digest for one in whole for digest in one.chunks}
        attached = {attachment.name for one in whole for attachment in one.attachments}
        unnamed = [
            path for path in self._chunks.glob("*/*")
            if path.name.removesuffix(_CHUNK_SUFFIX) not in named
        ] + [
            path for path in self.attachments.glob("*/*")
            if path.relative_to(self.attachments).as_posix() not in attached
        ] + list(self._snapshots.glob(f"*{aside.PART}"))  # fmt: skip
        size = 0
        for path in unnamed:
            size += path.lstat().st_size
            path.unlink(missing_ok=True)
        for folder in (*self._chunks.glob("*"), *self.attachments.glob("*")):
            with contextlib.suppress(OSError):  # it has others
                folder.rmdir()
        return size

    # -- chunks ----------------------------------------------------------------------------

    def _path_of(self, digest: str) -> Path:
        return self._chunks / digest[:2] / f"{digest}{_CHUNK_SUFFIX}"

    def put_chunks(self, pieces: Sequence[bytes]) -> tuple[list[str], int]:
        """Stores chunks, durably but for their names, and returns their digests and how many bytes
        were written. One that has been damaged is written again. Raises OSError."""
        digests = [snapshots.digest_of(piece) for piece in pieces]
        unique = dict(zip(digests, pieces, strict=True))
        # Most of the time goes into waiting for the disk, which serves several as quickly as one.
        with ThreadPoolExecutor(_WRITERS) as pool:
            written = sum(pool.map(self._put_chunk, unique, unique.values()))
        return digests, written

    def _put_chunk(self, digest: str, data: bytes) -> int:
        path = self._path_of(digest)
        if path.exists():
            with contextlib.suppress(BackupError):
                self.chunk(digest)
                return 0
        modes.create_folder(path.parent)
        packed = zlib.compress(data, _ZLIB_LEVEL)
        aside.write(path, packed)
        return len(packed)

    def sync_chunks(self, digests: set[str]) -> None:
        """Makes the names of chunks that were written survive a power cut."""
        for start in sorted({digest[:2] for digest in digests}):
            modes.sync_folder(self._chunks / start)
        if digests:
            modes.sync_folder(self._chunks)

    def chunk(self, digest: str) -> bytes:
        """The bytes of a chunk. Raises BackupError if they are not those that its name says."""
        path = self._path_of(digest)
        try:
            data = zlib.decompress(path.read_bytes())
        except FileNotFoundError:
            raise BackupError(f"The chunk {path} is missing.") from None
        except OSError as error:
            raise BackupError(f"The chunk {path} cannot be read: {error.strerror}.") from error
        except zlib.error:
            data = b""
        if snapshots.digest_of(data) != digest:
            raise BackupError(f"The chunk {path} is damaged.")
        return data

    def snapshot_part(self) -> Path:
        """Where the memory file is copied before it is cut into chunks."""
        return self.path / f"snapshot{aside.PART}"
