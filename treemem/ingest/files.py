"""Reads log files and stores their messages, in batches, and reports on every record.

Importers yield events. This module counts them, matches the messages with those in the memory file
(matching.py), counts the tokens of the new ones, and stores each batch in one transaction with
the job that seals it. At most two batches are in memory: one is stored while the tokens of the
next are counted.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from treemem import importers
from treemem.errors import (
    EncryptedLogError,
    ImportFileError,
    MissingPackageError,
    UnknownFormatError,
    UsageError,
)
from treemem.forgetting.tombstones import Tombstones
from treemem.importers.common import archives, own
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.own import ReadLog
from treemem.importers.common.sniffing import is_blank
from treemem.importers.common.source_ids import TITLE_CHARS_MAX
from treemem.importers.streams.heads import HEAD_BYTES
from treemem.importers.streams.marks import GrowingImporter, Mark, ReadWholeError
from treemem.ingest import blobs, growth, matching, reconcile, renewal
from treemem.ingest.continuations import Continuation
from treemem.ingest.growth import Before, Hashes, KnownLog, MarkKeeper
from treemem.ingest.looks import Look
from treemem.ingest.matching import LogMessage, MessageMatcher
from treemem.ingest.order import TOLD_WHOLE, HeldBackError, ParentsFirst, has_whole
from treemem.ingest.titles import TitlesElsewhere
from treemem.privacy.policy import Redaction
from treemem.reports import FileProgress, FileReport, IngestReport
from treemem.store import imported_files, messages, sources
from treemem.store.database import Database
from treemem.store.file.sidecars import is_own
from treemem.store.messages import PreparedMessage
from treemem.summarize.prompts import begins_own_call
from treemem.text.tokens import count_many
from treemem.times import Clock
from treemem.types import Message, Source
from treemem.worker import source_jobs

# A batch is stored once it has this many messages, or characters of text.
BATCH_MESSAGES_MAX = 1_000
BATCH_CHARS_MAX = 4_000_000
# Why a record is skipped. A model server or agent that treemem calls may log those calls, which
# are not conversations.
OWN_CALL = "treemem's own model call"
FORGOTTEN = "forgotten, see treemem forget --list"
OVERSIZE = "message over the size limit"

_OWN_FILE = "{} belongs to the memory file that is in use, so it is not a log."
_AS_MINE = ", as mine"
_DATA_VERSION = "PRAGMA data_version"
_HASH_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Options:
    """How files are ingested.

    importer: None to detect the format. keep_blobs: the folder to write attachments to; None to
    drop them. growing: the files are read repeatedly, so only the latest state of each is
    recorded as read. aliases_in: the memory file to look aliases up in, for a trial that stores
    the messages in another one. as_mine: the user of a chat that may be anybody's is the reader.
    part_stored: called with a source's id when a batch of it is stored and more of the file is to
    come.
    """

    redaction: Redaction
    importer: Importer | None = None
    progress: FileProgress | None = None
    keep_blobs: Path | None = None
    growing: bool = False
    aliases_in: Database | None = None
    as_mine: bool = False
    part_stored: Callable[[str], object] | None = None


def _events(importer: Importer, file: LogFile) -> Iterator[Event]:
    """The events of a file; those of a program's own importer are checked."""
    is_own = importer not in importers.IMPORTERS
    return own.checked_events(importer, file) if is_own else importer.read(file)


def _marked_events(
    importer: Importer, file: LogFile, known: KnownLog | None
) -> Iterator[Event | Mark]:
    """Like _events, with the file's mark, if it can have one, and from that of a known log on."""
    if importer in importers.IMPORTERS and isinstance(importer, GrowingImporter):
        return importer.read_on(file, *(known.mark, known.seen) if known else ())
    return iter(_events(importer, file))


def chosen_importer(
    format_name: str | None, importer: Importer | ReadLog | None
) -> Importer | None:
    """The importer that reads every file; None to detect the format of each. Raises UsageError."""
    if importer is not None:
        if format_name is not None:
            raise UsageError("Give a format's name or an importer, not both.")
        return own.importer_of(importer)
    return None if format_name is None else importers.by_name(format_name)


