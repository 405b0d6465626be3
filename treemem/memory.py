"""Memory: what a user of treemem holds. It parses nothing and decides little; it puts the
modules below together.

A Memory may be used from several threads; an async caller wraps its methods in
asyncio.to_thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from treemem import config
from treemem.reader import Reader
from treemem.reports import (
    FileProgress,
    IngestReport,
    ScrubReport,
    StepProgress,
    WorkProgress,
    WorkReport,
)
from treemem.store.database import Database
from treemem.times import Clock, now_ms
from treemem.types import Job, Message, ServedModel, Source

if TYPE_CHECKING:
    from treemem.diagnostics.estimate import Plan
    from treemem.importers.common.base import LogFile
    from treemem.privacy.policy import Redact, Redactions
    from treemem.topic_api import Topics


class Memory(Reader):
    """One memory file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Memory.open(Path(folder) / "memory.sqlite3") as memory:
        ...         _ = memory.append("chat/1", [Message(text="We ship on Friday.")])
        ...         found = memory.search("when do we ship?")
        >>> [message.text for passage in found.passages for message in passage.messages]
        ['We ship on Friday.']
    """

    @classmethod
    def open(cls, path: str | Path | None = None, *, clock: Clock = now_ms) -> Memory:
        """Opens a memory file, makes it if it is not there, and brings its schema up to date.

        path: the default is TREEMEM_DB, or a file in the user's data folder. Raises
        DatabaseError and its kin where the file cannot be used.
        """
        chosen = Path(path) if path is not None else config.default_database_path()
        return cls(Database(chosen), clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file. A closed memory cannot be used again."""
        self._queries.close()
        self._database.close()

    # -- storing -------------------------------------------------------------------------

    def ingest(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        format_name: str | None = None,
        progress: FileProgress | None = None,
        keep_blobs: str | Path | None = None,
        redact: Redact = True,
    ) -> IngestReport:
        """Stores what the files, or the files in the folders, hold; light jobs are done on
        return, so the tree is whole. No model is called.

        A file that is no log, or cannot be read, has an error in its report and costs the
        others nothing. Reading a file again adds only what is new in it. The bytes of
        attachments go into the folder keep_blobs, or nowhere. Secrets are replaced by markers
        before anything is stored: redact="pii" takes out personal data too, False nothing.
        """
        from treemem.ingest.walk import find_files

        single = isinstance(paths, str | Path)
        return self.ingest_files(
            find_files([paths] if single else paths),  # type: ignore[list-item,arg-type]
            format_name=format_name,
            progress=progress,
            keep_blobs=keep_blobs,
            redact=redact,
        )

    def ingest_files(
        self,
        files: Iterable[LogFile],
        *,
        format_name: str | None = None,
        progress: FileProgress | None = None,
        keep_blobs: str | Path | None = None,
        redact: Redact = True,
        growing: bool = False,
    ) -> IngestReport:
        """As ingest, for LogFile values: standard input, or bytes in memory. growing: they are
        read again and again, so only the latest state of each is remembered, and the trees
        above the sources are left to work()."""
        from treemem import importers
        from treemem.ingest.files import ingest_all
        from treemem.privacy.policy import Redaction
        from treemem.worker import run

        report = ingest_all(
            self._database,
            files,
            self._clock,
            lambda: run.sources(self._database, self._clock),
            importer=None if format_name is None else importers.by_name(format_name),
            progress=progress,
            keep_blobs=None if keep_blobs is None else Path(keep_blobs),
            redaction=Redaction(self._database, redact),
            growing=growing,
        )
        if not growing:
            self.work(max_calls=0)
        return report

    def append(
        self,
        source: str,
        messages: Sequence[Message],
        *,
        title: str | None = None,
        redact: Redact = True,
    ) -> list[str]:
        """Adds messages to the end of a source and returns their ids; stored when it returns.

        A message with an external_id is stored once, however often it is appended; one
        without is new each time. Nothing but the write happens here: sealing waits in the
        queue for work(). redact: as in ingest.
        """
        from treemem.ingest.append import append
        from treemem.privacy.policy import Redaction

        redaction = Redaction(self._database, redact)
        given = Source(source, "api", title)
        return append(self._database, self._clock, given, messages, redaction)

    def plan(
        self,
        paths: str | Path | Iterable[str | Path | LogFile],
        *,
        format_name: str | None = None,
        progress: FileProgress | None = None,
        redact: Redact = True,
    ) -> Plan:
        """What ingesting these files, and the model work after it, would cost. Nothing is
        stored here and no model is loaded."""
        from treemem.diagnostics.estimate import plan

        return plan(self._database, self._clock, paths, format_name, progress, redact)

    # -- secrets -------------------------------------------------------------------------

    @property
    def redactions(self) -> Redactions:
        """What this file takes for a secret: to look at and to change."""
        from treemem.privacy.policy import Redactions

        return Redactions(self._database)

    def scrub(
        self,
        *,
        pii: bool = False,
        dry_run: bool = False,
        progress: StepProgress | None = None,
    ) -> ScrubReport:
        """Takes secrets out of what is stored already: messages, and all that was made of them.

        Trees are sealed anew from the first leaf that held one; ids of messages stay. The file
        is written anew at the end, and nothing of the secrets is left in it. Killed in between,
        the file is whole, and the next call goes on. pii: personal data too. dry_run: only
        says what would be touched. progress: called with messages done, and all. Raises
        DatabaseLockedError where another process uses the file.
        """
        from treemem.privacy.scrub import scrub

        return scrub(
            self._database, self._clock, "pii" if pii else True,
            lambda: self.work(max_calls=0), dry_run=dry_run, progress=progress,
        )  # fmt: skip

    # -- working -------------------------------------------------------------------------

    def work(
        self,
        max_calls: int | None = None,
        max_seconds: float | None = None,
        *,
        max_tokens: int | None = None,
        between: str | None = None,
        upgrade: bool = False,
        progress: WorkProgress | None = None,
        interrupted: threading.Event | None = None,
    ) -> WorkReport:
        """Drains the queue here and now, within the limits.

        max_calls: model calls; 0 does the light jobs only and loads no model.
        between: hours in local time, such as "22:00-07:00", outside which no call begins.
        upgrade: also nodes that a weaker model has summarized.
        interrupted: set it from elsewhere to stop after the step in hand. progress is called
        on this thread, however many servers work at once.
        """
        from treemem.worker import run

        limits = run.limits(max_calls, max_tokens, max_seconds, between)
        return run.work(
            self._database, self._clock, limits,
            upgrade=upgrade, progress=progress, interrupted=interrupted,
        )  # fmt: skip

    def embed(
        self,
        max_calls: int | None = None,
        max_seconds: float | None = None,
        *,
        retry: bool = False,
        progress: WorkProgress | None = None,
        interrupted: threading.Event | None = None,
    ) -> WorkReport:
        """Gives every node a vector under the embedder in use, within the limits; work() does
        it too. retry: also while a circuit breaker holds it back.

        Raises UsageError where none is in use, ModelError where it cannot be opened.
        """
        from treemem.worker import run

        return run.embed(
            self._database, self._clock, run.limits(max_calls, None, max_seconds),
            retry=retry, progress=progress, interrupted=interrupted,
        )  # fmt: skip

    def prune_embeddings(self, name: str) -> str:
        """Deletes an embedder's vectors and returns its full name. Raises NotFoundError."""
        from treemem.worker import run

        return run.prune(self._database, name)

    def repair(self) -> None:
        """Makes views again that are missing or do not fit; truth is not touched."""
        from treemem.diagnostics import doctor

        doctor.repair(self._database, self._clock())
        self.work(max_calls=0)

    # -- arranging and choosing ----------------------------------------------------------

    @property
    def topics(self) -> Topics:
        """The topics: to list, show, rename, pin, merge and rebuild."""
        from treemem.topic_api import Topics

        return Topics(self._database, self._clock, lambda: self.work(max_calls=0))

    def use_model(self, role: str, choice: str | ServedModel) -> None:
        """Chooses the model for a role, "summarizer" or "embedder". choice: an installed
        model's name, "none", the address of a model server, or a ServedModel; servers are
        asked what they serve. "hashing" is an embedder without a model, for tests. What
        other models have made stays. Raises ModelError where the model is not there,
        UsageError where it cannot be meant.
        """
        from treemem.worker import model_choice

        model_choice.use(self._database, role, choice, self._clock())

    def retry_job(self, job_id: int) -> Job:
        """Lets a dead or waiting job run as soon as a worker comes."""
        from treemem.worker import summary_jobs

        return summary_jobs.retry(self._database, job_id, self._clock())

    def cancel_job(self, job_id: int) -> None:
        """Takes a job that does not run out of the queue; nothing stored is touched."""
        from treemem.queue import jobs

        jobs.cancel(self._database, job_id)
