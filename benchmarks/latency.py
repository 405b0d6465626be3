"""Measures how long a search takes, alone and compared with a bare full-text query.

    python benchmarks/latency.py [--messages 100000] [--queries 100] [--json FILE] [--smoke]

A file of generated chats is filled through Memory.append and Memory.work. Queries of one rare,
three mixed and six common words are asked in one source, everywhere, and within a tenth of the
time, each next to SELECT … MATCH … ORDER BY bm25 LIMIT 200 for the same words on the same file:
warm in one process, and cold, each in a new process whose file is not in memory. --file keeps the
file, and uses it as it is if it exists.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import math
import os
import statistics
from collections.abc import Sequence
from typing import Any

import orjson

from benchmarks import harness
from benchmarks.harness import MB, Aim, shown
from benchmarks.retrieval.latency_chats import KINDS, SESSION_MESSAGES
from benchmarks.retrieval.latency_worker import BARE, PLACES

# The p95 that is wanted in a place of a warm file, in milliseconds, by its number of messages.
WANTED_MS = {10_000: ("one source", 15), 1_000_000: ("everything", 100)}

Runs = Sequence[dict[str, Any]]


def main() -> None:
    smoke = {"messages": 1_000, "queries": 6, "cold": 3}
    options = harness.arguments(
        __doc__, smoke, messages=100_000, queries=100, cold=12, seed=1, file=Path
    )
    sessions = max(1, options.messages // SESSION_MESSAGES)
    with harness.work_folder(options.folder) as folder:
        path = options.file or folder / "memory.sqlite3"
        machine = harness.circumstances(path.parent)
        settings = {"path": str(path), "seed": options.seed, "sessions": sessions}
        filled = None if path.exists() else _worker("fill", settings)
        title = f"latency: {sessions * SESSION_MESSAGES:,} messages in {sessions:,} sources"
        print(f"{title}, {shown(path.stat().st_size / MB)} MB")
        warm = _worker("warm", settings | {"count": options.queries})
        cold = _cold(settings, options.cold)
    if filled:
        append, work = filled["append_seconds"], filled["work_seconds"]
        print(f"appended in {shown(append)} s, work without a model {shown(work)} s")
    rows = [*rows_of("warm", warm["runs"]), *rows_of("cold", cold)]
    harness.show_table(f"{title}, ms", ("", "query", "", "p50", "p95", "times bare"), rows, 3)
    peak = (warm["peak_bytes"] - harness.bare_peak_bytes()) / MB
    print(f"peak memory over Python's: {shown(peak)} MB")
    aims = _aims(options.messages, warm["runs"])
    if aims:
        harness.show_aims(aims)
    harness.write(options, machine, {"filled": filled, "warm": warm, "cold": cold}, aims)


def _aims(messages: int, runs: Runs) -> list[Aim]:
    if messages not in WANTED_MS:
        return []
    place, wanted = WANTED_MS[messages]
    reached = percentile([run[place] for run in runs], 95)
    return [Aim(f"{messages:,} messages, p95 in {place}, ms", wanted, reached, at_most=True)]


def _worker(command: str, settings: dict[str, Any]) -> dict[str, Any]:
    return harness.child(
        "benchmarks.retrieval.latency_worker", command, orjson.dumps(settings).decode()
    )


def _cold(settings: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Asks each query in every place and bare, each in a process of its own."""
    if not hasattr(os, "posix_fadvise"):
        print("cold: not measured, since posix_fadvise is missing here", file=sys.stderr)
        return []
    runs = []
    for number in range(count):
        run: dict[str, Any] = {}
        for place in (*PLACES, BARE):
            run |= _worker("cold", settings | {"number": number, "place": place})
        runs.append(run)
    return runs


def rows_of(state: str, runs: Runs) -> list[list[str]]:
    """Table rows by kind of query and place, with the median ratio to the bare query beside it.

    runs: one for each query, with its kind and the milliseconds in each place.
    """
    rows = []
    for kind in (*KINDS, "all"):
        of_kind = [run for run in runs if kind in (run["kind"], "all")]
        for place in (*PLACES, BARE) if of_kind else ():
            times = [run[place] for run in of_kind]
            ratio = statistics.median(run[place] / run[BARE] for run in of_kind)
            figures = (statistics.median(times), percentile(times, 95), ratio)
            rows.append([state, kind, place, *(f"{figure:.2f}" for figure in figures)])
    return rows


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that is not exceeded by this percentage of the values.

    Example:
        >>> percentile([1, 2, 3, 4], 50), percentile([3, 1, 2], 95)
        (2, 3)
    """
    ordered = sorted(values)
    return ordered[max(1, math.ceil(len(ordered) * percent / 100)) - 1]


if __name__ == "__main__":
    main()
