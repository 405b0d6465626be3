"""Leaves out the jobs of the trees above the sources, which are due at intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treemem import Job, Memory
from treemem.worker import collection_jobs


def without_intervals(done: Mapping[str, int]) -> dict[str, int]:
    """The numbers of jobs by kind, without the kinds that are due at intervals."""
    return {kind: count for kind, count in done.items() if kind not in collection_jobs.KINDS}


def jobs_of_sources(
    memory: Memory, states: Sequence[str] = ("todo", "running", "dead")
) -> list[Job]:
    """The jobs in these states, without the kinds that are due at intervals."""
    return [job for job in memory.jobs(states) if job.kind not in collection_jobs.KINDS]
