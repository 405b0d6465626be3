"""Watches log files and ingests them as they grow, until it is stopped.

debounce.py decides when a file is read. Files are ingested as by any other caller, so nothing is
stored twice, whatever runs at the same time (other watchers, an ingest) and even after kill -9.
The package watchfiles reports changes; without it the folders are polled.
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
    DiskError,
    ImportFileError,
    ModelError,
    TreememError,
    UsageError,
)
from treemem.importers.common.base import Importer, LogFile
from treemem.importers.common.own import ReadLog, importer_of
from treemem.ingest.discovery import Place
from treemem.ingest.order import newest_first
from treemem.ingest.walk import IGNORED_FOLDERS, find_files, is_folder, may_be_file
from treemem.memory import Memory
from treemem.reports import CUT_AT_END, FileReport, IngestReport, WorkReport, passed_over
from treemem.store.file.sidecars import WAL, beside, is_own
from treemem.text.tokens import count_tokens
from treemem.watch.debounce import Signature, WatchedFiles
from treemem.watch.fs_events import POLL_SECONDS, Changes

# The share of the time that scans of all files may take.
POLL_SHARE_MAX = 0.05
# The pause between two scans while the system reports changes.
RESCAN_SECONDS = 30.0
# While a large tree is read for the first time, what changes is read after this long at most, and
# the trees above the sources are laid out, if they are due, after this long.
TURN_SECONDS = 1.0
LAYOUT_SECONDS = 60.0
# A start with more files says how many they are, and when all are read.
FILES_ANNOUNCED = 100
# Model work starts after this long without a change.
IDLE_SECONDS = 60.0
# The pause between two runs of model work.
WORK_PAUSE_SECONDS = 900.0

# The signature of a file that cannot be inspected: reading it reports the reason, once.
_CLOSED = Signature(-1, 0, 0)


@dataclass(frozen=True, slots=True)
class Target:
    """The files to watch: those of a folder, a single file, or those in a format's usual place."""

    folder: Path
    path: Path | None = None
    place: Place | None = None

    @classmethod
    def of(cls, named: str | Path) -> Target:
        """The target for a path. Raises UsageError if it is neither a file nor a folder."""
        path = Path(named).expanduser().absolute()
        if is_folder(path):
            return cls(path)
        if may_be_file(path):
            return cls(path.parent, path)
        raise UsageError(f"{path} is neither a file nor a folder, so it cannot be watched.")

    @property
    def is_loose(self) -> bool:
        """Whether its files may be anywhere in the home folder, which is too large to follow."""
        return self.place is not None and self.place.is_loose

    @property
    def exists(self) -> bool:
        """Whether its folder exists now."""
        return is_folder(self.folder)

    def files(self) -> Iterator[Path]:
        """The files that exist now."""
        if self.place is not None:
            yield from self.place.files()
        elif self.path is not None:
            yield from ([self.path] if may_be_file(self.path) else [])
        elif is_folder(self.folder):
            yield from (file.path for file in find_files([self.folder]) if file.path)


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event of a watcher.

    kind: "watching", "read", "error", "note", "worked" or "stopped". text: for people.
    path: the file. report: of the file that was read. work: of the model work. seconds: how long
    the reading or the work took. is_first: it is among the many files of a first look.
    """

    kind: str
    text: str = ""
    path: Path | None = None
    report: FileReport | None = None
    work: WorkReport | None = None
    seconds: float = 0.0
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """Model work while no file changes.

    between: hours of the day, as in Memory.work. idle_seconds: how long no file must have changed
    before it starts.
    """

    between: str | None = None
    idle_seconds: float = IDLE_SECONDS


class Follower:
    """Watches targets for one memory: run() until stop() is called, from any thread.

    on_event: called for every event, in the thread of run(). work: None for no model work.
    keep_blobs, as_mine, importer: as in Memory.ingest. poll: True polls for changes even if the
    system could report them.
    """

    def __init__(
        self,
        memory: Memory,
        targets: Iterable[Target],
        on_event: Callable[[WatchEvent], None],
        *,
        work: Work | None = None,
        keep_blobs: Path | None = None,
        as_mine: bool = False,
        poll: bool = False,
        importer: Importer | ReadLog | None = None,
    ) -> None:
        self._memory = memory
        self._targets = list(targets)
        self._on_event = on_event
        self._work = work
        self._keep_blobs = keep_blobs
        self._as_mine = as_mine
        self._importer = None if importer is None else importer_of(importer)
        self._own_folders = [config.models_folder().absolute()]
        if keep_blobs is not None:
            self._own_folders.append(keep_blobs.absolute())
        self._own_files = set(beside(memory.path.absolute()))
        self._files = WatchedFiles()
        self._changes = Changes(self._is_own, poll=poll)
        self._stopped = threading.Event()
        self._companions = _Companions()
        self._errors: dict[Path, str] = {}
        self._passed_over: dict[Path, FileReport] = {}
        self._passed_over_texts: list[str] = []
        # The inodes of the files that this watcher has compared with what is known of them.
        self._compared: dict[Path, int] = {}
        self._loose: set[Path] = set()  # files whose changes the system does not report
        self._is_first_pass = False
        self._scan_at = 0.0
        self._finish_at = 0.0
        self._finished_at = time.monotonic()
        self._changed_at = time.monotonic()
        self._worked_at = -WORK_PAUSE_SECONDS

    def stop(self) -> None:
        """Ends run() after the current file or step."""
        self._stopped.set()
        self._changes.wake.set()

    def run(self, *, once: bool = False) -> None:
        """Ingests all files, then those that change.

        once: True returns when all files have been read. Raises DatabaseError if the memory file
        can no longer be used, without an event; a locked file or a failing disk is retried.
        """
        count_tokens("")  # loads the vocabulary, so that the first file's time does not include it
        self._scan(first=True)
        failed = False
        try:
            while not self._stopped.is_set():
                self._take_changes()
                if time.monotonic() >= self._scan_at or self._changes.has_failed:
                    self._scan()
                if self._read_due():
                    if not once and time.monotonic() - self._finished_at >= LAYOUT_SECONDS:
                        self._finish()
                elif time.monotonic() >= self._finish_at:
                    self._finish()
                elif once and self._files.next_due() is None:
                    break
                else:
                    self._rest()
        except TreememError:
            failed = True  # what was read last is perhaps not stored
            raise
        finally:
            self._changes.stop()
            if not failed:
                self._on_event(WatchEvent("stopped"))

    # -- finding changes ---------------------------------------------------------------

    def _scan(self, *, first: bool = False) -> None:
        """Compares the signature of every file: at the start, while changes are not reported, and
        every RESCAN_SECONDS, in case the system missed one."""
        began = time.monotonic()
        found: dict[Path, None] = {}
        for target in self._targets:
            paths = list(target.files())
            found.update(dict.fromkeys(paths))
            if target.is_loose:
                self._loose.update(paths)
        for path in _newest_first(found) if first else found:
            self._notice(path, is_old=first)
        for path in self._companions.changed():
            self._notice(path, force=True)
        roots = {target.folder for target in self._targets if not target.is_loose}
        roots |= self._companions.folders
        before = self._changes.roots
        problem = self._changes.follow(set(filter(is_folder, roots)))
        if problem and not first:
            self._on_event(WatchEvent("note", problem))
        if first:
            self._on_event(WatchEvent("watching", problem or ""))
            if len(found) >= FILES_ANNOUNCED:
                self._is_first_pass = True
                text = f"Looking at {len(found):,} files, the newest sessions first."
                self._on_event(WatchEvent("note", text))
        now = time.monotonic()
        pause = RESCAN_SECONDS
        if self._changes.polls or self._changes.roots != before:
            # Another scan finds what changed before the system began to report.
            pause = POLL_SECONDS
        self._scan_at = now + max(pause, (now - began) / POLL_SHARE_MAX)

    def _take_changes(self) -> None:
        for path in self._loose:
            self._notice(path)
        for path in self._changes.take():
            for log in self._companions.dependents(path, is_log=self._files.knows(path)):
                self._notice(log, force=True)
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

    def _notice(self, path: Path, *, force: bool = False, is_old: bool = False) -> None:
        if self._is_own(path):
            return
        signature, now = _signature(path), time.monotonic()
        self._files.notice(path, signature, now, force=force, is_old=is_old)

    def _is_own(self, path: Path) -> bool:
        if path in self._own_files or any(map(path.is_relative_to, self._own_folders)):
            return True
        return is_own(self._memory.path, path)

    # -- reading -----------------------------------------------------------------------

    def _read_due(self) -> bool:
        """Reads the files that are due, for a moment. Returns whether there were any."""
        began = time.monotonic()
        due = self._files.due(began)
        for path in due:
            if self._stopped.is_set():
                break
            self._changed_at = time.monotonic()
            self._read(path)
            if time.monotonic() - began > TURN_SECONDS:
                break
        return bool(due)

    def _read(self, path: Path) -> None:
        signature = _signature(path)
        if signature is None:
            self._files.notice(path, None, time.monotonic())
            return
        began = self._finish_at = time.monotonic()
        is_grown = self._compared.get(path) == signature.inode
        file = LogFile(str(path), path, found=True, grown=is_grown)
        try:
            report = self._memory.ingest_files(
                [file], importer=self._importer, keep_blobs=self._keep_blobs,
                as_mine=self._as_mine, growing=True,
            )  # fmt: skip
        except (DatabaseLockedError, DiskError) as error:
            self._files.read(path, signature, began, time.monotonic(), failed=True)
            self._on_event(WatchEvent("error", f"{error} It will be retried.", path))
            return
        except (ConstraintError, UsageError) as error:
            # Only this file cannot be stored.
            self._files.read(path, signature, began, time.monotonic())
            self._on_event(WatchEvent("error", f"{path} was not stored: {error}", path))
            return
        ended = time.monotonic()
        self._files.read(path, signature, began, ended)
        self._compared[path] = signature.inode
        with suppress(ImportFileError, OSError):
            importer = self._importer or _importer_of(report) or importers.detect(file)
            self._companions.add(path, importer.companions(file))
        for file_report in report.files:
            self._report(path, file_report, ended - began)

    def _report(self, path: Path, report: FileReport, seconds: float) -> None:
        """Reports new messages, and an error or damage unless it is the one last reported."""
        if report.added:
            first = self._is_first_pass
            self._on_event(WatchEvent("read", "", path, report, seconds=seconds, is_first=first))
        if report.needs is not None and report.found:
            self._passed_over[path] = report
            return
        self._passed_over.pop(path, None)
        trouble = report.error or _damage(report)
        if trouble is None:
            self._errors.pop(path, None)
        elif self._errors.get(path) != trouble:
            self._errors[path] = trouble
            failed = report if report.error else None
            self._on_event(WatchEvent("error", trouble, path, failed, seconds=seconds))

    # -- between two files -------------------------------------------------------------

    def _rest(self) -> None:
        """Runs model work if it is wanted and due; otherwise waits for the next change."""
        now = time.monotonic()
        wake_at = [self._scan_at, self._finish_at, self._files.next_due() or self._scan_at]
        if self._loose:
            wake_at.append(now + POLL_SECONDS)
        if self._work is not None:
            work_at = max(self._changed_at + self._work.idle_seconds,
                          self._worked_at + WORK_PAUSE_SECONDS)  # fmt: skip
            if now >= work_at and self._files.next_due() is None:
                self._do_work(self._work)
                return
            wake_at.append(work_at)
        self._changes.wake.wait(max(0.01, min(wake_at) - now))
        self._changes.wake.clear()

    def _finish(self) -> None:
        """Updates the trees above the sources that are due."""
        if self._is_first_pass and not self._files.has_old():
            self._is_first_pass = False
            self._on_event(WatchEvent("note", "All of them are stored."))
        self._finished_at = time.monotonic()
        self._finish_at = time.monotonic() + RESCAN_SECONDS
        texts = passed_over(self._passed_over.values())
        for text in (text for text in texts if text not in self._passed_over_texts):
            self._on_event(WatchEvent("note", text))
        self._passed_over_texts = texts
        try:
            self._memory.work(max_calls=0, interrupted=self._stopped)
        except (DatabaseLockedError, DiskError) as error:
            self._on_event(WatchEvent("error", f"{error} It will be retried."))

    def _do_work(self, work: Work) -> None:
        """Runs model work until none is left, its hours end, or a file changes."""
        began = time.monotonic()
        self._changes.wake.clear()
        try:
            report = self._memory.work(between=work.between, interrupted=self._changes.wake)
        except (DatabaseLockedError, DiskError, ModelError) as error:
            self._worked_at = time.monotonic()
            self._on_event(WatchEvent("error", f"{error} It will be retried later."))
            return
        if report.stopped_by != "interrupt":
            self._worked_at = time.monotonic()
        self._changed_at = time.monotonic() - work.idle_seconds
        if report.done or report.failed or report.model_calls:
            self._on_event(WatchEvent("worked", work=report, seconds=time.monotonic() - began))


def _newest_first(paths: Iterable[Path]) -> list[Path]:
    files = newest_first(LogFile(str(path), path) for path in paths)
    return [file.path for file in files if file.path is not None]


def _damage(report: FileReport) -> str | None:
    """The last problem of a file, or None. A record cut off at its end is still being written."""
    problems = (problem for problem in reversed(report.problems) if CUT_AT_END not in problem)
    return next(problems, None)


def _importer_of(report: IngestReport) -> Importer | None:
    """The importer that has read a file; None for an archive and an unknown format."""
    names = {file.format for file in report.files}
    return next((importer for importer in importers.IMPORTERS if {importer.name} == names), None)


def _signature(path: Path) -> Signature | None:
    """The signature of a file and of its -wal file, if it is a database; None if it is gone."""
    try:
        stat = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return _CLOSED
    size_bytes, mtime_ns = stat.st_size, stat.st_mtime_ns
    with suppress(OSError):
        wal = path.with_name(path.name + WAL).stat()
        size_bytes, mtime_ns = size_bytes + wal.st_size, max(mtime_ns, wal.st_mtime_ns)
    return Signature(size_bytes, mtime_ns, stat.st_ino)


class _Companions:
    """The files that logs depend on, such as a list of names, and their folders."""

    def __init__(self) -> None:
        # By companion, or folder of companions: the logs to read again when it changes.
        self._dependents: dict[Path, set[Path]] = {}
        self._seen: dict[Path, Signature | None] = {}
        self.folders: set[Path] = set()

    def add(self, log: Path, companions: Iterable[LogFile]) -> None:
        """Records the files that the log depends on."""
        for file in companions:
            if file.path is not None and file.path.absolute() != log:
                companion = file.path.absolute()
                self.folders.add(companion.parent)
                for path in (companion, companion.parent):
                    self._dependents.setdefault(path, set()).add(log)
                    if path not in self._seen:
                        self._seen[path] = _signature(path)

    def dependents(self, path: Path, *, is_log: bool) -> set[Path]:
        """The logs to read again after a change of this file: those that depend on it, or, if it
        is new, on another file of its folder."""
        if path in self._dependents or is_log:
            return self._dependents.get(path, set())
        return self._dependents.get(path.parent, set())

    def changed(self) -> set[Path]:
        """The logs to read again, by comparing the signatures of what they depend on."""
        logs: set[Path] = set()
        for path, before in self._seen.items():
            signature = _signature(path)
            if signature != before:
                self._seen[path] = signature
                logs |= self._dependents[path]
        return logs
