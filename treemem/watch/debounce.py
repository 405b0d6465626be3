"""Decides when to read a watched file, from its signatures and a clock.

Pure. Times are seconds of any monotonic clock. A file is read once it has not changed for a
moment, or has been changing for a while. It then waits in proportion to how long the reading took,
so a log that grows without pause takes a bounded share of the time, even one that has to be read
from its start each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# A file that has not changed for this long is read.
QUIET_SECONDS = 0.5
# A file that keeps changing is read after this long.
PATIENCE_SECONDS = 5.0
# The share of the time that reading one file may take.
SHARE_MAX = 0.1
# The longest pause before a failed reading is retried.
RETRY_SECONDS_MAX = 300.0


class Signature(NamedTuple):
    """Distinguishes two states of a file without reading it."""

    size_bytes: int
    mtime_ns: int
    inode: int


@dataclass(slots=True)
class _File:
    """seen: the latest signature. first_at, last_at: the seconds of the first and the last change
    since it was read; first_at is None if there is none. not_before: when it may be read again.
    failures: how many readings in a row have failed. is_old: whether it has not changed since the
    watch began."""

    seen: Signature | None = None
    first_at: float | None = None
    last_at: float = 0.0
    not_before: float = 0.0
    failures: int = 0
    is_old: bool = False


class WatchedFiles:
    """The watched files, with the changes that have not been read."""

    def __init__(
        self,
        quiet_seconds: float = QUIET_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        share_max: float = SHARE_MAX,
    ) -> None:
        self._quiet = quiet_seconds
        self._patience = patience_seconds
        self._share = share_max
        self._files: dict[Path, _File] = {}
        self._changed: set[Path] = set()

    def notice(
        self, path: Path, signature: Signature | None, now: float, *, force: bool = False,
        is_old: bool = False,
    ) -> None:  # fmt: skip
        """Records a file's signature; None if it is gone. force: True if a file that it depends
        on has changed. is_old: True for what was there when the watch began."""
        if signature is None:
            self._files.pop(path, None)
            self._changed.discard(path)
            return
        file = self._files.setdefault(path, _File())
        if signature == file.seen and not force:
            return
        file.seen, file.is_old = signature, is_old
        file.first_at = now if file.first_at is None else file.first_at
        file.last_at = now
        self._changed.add(path)

    def knows(self, path: Path) -> bool:
        """Whether the file is watched."""
        return path in self._files

    def due(self, now: float) -> list[Path]:
        """The files to read now, the one that has waited longest first; those that were there when
        the watch began after those that have changed since."""
        paths = [path for path in self._changed if self._due_at(path) <= now]
        return sorted(paths, key=self._turn)

    def _turn(self, path: Path) -> tuple[bool, float, Path]:
        file = self._files[path]
        return file.is_old, file.first_at or 0.0, path

    def has_old(self) -> bool:
        """Whether a file that was there when the watch began is still to be read."""
        return any(self._files[path].is_old for path in self._changed)

    def next_due(self) -> float | None:
        """When the next file is due; None if no file has changed."""
        return min(map(self._due_at, self._changed), default=None)

    def read(
        self, path: Path, signature: Signature, began: float, ended: float, *, failed: bool = False
    ) -> None:
        """Records that a file was read. signature: the file's when the reading began. failed: True
        if the reading failed for a reason outside the file, so that it is retried."""
        file = self._files.get(path)
        if file is None:
            return
        file.not_before = ended + (ended - began) * (1 / self._share - 1)
        if failed:
            file.failures += 1
            file.not_before = ended + min(RETRY_SECONDS_MAX, 2.0**file.failures)
            return
        file.failures = 0
        changed_meanwhile = file.seen != signature or file.last_at > began
        file.first_at = ended if changed_meanwhile else None
        if not changed_meanwhile:
            self._changed.discard(path)

    def _due_at(self, path: Path) -> float:
        file = self._files[path]
        first_at = file.last_at if file.first_at is None else file.first_at
        return max(min(file.last_at + self._quiet, first_at + self._patience), file.not_before)
