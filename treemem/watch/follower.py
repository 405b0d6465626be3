"""The watcher: log files that grow are read as they grow, until it is told to stop.

It only decides with watching.py when to read, and then ingests as anyone does, so whatever
happens beside it or to it (other watchers, an ingest, kill -9) nothing is stored twice. Changes
are told by the package watchfiles where it is installed, else found by looking again and again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from treemem import config, importers
from treemem.errors import (
    ConstraintError,
    DatabaseLockedError,
    DiskFullError,
    ImportFileError,
    ModelError,
    UsageError,
)
from treemem.importers.common.base import LogFile
from treemem.importers.common.records import CUT_AT_END
from treemem.ingest.discovery import Place
from treemem.ingest.walk import IGNORED_FOLDERS, find_files, is_folder, may_be_file
from treemem.memory import Memory
from treemem.reports import FileReport, WorkReport
from treemem.store.sidecars import WAL, beside, is_own
from treemem.text.tokens import count_tokens
from treemem.watch.debounce import Signature, Watching
from treemem.watch.fs_events import POLL_SECONDS, Changes
from treemem.watch.rotation import Rotation

POLL_SHARE_MAX = 0.05
RESCAN_SECONDS = 30.0
IDLE_SECONDS = 60.0
WORK_PAUSE_SECONDS = 900.0

# The state of a file that may not be looked at: reading it tells why, once.
_CLOSED = Signature(-1, 0, 0)


@dataclass(frozen=True, slots=True)
class Target:
    """Something to watch: the files of a folder, one file, or a format's place."""

    folder: Path
    path: Path | None = None
    place: Place | None = None

    @classmethod
    def of(cls, named: str | Path) -> Target:
        """Raises UsageError for a path that is neither a file nor a folder."""
        path = Path(named).expanduser().absolute()
        if is_folder(path):
            return cls(path)
        if may_be_file(path):
            return cls(path.parent, path)
        raise UsageError(f"{path} is neither a file nor a folder, so it cannot be watched.")

    @property
    def is_loose(self) -> bool:
        return self.place is not None and self.place.is_loose

    def files(self) -> Iterator[Path]:
        """Those that are there now."""
        if self.place is not None:
            yield from self.place.files()
        elif self.path is not None:
            yield from ([self.path] if may_be_file(self.path) else [])
        elif is_folder(self.folder):
            yield from (file.path for file in find_files([self.folder]) if file.path)


@dataclass(frozen=True, slots=True)
class Told:
    """Something that happened. what: "watching", "read", "error", "note", "worked" or
    "stopped". seconds: that it took."""

    what: str
    text: str = ""
    path: Path | None = None
    report: FileReport | None = None
    work: WorkReport | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Work:
    """Model work while nothing changes. between: hours of the day, as in Memory.work."""

    between: str | None = None
    idle_seconds: float = IDLE_SECONDS


