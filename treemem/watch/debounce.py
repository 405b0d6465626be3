"""Which of the files that are watched is to be read now: decisions over stats and a clock.

Pure. Seconds are those of any clock that never goes back. A file is read once it has been
quiet for a moment, or has not been for long; and since reading one again means reading all of
it, each waits in proportion to how long its last reading took. So a log that grows without
pause costs a bounded share of the time, however large it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

QUIET_SECONDS = 0.5
PATIENCE_SECONDS = 5.0
SHARE_MAX = 0.1
RETRY_SECONDS_MAX = 300.0


class Signature(NamedTuple):
    """What tells one state of a file from another without reading it."""

    size_bytes: int
    mtime_ns: int
    inode: int


@dataclass(slots=True)
class _File:
    """seen: its latest state. first_at, last_at: of the changes that were not read yet; None
    where there are none. not_before: when it may be read again. failures: in a row."""

    seen: Signature | None = None
    first_at: float | None = None
    last_at: float = 0.0
    not_before: float = 0.0
    failures: int = 0


class Watching:
    """The files and what is to be done about them."""

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
        self, path: Path, signature: Signature | None, now: float, *, force: bool = False
    ) -> None:
        """Takes in a file's state. None: it is gone. force: something else changed that reading
        it depends on."""
        if signature is None:
            self._files.pop(path, None)
            self._changed.discard(path)
            return
        file = self._files.setdefault(path, _File())
        if signature == file.seen and not force:
            return
        file.seen = signature
        file.first_at = now if file.first_at is None else file.first_at
        file.last_at = now
        self._changed.add(path)

    def knows(self, path: Path) -> bool:
        return path in self._files

    def due(self, now: float) -> list[Path]:
        """What is to be read now, the longest waiting first."""
        found = [path for path in self._changed if self._due_at(path) <= now]
        return sorted(found, key=lambda path: (self._files[path].first_at or 0.0, path))

    def next_due(self) -> float | None:
        """When something will be due; None where nothing has changed."""
        return min(map(self._due_at, self._changed), default=None)

    def read(
        self, path: Path, signature: Signature, began: float, ended: float, *, failed: bool = False
    ) -> None:
        """A file was read as it was at the beginning, when it had this signature. failed: not
        through a fault of its own, so that it is tried again."""
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
