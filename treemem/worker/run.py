"""Runs one call of Memory.work or Memory.embed.

Jobs without a model come first, so that the nodes they seal are processed in the same run; then
vectors, which improve search at once; then summaries.

Tested in tests/worker/test_embed_jobs.py.
"""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import dataclass, replace

from treemem.errors import Hint, ModelError, NotFoundError, UsageError
from treemem.models import embedders
from treemem.queue import jobs
from treemem.queue.budget import Budget, Limits
from treemem.queue.hours import Hours
from treemem.reports import FileReport, WorkProgress, WorkReport
from treemem.store import settings, vectors
from treemem.store.database import Database
from treemem.times import Clock
from treemem.types import TreeShape
from treemem.worker import collection_jobs, embed_jobs, model_choice, source_jobs
from treemem.worker.embed_jobs import EmbedWork
from treemem.worker.leaf_pool import LeafPool
from treemem.worker.worker import Worker

# Messages after which a long ingest lays out the trees above the sources for the first time, and
# then whenever their number has doubled: topics are there in the first minute, those of most of the
# logs always, and all layouts together take at most twice the time of the last. By number and not
# by time, so that the same files always give the same topics.
FIRST_LAYOUT_MESSAGES = 5_000


def limits(
    max_calls: int | None,
    max_tokens: int | None,
    max_seconds: float | None,
    between: str | None = None,
) -> Limits:
    """The limits of a run from a caller's arguments. Raises UsageError for invalid hours."""
    hours = None if between is None else Hours.parse(between)
    return Limits(max_calls, max_tokens, max_seconds, hours)


@dataclass(frozen=True, slots=True)
class Run:
    """One call of Memory.work or Memory.embed, with the arguments they share."""

    database: Database
    clock: Clock
    shape: TreeShape
    limits: Limits
    progress: WorkProgress | None = None
    interrupted: threading.Event | None = None

    def work(self, *, upgrade: bool = False) -> WorkReport:
        """See Memory.work. If the embedder cannot be opened, the report names it and the summaries
        are still made."""
        report = self._do_tree_jobs()
        if self.limits.max_calls == 0 or report.stopped_by != "empty":
            return report
        embedder = settings.get(self.database, settings.EMBEDDER)
        if embedder is not None:
            try:
                report = self._do_embed_jobs(embedder, report)
            except ModelError as error:
                report.left_out[embedders.label(embedder)] = str(error)
            if report.stopped_by != "empty":
                return report
        return self._do_summary_jobs(report, upgrade=upgrade)

    def embed(self, *, retry: bool = False) -> WorkReport:
        """See Memory.embed."""
        embedder = settings.get(self.database, settings.EMBEDDER)
        if embedder is None:
            raise UsageError(
                "No embedder is in use.",
                hint=Hint(
                    'Choose one: memory.use_model("embedder", name)',
                    "See: treemem model list; then choose one: treemem model use embedder NAME",
                ),
            )
        if retry:
            jobs.resume(self.database, embed_jobs.KIND)
        report = self._do_tree_jobs()
        if self.limits.max_calls == 0 or report.stopped_by != "empty":
            return report
        return self._do_embed_jobs(embedder, report)

    def _do_tree_jobs(self) -> WorkReport:
        within = Limits(max_calls=0, max_seconds=self.limits.max_seconds)
        budget = Budget(within, self.clock, interrupted=self.interrupted)
        with LeafPool() as pool:
            return Worker(
                self.database, self.clock, self.shape,
                budget=budget, progress=self.progress, leaf_pool=pool,
            ).run()  # fmt: skip

    def _do_embed_jobs(self, setting: str, report: WorkReport) -> WorkReport:
        embed_jobs.admit_all(self.database, self.clock())
        if not jobs.has_open(self.database, embed_jobs.KIND):
            return report
        model_choice.warn_of_exposed_key(self.database, setting)
        with closing(embedders.opened(setting, verify=True)) as embedder:
            embedding = EmbedWork.prepare(
                self.database, embedder, setting, self.clock, self.progress
            )
            return Worker(
                self.database, self.clock, self.shape,
                embedding=embedding, budget=self._budget(report), progress=self.progress,
            ).run()  # fmt: skip

    def _do_summary_jobs(self, report: WorkReport, *, upgrade: bool) -> WorkReport:
        setting = settings.get(self.database, settings.SUMMARIZER)
        if setting is None:
            return report
        from treemem.summarize import backends
        from treemem.worker import pool

        result = backends.exam_of(setting)
        if result is not None and result.mode is None:
            return report  # its summaries would add nothing; `status` tells the user so
        model_choice.warn_of_exposed_key(self.database, setting)
        budget = self._budget(report)
        checker = settings.get(self.database, settings.CHECKER)
        with backends.slots_of(setting, checker) as slots:
            return pool.work(
                self.database, self.clock, self.shape, slots, budget, self.progress,
                upgrade=upgrade,
            )  # fmt: skip

    def _budget(self, report: WorkReport) -> Budget:
        """The budget of the next part of the run, which adds to this report. Each part measures
        its own seconds, so those already in the report are subtracted from the limit."""
        within = self.limits
        if within.max_seconds is not None:
            within = replace(within, max_seconds=max(0.0, within.max_seconds - report.seconds))
        return Budget(within, self.clock, interrupted=self.interrupted, report=report)


