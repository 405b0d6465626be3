"""Shows how far a long reading is: files, bytes, speed, time left, and problems as they come.

On a terminal two lines change in place; elsewhere a line a minute is printed, so that a log of a
long run says how far it is, and a short run prints nothing.

Tested in tests/cli/logs/test_progress.py.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from treemem.reports import count_of
from treemem_cli.context import note, stderr_is_terminal
from treemem_cli.render import duration, file_size, safe, shorten

if TYPE_CHECKING:
    from rich.text import Text

    from treemem import FileReport, IngestReport, LogFile, Memory

# Seconds over which speed is measured: known files are passed over a hundred times as fast.
SPEED_SECONDS = 60.0
# Seconds before the first estimate of the time that is left.
ESTIMATE_SECONDS = 5.0
# Seconds between two lines where there is no terminal, and between two changes on one.
LINE_SECONDS = 60.0
DRAW_SECONDS = 0.1
# Problems are shown as they come in a long run, so many of them; at the end all are counted.
PROBLEMS_AFTER_SECONDS = 10.0
SHOWN_MAX = 10
_SEPARATOR = " · "


def ingest_shown(memory: Memory, files: Iterable[LogFile], **options: Any) -> IngestReport:
    """Stores log files, the newest first, and shows on stderr how far that is. options: of
    Memory.ingest_files. The report has the files as they were given. Ctrl-C raises
    KeyboardInterrupt with a sentence for the user."""
    from treemem import newest_first

    progress = None
    try:
        given = list(files)
        ordered = newest_first(given)
        progress = ReadingProgress(ordered)
        with _Terminal(progress) if stderr_is_terminal() else _Lines(progress) as screen:
            report = memory.ingest_files(ordered, progress=screen.note, **options)
    except KeyboardInterrupt:
        sentence = "Stopped before anything was read." if progress is None else progress.stopped()
        raise KeyboardInterrupt(sentence) from None
    places = {file.label: at for at, file in enumerate(given)}
    report.files.sort(key=lambda file: places.get(_file_of(file.path, places), len(places)))
    return report


class ReadingProgress:
    """Counts what has been read of some files. Call take with the report of a file as it grows."""

    def __init__(
        self, files: Sequence[LogFile], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sizes = {file.label: _size(file) for file in files}
        self._total = sum(self._sizes.values())
        self._clock = clock
        self._began = clock()
        self._report: FileReport | None = None
        self._label = ""
        self._samples = deque([(self._began, 0)])
        self.files_done = 0
        self.bytes_done = 0
        self.added = 0

    def take(self, report: FileReport) -> FileReport | None:
        """Takes the report of a file, which may still grow. Returns that of the one before, if it
        is done now."""
        if report is self._report:
            return None
        done, self._report = self._report, report
        if done is not None:
            self.added += done.added
        label = _file_of(report.path, self._sizes)
        if label != self._label:
            self._end_file()
            self._label = label
        return done

    def _end_file(self) -> None:
        if self._label:
            self.files_done += 1
            self.bytes_done += self._sizes.get(self._label, 0)
            now = self._clock()
            self._samples.append((now, self.bytes_done))
            while self._samples[0][0] < now - SPEED_SECONDS:
                self._samples.popleft()

    def counts(self) -> list[str]:
        """How far the reading is, in parts of a line."""
        files, now = len(self._sizes), self._clock()
        parts = [f"{self.files_done:,} of {count_of(files, 'file')}"]
        if files > 1 and self.files_done == files - 1:
            parts = [f"the last of {files:,} files, then the topics"]
        parts.append(f"{file_size(self.bytes_done)} of {file_size(self._total)}")
        began, before = self._samples[0]
        speed = (self.bytes_done - before) / max(now - began, 1e-9)
        if now - self._began >= ESTIMATE_SECONDS and speed > 0:
            left = (self._total - self.bytes_done) / speed
            parts += [f"{file_size(round(speed))}/s", f"{duration(left)} left"]
        return parts

    def lines(self, width: int) -> list[str]:
        """The counts and the current file, in lines of at most width characters."""
        lines: list[str] = [""]
        for part in self.counts():
            joined = f"{lines[-1]}{_SEPARATOR}{part}" if lines[-1] else part
            if len(joined) <= width:
                lines[-1] = joined
            else:
                lines.append(part[:width])
        if self._report is not None and self._report.added:
            added = f": {self._report.added:,} added"
            name = PurePath(self._report.path).name
            lines.append(shorten(name, max(8, width - len(added))) + added)
        return [line for line in lines if line] or ["Reading …"]

    def stopped(self) -> str:
        """A sentence that says what is stored after Ctrl-C, and how to go on."""
        added = self.added + (self._report.added if self._report else 0)
        files = len(self._sizes)
        done = f" after {self.files_done:,} of {files:,} files" if files > 1 else ""
        return (
            f"Stopped{done}; {count_of(added, 'message')} added. What was read so far is stored "
            "and can be searched. Run the same command to continue."
        )


class _Lines:
    """Prints a line now and then, where nothing can be changed in place."""

    def __init__(self, progress: ReadingProgress) -> None:
        self._progress = progress
        self._next = time.monotonic() + LINE_SECONDS

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def note(self, report: FileReport) -> None:
        """Takes a report, and prints a line if one is due."""
        self._progress.take(report)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + LINE_SECONDS
            note(_SEPARATOR.join(self._progress.counts()))


class _Terminal:
    """Changes two lines in place, and prints problems above them."""

    def __init__(self, progress: ReadingProgress) -> None:
        from treemem_cli.render import console

        self._progress = progress
        self._console = console(stderr=True)
        self._status = self._console.status("Reading …")
        self._began = time.monotonic()
        self._drawn_at = 0.0
        self._problems = 0

    def __enter__(self) -> _Terminal:
        self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._status.stop()

    def note(self, report: FileReport) -> None:
        """Takes a report, and draws what has changed."""
        done, now = self._progress.take(report), time.monotonic()
        if done is not None and now - self._began >= PROBLEMS_AFTER_SECONDS:
            self._print_problems(done)
        if now - self._drawn_at >= DRAW_SECONDS:
            self._drawn_at = now
            width = max(20, self._console.width - len("⠋ "))
            self._status.update(_text("\n".join(self._progress.lines(width))))

    def _print_problems(self, report: FileReport) -> None:
        # Other files in a folder of logs are not errors.
        is_other = report.found and (report.unknown or report.needs is not None)
        errors = [report.error] if report.error is not None and not is_other else []
        for text in (*report.problems, *errors):
            self._problems += 1
            if self._problems <= SHOWN_MAX:
                self._console.print(_text(f"Problem: {safe(text)}"))
            elif self._problems == SHOWN_MAX + 1:
                self._console.print(_text("There are more problems; they are listed at the end."))


def _text(line: str) -> Text:
    from rich.text import Text

    return Text(line)


def _file_of(label: str, known: Container[str]) -> str:
    """The file that a report is about: the archive, if it is about a member of one."""
    while label not in known and "!" in label:
        label = label.rpartition("!")[0]
    return label


def _size(file: LogFile) -> int:
    try:
        return 0 if file.path is None else os.stat(file.path).st_size  # noqa: PTH116 - many files
    except OSError:
        return 0
