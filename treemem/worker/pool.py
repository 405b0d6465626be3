"""Runs summary jobs in parallel, one thread per slot, and tree jobs on the calling thread.

Each slot has one claim at a time, with its own lease and client; all slots share one budget. An
endpoint that cannot be reached is left out until it answers again, and its jobs go to the others.
With one slot, a plain Worker does everything.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from functools import partial

from treemem.queue.budget import Budget
from treemem.reports import WorkProgress, WorkReport
from treemem.store.database import Database
from treemem.summarize.backends import Slot
from treemem.times import Clock
from treemem.types import TreeShape
from treemem.worker.summary_jobs import KIND as SUMMARY_KIND
from treemem.worker.summary_jobs import SummaryWork
from treemem.worker.worker import TREE_KINDS, Worker, finish_run

# Seconds after which an idle slot looks for a job, unless it is woken earlier.
IDLE_SECONDS = 0.5
# Seconds between checks whether an endpoint that was left out is back.
PROBE_SECONDS = 5.0


def work(
    database: Database,
    clock: Clock,
    shape: TreeShape,
    slots: Sequence[Slot],
    budget: Budget,
    progress: WorkProgress | None = None,
    *,
    upgrade: bool = False,
) -> WorkReport:
    """Works with these slots until no job is due or the budget is spent; see Worker.run.

    progress is called on the calling thread. An error that ends a slot, such as a full disk,
    ends the run once the other slots have finished their jobs.
    """
    works = [
        SummaryWork.prepare(
            database, slot.summarizer, slot.client, clock, alive=slot.alive, upgrade=upgrade
        )
        for slot in slots
    ]
    works[0].admit_all()
    if len(slots) == 1 or budget.limits.max_calls == 0:
        return Worker(
            database, clock, shape, summaries=works[0], budget=budget, progress=progress
        ).run()
    return _Slots(database, clock, shape, slots, works, budget, progress).run()


class _Slots:
    """One run with several slots.

    A participant is active from when it looks for a job until it finds none. An active one may
    still make a job due, so the run ends when none is active.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        shape: TreeShape,
        slots: Sequence[Slot],
        works: Sequence[SummaryWork],
        budget: Budget,
        progress: WorkProgress | None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._budget = budget
        self._progress = progress
        self._slots = slots
        self._changed = threading.Condition()
        # When to check next whether an endpoint that was left out is back, by time.monotonic.
        self._probe_at: dict[str, float] = {}
        self._failure: BaseException | None = None
        self._done_kinds: deque[str] = deque()
        make = partial(Worker, database, clock, shape, budget=budget, progress=self._note)
        self._tree_worker = make(summaries=works[0])
        self._workers = [
            make(summaries=work, leave_out=partial(self._leave_out, slot.endpoint))
            for slot, work in zip(slots, works, strict=True)
        ]
        self._active = len(slots) + 1

    def run(self) -> WorkReport:
        threads = [
            threading.Thread(target=self._run_slot, args=pair, name="treemem-slot", daemon=True)
            for pair in zip(self._slots, self._workers, strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            self._take_part(self._tree_worker, None)
            for thread in threads:
                thread.join()
            self._report_progress()
        except BaseException as error:
            # For example a second Ctrl-C: does not wait for the calls in flight.
            self._stop(error)
            for worker in self._workers:
                worker.abandon()
            raise
        if self._failure is not None:
            raise self._failure
        reason = self._budget.stop_reason() or "empty"
        return finish_run(self._database, self._budget, reason, self._clock())

    def _run_slot(self, slot: Slot, worker: Worker) -> None:
        try:
            self._take_part(worker, slot)
        except BaseException as error:  # re-raised by the calling thread
            self._stop(error)

    def _take_part(self, worker: Worker, slot: Slot | None) -> None:
        """Does jobs until no participant is active. slot: None for tree jobs."""
        kinds = TREE_KINDS if slot is None else (SUMMARY_KIND,)
        active = True
        try:
            while self._goes_on():
                if slot is None:
                    self._report_progress()
                if not active:
                    self._begin()
                    active = True
                usable = slot is None or self._is_usable(slot)
                if usable and worker.step(kinds) == "did":
                    self._wake_others()
                    continue
                active = False
                if not self._rest():
                    return
        finally:
            if active:
                self._leave()

    def _goes_on(self) -> bool:
        return self._failure is None and self._budget.stop_reason() is None

    def _begin(self) -> None:
        with self._changed:
            self._active += 1

    def _wake_others(self) -> None:
        """Wakes idle slots: the job just done may have made another one due."""
        with self._changed:
            self._changed.notify_all()

    def _rest(self) -> bool:
        """Waits for a job; returns False if no participant is active to make one due."""
        with self._changed:
            self._active -= 1
            if self._active == 0:
                self._changed.notify_all()
                return False
            self._changed.wait(IDLE_SECONDS)
            return True

    def _leave(self) -> None:
        with self._changed:
            self._active -= 1
            self._changed.notify_all()

    def _stop(self, error: BaseException) -> None:
        with self._changed:
            self._failure = self._failure or error
            self._changed.notify_all()

    # -- endpoints ---------------------------------------------------------------------

    def _leave_out(self, endpoint: str, reason: str) -> bool:
        """Stops giving jobs to an endpoint's slots; returns whether another endpoint is left."""
        with self._budget.counting() as report:
            report.left_out[endpoint] = reason
        with self._changed:
            self._probe_at[endpoint] = time.monotonic() + PROBE_SECONDS
            return any(slot.endpoint not in self._probe_at for slot in self._slots)

    def _is_usable(self, slot: Slot) -> bool:
        """Whether the slot's endpoint is in use. Checks one that was left out at intervals."""
        with self._changed:
            probe_at = self._probe_at.get(slot.endpoint)
            if probe_at is None:
                return True
            if time.monotonic() < probe_at:
                return False
            self._probe_at[slot.endpoint] = time.monotonic() + PROBE_SECONDS
        if not slot.alive():
            return False
        with self._changed:
            self._probe_at.pop(slot.endpoint, None)
        with self._budget.counting() as report:
            report.left_out.pop(slot.endpoint, None)
        return True

    # -- progress ----------------------------------------------------------------------

    def _note(self, _report: WorkReport, kind: str) -> None:
        self._done_kinds.append(kind)

    def _report_progress(self) -> None:
        while self._done_kinds:
            kind = self._done_kinds.popleft()
            if self._progress is not None:
                self._progress(self._budget.snapshot(), kind)
