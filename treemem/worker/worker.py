"""The worker: takes jobs from the queue, does them, and stops within its budget.

It owns leases, interruptions and the circuit breaker; what a job does is light.py's,
modelwork.py's and embedding.py's. No transaction is open while a model runs. slots.py lets
several work at once.
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
from treemem.worker.source_jobs import SourceWork
from treemem.worker.summary_jobs import KIND as MODEL_KIND
from treemem.worker.summary_jobs import ModelWork

Outcome = Literal["did", "nothing", "spent"]
LeaveOut = Callable[[str], bool]
# Jobs that need no model.
TREE_KINDS = (*source_jobs.KINDS, *collection_jobs.KINDS)


def _nobody_else(_reason: str) -> bool:
    return False


class Worker:
    """Drains the queue of one database until it is empty or the budget is spent.

    model, embedder: what does summary jobs and embed jobs, None for a worker that leaves them
    to others. An interruption lets the job
    in hand end if it is light, and releases it if a model works on it. leave_out: told why
    this worker's model cannot be used; returns whether other workers go on with its jobs.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        shape: TreeShape,
        *,
        model: ModelWork | None = None,
        embedder: EmbedWork | None = None,
        budget: Budget | None = None,
        progress: WorkProgress | None = None,
        leave_out: LeaveOut = _nobody_else,
    ) -> None:
        self._database = database
        self._clock = clock
        self._sources = SourceWork(database, clock, shape, self._after_tree)
        self._collections = CollectionWork(database, clock, shape, self._after_tree)
        self._model = model
        self._by_kind: dict[str, ModelWork | EmbedWork] = {}
        if model is not None:
            self._by_kind[MODEL_KIND] = model
        if embedder is not None:
            self._by_kind[embed_jobs.KIND] = embedder
        self._budget = budget or Budget()
        self._progress = progress
        self._leave_out = leave_out
        self._claiming = threading.Lock()
        self._in_hand: Claim | None = None
        self._gone = False

    def run(self, tree_kinds: Sequence[str] = TREE_KINDS) -> WorkReport:
        """Works until nothing is due, a limit is met, or it is interrupted."""
        kinds = [*tree_kinds]
        if self._budget.limits.max_calls != 0:
            kinds += self._by_kind
        while (reason := self._budget.stop_reason()) is None:
            outcome = self.step(kinds)
            if outcome == "nothing":
                reason = "empty"
                break
            if outcome == "spent":
                reason = self._budget.stop_reason() or "max_calls"
                break
        return ended(self._database, self._budget, reason, self._clock())

    def step(self, kinds: Sequence[str]) -> Outcome:
        """Does one job of these kinds: "spent" where a limit stopped it half-way, with its
        calls kept."""
        with self._claiming:
            claimed = [] if self._gone else jobs.claim(self._database, kinds, self._clock())
            if not claimed:
                return "nothing"
            self._in_hand = claimed[0]
        outcome = self._do(claimed[0])
        self._in_hand = None
        return outcome

    def give_up(self) -> None:
        """Releases the job in hand, from another thread: this worker can no longer finish it,
        and takes no other."""
        with self._claiming:
            self._gone = True
            held = self._in_hand
        if held is not None:
            self._give_back(held)

    def _do(self, held: Claim) -> Outcome:
        try:
            if held.kind in self._by_kind:
                with self._lease_kept(held):
                    self._by_kind[held.kind].run(held, self._budget)
            elif held.kind in collection_jobs.KINDS:
                self._collections.run(held)
            else:
                self._sources.run(held)
        except BudgetSpentError:
            jobs.release(self._database, held, self._clock())
            return "spent"
        except LeaseLostError:
            self._count_failed(held)
        except ConstraintError as error:
            self._fail(held, error)
        except DatabaseError:
            self._give_back(held)
            raise
        except KeyboardInterrupt:
            jobs.release(self._database, held, self._clock())
            raise
        except Exception as error:
            self._fail(held, error)
        else:
            with self._budget.counting() as report:
                report.done[held.kind] = report.done.get(held.kind, 0) + 1
        if self._progress is not None:
            self._progress(self._budget.report, held.kind)
        return "did"

    def _after_tree(self, tree: builder.TreeRow, now_ms: int) -> None:
        embed_jobs.admit_tree(self._database, tree, now_ms)
        if self._model is not None:
            self._model.admit_tree(tree, now_ms)

    def _fail(self, held: Claim, error: Exception) -> None:
        message = str(error) or type(error).__name__
        work = self._by_kind.get(held.kind)
        if isinstance(error, ModelError) and work is not None and not work.ready:
            self._without_model(held, work, error, message)
        else:
            # A light job fails by its own data; the other sources must not wait for it.
            breaker = work is not None
            jobs.fail(self._database, held, message, self._clock(), breaker=breaker)
            if work is not None:
                work.gave_up(held, message)
        self._count_failed(held)

    def _without_model(
        self, held: Claim, work: ModelWork | EmbedWork, error: ModelError, message: str
    ) -> None:
        """A missing or broken model is nobody's fault but the model's: the job is given back,
        and where nobody else can do it, the kind waits."""
        if error.recoverable:
            # It was at work on this job. One that takes down every server has to end.
            jobs.fail(self._database, held, message, self._clock(), breaker=False, wait=False)
            work.gave_up(held, message)
        else:
            jobs.release(self._database, held, self._clock())
        if not self._leave_out(message):
            jobs.pause(self._database, held.kind, message, self._clock())

    def _count_failed(self, held: Claim) -> None:
        with self._budget.counting() as report:
            report.failed[held.kind] = report.failed.get(held.kind, 0) + 1

    def _give_back(self, held: Claim) -> None:
        try:
            jobs.release(self._database, held, self._clock())
        except DatabaseError:
            # The file cannot be written now; the lease runs out and the job is taken up again.
            return

    @contextmanager
    def _lease_kept(self, held: Claim) -> Iterator[None]:
        """Renews the lease from another thread while the model works."""
        done = threading.Event()

        def keep() -> None:
            while not done.wait(jobs.LEASE_MS / 3000):
                try:
                    if not jobs.renew(self._database, held, self._clock()):
                        return
                except TreememError:
                    return

        keeper = threading.Thread(target=keep, name="treemem-lease", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            done.set()
            keeper.join()


def ended(database: Database, budget: Budget, reason: str, now_ms: int) -> WorkReport:
    """The report of a run that is over, with what is paused; old jobs are forgotten."""
    report = budget.report
    report.stopped_by = reason
    hours = budget.limits.hours
    if reason == "hours" and hours is not None:
        report.goes_on_at = times.from_ms(hours.next_start_ms(now_ms))
    report.paused = jobs.paused(database, now_ms)
    report.seconds += budget.seconds
    jobs.prune(database)
    return report