class Follower:
    """One watcher. run() does it; stop() ends it after the file in hand, from any thread.

    own: folders that hold what treemem itself wrote.
    """

    def __init__(
        self,
        memory: Memory,
        targets: Iterable[Target],
        tell: Callable[[Told], None],
        *,
        work: Work | None = None,
        keep_blobs: Path | None = None,
        poll: bool = False,
    ) -> None:
        self._memory = memory
        self._targets = list(targets)
        self._tell = tell
        self._work = work
        self._keep_blobs = keep_blobs
        self._own_folders = [config.models_folder().absolute()]
        if keep_blobs is not None:
            self._own_folders.append(keep_blobs.absolute())
        self._own_files = set(beside(memory.path.absolute()))
        self._watching = Watching()
        self._rotation = Rotation()
        self._changes = Changes(self._is_own, poll=poll)
        self._stopped = threading.Event()
        self._companions = _Companions()
        self._errors: dict[Path, str] = {}
        self._loose: set[Path] = set()  # files of which the system tells nothing
        self._scan_at = 0.0
        self._finish_at = 0.0
        self._changed_at = time.monotonic()
        self._worked_at = -WORK_PAUSE_SECONDS

    def stop(self) -> None:
        """Ends run() soon: after the file or the step in hand."""
        self._stopped.set()
        self._changes.wake.set()

    def run(self, *, once: bool = False) -> None:
        """Reads what is there, then what changes. once: returns when all of it has been read.

        Raises DatabaseError where the memory file cannot be used any more; a locked file or a
        full disk is waited for.
        """
        count_tokens("")  # loads the vocabulary, which is no part of the first file's time
        self._scan(first=True)
        try:
            while not self._stopped.is_set():
                self._take_changes()
                if time.monotonic() >= self._scan_at or self._changes.has_failed:
                    self._scan()
                if not self._read_due():
                    if time.monotonic() >= self._finish_at:
                        self._finish()
                    elif once and self._watching.next_due() is None:
                        break
                    else:
                        self._rest()
        finally:
            self._changes.stop()
            self._tell(Told("stopped"))

    # -- what changes ------------------------------------------------------------------

    def _scan(self, *, first: bool = False) -> None:
        """Looks at every file: at the beginning, when changes are not told, and now and then,
        in case that one was not."""
        began = time.monotonic()
        for target in self._targets:
            for path in target.files():
                self._notice(path)
                if target.is_loose:
                    self._loose.add(path)
        for path in self._companions.changed():
            self._notice(path, force=True)
        roots = {target.folder for target in self._targets if not target.is_loose}
        roots |= self._companions.folders
        before = self._changes.roots
        problem = self._changes.follow(set(filter(is_folder, roots)))
        if problem and not first:
            self._tell(Told("note", problem))
        if first:
            self._tell(Told("watching", problem or ""))
        now = time.monotonic()
        pause = RESCAN_SECONDS
        if self._changes.polls or self._changes.roots != before:
            # What changed before the system began to tell is found by looking once more.
            pause = POLL_SECONDS
        self._scan_at = now + max(pause, (now - began) / POLL_SHARE_MAX)

    def _take_changes(self) -> None:
        for path in self._loose:
            self._notice(path)
        for path in self._changes.taken():
            for dependent in self._companions.depend_on(path, is_log=self._watching.knows(path)):
                self._notice(dependent, force=True)
            if path.name.endswith(WAL):
                path = path.with_name(path.name.removesuffix(WAL))
            if any(self._wants(target, path) for target in self._targets):
                self._notice(path)

    def _wants(self, target: Target, path: Path) -> bool:
        if target.place is not None:
            return target.place.matches(path)
        if target.path is not None:
            return path == target.path
        if not path.is_relative_to(target.folder) or not may_be_file(path):
            return False
        return not IGNORED_FOLDERS.intersection(path.relative_to(target.folder).parts)

    def _notice(self, path: Path, *, force: bool = False) -> None:
        if self._is_own(path):
            return
        self._watching.notice(path, _signature(path), time.monotonic(), force=force)

    def _is_own(self, path: Path) -> bool:
        if path in self._own_files or any(map(path.is_relative_to, self._own_folders)):
            return True
        return is_own(self._memory.path, path)

    # -- reading -----------------------------------------------------------------------

    def _read_due(self) -> bool:
        """Whether there was something to read."""
        due = self._watching.due(time.monotonic())
        for path in due:
            if self._stopped.is_set():
                break
            self._changed_at = time.monotonic()
            self._read(path)
        return bool(due)

    def _read(self, path: Path) -> None:
        signature = _signature(path)
        if signature is None:
            self._watching.notice(path, None, time.monotonic())
            return
        began = self._finish_at = time.monotonic()
        file = self._rotation.file(path)
        try:
            report = self._memory.ingest_files([file], keep_blobs=self._keep_blobs, growing=True)
        except (DatabaseLockedError, DiskFullError) as error:
            self._watching.read(path, signature, began, time.monotonic(), failed=True)
            self._tell(Told("error", f"{error} It is tried again.", path))
            return
        except (ConstraintError, UsageError) as error:
            # This file cannot be stored as it is; the others can.
            self._watching.read(path, signature, began, time.monotonic())
            self._tell(Told("error", f"{path} was not stored: {error}", path))
            return
        ended = time.monotonic()
        self._watching.read(path, signature, began, ended)
        with suppress(ImportFileError, OSError):
            importer = importers.detect(file)
            self._companions.found(path, importer.companions(file))
            # A copy of a document that was changed since is no continuation of it.
            if not importer.is_document:
                self._rotation.was_read(path, file)
        for each in report.files:
            self._tell_of(path, each, ended - began)

    def _tell_of(self, path: Path, report: FileReport, seconds: float) -> None:
        """What is new. An error, or damage, that stays the same is told once."""
        if report.added:
            self._tell(Told("read", "", path, report, seconds=seconds))
        trouble = report.error or _damage(report)
        if trouble is None:
            self._errors.pop(path, None)
        elif self._errors.get(path) != trouble:
            self._errors[path] = trouble
            failed = report if report.error else None
            self._tell(Told("error", trouble, path, failed, seconds=seconds))

    # -- the time in between -----------------------------------------------------------

    def _rest(self) -> None:
        """Works, if that was asked for and nothing has changed for a while; else waits."""
        now = time.monotonic()
        wake_at = [self._scan_at, self._finish_at, self._watching.next_due() or self._scan_at]
        if self._loose:
            wake_at.append(now + POLL_SECONDS)
        if self._work is not None:
            work_at = max(self._changed_at + self._work.idle_seconds,
                          self._worked_at + WORK_PAUSE_SECONDS)  # fmt: skip
            if now >= work_at and self._watching.next_due() is None:
                self._do_work(self._work)
                return
            wake_at.append(work_at)
        self._changes.wake.wait(max(0.01, min(wake_at) - now))
        self._changes.wake.clear()

    def _finish(self) -> None:
        """Lets the trees above the sources follow what was read, as far as they are due."""
        self._finish_at = time.monotonic() + RESCAN_SECONDS
        try:
            self._memory.work(max_calls=0, interrupted=self._stopped)
        except (DatabaseLockedError, DiskFullError) as error:
            self._tell(Told("error", f"{error} It is tried again."))

    def _do_work(self, work: Work) -> None:
        """Until there is no more to do, its hours end, or a file changes."""
        began = time.monotonic()
        self._changes.wake.clear()
        try:
            report = self._memory.work(between=work.between, interrupted=self._changes.wake)
        except (DatabaseLockedError, DiskFullError, ModelError) as error:
            self._worked_at = time.monotonic()
            self._tell(Told("error", f"{error} It is tried again later."))
            return
        if report.stopped_by != "interrupt":
            self._worked_at = time.monotonic()
        self._changed_at = time.monotonic() - work.idle_seconds
        if report.done or report.failed or report.model_calls:
            self._tell(Told("worked", work=report, seconds=time.monotonic() - began))


