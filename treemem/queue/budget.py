"""What one run of the worker may spend, and what it has spent.

Shared by all threads that work in the run: a call takes its place before it is made, so that
no limit of calls is exceeded, and everything is counted under one lock.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from treemem.queue.hours import Hours
from treemem.reports import WorkReport
from treemem.times import now_ms


class BudgetSpentError(Exception):
    """A limit was met between two calls of one job; the answers so far are kept."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop. None means no limit; max_calls = 0 means light jobs only.

    hours: no model call begins outside of them.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    hours: Hours | None = None


class Budget:
    """The limits of one run, and the report that is counted against them.

    clock: milliseconds since 1970, for hours. interrupted: set from elsewhere to stop. report:
    goes on counting in this one.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        clock: Callable[[], int] = now_ms,
        *,
        interrupted: threading.Event | None = None,
        report: WorkReport | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._clock = clock
        self.report = report or WorkReport()
        self._interrupted = interrupted or threading.Event()
        self._began = time.monotonic()
        self._under_way = 0
        # Nothing else is waited for while it is held, the database least of all.
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Since this budget was made."""
        return time.monotonic() - self._began

    def stop_reason(self) -> str | None:
        """Why the run is over, as in WorkReport.stopped_by, or None while it goes on."""
        with self._lock:
            return self._stop_reason()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Holds the place of one model call. Raises BudgetSpentError where there is none.

        The tokens of calls under way are not known yet: max_tokens and max_seconds can be
        exceeded by them, max_calls cannot.
        """
        with self._lock:
            if not self._has_room():
                raise BudgetSpentError
            self._under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1

    @contextmanager
    def counting(self) -> Iterator[WorkReport]:
        """The report, to count in it while nobody else does."""
        with self._lock:
            yield self.report

    def snapshot(self) -> WorkReport:
        """The report as it is now, which no other thread goes on changing."""
        with self._lock:
            return copy.deepcopy(self.report)

    def _has_room(self) -> bool:
        allowed = self.limits.max_calls
        spent = self.report.model_calls + self._under_way
        return self._stop_reason() is None and (allowed is None or spent < allowed)

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
        if limits.hours is not None and not limits.hours.hold(self._clock()):
            return "hours"
        return None
