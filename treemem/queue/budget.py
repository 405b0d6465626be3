"""Limits and counts the model calls, tokens and seconds of one run of the worker.

All threads of a run share one budget and count under one lock. A call is counted before it is made,
so the limit on calls is never exceeded.

Tested in tests/worker/test_summary_jobs.py and tests/worker/test_pool.py.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from treemem.queue.hours import Hours
from treemem.reports import WorkReport
from treemem.times import Clock, now_ms


class BudgetSpentError(Exception):
    """Raised when a limit is met between two calls of a job. The answers so far are stored."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a run stops. None means no limit; max_calls = 0 means only jobs without a model.

    hours: the hours in which model calls may begin.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    hours: Hours | None = None


class Budget:
    """The limits of one run, and its report.

    clock: used for hours. interrupted: set by another thread to stop the run. report: the report
    to add to; None for a new one.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        clock: Clock = now_ms,
        *,
        interrupted: threading.Event | None = None,
        report: WorkReport | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._clock = clock
        self.report = report or WorkReport()
        self._interrupted = interrupted or threading.Event()
        self._started_at = time.monotonic()
        self._calls_in_flight = 0
        # A thread that holds the lock must not wait for anything else, such as the database.
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Seconds since this budget was created."""
        return time.monotonic() - self._started_at

    def stop_reason(self) -> str | None:
        """Why the run must stop, as in WorkReport.stopped_by; None if it may continue."""
        with self._lock:
            return self._stop_reason()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Reserves one model call. Raises BudgetSpentError if no more is allowed.

        Calls in flight can exceed max_tokens and max_seconds, since their tokens and seconds are
        not known yet. They cannot exceed max_calls.
        """
        with self._lock:
            if not self._has_room():
                raise BudgetSpentError
            self._calls_in_flight += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls_in_flight -= 1

    @contextmanager
    def counting(self) -> Iterator[WorkReport]:
        """Locks the report, so that one thread at a time changes it."""
        with self._lock:
            yield self.report

    def snapshot(self) -> WorkReport:
        """A copy of the report as it is now."""
        with self._lock:
            return copy.deepcopy(self.report)

    def _has_room(self) -> bool:
        calls_max = self.limits.max_calls
        spent = self.report.model_calls + self._calls_in_flight
        return self._stop_reason() is None and (calls_max is None or spent < calls_max)

    def _stop_reason(self) -> str | None:
        limits, report = self.limits, self.report
        if self._interrupted.is_set():
            return "interrupt"
        if limits.max_calls and report.model_calls >= limits.max_calls:
            return "max_calls"
        tokens = report.tokens_in + report.tokens_out
        if limits.max_tokens is not None and tokens >= limits.max_tokens:
            return "max_tokens"
        if limits.max_seconds is not None and self.seconds >= limits.max_seconds:
            return "max_seconds"
        if limits.hours is not None and not limits.hours.contain(self._clock()):
            return "hours"
        return None
