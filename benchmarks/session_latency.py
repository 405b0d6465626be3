"""Measures how long the calls of a long live session take, and how it grows.

    python benchmarks/session_latency.py [--turns 10000] [--window 8000] [--json FILE] [--smoke]
    python benchmarks/session_latency.py --turns 2000 --model smollm2-135m --seconds 600

A context is made for each request: without a search, and for the last requests with one. Contexts
that compact are counted apart. A model answers for so many seconds, generated words afterwards.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import statistics
from collections.abc import Sequence
from typing import Any

import orjson

from benchmarks import harness
from benchmarks.harness import MB, Aim, shown
from benchmarks.latency import percentile

# The last turns whose contexts are looked at, and those over which the memory may grow.
LAST_TURNS, GROWTH_TURNS = 1_000, 2_000
AIM_MS, AIM_SEARCH_MS = 30.0, 80.0
# Milliseconds by the clock, and of the processor.
Times = Sequence[float]


def main() -> None:
    smoke = {"turns": 300, "searching": 20, "window": 2_000}
    options = harness.arguments(
        __doc__, smoke, turns=10_000, window=8_000, searching=200, seed=1, model="", seconds=600
    )
    with harness.work_folder(options.folder) as folder:
        machine = harness.circumstances(folder)
        names = ("turns", "window", "searching", "seed", "model", "seconds")
        settings = {name: getattr(options, name) for name in names}
        settings["path"] = str(folder / "session.sqlite3")
        result = harness.child("benchmarks.windows.session_worker", orjson.dumps(settings).decode())
    turns = f"{options.turns:,} turns, window {options.window:,}"
    if options.model:
        print(f"{options.model} answered {result['answered']} times")
    rows = [[name, str(len(times)), *(shown(figure) for figure in figures(times))]
            for name, times in of_kinds(result, options.turns).items() if times]  # fmt: skip
    columns = ("", "calls", "p50", "p95", "most", "processor p50", "p95")
    harness.show_table(f"a session of {turns}, ms", columns, rows)
    growth = memory_growth(result["rss"])
    compactions = sum(bool(row[4]) for row in result["contexts"])
    size = result["file_bytes"] / options.turns
    print(f"{compactions} compactions; {size:,.0f} bytes of file for each turn; "
          f"memory grew by {shown(growth)} MB over {GROWTH_TURNS:,} turns")  # fmt: skip
    aims = aims_of(result, options.turns)
    harness.show_aims(aims)
    harness.write(options, machine, {"result": result}, aims)


def of_kinds(result: dict[str, Any], turns: int) -> dict[str, list[Times]]:
    """The times of each kind of call, of the last turns of the session."""
    last = [row for row in result["contexts"] if row[0] > turns - LAST_TURNS]
    kinds: dict[str, list[Times]] = {"append": result["append"][-LAST_TURNS:]}
    for name, searches in (('context("")', False), ("context()", True)):
        of_kind = [row for row in last if row[3] == searches]
        kinds[name] = [row[1:3] for row in of_kind if not row[4]]
        kinds[f"{name}, with a compaction"] = [row[1:3] for row in of_kind if row[4]]
    return kinds


def figures(times: Sequence[Times]) -> list[float]:
    """The median, the 95th percentile and the most by the clock, then of the processor without the
    most, which is the same on a busy machine."""
    clock, processor = zip(*times, strict=True)
    return [
        statistics.median(clock), percentile(clock, 95), max(clock),
        statistics.median(processor), percentile(processor, 95),
    ]  # fmt: skip


def memory_growth(rss: Sequence[tuple[int, int]]) -> float | None:
    """By how many MB the process grew over the last GROWTH_TURNS turns; None for fewer turns.

    Example:
        >>> memory_growth([(100, 50_000_000), (1_100, 52_000_000), (2_100, 53_000_000)])
        3.0
    """
    last, now = rss[-1]
    before = [size for turn, size in rss if turn <= last - GROWTH_TURNS]
    return (now - before[-1]) / MB if before else None


def aims_of(result: dict[str, Any], turns: int) -> list[Aim]:
    """The aims, of all the last contexts, whether they compact or not."""
    kinds = of_kinds(result, turns)
    aims = []
    for name, wanted in (('context("")', AIM_MS), ("context()", AIM_SEARCH_MS)):
        plain, every = kinds[name], kinds[name] + kinds[f"{name}, with a compaction"]
        for times, words in ((plain, ""), (every, ", compactions included")):
            reached = percentile([clock for clock, _ in times], 95) if times else None
            aims.append(Aim(f"{name} after {turns:,} turns{words}: p95, ms", wanted, reached,
                            at_most=True))  # fmt: skip
    return aims


if __name__ == "__main__":
    main()