def work_on_sources(database: Database, clock: Clock, shape: TreeShape) -> None:
    """Does only the jobs of the sources. The trees above them are laid out from all sources, at
    most once per interval, so they wait until the last file is stored."""
    Worker(database, clock, shape, budget=Budget(Limits(0))).run(source_jobs.KINDS)


class WhileReading:
    """Does the jobs of the sources while files are read, and at times those above the sources.

    pool: used by nobody else meanwhile. lays_out: False leaves those trees to the next work.
    """

    def __init__(
        self, database: Database, clock: Clock, shape: TreeShape, pool: LeafPool, *, lays_out: bool
    ) -> None:
        self._database, self._clock = database, clock
        self._worker = Worker(database, clock, shape, budget=Budget(Limits(0)), leaf_pool=pool)
        self._lays_out, self._pool = lays_out, pool
        self._added = 0
        self._next_layout = FIRST_LAYOUT_MESSAGES

    def part_stored(self, source_id: str) -> None:
        """Begins with what a long source has so far."""
        self._worker.begin(source_id)

    def file_stored(self, report: FileReport) -> None:
        """Does the jobs that wait, as work_on_sources."""
        if any(jobs.has_open(self._database, kind) for kind in source_jobs.KINDS):
            self._worker.run(source_jobs.KINDS)
        self._added += report.added
        if self._lays_out and self._added >= self._next_layout:
            self._next_layout = 2 * self._added
            self._lay_out()

    def end(self) -> None:
        """Lays out what has come since the last layout, if there was one."""
        if self._added >= FIRST_LAYOUT_MESSAGES and self._lays_out:
            self._lay_out()

    def _lay_out(self) -> None:
        self._pool.close()  # the layout needs the memory; the processes come back when needed
        with self._database.transaction():
            collection_jobs.admit(self._database, self._clock(), at_once=True)
        self._worker.run(collection_jobs.KINDS)


def prune_embedder(database: Database, name: str) -> str:
    """See Memory.prune_embeddings."""
    stored = vectors.stored(database)
    matches = [
        embedder for embedder in stored
        if name in (embedder.name, embedders.label(embedder.setting))
    ]  # fmt: skip
    if len(matches) != 1:
        names = ", ".join(embedder.name for embedder in stored) or "none"
        problem = f"Several embedders are called {name!r}" if matches else f"No embedder {name!r}"
        raise NotFoundError(f"{problem} here. This file has vectors of: {names}")
    with database.transaction():
        vectors.drop(database, matches[0].seq)
    return matches[0].name
