"""How many jobs a second does the durable queue end, and what does a killed worker cost?

    python benchmarks/queue.py [--jobs 2000] [--kills 20] [--repeat 3] [--json FILE] [--smoke]

treemem's queue stands beside huey (SqliteHuey) and persist-queue (SQLiteAckQueue), all on
disk with synchronous=FULL and the same payload, and beside one plain UPDATE per job, which
is the most that SQLite on this disk allows.
"""

from __future__ import annotations

import sys
from pathlib import Path

# As a script it has this folder on the path, whose queue.py would hide the standard library's.
if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import itertools
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.queue_contenders import CONTENDERS, drain, opened
from benchmarks.report import ROOT, Aim, circumstances, median, show, shown, write

BATCH = 32
KILL_AFTER_MIN_SECONDS, KILL_AFTER_MAX_SECONDS = 0.02, 0.12
WAIT_SECONDS_MAX = 60
QUEUES = ("treemem", "huey", "persist-queue")
COLUMNS = ("", "single jobs/s", f"in {BATCH}s, jobs/s", "CPU ms/job",
           "kills", "lost", "doubled", "repeated in flight")  # fmt: skip
UNITS = {
    "single": "jobs/s, claim and finish one by one, each finish committed",
    "batch": f"jobs/s, {BATCH} at a time in one transaction; null where it has no such thing",
    "cpu_ms": "ms of CPU per job, one by one", "lost": "jobs never done",
    "doubled": "jobs done again after their end was acknowledged",
    "repeated": "jobs done again because the kill came before the acknowledgement",
}  # fmt: skip

Figures = dict[str, Any]


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="treemem-bench-", dir=options.folder) as place:
        folder = Path(place)
        results = circumstances(folder)
        speeds = _speeds(folder, options.jobs, options.repeat)
        losses = {name: _kill(name, folder, options.kills, options.seed) for name in QUEUES}
    aims = _aims(speeds, losses)
    fsync_ms = results["machine"]["fsync_ms"]
    title = f"queue: {options.jobs:,} jobs, medians of {options.repeat}; a page and its fsync "
    rows = [_row(name, speeds[name], losses.get(name)) for name in speeds]
    show(f"{title}take {fsync_ms} ms here", COLUMNS, rows, aims)
    settings = {key: getattr(options, key) for key in ("jobs", "kills", "repeat", "seed")}
    results |= {"benchmark": "queue", "settings": settings, "units": UNITS}
    write(options.json, {**results, "speeds": speeds, "losses": losses}, aims)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--jobs", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--folder", type=Path, help="where to put the files; not a RAM disk")
    parser.add_argument("--smoke", action="store_true", help="small, once: only that it runs")
    options = parser.parse_args()
    if options.smoke:
        options.jobs, options.kills, options.repeat = 100, 2, 1
    return options


# -- speed -----------------------------------------------------------------------------


def _speeds(folder: Path, count: int, repeat: int) -> dict[str, Figures]:
    """Every queue in turn, round after round; the median of each figure."""
    runs: dict[str, list[Figures]] = {name: [] for name in CONTENDERS}
    for turn, name in itertools.product(range(repeat), runs):
        runs[name].append(_speed(name, folder / f"{turn}-{name}", count))
    return {name: _medians(figures) for name, figures in runs.items()}


def _speed(name: str, folder: Path, count: int) -> Figures:
    single, cpu_ms = _rate(name, folder / "single", count, 1)
    batch = _rate(name, folder / "batch", count, BATCH)[0] if CONTENDERS[name].batches else None
    return {"single": single, "batch": batch, "cpu_ms": cpu_ms}


def _rate(name: str, folder: Path, count: int, limit: int) -> tuple[float, float]:
    """Jobs a second, and the ms of CPU for each; filling the queue is not timed."""
    folder.mkdir(parents=True)
    queue = opened(name, folder / "queue.db")
    queue.fill(count)
    began, cpu_began = time.perf_counter(), time.process_time()
    done = sum(len(numbers) for numbers in drain(queue, limit))
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    queue.close()
    assert done == count, f"{name} did {done} of {count} jobs"
    return count / seconds, 1_000 * cpu_seconds / count


def _medians(runs: Sequence[Figures]) -> Figures:
    known = {key: [run[key] for run in runs if run[key] is not None] for key in runs[0]}
    found = {key: median(values) if values else None for key, values in known.items()}
    return {**found, "runs": list(runs)}


# -- kills -----------------------------------------------------------------------------


def _kill(name: str, folder: Path, kills: int, seed: int) -> Figures:
    """Kills worker after worker at random moments, then lets one drain the queue."""
    rng = random.Random(seed)
    place = folder / f"kill-{name}"
    place.mkdir()
    database, log = place / "queue.db", place / "log"
    log.touch()
    count = 50 * (kills + 1)
    queue = opened(name, database)
    queue.fill(count)
    queue.close()
    killed = 0
    for life in range(kills):
        pause = rng.uniform(KILL_AFTER_MIN_SECONDS, KILL_AFTER_MAX_SECONDS)
        killed += _one_life(name, database, log, life, pause)
    _one_life(name, database, log, kills, None)
    return {"jobs": count, "kills": killed, **_told(log, count)}


def _one_life(name: str, database: Path, log: Path, life: int, pause: float | None) -> bool:
    """Starts a worker and kills it when pause seconds of work are over; None lets it end.

    Returns whether it was killed before the queue was empty.
    """
    before = log.stat().st_size
    module = "benchmarks.queue_worker"
    command = [sys.executable, "-m", module, name, str(database), str(log), str(life)]
    worker = subprocess.Popen(command, cwd=ROOT)
    if pause is not None:
        _await_growth(log, before, worker)
        time.sleep(pause)
        worker.send_signal(signal.SIGKILL)
    code = worker.wait()
    assert code in (0, -signal.SIGKILL), f"the worker of {name} ended with {code}"
    return code != 0


def _await_growth(log: Path, size: int, worker: subprocess.Popen[bytes]) -> None:
    """Until the worker has noted that it is up."""
    until = time.monotonic() + WAIT_SECONDS_MAX
    while log.stat().st_size == size and worker.poll() is None:
        assert time.monotonic() < until, "the worker did not come up"
        time.sleep(0.002)


def _told(log: Path, count: int) -> Figures:
    """Lost, doubled and repeated jobs, by what the workers noted."""
    did: set[int] = set()
    acknowledged: set[int] = set()
    doubled = repeated = 0
    for line in log.read_text().splitlines():
        word, _, number = line.partition(" ")
        if word == "ack":
            acknowledged.add(int(number))
        elif word == "did":
            doubled += int(number) in acknowledged
            repeated += int(number) in did and int(number) not in acknowledged
            did.add(int(number))
    return {"lost": count - len(did), "doubled": doubled, "repeated": repeated}


# -- telling ---------------------------------------------------------------------------


def _aims(speeds: dict[str, Figures], losses: dict[str, Figures]) -> list[Aim]:
    own = speeds["treemem"]
    return [
        Aim("claim and finish, single, jobs/s", 2_500, own["single"]),
        Aim("jobs lost by kills", 0, losses["treemem"]["lost"], at_most=True),
        Aim("jobs doubled by kills", 0, losses["treemem"]["doubled"], at_most=True),
    ]


def _row(name: str, speed: Figures, loss: Figures | None) -> list[str]:
    keys = ("kills", "lost", "doubled", "repeated")
    counts = [shown(loss[key]) if loss else "–" for key in keys]
    return [name, *(shown(speed[key]) for key in ("single", "batch", "cpu_ms")), *counts]


if __name__ == "__main__":
    main()