def ingest_all(
    database: Database,
    files: Iterable[LogFile],
    clock: Clock,
    finish: Callable[[FileReport], object],
    options: Options,
) -> IngestReport:
    """Stores the messages of the files and of archive members. Calls finish with each report."""
    report = IngestReport()
    if options.importer is None:
        database.add_notices(importers.problems())
    titles = TitlesElsewhere(database, options.redaction)
    ordered = ParentsFirst(database, files, waits=not options.growing)
    for file in ordered:
        if file.path is not None and is_own(database.path, file.path):
            if not file.found:
                report.files.append(FileReport(file.label, error=_OWN_FILE.format(file.label)))
            continue
        try:
            for file_report in file_reports(database, file, clock, options, titles, ordered):
                report.files.append(file_report)
                finish(file_report)
                ordered.stored(file_report.sources)
                if options.progress is not None:
                    options.progress(file_report)
        except HeldBackError:
            continue
    titles.give()
    return report


def file_reports(
    database: Database,
    file: LogFile,
    clock: Clock,
    options: Options,
    titles: TitlesElsewhere | None = None,
    ordered: ParentsFirst | None = None,
) -> Iterator[FileReport]:
    """Ingests a file and yields its report. For an archive, yields one report for all skipped
    members, if any, and one for each other member. titles: gets those of sessions of other
    files. ordered: the order of the files. Raises HeldBackError if this one comes later in it."""
    ingest = FileIngest(database, file, clock, options, titles, ordered)
    if ingest.is_unchanged():
        yield ingest.report
        return
    try:
        with archives.open_archive(file) as archive:
            if archive is None:
                yield ingest.run()
                return
            skipped_members = FileReport(file.label, found=file.found)
            for skipped in archive.survey():
                skipped_members.note(skipped)
            if skipped_members.records:
                yield skipped_members
            for member in archive.members():
                yield FileIngest(database, member, clock, options, titles).run()
    except (ImportFileError, OSError) as error:
        report = FileReport(file.label, found=file.found)
        _note_error(report, file, error)
        yield report


def _note_error(report: FileReport, file: LogFile, error: ImportFileError | OSError) -> None:
    report.unknown = isinstance(error, UnknownFormatError)
    if isinstance(error, MissingPackageError):
        report.needs = (error.kind, error.install)
    if isinstance(error, EncryptedLogError):
        report.needs = (error.kind, error.advice)
    if isinstance(error, ImportFileError):
        report.error = str(error)
    else:
        report.error = f"{file.label}: {error.strerror or error}"


@dataclass(slots=True)
class _Batch:
    """Messages to be stored together, by source, in the order of the log.

    data_version: PRAGMA data_version before the first match; it changes when another connection
    writes. chars: the length of the texts before redaction.
    """

    data_version: int
    by_source: dict[str, list[PreparedMessage]] = field(default_factory=dict)
    count: int = 0
    chars: int = 0

    def add(self, source_id: str, item: PreparedMessage, chars: int) -> None:
        self.by_source.setdefault(source_id, []).append(item)
        self.count += 1
        self.chars += chars

    def is_full(self) -> bool:
        return self.count >= BATCH_MESSAGES_MAX or self.chars >= BATCH_CHARS_MAX


