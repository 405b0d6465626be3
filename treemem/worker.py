"""The worker: takes jobs from the queue, does them, and stops within its limits.

It owns leases, limits, interruptions and the circuit breaker; what a job does is light.py's
and modelwork.py's. No transaction is open while a model runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from treemem import jobs, light, times
from treemem.database import Database
from treemem.errors import ConstraintError, DatabaseError, LeaseLostError, ModelError, TreememError
from treemem.hours import Hours
from treemem.jobs import Claim
from treemem.model import WorkReport
from treemem.modelwork import KIND as MODEL_KIND
from treemem.modelwork import BudgetSpentError, ModelWork

Clock = Callable[[], int]
Progress = Callable[[WorkReport, str], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop. None means no limit; max_calls = 0 means light jobs only.

    hours: no model call begins outside of them.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    hours: Hours | None = None


class Worker:
    """Drains the queue of one database until it is empty or a limit is met.

    model: what does model jobs, None where none is configured. interrupted: set by a signal
    handler; the job in hand is finished if it is light, and released if a model works on it.
    report: goes on counting in this one.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        model: ModelWork | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
        interrupted: threading.Event | None = None,
        report: WorkReport | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._model = model
        self._limits = limits or Limits()
        self._progress = progress
        self._interrupted = interrupted or threading.Event()
        self._began = time.monotonic()
        self.report = report or WorkReport()

    def run(self) -> WorkReport:
        """Works until nothing is due, a limit is met, or it is interrupted."""
        kinds = [*light.KINDS]
        if self._model is not None and self._limits.max_calls != 0:
            kinds.append(MODEL_KIND)
        while (reason := self._stop_reason()) is None:
            claimed = jobs.claim(self._database, kinds, self._clock())
            if not claimed:
                reason = "empty"
                break
            if not self._do(claimed[0]):
                reason = self._stop_reason() or "max_calls"
                break
        self.report.stopped_by = reason
        if reason == "hours" and self._limits.hours is not None:
            self.report.goes_on_at = times.from_ms(self._limits.hours.next_start_ms(self._clock()))
        self.report.paused = jobs.paused(self._database, self._clock())
        self.report.seconds += time.monotonic() - self._began
        jobs.prune(self._database)
        return self.report

    def _stop_reason(self) -> str | None:
        limits, report = self._limits, self.report
        if self._interrupted.is_set():
            return "interrupt"
        if limits.max_calls and report.model_calls >= limits.max_calls:
            return "max_calls"
        if limits.max_tokens is not None and self._tokens() >= limits.max_tokens:
            return "max_tokens"
        if limits.max_seconds is not None and self._elapsed() >= limits.max_seconds:
            return "max_seconds"
        if limits.hours is not None and not limits.hours.hold(self._clock()):
            return "hours"
        return None

    def _tokens(self) -> int:
        return self.report.tokens_in + self.report.tokens_out

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _do(self, held: Claim) -> bool:
        """Does one job; False where a limit stopped it half-way, with its calls kept."""
        try:
            if held.kind == MODEL_KIND:
                self._do_model(held)
            else:
                light.run(self._database, held, self._clock, self._after_tree)
        except BudgetSpentError:
            jobs.release(self._database, held, self._clock())
            return False
        except LeaseLostError:
            self._count(self.report.failed, held.kind)
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
            self._count(self.report.done, held.kind)
        if self._progress is not None:
            self._progress(self.report, held.kind)
        return True

    def _do_model(self, held: Claim) -> None:
        assert self._model is not None
        with self._lease_kept(held):
            self._model.run(held, self.report, self._stop_reason)

    def _after_tree(self, tree: object, now_ms: int) -> None:
        if self._model is not None:
            self._model.admit_tree(tree, now_ms)

    def _fail(self, held: Claim, error: Exception) -> None:
        """A missing or broken model is nobody's fault but the model's: the kind waits."""
        message = str(error) or type(error).__name__
        if isinstance(error, ModelError) and self._model is not None and not self._model.ready:
            jobs.release(self._database, held, self._clock())
            jobs.pause(self._database, held.kind, message, self._clock())
        else:
            # A light job fails by its own data; the other sources must not wait for it.
            is_model = held.kind == MODEL_KIND
            jobs.fail(self._database, held, message, self._clock(), breaker=is_model)
            if held.kind == MODEL_KIND and self._model is not None:
                self._model.gave_up(held, message)
        self._count(self.report.failed, held.kind)

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

    @staticmethod
    def _count(counts: dict[str, int], kind: str) -> None:
        counts[kind] = counts.get(kind, 0) + 1
