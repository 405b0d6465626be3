"""Child programs of test_jobs.py: each drains a file's queue beside others that do the same.

Run with runpy under the name of the function to call, with PATH and TOGETHER, a barrier to
begin at, among its globals. It imports nothing from the tests, since a new process cannot
always find them by name.
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
    """Claims jobs one by one, writes down who did them, and ends when none is left."""
    process = multiprocessing.current_process().name
    database = Database(path)
    while True:
        held = jobs.claim(database, ["k"], time.time_ns() // 1_000_000)
        if not held:
            break
        time.sleep(JOB_SECONDS)
        with database.transaction():
            database.execute("INSERT INTO ran VALUES (?, ?)", (held[0].seq, process))
            jobs.finish(database, held, 0)
    database.close()


def build_trees(path: Path) -> None:
    """Drains the light jobs of a memory until only what waits for an interval is left."""
    with Memory.open(path) as memory:
        while {job.kind for job in memory.jobs(["todo", "running"])} - set(collection_jobs.KINDS):
            report = memory.work(max_calls=0)
            assert report.failed == {}, report


if __name__ in ("claim_all", "build_trees"):
    globals()["TOGETHER"].wait()
    globals()[__name__](globals()["PATH"])