class FileIngest:
    """Ingests one file. report: the outcome of every record, filled in by run()."""

    def __init__(
        self,
        database: Database,
        file: LogFile,
        clock: Clock,
        options: Options,
        titles: TitlesElsewhere | None = None,
        ordered: ParentsFirst | None = None,
    ) -> None:
        self._database = database
        self._titles = titles
        self._ordered = ordered
        self._file = file
        self._clock = clock
        self._options = options
        self._reading = options.redaction.label + (_AS_MINE if options.as_mine else "")
        self._look = Look(file, options.importer, self._reading)
        self._sources: dict[str, Source] = {}
        self._is_own_call: dict[str, bool] = {}
        self._is_mine: dict[str, bool] = {}
        self._ends: list[tuple[str, str]] = []
        self._known: KnownLog | None = None
        self._marks: MarkKeeper | None = None
        self._tombstones = Tombstones(options.aliases_in or database)
        self.report = FileReport(file.label, found=file.found)

    @property
    def _may_be_known(self) -> bool:
        """Whether a file that was read need not be read again. Its attachments need that: whether
        they were written is not stored."""
        return self._options.keep_blobs is None

    def is_unchanged(self) -> bool:
        """Whether the file looks as it did when it was read. Then its report is complete."""
        return self._may_be_known and self._look.load(self._database, self.report)

    def run(self) -> FileReport:
        """Stores the file's messages. If the file cannot be read, sets report.error. Raises
        HeldBackError if it comes later, before anything is stored."""
        file = self._file
        try:
            self._run()
            self._check_format(file)
        except (ImportFileError, OSError) as error:
            _note_error(self.report, self._file, error)
        return self.report

    def _run(self) -> None:
        original = self._file
        reading = self._reading
        known = self._known_log(reading)
        if known is not None and not known.is_much_larger and self._run_on(known, reading):
            return
        self._file = original
        importer = self._options.importer or importers.detect(self._file)
        self.report.format = importer.name
        lookup = self._options.aliases_in or self._database
        continuation = Continuation(lookup, self._file, importer)
        hashes = Hashes()
        digest = _digest_of(self._file, importer, reading, (continuation.update, hashes.update))
        self._file = continuation.finish()
        if self._may_be_known and imported_files.load(self._database, digest, self.report):
            continuation.remember(self._database)
            self._look.remember(self._database, importer, digest)
            return
        if known is None or not self._read(importer, reading, hashes, known):
            self._read(importer, reading, hashes, None)
        # Of a log of which nothing is stored, as it was forgotten, not even the name comes back.
        stored = self.report.added + self.report.known
        is_forgotten = not stored and FORGOTTEN in self.report.skipped
        if not is_forgotten:
            continuation.remember(self._database)
        with self._database.transaction():
            self._keep_titles()
            if not is_forgotten:
                self._keep_mark()
            growing = self._options.growing
            imported_files.remember(self._database, digest, self.report, growing=growing)
            self._look.remember(self._database, importer, digest)

    def _known_log(self, reading: str) -> KnownLog | None:
        """What is known of a log that may have grown; None to read it from its start."""
        if self._options.keep_blobs is not None:
            return None
        return growth.known_log(self._database, self._file, self._options.importer, reading)

    def _run_on(self, known: KnownLog, reading: str) -> bool:
        """Stores what is new in a log. Returns False if it has to be read from its start."""
        self._file = known.file
        self.report.format = known.importer.name
        if known.is_unchanged:
            known.at_end.fill_in(self.report)
            return True
        if not self._read(known.importer, reading, known.hashes, known):
            return False
        with self._database.transaction():
            self._keep_titles()
            self._keep_mark()
        return True

    def _read(
        self, importer: Importer, reading: str, hashes: Hashes, known: KnownLog | None
    ) -> bool:
        """Stores the messages, on from the mark of a known log. Returns False, before any is
        stored, if it has to be read from its start."""
        self._known = known
        self._marks = MarkKeeper(importer, reading, hashes, known)
        if known is not None:
            known.before.fill_in(self.report)
            self._is_own_call.update(known.before.own_calls)
            self._ends += known.before.ends
        try:
            self._store_all(self._batches(importer))
        except ReadWholeError:
            self.report = FileReport(self._file.label, self.report.format, found=self._file.found)
            self._is_own_call.clear()
            self._ends.clear()
            return False
        except (ImportFileError, OSError):
            self._keep_titles()
            raise
        return True

    def _keep_mark(self) -> None:
        """Stores from where the log is read on. Call when its messages are stored."""
        if self._marks is not None:
            self._marks.store(
                self._database, self._file, self._found(), self._options.redaction, self._clock()
            )

    def _found(self) -> Before:
        """What was found up to here."""
        found = Before.of(self.report)
        found.own_calls, found.ends = dict(self._is_own_call), list(self._ends)
        return found

    def _keep_titles(self) -> None:
        if self._titles is not None:
            for end in self._ends:
                self._titles.add_end(*end)
            self._titles.keep()

    def _check_format(self, file: LogFile) -> None:
        """Raises ImportFileError if nothing could be read as the format that the user named, and
        the file is in another one. An own importer may read what it likes."""
        named = self._options.importer
        is_own = named is not None and named not in importers.IMPORTERS
        if named is None or is_own or self.report.added or self.report.known:
            return
        if is_blank(file.head(HEAD_BYTES)):
            return
        try:
            found = importers.detect(file)
        except UnknownFormatError:  # its records have been counted, and are in the report
            return
        if found is not named:
            raise ImportFileError(
                f"{file.label} has no messages in the format {named.name}; it looks like "
                f"{found.name}. Leave the format out, and it is detected."
            )

    def _store_all(self, batches: Iterable[_Batch]) -> None:
        """Stores each batch while the tokens of the next are counted on another core."""
        pending: tuple[_Batch, Future[dict[str, int]]] | None = None
        with ThreadPoolExecutor(max_workers=1) as pool:
            try:
                for batch in batches:
                    future = pool.submit(_count_tokens, self._new_in(batch))
                    if pending is not None:
                        self._store(pending[0], pending[1].result())
                    pending = (batch, future)
            except (ImportFileError, OSError):  # messages before the damage are intact
                if pending is not None:
                    self._store(pending[0], pending[1].result())
                raise
            if pending is not None:
                self._store(pending[0], pending[1].result())

    # -- reading -----------------------------------------------------------------------

    def _batches(self, importer: Importer) -> Iterator[_Batch]:
        matcher = self._matcher(self._known)
        batch = self._new_batch()
        try:
            for source, message in self._messages(importer, matcher):
                item = matcher.match(message, source)
                if item is None:
                    self.report.note(Skipped(FORGOTTEN))
                    continue
                batch.add(source.id, item, len(message.text))
                if batch.is_full():
                    yield batch
                    batch = self._new_batch()
        except (ImportFileError, OSError):
            if batch.count:
                yield batch
            raise
        if batch.count:
            yield batch

    def _messages(
        self, importer: Importer, matcher: MessageMatcher
    ) -> Iterator[tuple[Source, Message]]:
        """Yields the messages to store, with their sources. Counts every record in the report.
        matcher: is given each message before the next event is read."""
        current: str | None = None
        is_told = False
        for event in _marked_events(importer, self._file, self._known):
            if isinstance(event, Mark):
                assert self._marks is not None
                before = self._found()
                before.last_ids = dict(matcher.last_ids)
                self._marks.take(event, before, matcher.keys[:])
            elif isinstance(event, Source):
                if self._ordered is not None and not self._sources:
                    self._ordered.hold_back(self._file, event)
                if self._may_miss_messages(event):
                    self._retire_missing(importer)
                lookup = self._options.aliases_in or self._database
                is_told = has_whole(lookup, self._tombstones, event)
                current = event.id if is_told else self._open_source(event)
            elif isinstance(event, Skipped):
                if self._titles is not None and event.title is not None:
                    self._titles.add(*event.title)
                if event.end is not None:
                    self._ends.append(event.end)
                detail = self._options.redaction.excerpt(event.detail)
                self.report.note(replace(event, detail=detail, title=None, end=None))
            else:
                assert current is not None, importer.name
                if is_told:
                    self.report.note(Skipped(TOLD_WHOLE))
                    continue
                if current not in self._is_own_call:
                    self._is_own_call[current] = begins_own_call(event.text)
                if self._is_own_call[current]:
                    self.report.note(Skipped(OWN_CALL))
                elif len(event.text) > messages.TEXT_CHARS_MAX:
                    self.report.note(_oversize(event))
                else:
                    self.report.records += 1
                    yield self._sources[current], self._without_blobs(self._as_told(event, current))

    def _open_source(self, source: Source) -> str:
        known = self._sources.get(source.id)
        if known is None or (source.title and not known.title):
            title = self._options.redaction.title(source.title, TITLE_CHARS_MAX)
            if self._tombstones.has_source(source.id):
                title = None  # it may tell of what was forgotten
            project = self._options.redaction.text(source.project)
            self._sources[source.id] = replace(
                source, title=title, project=project, origin=self._origin(source.origin)
            )
        if source.id not in self.report.sources:
            self.report.sources.append(source.id)
        return source.id

    def _origin(self, origin: str | None) -> str | None:
        """The whole path of a log on disk, since the next command may run in another folder. Others
        keep their name: a member of an archive, standard input."""
        if self._file.path is None or origin is None:
            return origin
        if origin == self._file.label:
            return str(self._file.path.absolute())
        is_beside = os.path.isfile(origin)  # noqa: PTH113 - raises nothing, whatever the text
        return str(Path(origin).absolute()) if is_beside else origin

    def _as_told(self, message: Message, source_id: str) -> Message:
        """The message as the reader's own, if the reader has said that the source's user is."""
        if message.role != "user" or message.origin != "person":
            return message
        if source_id not in self._is_mine:
            self._is_mine[source_id] = self._options.as_mine or sources.is_mine(
                self._database, source_id
            )
        return replace(message, origin=None) if self._is_mine[source_id] else message

    def _may_miss_messages(self, source: Source) -> bool:
        """Whether stored messages may be missing from the file. True only at its first source,
        since one extra reading of the file finds those of all its sources."""
        if self._sources or not (source.snapshot or source.rewritten):
            return False
        if self._known is not None:  # all that stands before its mark is as it was
            return False
        return sources.has_format(self._database, source.format)

    def _retire_missing(self, importer: Importer) -> None:
        """Retires the messages that the log no longer contains. Runs before any new message is
        stored, so that a crash in between never lets old and new be sealed together."""
        matcher = self._matcher()
        log_sources: dict[str, Source] = {}
        in_log: dict[str, set[LogMessage]] = {}
        current = ""
        for event in _events(importer, self._file):
            if isinstance(event, Source):
                current = event.id
                log_sources.setdefault(current, event)
                in_log.setdefault(current, set())
            elif isinstance(event, Message) and len(event.text) <= messages.TEXT_CHARS_MAX:
                item = matcher.match(self._without_blobs(event), log_sources[current])
                if item is None:  # forgotten, so it is not stored
                    continue
                in_log[current].add(LogMessage(item.id, item.identity, item.replaces))
        for source in log_sources.values():
            reconcile.retire_missing(self._database, source, in_log[source.id], self._clock)

    def _without_blobs(self, message: Message) -> Message:
        return blobs.without_content(message, self._options.keep_blobs)

    def _matcher(self, known: KnownLog | None = None) -> MessageMatcher:
        options = self._options
        return MessageMatcher(self._database, options.redaction, options.aliases_in, known)

    def _new_batch(self) -> _Batch:
        return _Batch(int(self._database.value(_DATA_VERSION)))

    # -- storing -----------------------------------------------------------------------

    def _new_in(self, batch: _Batch) -> list[PreparedMessage]:
        """The messages of a batch that are not stored. Gives those with a renamed author their
        stored ids, in the batch."""
        items = [item for items in batch.by_source.values() for item in items]
        unknown = matching.unknown_of(self._database, items)
        stored_ids = matching.renamed(self._database, unknown)
        if stored_ids:
            for source_id, items in batch.by_source.items():
                batch.by_source[source_id] = [
                    replace(item, id=stored_ids.get(item.id, item.id)) for item in items
                ]
            unknown = [item for item in unknown if item.id not in stored_ids]
        for item in unknown:
            self.report.count_redacted(item.redacted)
        return unknown

    def _store(self, batch: _Batch, tokens: dict[str, int]) -> None:
        with self._database.transaction():
            others_wrote = self._database.value(_DATA_VERSION) != batch.data_version
            for source_id, items in batch.by_source.items():
                if others_wrote:
                    items = self._matcher().match_again(items, source_id)
                source = self._sources[source_id]
                seq = sources.ensure(self._database, source, self._clock())
                counts = messages.add(self._database, seq, items, tokens, snapshot=source.snapshot)
                if self._is_mine.get(source_id):
                    sources.set_mine(self._database, seq)
                if counts.known:
                    renewal.renew_origins(self._database, items, self._clock())
                source_jobs.admit_seal(self._database, source_id, self._clock())
                self.report.added += counts.added
                self.report.known += counts.known
        if self._options.progress is not None:
            self._options.progress(self.report)
        if self._options.part_stored is not None and batch.is_full():
            longest = max(batch.by_source, key=lambda source_id: len(batch.by_source[source_id]))
            self._options.part_stored(longest)


def _digest_of(
    file: LogFile, importer: Importer, reading: str, updates: Sequence[Callable[[bytes], None]]
) -> str:
    """A hash over the importer, how it is read, and every byte of the file and its companions.
    updates: are given the bytes of the file."""
    state = hashlib.blake2b(digest_size=16, person=b"file")
    state.update(f"{importer.name}/{importer.version}\n{reading}\n".encode())
    for part in (file, *importer.companions(file)):
        with part.open() as stream:
            while block := stream.read(_HASH_BLOCK_BYTES):
                state.update(block)
                for update in updates if part is file else ():
                    update(block)
        # Subtle: only companions end with a mark, so a file without any is hashed as before.
        state.update(b"" if part is file else b"\0end\0")
    return state.hexdigest()


def _oversize(message: Message) -> Skipped:
    detail = f"{len(message.text):,} characters, {messages.TEXT_CHARS_MAX:,} are allowed"
    return Skipped(OVERSIZE, problem=True, detail=detail)


def _count_tokens(items: Sequence[PreparedMessage]) -> dict[str, int]:
    """The tokens of each message, by its id."""
    counts = count_many([item.message.text for item in items])
    return {item.id: count for item, count in zip(items, counts, strict=True)}
