"""Tells whether the path of a memory file still leads to the file that is open, unharmed.

SQLite goes on writing to a file that was deleted, moved or replaced, and to a -wal file that
nobody will read again. So every transaction asks this guard before it is acknowledged.

Tested in tests/store/file/test_guard.py.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from treemem.store.file.held import HeldFile
from treemem.store.file.pages import Pages
from treemem.store.file.sidecars import SHM, WAL
from treemem.store.file.wal_index import Checkpoints, WalIndex

if TYPE_CHECKING:
    from treemem.store.access.keys import Key

Identity = tuple[int, int]
# relinked: the path is a link that now leads elsewhere; the open file is where it was.
# gone, replaced: what this process stores is not in the file at the path.
# overwritten: another program changed the content of the file in place.
# wal, shm: only this file beside it was deleted or replaced.
LossKind = Literal["relinked", "gone", "replaced", "overwritten", "wal", "shm"]


@dataclass(frozen=True, slots=True)
class Loss:
    """What happened to an open memory file. sentence: for the user."""

    kind: LossKind
    sentence: str


def identity_of(path: str | Path) -> Identity | None:
    """The device and inode of a file; None if nothing is there. Follows links."""
    try:
        status = os.stat(path)  # noqa: PTH116 (a Path costs as much as the call itself)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


class FileGuard:
    """The identity of an open memory file.

    path: as the user wrote it. real: where it leads, the name that SQLite uses. wal: whether the
    file has a -wal file. Create it after the connection has read from the file.
    """

    def __init__(self, path: Path, real: Path, *, wal: bool) -> None:
        self._path = os.path.abspath(path)  # noqa: PTH100 (keeps links)
        self._real = str(real)
        self.memory = identity_of(real)
        self.wal = identity_of(self._real + WAL) if wal else None
        self._shm = identity_of(self._real + SHM) if wal else None
        # The bytes of the -wal file that are not in the memory file yet, at the last check.
        self.waiting_bytes = 0
        self._index: WalIndex | None = None
        if self._shm is not None and os.name == "posix":
            self._index = WalIndex(Path(self._real + SHM))
        self._memory_file = HeldFile(real)
        self._checkpoints: Checkpoints | None = None
        self._seen = (0, 0)
        self.settle()

    def settle(self) -> None:
        """Accepts the file as it is now. Call it after this process has changed it."""
        # In this order: a checkpoint between the two reads explains the next change, too.
        self._checkpoints = self._index.checkpoints() if self._index else None
        status = os.stat(self._real)  # noqa: PTH116
        self._seen = (status.st_size, status.st_mtime_ns)

    def is_unsettled(self) -> bool:
        """Whether a checkpoint is incomplete, so that it may explain any later change."""
        found = self._checkpoints
        return found is not None and found.attempted > found.backfilled

    def pages(self, key: Key | None = None) -> Pages:
        """The pages of the file. Call it in a read transaction that has read already."""
        return Pages(self._memory_file, Path(self._real + WAL), key)

    def is_own(self, path: Path) -> bool:
        """Whether a path leads to one of the open files."""
        identity = identity_of(path)
        return identity is not None and identity in (self.memory, self.wal, self._shm)

    def is_same(self) -> bool:
        """Whether the file at the path is the open one and has not changed since the last look.
        Costs one stat(), so it is enough for a statement that only reads."""
        try:
            status = os.stat(self._path)  # noqa: PTH116
        except OSError:
            return False
        seen = (status.st_size, status.st_mtime_ns)
        return seen == self._seen and (status.st_dev, status.st_ino) == self.memory

    def loss(self) -> Loss | None:
        """What happened to the file, or None. Costs one stat() for each of its files."""
        # In this order: a checkpoint between the two reads explains the next change, too.
        checkpoints = self._index.checkpoints() if self._index else None
        try:
            status = os.stat(self._path)  # noqa: PTH116
        except (FileNotFoundError, NotADirectoryError):
            return self._moved(None)
        if (status.st_dev, status.st_ino) != self.memory:
            return self._moved((status.st_dev, status.st_ino))
        if status.st_size == 0:
            return Loss("overwritten", f"{self._path} was emptied while it was open.")
        seen = (status.st_size, status.st_mtime_ns)
        if seen != self._seen and not self._is_explained():
            return Loss(
                "overwritten",
                f"{self._path} was written to by another program than SQLite while it was open.",
            )
        self._checkpoints, self._seen = checkpoints, seen
        return self._sidecar_loss()

    def _sidecar_loss(self) -> Loss | None:
        if self.wal is not None:
            try:
                status = os.stat(self._real + WAL)  # noqa: PTH116
            except (FileNotFoundError, NotADirectoryError):
                status = None
            if status is None or (status.st_dev, status.st_ino) != self.wal:
                return Loss("wal", f"{self._real}-wal was deleted while the database was in use.")
            self.waiting_bytes = status.st_size
            if self._checkpoints is not None:  # the file stays as long as it was at its longest
                self.waiting_bytes = self._checkpoints.waiting_bytes
        if self._shm is not None and identity_of(self._real + SHM) != self._shm:
            return Loss("shm", f"{self._real}-shm was deleted while the database was in use.")
        return None

    def _moved(self, found: Identity | None) -> Loss:
        if self._path != self._real and identity_of(self._real) == self.memory:
            return Loss(
                "relinked",
                f"{self._path} no longer leads to {self._real}, which is the open file.",
            )
        if found is None:
            return Loss("gone", f"{self._path} was moved or deleted while it was open.")
        return Loss("replaced", f"{self._path} was replaced by another file while it was open.")

    def _is_explained(self) -> bool:
        """Whether the file changed by a checkpoint, of any process.

        Without a -wal file every commit of another process changes the file, and SQLite itself
        notices what does not belong to it.
        """
        if self._index is None or self._checkpoints is None:
            return True
        now = self._index.checkpoints()
        return now is None or self._checkpoints.explain_change(now)

    def close(self) -> None:
        """Releases the files that are held open. Call it once, after the connection was closed."""
        self._memory_file.close()
        if self._index is not None:
            self._index.close()
            self._index = None
