"""Claims jobs, does them, and stops when none is due or the budget is spent.

Handles leases, interruptions and the circuit breaker; source_jobs, collection_jobs, embed_jobs and
summary_jobs do the jobs. No transaction is open while a model runs.

Tested in tests/queue/test_jobs.py and tests/worker/test_pool.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from treemem import times
from treemem.errors import ConstraintError, DatabaseError, LeaseLostError, ModelError, TreememError
from treemem.queue import jobs
from treemem.queue.budget import Budget, BudgetSpentError
from treemem.queue.jobs import Claim
from treemem.reports import WorkProgress, WorkReport
from treemem.store.database import Database
from treemem.times import Clock
from treemem.tree import builder
from treemem.types import TreeShape
from treemem.worker import collection_jobs, embed_jobs, source_jobs
from treemem.worker.collection_jobs import CollectionWork
from treemem.worker.embed_jobs import EmbedWork
from treemem.worker.leaf_pool import LeafPool
from treemem.worker.source_jobs import SourceWork
from treemem.worker.summary_jobs import KIND as SUMMARY_KIND
from treemem.worker.summary_jobs import SummaryWork

Outcome = Literal["did", "nothing", "spent"]
LeaveOut = Callable[[str], bool]
# Tree jobs: they build trees, and need no model.
TREE_KINDS = (*source_jobs.KINDS, *collection_jobs.KINDS)


def _no_other_worker(_reason: str) -> bool:
    return False


class Worker:
    """Does the jobs of one database until none is due or the budget is spent.

    summaries, embedding: do the jobs that need a model; None leaves those jobs in the queue. On
    an interruption, a job without a model finishes and a job with one is released. leave_out:
    called with the reason when this worker's model cannot be used; returns whether other workers
    continue with its jobs. leaf_pool: makes what leaves need in further processes.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        shape: TreeShape,
        *,
        summaries: SummaryWork | None = None,
        embedding: EmbedWork | None = None,
        budget: Budget | None = None,
        progress: WorkProgress | None = None,
        leave_out: LeaveOut = _no_other_worker,
        leaf_pool: LeafPool | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._sources = SourceWork(database, clock, shape, self._after_tree, leaf_pool)
        self._collections = CollectionWork(database, clock, shape, self._after_tree)
        self._summaries = summaries
        self._model_work: dict[str, SummaryWork | EmbedWork] = {}
        if summaries is not None:
            self._model_work[SUMMARY_KIND] = summaries
        if embedding is not None:
            self._model_work[embed_jobs.KIND] = embedding
        self._budget = budget or Budget()
        self._progress = progress
        self._leave_out = leave_out
        self._claiming = threading.Lock()
        self._current: Claim | None = None
        self._abandoned = False

    def begin(self, source_id: str) -> None:
        """Begins with the leaves of a source that is still being read; see SourceWork.begin."""
        self._sources.begin(source_id)

    def run(self, tree_kinds: Sequence[str] = TREE_KINDS) -> WorkReport:
        """Does jobs until none is due, a limit is met, or the run is interrupted."""
        kinds = [*tree_kinds]
        if self._budget.limits.max_calls != 0:
            kinds += self._model_work
        while (reason := self._budget.stop_reason()) is None:
            outcome = self.step(kinds)
            if outcome == "nothing":
                reason = "empty"
                break
            if outcome == "spent":
                reason = self._budget.stop_reason() or "max_calls"
                break
        return finish_run(self._database, self._budget, reason, self._clock())

    def step(self, kinds: Sequence[str]) -> Outcome:
        """Does one job of these kinds. Returns "nothing" if none is due, and "spent" if a limit
        stopped the job halfway; the answers so far are stored."""
        with self._claiming:
            claims = [] if self._abandoned else jobs.claim(self._database, kinds, self._clock())
            if not claims:
                return "nothing"
            self._current = claims[0]
        outcome = self._do(claims[0])
        self._current = None
        return outcome

    def abandon(self) -> None:
        """Releases the current job and claims no other. Called from another thread."""
        with self._claiming:
            self._abandoned = True
            claim = self._current
        if claim is not None:
            self._release(claim)

    def _do(self, claim: Claim) -> Outcome:
        try:
            self._dispatch(claim)
        except BudgetSpentError:
            jobs.release(self._database, claim, self._clock())
            return "spent"
        except LeaseLostError:
            self._count_failed(claim)
        except ConstraintError as error:
            self._fail(claim, error)
        except DatabaseError:
            self._release(claim)
            raise
        except KeyboardInterrupt:
            jobs.release(self._database, claim, self._clock())
            raise
        except Exception as error:
            self._fail(claim, error)
        else:
            with self._budget.counting() as report:
                report.done[claim.kind] = report.done.get(claim.kind, 0) + 1
        if self._progress is not None:
            self._progress(self._budget.report, claim.kind)
        return "did"

    def _dispatch(self, claim: Claim) -> None:
        if claim.kind in self._model_work:
            with self._renewing(claim):
                self._model_work[claim.kind].run(claim, self._budget)
        elif claim.kind in collection_jobs.KINDS:
            self._collections.run(claim)
        else:
            self._sources.run(claim)

    def _after_tree(self, tree: builder.TreeRow, now_ms: int) -> None:
        embed_jobs.admit_tree(self._database, tree, now_ms)
        if self._summaries is not None:
            self._summaries.admit_tree(tree, now_ms)

    def _fail(self, claim: Claim, error: Exception) -> None:
        message = str(error) or type(error).__name__
        work = self._model_work.get(claim.kind)
        if isinstance(error, ModelError) and work is not None and not work.ready:
            self._without_model(claim, work, error, message)
        else:
            # A job without a model fails because of its own data; other sources must not wait.
            breaker = work is not None
            jobs.fail(self._database, claim, message, self._clock(), breaker=breaker)
            if work is not None:
                work.job_failed(claim, message)
        self._count_failed(claim)

    def _without_model(
        self, claim: Claim, work: SummaryWork | EmbedWork, error: ModelError, message: str
    ) -> None:
        """Handles a model that is missing or down: returns the job to the queue, and pauses its
        kind if no other worker continues. The attempt counts only if the model failed in it."""
        if error.recoverable:
            # The model failed during this job. A job that takes down every server must end as dead.
            jobs.fail(self._database, claim, message, self._clock(), breaker=False, wait=False)
            work.job_failed(claim, message)
        else:
            jobs.release(self._database, claim, self._clock())
        if not self._leave_out(message):
            jobs.pause(self._database, claim.kind, message, self._clock())

    def _count_failed(self, claim: Claim) -> None:
        with self._budget.counting() as report:
            report.failed[claim.kind] = report.failed.get(claim.kind, 0) + 1

    def _release(self, claim: Claim) -> None:
        try:
            jobs.release(self._database, claim, self._clock())
        except DatabaseError:
            # The file cannot be written; the job is claimed again when its lease expires.
            return

    @contextmanager
    def _renewing(self, claim: Claim) -> Iterator[None]:
        """Renews the lease from another thread while the model works."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(jobs.LEASE_MS / 3000):
                try:
                    if not jobs.renew(self._database, claim, self._clock()):
                        return
                except TreememError:
                    return

        thread = threading.Thread(target=renew, name="treemem-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def finish_run(database: Database, budget: Budget, reason: str, now_ms: int) -> WorkReport:
    """Completes the report of a run that has ended, and deletes old jobs from the queue."""
    report = budget.report
    report.stopped_by = reason
    hours = budget.limits.hours
    if reason == "hours" and hours is not None:
        report.goes_on_at = times.from_ms(hours.next_start_ms(now_ms))
    report.paused = jobs.paused(database, now_ms)
    report.seconds += budget.seconds
    jobs.prune(database)
    return report
