"""Lets users list, retry and cancel jobs of the queue. Memory inherits these methods.

Tested in tests/test_memory.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from treemem.arguments import checked
from treemem.store.database import Database
from treemem.times import Clock
from treemem.types import Job, one_or_more


@checked
class QueueMethods:
    """The methods of Memory for jobs."""

    _database: Database
    _clock: Clock

    def jobs(self, states: Sequence[str], limit: int = 100) -> list[Job]:
        """Returns the jobs in these states ("todo", "running", "done", "dead"), next ones first."""
        from treemem.queue import jobs

        return jobs.listing(self._database, one_or_more(states), limit)

    def job(self, job_id: int) -> Job:
        """Returns one job of the queue. Raises NotFoundError."""
        from treemem.queue import jobs

        return jobs.get(self._database, job_id)

    def is_behind(self, kind: str) -> bool:
        """Whether jobs of this kind are waiting or running, so the trees that they build are out
        of date. kind: "global" or "topics"."""
        from treemem.queue import jobs

        return jobs.has_open(self._database, kind)

    def retry_job(self, job_id: int) -> Job:
        """Makes a dead or waiting job due now."""
        from treemem.worker import summary_jobs

        return summary_jobs.retry(self._database, job_id, self._clock())

    def cancel_job(self, job_id: int) -> None:
        """Removes a job that is not running from the queue; stored data is not changed."""
        from treemem.queue import jobs

        jobs.cancel(self._database, job_id)
