"""From log files to stored messages: batches, one transaction each, and an honest report.

Importers yield events; this module counts them, works out ids and tokens, and stores the
messages together with the job that will seal them. It keeps one batch in memory, and the
next one being counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from treemem import ids, importers, light, messages, times
from treemem.database import Database
from treemem.errors import ImportFileError, UsageError
from treemem.importers.base import Importer, LogFile, Skipped
from treemem.messages import Prepared
from treemem.model import FileReport, Message, Source
from treemem.tokens import count_many

BATCH_MESSAGES_MAX = 1_000
BATCH_CHARS_MAX = 4_000_000
PROBLEMS_KEPT = 20
_HASH_BLOCK_BYTES = 1 << 20
# What is in a folder but is no log: skipped without a word unless it is named itself.
_IGNORED_FOLDERS = {".git", "node_modules", "__pycache__", ".venv"}

Progress = Callable[[FileReport], None]
Clock = Callable[[], int]


def find_files(paths: Iterable[str | Path]) -> Iterator[LogFile]:
    """The files under the paths, folders walked in name order. Raises UsageError for a path
    that does not exist."""
    for name in paths:
        path = Path(name)
        if path.is_dir():
            for found in sorted(path.rglob("*")):
                inside = found.relative_to(path).parts
                if found.is_file() and not _IGNORED_FOLDERS.intersection(inside):
                    yield LogFile(str(found), found)
        elif path.is_file():
            yield LogFile(str(path), path)
        elif path.exists():
            # A pipe can be read only once, and some devices never end.
            raise UsageError(f"{path} is no regular file. Pipe it in instead: treemem ingest -")
        else:
            raise UsageError(f"{path} does not exist.")


@dataclass(slots=True)
class _Batch:
    """Messages on their way into the file, grouped by source in order of arrival."""

    by_source: dict[str, list[Prepared]] = field(default_factory=dict)
    count: int = 0
    chars: int = 0

    def is_full(self) -> bool:
        return self.count >= BATCH_MESSAGES_MAX or self.chars >= BATCH_CHARS_MAX


class FileIngest:
    """The ingest of one file. run() does it; report says what became of every record."""

    def __init__(
        self,
        database: Database,
        file: LogFile,
        clock: Clock,
        *,
        importer: Importer | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._database = database
        self._file = file
        self._clock = clock
        self._importer = importer
        self._progress = progress
        self._sources: dict[str, Source] = {}
        self._occurrences: dict[str, int] = {}
        self.report = FileReport(file.label)

    def run(self) -> FileReport:
        """Stores what the file holds. A file that is no log ends up as report.error."""
        try:
            importer = self._importer or importers.detect(self._file)
            self.report.format = importer.name
            digest = _digest(self._file, importer)
            if not self._known_file(digest):
                self._read(importer)
                self._finish(digest)
        except ImportFileError as error:
            self.report.error = str(error)
        except OSError as error:
            self.report.error = f"{self._file.label}: {error.strerror or error}"
        return self.report

    # -- a file that was read to its end before ----------------------------------------

    def _known_file(self, digest: str) -> bool:
        sql = ("SELECT source_ids, records, messages, skipped, problems, problem_count "
               "FROM imported_file WHERE digest = ?")  # fmt: skip
        row = self._database.row(sql, (digest,))
        if row is None:
            return False
        self.report.sources = json.loads(row[0])
        self.report.records, self.report.known = row[1], row[2]
        self.report.skipped = json.loads(row[3])
        self.report.problems, self.report.problem_count = json.loads(row[4]), row[5]
        return True

    def _finish(self, digest: str) -> None:
        """Remembers the file, only now that all of it is stored."""
        report = self.report
        # Not an empty one: it belongs to no source yet, so that nothing could make it forgotten
        # when a document, filled in the meantime, is emptied again.
        if report.added + report.known == 0:
            return
        with self._database.transaction():
            self._database.execute(
                _REMEMBER,
                (digest, json.dumps(report.sources), report.records, report.added + report.known,
                 json.dumps(report.skipped), json.dumps(report.problems), report.problem_count),
            )  # fmt: skip

    def _retire_missing(self, importer: Importer) -> None:
        """What a document no longer holds steps back, before anything new of it is stored, so
        that a crash in between leaves no mixture of both to be sealed. Words stay stored."""
        ids_now: dict[str, set[str]] = {}
        current = ""
        for event in importer.read(self._file):
            if isinstance(event, Source):
                current = event.id
                ids_now.setdefault(current, set())
            elif isinstance(event, Message):
                ids_now[current].add(self._prepare(event, current).id)
        self._occurrences.clear()
        for source_id, message_ids in ids_now.items():
            with self._database.transaction():
                sql = "SELECT seq FROM source WHERE id = ?"
                source_seq = self._database.value(sql, (source_id,))
                if source_seq is not None:
                    kept = set(messages.known_ids(self._database, list(message_ids)).values())
                    messages.retire_missing(self._database, source_seq, kept)
                    # Should the document go back to an earlier state, that has to be read: also
                    # after a crash, so they are forgotten before anything of it is stored.
                    self._database.execute(_FORGET_STATES, {"source": source_id})
                    light.admit_seal(self._database, source_id, self._clock())

    # -- reading -----------------------------------------------------------------------

    def _read(self, importer: Importer) -> None:
        """One batch is stored while the tokens of the next are counted on another core."""
        pending: tuple[_Batch, Future[dict[str, int]]] | None = None
        with ThreadPoolExecutor(max_workers=1) as pool:
            for batch in self._batches(importer):
                future = pool.submit(_count, self._unknown(batch))
                if pending is not None:
                    self._store(pending[0], pending[1].result())
                pending = (batch, future)
            if pending is not None:
                self._store(pending[0], pending[1].result())

    def _batches(self, importer: Importer) -> Iterator[_Batch]:
        batch = _Batch()
        current: str | None = None
        for event in importer.read(self._file):
            if isinstance(event, Source):
                if event.snapshot and not self._sources:
                    self._retire_missing(importer)
                current = self._open_source(event)
                continue
            self.report.records += 1
            if isinstance(event, Skipped):
                self._note(event)
                continue
            assert current is not None, f"{importer.name} yielded a message before its source"
            batch.by_source.setdefault(current, []).append(self._prepare(event, current))
            batch.count += 1
            batch.chars += len(event.text)
            if batch.is_full():
                yield batch
                batch = _Batch()
        if batch.count:
            yield batch

    def _open_source(self, source: Source) -> str:
        known = self._sources.get(source.id)
        if known is None or (source.title and not known.title):
            self._sources[source.id] = source
        if source.id not in self.report.sources:
            self.report.sources.append(source.id)
        return source.id

    def _prepare(self, message: Message, source_id: str) -> Prepared:
        """Repetitions without an id of their own are told apart by counting them."""
        message = messages.cleaned(message)
        occurrence = 0
        if message.external_id is None:
            sent_at, _ = times.parse(message.sent_at)
            plain = ids.message_id(message, source_id, sent_at, 0)
            occurrence = self._occurrences.get(plain, 0)
            self._occurrences[plain] = occurrence + 1
        return messages.prepare(message, source_id, occurrence)

    def _note(self, event: Skipped) -> None:
        report = self.report
        report.skipped[event.reason] = report.skipped.get(event.reason, 0) + 1
        if event.problem:
            report.problem_count += 1
            if len(report.problems) < PROBLEMS_KEPT:
                where = f"{report.path}:{event.line}" if event.line else report.path
                detail = f" ({event.detail})" if event.detail else ""
                report.problems.append(f"{where}: {event.reason}{detail}")

    # -- storing -----------------------------------------------------------------------

    def _unknown(self, batch: _Batch) -> list[Prepared]:
        items = [item for items in batch.by_source.values() for item in items]
        known = messages.known_ids(self._database, [item.id for item in items])
        return [item for item in items if item.id not in known]

    def _store(self, batch: _Batch, tokens: dict[str, int]) -> None:
        with self._database.transaction():
            for source_id, items in batch.by_source.items():
                source = self._sources[source_id]
                source_seq = messages.ensure_source(self._database, source, self._clock())
                stored = messages.add(
                    self._database, source_seq, items, tokens, snapshot=source.snapshot
                )
                light.admit_seal(self._database, source_id, self._clock())
                self.report.added += stored.added
                self.report.known += stored.known
        if self._progress is not None:
            self._progress(self.report)


_REMEMBER = """
INSERT OR REPLACE INTO imported_file (digest, source_ids, records, messages, skipped, problems,
  problem_count) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_FORGET_STATES = """
DELETE FROM imported_file
WHERE EXISTS (SELECT 1 FROM json_each(source_ids) WHERE value = :source)
"""


def _count(unknown: Sequence[Prepared]) -> dict[str, int]:
    """The tokens of each message, by its id."""
    counts = count_many([item.message.text for item in unknown])
    return {item.id: count for item, count in zip(unknown, counts, strict=True)}


def _digest(file: LogFile, importer: Importer) -> str:
    """Over the importer and every byte: the same file again is known at reading speed."""
    state = hashlib.blake2b(digest_size=16, person=b"file")
    state.update(f"{importer.name}/{importer.version}\n".encode())
    with file.open() as stream:
        while block := stream.read(_HASH_BLOCK_BYTES):
            state.update(block)
    return state.hexdigest()
