"""Measures how many jobs a second the queue ends, and what a killed worker costs.

    python benchmarks/queue.py [--jobs 2000] [--kills 20] [--repeat 3] [--json FILE] [--smoke]

treemem's queue is compared with huey (SqliteHuey) and persist-queue (SQLiteAckQueue), all with
synchronous=FULL and the same payload, and with one plain UPDATE a job, the most that SQLite on
this disk allows. Filling the queue is not timed.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else this file hides the standard library's queue
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import itertools
import random
import signal
import subprocess
import time
from typing import Any

from benchmarks import harness
from benchmarks.contenders.queue import CONTENDERS, drain, opened
from benchmarks.harness import ROOT, Aim, median_of, shown

BATCH = 32
# Seconds that a worker may work before it is killed.
LIFE_SECONDS_MIN, LIFE_SECONDS_MAX = 0.02, 0.12
WAIT_SECONDS_MAX = 60
JOBS_PER_LIFE = 50
QUEUES = ("treemem", "huey", "persist-queue")
SPEEDS = ("single", "batch", "cpu_ms")
LOSSES = ("kills", "lost", "doubled", "repeated")
COLUMNS = ("", "single jobs/s", f"in {BATCH}s, jobs/s", "CPU ms/job",
           "kills", "lost", "doubled", "repeated in flight")  # fmt: skip

Figures = dict[str, Any]


def main() -> None:
    smoke = {"jobs": 100, "kills": 2, "repeat": 1}
    options = harness.arguments(__doc__, smoke, jobs=2_000, kills=20, repeat=3, seed=1)
    with harness.work_folder(options.folder) as folder:
        machine = harness.circumstances(folder)
        runs: dict[str, list[Figures]] = {name: [] for name in CONTENDERS}
        for turn, name in itertools.product(range(options.repeat), runs):
            runs[name].append(_speed(name, folder / f"{turn}-{name}", options.jobs))
        losses = {name: _kill(name, folder, options.kills, options.seed) for name in QUEUES}
    speeds = {name: {key: median_of(rows, key) for key in SPEEDS} for name, rows in runs.items()}
    aims = [
        Aim("claim and finish, single, jobs/s", 2_500, speeds["treemem"]["single"]),
        Aim("jobs lost by kills", 0, losses["treemem"]["lost"], at_most=True),
        Aim("jobs doubled by kills", 0, losses["treemem"]["doubled"], at_most=True),
    ]
    rows = [
        [name, *(shown(speeds[name][key]) for key in SPEEDS),
         *(shown(losses[name][key]) if name in losses else "–" for key in LOSSES)]
        for name in speeds
    ]  # fmt: skip
    fsync = machine["machine"]["fsync_ms"]
    title = f"queue: {options.jobs:,} jobs, medians of {options.repeat}"
    harness.show_table(f"{title}; a page and its fsync take {fsync} ms here", COLUMNS, rows)
    harness.show_aims(aims)
    harness.write(options, machine, {"speeds": runs, "losses": losses}, aims)


def _speed(name: str, folder: Path, count: int) -> Figures:
    """Jobs a second one by one and in batches (None without batches), and ms of CPU a job."""
    single, cpu_ms = _rate(name, folder / "single", count, 1)
    batch = _rate(name, folder / "batch", count, BATCH)[0] if CONTENDERS[name].batches else None
    return {"single": single, "batch": batch, "cpu_ms": cpu_ms}


def _rate(name: str, folder: Path, count: int, limit: int) -> tuple[float, float]:
    folder.mkdir(parents=True)
    queue = opened(name, folder / "queue.db")
    queue.fill(count)
    began, cpu_began = time.perf_counter(), time.process_time()
    done = sum(len(numbers) for numbers in drain(queue, limit))
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    queue.close()
    assert done == count, f"{name} did {done} of {count} jobs"
    return count / seconds, 1_000 * cpu_seconds / count


# -- kills -----------------------------------------------------------------------------


def _kill(name: str, folder: Path, kills: int, seed: int) -> Figures:
    """Kills worker after worker at random moments, then lets one drain the queue."""
    rng = random.Random(seed)
    database, log = folder / f"kill-{name}" / "queue.db", folder / f"kill-{name}" / "log"
    log.parent.mkdir()
    log.touch()
    count = JOBS_PER_LIFE * (kills + 1)
    queue = opened(name, database)
    queue.fill(count)
    queue.close()
    pauses = [rng.uniform(LIFE_SECONDS_MIN, LIFE_SECONDS_MAX) for _ in range(kills)]
    killed = [_one_life(name, database, log, life, pause) for life, pause in enumerate(pauses)]
    _one_life(name, database, log, kills, None)
    return {"jobs": count, "kills": sum(killed), **_losses(log, count)}


def _one_life(name: str, database: Path, log: Path, life: int, pause: float | None) -> bool:
    """Starts a worker and kills it after pause seconds of work; None lets it end.

    Returns whether it was killed before the queue was empty.
    """
    before = log.stat().st_size
    # Not with -m: huey finds a task by the name of its module.
    code = "from benchmarks.contenders.queue import work; work()"
    command = [sys.executable, "-c", code, *map(str, (name, database, log, life))]
    worker = subprocess.Popen(command, cwd=ROOT)
    if pause is not None:
        until = time.monotonic() + WAIT_SECONDS_MAX
        while log.stat().st_size == before and worker.poll() is None:
            assert time.monotonic() < until, "the worker did not start"
            time.sleep(0.002)
        time.sleep(pause)
        worker.send_signal(signal.SIGKILL)
    ended = worker.wait()
    assert ended in (0, -signal.SIGKILL), f"the worker of {name} ended with {ended}"
    return ended != 0


def _losses(log: Path, count: int) -> Figures:
    """Counts lost, doubled and repeated jobs in the notes of the workers.

    doubled: done again after their end was acknowledged. repeated: done again because the kill
    came before the acknowledgement.
    """
    done: set[int] = set()
    acknowledged: set[int] = set()
    doubled = repeated = 0
    for line in log.read_text().splitlines():
        word, _, number = line.partition(" ")
        if word == "ack":
            acknowledged.add(int(number))
        elif word == "did":
            doubled += int(number) in acknowledged
            repeated += int(number) in done and int(number) not in acknowledged
            done.add(int(number))
    return {"lost": count - len(done), "doubled": doubled, "repeated": repeated}


if __name__ == "__main__":
    main()
