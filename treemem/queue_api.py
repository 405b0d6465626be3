"""Lets users list, retry and cancel jobs of the queue. Memory inherits these methods.

Tested in tests/test_memory.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treemem.arguments import checked
from treemem.store.database import Database
from treemem.times import Clock
from treemem.types import Job, one_or_more

_STORED = """
SELECT total_changes(), data_version, (SELECT coalesce(max(seq), 0) FROM message),
  (SELECT coalesce(max(seq), 0) FROM source) FROM pragma_data_version
"""
_OPEN = """
SELECT (SELECT count(*) FROM job WHERE state = 'todo'),
  (SELECT count(*) FROM job WHERE state = 'running')
"""


@dataclass(frozen=True, slots=True)
class Marks:
    """Numbers of which one is another after every change of the file.

    version: changes with each, and means nothing else. messages, sources: grow by one with each
    that is new; they are not how many there are. waiting, running: jobs of the queue.
    """

    version: str
    messages: int
    sources: int
    waiting: int
    running: int


@checked
class QueueMethods:
    """The methods of Memory for jobs."""

    _database: Database
    _clock: Clock

    def marks(self) -> Marks:
        """Returns numbers by which a program that waits for changes sees them, in little time."""
        with self._database.reading():
            own, others, messages, sources = self._database.rows(_STORED)[0]
            waiting, running = self._database.rows(_OPEN)[0]
        return Marks(f"{own}.{others}", messages, sources, waiting, running)

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
