"""Child programs of test_jobs.py, several of which work on one file at the same time.

Run with runpy under the name of the function to call; its globals contain PATH, and TOGETHER, a
barrier to begin at. Imports nothing from the tests, which a new process cannot always find.
"""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

from treemem import Memory
from treemem.queue import jobs
from treemem.store.database import Database
from treemem.worker import collection_jobs

JOB_SECONDS = 0.003


def claim_all(path: Path) -> None:
    """Claims jobs one by one until none is left, and records which process did them."""
    process = multiprocessing.current_process().name
    database = Database(path)
    while True:
        claims = jobs.claim(database, ["k"], time.time_ns() // 1_000_000)
        if not claims:
            break
        time.sleep(JOB_SECONDS)
        with database.transaction():
            database.execute("INSERT INTO ran VALUES (?, ?)", (claims[0].seq, process))
            jobs.finish(database, claims, 0)
    database.close()


def build_trees(path: Path) -> None:
    """Works until only jobs that wait for an interval are left."""
    with Memory.open(path) as memory:
        while {job.kind for job in memory.jobs(["todo", "running"])} - set(collection_jobs.KINDS):
            report = memory.work(max_calls=0)
            assert report.failed == {}, report


if __name__ in ("claim_all", "build_trees"):
    globals()["TOGETHER"].wait()
    globals()[__name__](globals()["PATH"])
