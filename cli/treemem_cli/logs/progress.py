"""Shows how far a long reading is: files, bytes, speed, time left, and problems as they come.

On a terminal two lines change in place; elsewhere a line a minute is printed, so that a log of a
long run says how far it is, and a short run prints nothing. How far the reading of a file is, is
the position of the stream from which it is read.

Tested in tests/cli/logs/test_progress.py.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from treemem.reports import count_of
from treemem_cli.context import note, stderr_is_terminal
from treemem_cli.render import duration, file_size, safe, shorten

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from treemem import FileReport, IngestReport, LogFile, Memory

# Seconds over which speed is measured: known files are passed over a hundred times as fast.
SPEED_SECONDS = 60.0
# Seconds before the first estimate of the time that is left.
ESTIMATE_SECONDS = 5.0
# Seconds between two lines where there is no terminal, and between two measurements of the speed.
LINE_SECONDS = 60.0
SAMPLE_SECONDS = 1.0
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
        ordered = [replace(file, opened=progress.opened(file)) for file in ordered]
        with _Terminal(progress) if stderr_is_terminal() else _Lines(progress) as screen:
            report = memory.ingest_files(ordered, progress=screen.note, **options)
    except KeyboardInterrupt:
        sentence = "Stopped before anything was read." if progress is None else progress.stopped()
        raise KeyboardInterrupt(sentence) from None
    places = {file.label: at for at, file in enumerate(given)}
    report.files.sort(key=lambda file: places.get(_file_of(file.path, places), len(places)))
    return report


class ReadingProgress:
    """Counts what has been read of some files. Call take with the report of a file as it grows, and
    give each file what opened() returns for it. Its texts may be asked for in another thread."""

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
        self._streams: list[BinaryIO] = []  # of the file that was opened last
        self._opened = ""
        self._furthest = ("", 0)  # the current file, and how far it is
        self.files_done = 0
        self.added = 0
        self._files_bytes = 0

    def opened(self, file: LogFile) -> Callable[[BinaryIO], None]:
        """What takes each stream of a file as it is opened."""

        def note_stream(stream: BinaryIO) -> None:
            before = self._streams if self._opened == file.label else []
            self._streams = [*(other for other in before if not other.closed), stream]
            self._opened = file.label

        return note_stream

    def take(self, report: FileReport) -> FileReport | None:
        """Takes the report of a file, which may still grow. Returns that of the one before, if it
        is done now."""
        done = None
        if report is not self._report:
            done, self._report = self._report, report
            if done is not None:
                self.added += done.added
            label = _file_of(report.path, self._sizes)
            if label != self._label:
                self._end_file()
                self._label = label
        now = self._clock()
        if done is not None or now - self._samples[-1][0] >= SAMPLE_SECONDS:
            self._samples.append((now, self.bytes_done))
            while self._samples[0][0] < now - SPEED_SECONDS and len(self._samples) > 1:
                self._samples.popleft()
        return done

    def _end_file(self) -> None:
        if self._label:
            self.files_done += 1
            self._files_bytes += self._sizes.get(self._label, 0)

    @property
    def bytes_done(self) -> int:
        """The bytes of the files that are done, and those of the current one whose messages are
        stored or about to be."""
        label = self._label
        if not label:
            return 0
        if self._opened not in ("", label):  # the next one
            return self._files_bytes + self._sizes.get(label, 0)
        before = self._furthest[1] if self._furthest[0] == label else 0
        position = max(before, self._position(0)) if self._opened else 0
        self._furthest = (label, position)
        return self._files_bytes + position

    def _position(self, number: int) -> int:
        """The place in the stream that was opened as the first, or with -1 the last, of those that
        are open. A file is read several times, for its hash and for what only its whole shows,
        before its messages are."""
        streams = [stream for stream in self._streams if not stream.closed]
        try:
            position = streams[number].tell() if streams else 0
        except (OSError, ValueError):  # closed by the thread that reads
            position = 0
        return min(position, self._sizes.get(self._opened, 0))

    def counts(self) -> list[str]:
        """How far the reading is, in parts of a line."""
        files, now, done = len(self._sizes), self._clock(), self.bytes_done
        parts = [f"{self.files_done:,} of {count_of(files, 'file')}"]
        if files > 1 and self.files_done == files - 1:
            parts = [f"the last of {files:,} files, then the topics"]
        parts.append(f"{file_size(done)} of {file_size(self._total)}")
        began, before = self._samples[0]
        speed = (done - before) / max(now - began, 1e-9)
        if now - self._began >= ESTIMATE_SECONDS and speed > 0:
            left = (self._total - done) / speed
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
        label, state = self._current()
        if state:
            name = PurePath(label).name
            lines.append(shorten(name, max(8, width - len(state))) + state)
        return [line for line in lines if line] or ["Reading …"]

    def _current(self) -> tuple[str, str]:
        """The current file, and what is done with it; "" if there is nothing to say."""
        if self._opened not in ("", self._label) and (position := self._position(-1)):
            size = self._sizes.get(self._opened, 0)
            return self._opened, f": looked through {position / max(size, 1):.0%}"
        if self._report is not None and self._report.added:
            return self._report.path, f": {self._report.added:,} added"
        return "", ""

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
        self._status = self._console.status(_Drawn(progress, self._console))
        self._began = time.monotonic()
        self._problems = 0

    def __enter__(self) -> _Terminal:
        self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._status.stop()

    def note(self, report: FileReport) -> None:
        """Takes a report; what has changed is drawn ten times a second, in a thread."""
        done = self._progress.take(report)
        if done is not None and time.monotonic() - self._began >= PROBLEMS_AFTER_SECONDS:
            self._print_problems(done)

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


class _Drawn:
    """The lines of the progress as they are when they are drawn."""

    def __init__(self, progress: ReadingProgress, console: Console) -> None:
        self._progress, self._console = progress, console

    def __rich__(self) -> Text:
        return _text("\n".join(self._progress.lines(max(20, self._console.width - len("⠋ ")))))


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
