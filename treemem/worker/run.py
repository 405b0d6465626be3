"""What one call of Memory.work or Memory.embed does, from the light jobs to the models.

Light jobs come first, since what they seal can be worked on in the same run; then vectors,
which make search better at once; then summaries.
"""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace

from treemem.errors import ModelError, NotFoundError, UsageError
from treemem.models import embedders
from treemem.queue import jobs
from treemem.queue.budget import Budget, Limits
from treemem.queue.hours import Hours
from treemem.reports import WorkProgress, WorkReport
from treemem.store import settings, vectors
from treemem.store.database import Database
from treemem.times import Clock
from treemem.types import TreeShape
from treemem.worker import embed_jobs, source_jobs
from treemem.worker.embed_jobs import EmbedWork
from treemem.worker.worker import Worker


def limits(
    max_calls: int | None,
    max_tokens: int | None,
    max_seconds: float | None,
    between: str | None = None,
) -> Limits:
    """The limits of a run as a caller gives them. Raises UsageError for hours that are none."""
    hours = None if between is None else Hours.parse(between)
    return Limits(max_calls, max_tokens, max_seconds, hours)


def work(
    database: Database,
    clock: Clock,
    shape: TreeShape,
    within: Limits,
    *,
    upgrade: bool = False,
    progress: WorkProgress | None = None,
    interrupted: threading.Event | None = None,
) -> WorkReport:
    """See Memory.work. An embedder that cannot be opened is named in the report, and the
    summaries go on without it."""
    report = _light(database, clock, shape, within, progress, interrupted)
    if within.max_calls == 0 or report.stopped_by != "empty":
        return report
    chosen = settings.get(database, settings.EMBEDDER)
    if chosen is not None:
        try:
            report = _embed(database, clock, shape, chosen, within, report, progress, interrupted)
        except ModelError as error:
            report.left_out[embedders.label(chosen)] = str(error)
        if report.stopped_by != "empty":
            return report
    summarizer = settings.get(database, settings.SUMMARIZER)
    if summarizer is None:
        return report
    from treemem.summarize import backends
    from treemem.worker import pool

    result = backends.exam_of(summarizer)
    if result is not None and result.mode is None:
        return report  # it adds nothing, and status says so
    budget = Budget(_left(within, report), clock, interrupted=interrupted, report=report)
    with backends.slots_of(summarizer) as opened:
        return pool.work(database, clock, shape, opened, budget, progress, upgrade=upgrade)


def sources(database: Database, clock: Clock, shape: TreeShape) -> None:
    """The light jobs of the sources alone. What stands above them is laid out anew from all of
    them at most once an interval, so it has to wait until the last file is stored."""
    Worker(database, clock, shape, budget=Budget(Limits(0))).run(source_jobs.KINDS)


def embed(
    database: Database,
    clock: Clock,
    shape: TreeShape,
    within: Limits,
    *,
    retry: bool = False,
    progress: WorkProgress | None = None,
    interrupted: threading.Event | None = None,
) -> WorkReport:
    """See Memory.embed."""
    chosen = settings.get(database, settings.EMBEDDER)
    if chosen is None:
        raise UsageError(
            "No embedder is in use. See: treemem model list; then choose one: treemem model use "
            "embedder NAME"
        )
    if retry:
        jobs.resume(database, embed_jobs.KIND)
    report = _light(database, clock, shape, within, progress, interrupted)
    if within.max_calls == 0 or report.stopped_by != "empty":
        return report
    return _embed(database, clock, shape, chosen, within, report, progress, interrupted)


def prune(database: Database, name: str) -> str:
    """See Memory.prune_embeddings."""
    found = vectors.stored(database)
    fits = [each for each in found if name in (each.name, embedders.label(each.setting))]
    if len(fits) != 1:
        known = ", ".join(each.name for each in found) or "none"
        said = f"Several embedders are called {name!r}" if fits else f"No embedder {name!r} here"
        raise NotFoundError(f"{said}. This file has vectors of: {known}")
    with database.transaction():
        vectors.drop(database, fits[0].seq)
    return fits[0].name


def _light(
    database: Database,
    clock: Clock,
    shape: TreeShape,
    within: Limits,
    progress: WorkProgress | None,
    interrupted: threading.Event | None,
) -> WorkReport:
    budget = Budget(Limits(0, None, within.max_seconds), clock, interrupted=interrupted)
    return Worker(database, clock, shape, budget=budget, progress=progress).run()


def _embed(
    database: Database,
    clock: Clock,
    shape: TreeShape,
    chosen: str,
    within: Limits,
    report: WorkReport,
    progress: WorkProgress | None,
    interrupted: threading.Event | None,
) -> WorkReport:
    embed_jobs.admit_all(database, clock())
    if not jobs.has_open(database, embed_jobs.KIND):
        return report
    budget = Budget(_left(within, report), clock, interrupted=interrupted, report=report)
    with closing(embedders.opened(chosen, verify=True)) as opened:
        embedder = EmbedWork(database, opened, chosen, clock, progress)
        worker = Worker(database, clock, shape, embedder=embedder, budget=budget, progress=progress)
        return worker.run()


def _left(within: Limits, report: WorkReport) -> Limits:
    """The limits for what comes next: each part of a run counts its seconds by itself."""
    if within.max_seconds is None:
        return within
    return replace(within, max_seconds=max(0.0, within.max_seconds - report.seconds))
