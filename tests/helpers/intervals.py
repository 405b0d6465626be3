"""What stands above the sources is made at intervals of its own: tests of other things look past
it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treemem import Job, Memory
from treemem.worker import collection_jobs


def without_intervals(done: Mapping[str, int]) -> dict[str, int]:
    """How many jobs were done, by kind, but for those that wait for an interval."""
    return {kind: count for kind, count in done.items() if kind not in collection_jobs.KINDS}


def jobs_of_sources(
    memory: Memory, states: Sequence[str] = ("todo", "running", "dead")
) -> list[Job]:
    """The jobs in these states, but for those that wait for an interval."""
    return [job for job in memory.jobs(states) if job.kind not in collection_jobs.KINDS]