def _damage(report: FileReport) -> str | None:
    """The last damage in a file; a record that is cut off at its end is still being written."""
    found = (each for each in reversed(report.problems) if CUT_AT_END not in each)
    return next(found, None)


def _signature(path: Path) -> Signature | None:
    """Together with what SQLite wrote beside a database and has not put into it yet."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return _CLOSED
    size_bytes, mtime_ns = found.st_size, found.st_mtime_ns
    with suppress(OSError):
        beside = path.with_name(path.name + WAL).stat()
        size_bytes, mtime_ns = size_bytes + beside.st_size, max(mtime_ns, beside.st_mtime_ns)
    return Signature(size_bytes, mtime_ns, found.st_ino)


class _Companions:
    """The files that the reading of others depends on, and the folders they lie in.

    depends: a companion, or a folder of some, and the logs that are read again when it changes.
    """

    def __init__(self) -> None:
        self._depends: dict[Path, set[Path]] = {}
        self._seen: dict[Path, Signature | None] = {}
        self.folders: set[Path] = set()

    def found(self, path: Path, companions: Iterable[LogFile]) -> None:
        for other in companions:
            if other.path is not None and other.path.absolute() != path:
                own = other.path.absolute()
                self.folders.add(own.parent)
                for each in (own, own.parent):
                    self._depends.setdefault(each, set()).add(path)
                    if each not in self._seen:
                        self._seen[each] = _signature(each)

    def depend_on(self, path: Path, *, is_log: bool) -> set[Path]:
        """The logs to be read again: those it belongs to, or, where it is new, might."""
        return self._depends.get(path, set() if is_log else self._depends.get(path.parent, set()))

    def changed(self) -> set[Path]:
        """The logs to be read again, found out by looking."""
        dependent: set[Path] = set()
        for path, before in self._seen.items():
            now = _signature(path)
            if now != before:
                self._seen[path] = now
                dependent |= self._depends[path]
        return dependent
