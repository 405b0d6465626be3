"""From log files to stored messages: batches, one transaction each, and an honest report.

Importers yield events; this module counts them, works out ids and tokens, and stores the
messages together with the job that will seal them. It keeps one batch in memory, and the
next one being counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypedDict, Unpack

from treemem import ids, importers, times
from treemem.errors import ImportFileError, UnknownFormatError
from treemem.importers.common import archives
from treemem.importers.common.base import Importer, LogFile, Skipped
from treemem.importers.common.source_ids import TITLE_CHARS_MAX
from treemem.ingest import blobs, ledger, reconcile, renamed
from treemem.ingest.torn_records import HalfWritten
from treemem.privacy.policy import Redaction
from treemem.reports import FileProgress, FileReport, IngestReport
from treemem.store import messages
from treemem.store.database import Database
from treemem.store.messages import Prepared
from treemem.store.sidecars import is_own
from treemem.summarize.prompts import begins_own_call
from treemem.text.tokens import count_many
from treemem.times import Clock
from treemem.types import Message, Source
from treemem.worker import source_jobs

BATCH_MESSAGES_MAX = 1_000
BATCH_CHARS_MAX = 4_000_000
# A model server, or the agent that treemem asks through, may log what treemem asked it: a
# summary's making is nothing that was said.
OWN_CALL = "treemem's own model call"
PARENT_AGENT = "parent agent"
OVERSIZE = "message over the size limit"


def ingest_all(
    database: Database,
    files: Iterable[LogFile],
    clock: Clock,
    finish: Callable[[], object],
    **options: Unpack[Options],
) -> IngestReport:
    """Stores what the files hold, those in archives too; calls finish after each."""
    report = IngestReport()
    for file in files:
        if file.path is not None and is_own(database.path, file.path):
            if not file.found:
                report.files.append(FileReport(file.label, error=_OWN_FILE.format(file.label)))
            continue
        for file_report in file_reports(database, file, clock, options):
            report.files.append(file_report)
            finish()
    return report


def file_reports(
    database: Database, file: LogFile, clock: Clock, options: Options
) -> Iterator[FileReport]:
    """What became of a file; of an archive, of each of its members, and of those passed over."""
    try:
        with archives.opened(file) as archive:
            if archive is None:
                yield FileIngest(database, file, clock, **options).run()
                return
            passed_over = FileReport(file.label, found=file.found)
            for skipped in archive.survey():
                passed_over.note(skipped)
            if passed_over.records:
                yield passed_over
            for member in archive.members():
                yield FileIngest(database, member, clock, **options).run()
    except (ImportFileError, OSError) as error:
        unknown = isinstance(error, UnknownFormatError)
        yield FileReport(file.label, error=_told(file, error), found=file.found, unknown=unknown)


_OWN_FILE = "{} belongs to the memory file that is in use, so it is no log."


def _told(file: LogFile, error: ImportFileError | OSError) -> str:
    if isinstance(error, ImportFileError):
        return str(error)
    return f"{file.label}: {error.strerror or error}"


class Options(TypedDict, total=False):
    """importer: None finds out. keep_blobs: a folder for the bytes of attachments. redaction:
    None is the one that the memory file is set to. growing: the files are read again and again,
    so of each only its latest state is remembered as read."""

    importer: Importer | None
    progress: FileProgress | None
    keep_blobs: Path | None
    redaction: Redaction | None
    growing: bool


@dataclass(slots=True)
class _Batch:
    """Messages on their way into the file, grouped by source in order of arrival.

    data_version: of the file when the first was prepared; it differs once others have written.
    """

    data_version: int
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
        progress: FileProgress | None = None,
        keep_blobs: Path | None = None,
        redaction: Redaction | None = None,
        growing: bool = False,
    ) -> None:
        self._database = database
        self._file = file
        self._clock = clock
        self._importer = importer
        self._progress = progress
        self._keep_blobs = keep_blobs
        self._redaction = redaction or Redaction(database)
        self._growing = growing
        self._sources: dict[str, Source] = {}
        self._occurrences: dict[str, int] = {}
        self._own_calls: dict[str, bool] = {}
        self._half_written: dict[str, HalfWritten] = {}
        self.report = FileReport(file.label, found=file.found)

    def run(self) -> FileReport:
        """Stores what the file holds. A file that is no log ends up as report.error."""
        try:
            importer = self._importer or importers.detect(self._file)
            self.report.format = importer.name
            digest = ledger.digest_of(self._file, importer, self._redaction.label)
            # Whether the bytes of its attachments were kept is not remembered.
            if self._keep_blobs is None and ledger.load(self._database, digest, self.report):
                return self.report
            self._read(importer)
            ledger.remember(self._database, digest, self.report, growing=self._growing)
        except (ImportFileError, OSError) as error:
            self.report.error = _told(self._file, error)
            self.report.unknown = isinstance(error, UnknownFormatError)
        return self.report

    # -- what a log no longer holds ---------------------------------------------------------

    def _retire_missing(self, importer: Importer) -> None:
        """What a log no longer holds steps back, before anything new of it is stored, so that a
        crash in between leaves no mixture of both to be sealed. Words stay stored."""
        held: dict[str, set[reconcile.Held]] = {}
        sources: dict[str, Source] = {}
        current = ""
        for event in importer.read(self._file):
            if isinstance(event, Source):
                current = event.id
                sources.setdefault(current, event)
                held.setdefault(current, set())
            elif isinstance(event, Message) and len(event.text) <= messages.TEXT_BYTES_MAX:
                item = self._prepare(event, sources[current])
                held[current].add(reconcile.Held(item.id, item.identity, item.replaces))
        self._occurrences.clear()
        self._half_written.clear()
        for source_id, source in sources.items():
            with self._database.transaction():
                sql = "SELECT seq FROM source WHERE id = ?"
                source_seq = self._database.value(sql, (source_id,))
                if source_seq is not None:
                    self._retire(source, source_seq, held[source_id])

    def _retire(self, source: Source, source_seq: int, held: set[reconcile.Held]) -> None:
        if source.snapshot:
            reconcile.replace_missing(self._database, source_seq, held)
            # Should the document go back to an earlier state, that has to be read: also after a
            # crash, so they are forgotten before anything of it is stored.
            ledger.forget_states(self._database, source.id)
        elif source.rewritten:
            reconcile.abandon_taken_back(self._database, source_seq, held)
        source_jobs.admit_seal(self._database, source.id, self._clock())

    def _is_retiring(self, source: Source) -> bool:
        """Whether something of the file may be stored that it no longer holds: before its first
        source is opened, since that takes reading it once more."""
        if self._sources or not (source.snapshot or source.rewritten):
            return False
        sql = "SELECT 1 FROM source WHERE format = ? LIMIT 1"
        return self._database.row(sql, (source.format,)) is not None

    # -- reading -----------------------------------------------------------------------

    def _read(self, importer: Importer) -> None:
        """One batch is stored while the tokens of the next are counted on another core."""
        pending: tuple[_Batch, Future[dict[str, int]]] | None = None
        with ThreadPoolExecutor(max_workers=1) as pool:
            try:
                for batch in self._batches(importer):
                    future = pool.submit(_count, self._unknown(batch))
                    if pending is not None:
                        self._store(pending[0], pending[1].result())
                    pending = (batch, future)
            except (ImportFileError, OSError):  # damage: what was read before it is whole
                if pending is not None:
                    self._store(pending[0], pending[1].result())
                raise
            if pending is not None:
                self._store(pending[0], pending[1].result())

    def _batch(self) -> _Batch:
        return _Batch(int(self._database.value(_DATA_VERSION)))

    def _batches(self, importer: Importer) -> Iterator[_Batch]:
        batch = self._batch()
        current: str | None = None
        try:
            for event in importer.read(self._file):
                if isinstance(event, Source):
                    if self._is_retiring(event):
                        self._retire_missing(importer)
                    current = self._open_source(event)
                    continue
                if isinstance(event, Skipped):
                    detail = self._redaction.excerpt(event.detail)
                    self.report.note(replace(event, detail=detail))
                    continue
                assert current is not None, f"{importer.name} yielded a message before its source"
                if self._own_calls.setdefault(current, begins_own_call(event.text)):
                    self.report.note(Skipped(OWN_CALL))
                    continue
                if len(event.text) > messages.TEXT_BYTES_MAX:
                    self.report.note(_oversize(event))
                    continue
                item = self._prepare(event, self._sources[current])
                batch.by_source.setdefault(current, []).append(item)
                self.report.records += 1
                batch.count += 1
                batch.chars += len(event.text)
                if batch.is_full():
                    yield batch
                    batch = self._batch()
        except (ImportFileError, OSError):
            if batch.count:
                yield batch
            raise
        if batch.count:
            yield batch

    def _open_source(self, source: Source) -> str:
        known = self._sources.get(source.id)
        if known is None or (source.title and not known.title):
            title = self._redaction.title(source.title, TITLE_CHARS_MAX)
            self._sources[source.id] = replace(source, title=title)
        if source.id not in self.report.sources:
            self.report.sources.append(source.id)
        return source.id

    def _prepare(self, message: Message, source: Source) -> Prepared:
        text = message.text
        message = messages.cleaned(blobs.kept(message, self._keep_blobs))
        if source.parent_id is not None and not self._is_known(message, source.id):
            message = _from_parent(message)
        item = self._redaction.prepare(
            message, source.id, lambda each: self._occurrence(each, source.id)
        )
        if source.snapshot:  # what it no longer holds has stepped back
            return item
        if source.id not in self._half_written:
            self._half_written[source.id] = HalfWritten(self._database, source.id)
        return self._half_written[source.id].seen(item, text)

    def _is_known(self, message: Message, source_id: str) -> bool:
        """Whether the very message is stored, as where a sub-agent's log repeats its parent's."""
        if not message.unique_id:
            return False
        item = self._redaction.prepare(message, source_id, lambda _: 0)
        return bool(messages.known_ids(self._database, [item.id]))

    def _occurrence(self, message: Message, source_id: str) -> int:
        """Repetitions without an id of their own are told apart by counting them."""
        if message.external_id is not None:
            return 0
        sent_at, _ = times.parse(message.sent_at)
        plain = ids.message_id(message, source_id, sent_at, 0)
        occurrence = self._occurrences.get(plain, 0)
        self._occurrences[plain] = occurrence + 1
        return occurrence

    # -- storing -----------------------------------------------------------------------

    def _unknown(self, batch: _Batch) -> list[Prepared]:
        """The messages to be stored; those that only have another name on them are none."""
        items = [item for items in batch.by_source.values() for item in items]
        known = messages.known_ids(self._database, [item.id for item in items])
        unknown = [item for item in items if item.id not in known]
        stored = renamed.stored_ids(self._database, unknown)
        if stored:
            for source_id, found in batch.by_source.items():
                batch.by_source[source_id] = [
                    replace(item, id=stored.get(item.id, item.id)) for item in found
                ]
            unknown = [item for item in unknown if item.id not in stored]
        for item in unknown:
            self.report.count_redacted(item.redacted)
        return unknown

    def _asked_again(self, items: Sequence[Prepared], source_id: str) -> list[Prepared]:
        known = messages.known_ids(self._database, [item.id for item in items])
        return [item if item.id in known else self._redaction.asked_again(item, source_id)
                for item in items]  # fmt: skip

    def _store(self, batch: _Batch, tokens: dict[str, int]) -> None:
        with self._database.transaction():
            others_wrote = self._database.value(_DATA_VERSION) != batch.data_version
            for source_id, items in batch.by_source.items():
                if others_wrote:
                    items = self._asked_again(items, source_id)
                source = self._sources[source_id]
                seq = messages.ensure_source(self._database, source, self._clock())
                stored = messages.add(self._database, seq, items, tokens, snapshot=source.snapshot)
                source_jobs.admit_seal(self._database, source_id, self._clock())
                self.report.added += stored.added
                self.report.known += stored.known
        if self._progress is not None:
            self._progress(self.report)


_DATA_VERSION = "PRAGMA data_version"


def _from_parent(message: Message) -> Message:
    """What a sub-agent is told in the user's name was said by the agent that started it: no rule
    for its task must become the user's."""
    if message.role != "user" or message.kind != "said":
        return message
    return replace(message, role="other", author=message.author or PARENT_AGENT)


def _oversize(message: Message) -> Skipped:
    detail = f"{len(message.text):,} characters, {messages.TEXT_BYTES_MAX:,} are allowed"
    return Skipped(OVERSIZE, problem=True, detail=detail)


def _count(unknown: Sequence[Prepared]) -> dict[str, int]:
    """The tokens of each message, by its id."""
    counts = count_many([item.message.text for item in unknown])
    return {item.id: count for item, count in zip(unknown, counts, strict=True)}
