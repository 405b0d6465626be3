"""How long does a search take, and how long beside a bare full-text query?

    python benchmarks/latency.py [--messages 100000] [--queries 100] [--out FILE] [--smoke]

A file of made-up chats is filled through Memory.append and Memory.work. Queries of one rare,
three mixed and six common words are asked in one source, everywhere, and within a tenth of the
time, each beside SELECT … MATCH … ORDER BY bm25 LIMIT 200 for the same words on the same file:
warm in one process, and cold, each in a new process whose file is not in memory.
"""

from __future__ import annotations

import sys
from pathlib import Path

# As a script it has this folder on the path, whose queue.py would hide the standard library's.
if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import itertools
import math
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import orjson

from benchmarks import probe
from benchmarks.latency_chats import KINDS, SESSION_MESSAGES
from benchmarks.latency_worker import BUDGET_TOKENS, PLACES
from benchmarks.report import ROOT, circumstances, show_table, shown, write

MB = 1_000_000
BARE = "bare"
COLD_QUERIES = 12
SMOKE = {"messages": 1_000, "queries": 6, "cold": 3}
UNITS = {
    "ms": "milliseconds; warm: of Memory.search or the bare query alone; cold: from opening the "
    "file to the answer, lazy imports included, starting the interpreter not",
    "open_ms": "milliseconds of ms that opening the file took", "peak_bytes": "bytes, VmHWM",
    "read_bytes": "bytes that came from the disk", "made_seconds": "s for making the words up",
    "append_seconds": "s in Memory.append", "work_seconds": "s in Memory.work",
    "cpu_seconds": "s of all cores for filling the file, with the interpreter's start",
}  # fmt: skip


def main() -> None:
    chosen = _options()
    sessions = max(1, chosen.messages // SESSION_MESSAGES)
    with _file(chosen.file) as path:
        results = circumstances(path.parent)
        settings = {"path": str(path), "seed": chosen.seed, "sessions": sessions}
        filled = None if path.exists() else _worker("fill", settings)
        file_bytes = path.stat().st_size
        warm = _worker("warm", settings | {"count": chosen.queries})
        cold = _cold(settings, chosen.cold)
    bare_peak = probe.bare_peak_bytes()
    title = f"latency: {sessions * SESSION_MESSAGES:,} messages in {sessions:,} sources"
    _tell_file(title, filled, file_bytes)
    rows = [*_rows("warm", warm["runs"]), *_rows("cold", cold)]
    show_table(f"{title}, ms", ("", "query", "", "p50", "p95", "times bare"), rows, 3)
    peak = (warm["peak_bytes"] - bare_peak) / MB
    print(f"peak memory over the interpreter's: {shown(peak)} MB")
    results |= {
        "benchmark": "latency", "units": UNITS, "filled": filled, "file_bytes": file_bytes,
        "settings": {"seed": chosen.seed, "messages": sessions * SESSION_MESSAGES,
                     "queries": chosen.queries, "budget_tokens": BUDGET_TOKENS},
        "bare_peak_bytes": bare_peak, "warm": warm, "cold": cold,
    }  # fmt: skip
    write(chosen.out, results, [])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100, help="warm, at each place")
    parser.add_argument("--cold", type=int, default=COLD_QUERIES, help="queries asked cold")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--file", type=Path, help="fill this one and keep it, or take it as it is")
    parser.add_argument("--out", type=Path, metavar="FILE", help="all results, as JSON")
    parser.add_argument("--smoke", action="store_true", help="1,000 messages: only that it runs")
    chosen = parser.parse_args()
    if chosen.smoke:
        chosen.__dict__.update(SMOKE)
    return chosen


@contextmanager
def _file(wanted: Path | None) -> Iterator[Path]:
    if wanted is not None:
        yield wanted
        return
    with tempfile.TemporaryDirectory(prefix="treemem-bench-") as folder:
        yield Path(folder) / "memory.sqlite3"


def _worker(command: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Runs a part in a process of its own."""
    arguments = ["-m", "benchmarks.latency_worker", command, orjson.dumps(settings).decode()]
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    result: dict[str, Any] = orjson.loads(done.stdout)
    return result


def _cold(settings: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Each query at every place and bare, one process each; none where the system cannot be
    asked to forget a file."""
    if not hasattr(os, "posix_fadvise"):
        print("cold: not measured, there is no posix_fadvise here", file=sys.stderr)
        return []
    return [
        {"place": place, **_worker("cold", settings | {"number": number, "place": place})}
        for number, place in itertools.product(range(count), (*PLACES, BARE))
    ]


# -- telling ---------------------------------------------------------------------------


def _tell_file(title: str, filled: dict[str, Any] | None, file_bytes: int) -> None:
    told = f"{title}, {shown(file_bytes / MB)} MB"
    if filled is not None:
        append, work = filled["append_seconds"], filled["work_seconds"]
        told += f"; appended in {shown(append)} s, light work {shown(work)} s "
        told += f"({shown(filled['cpu_seconds'])} s of CPU in all)"
    print(told)


def _rows(state: str, runs: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Lines by kind of query and place. Each search is compared with the bare query that was
    made beside it; the median of these ratios is told."""
    rows = []
    for kind in (*KINDS, "all"):
        found = [run for run in runs if kind in (run["kind"], "all")]
        for place in (*PLACES, BARE):
            times = _times(found, place)
            if times:
                pairs = zip(times, _times(found, BARE), strict=True)
                ratio = statistics.median(ours / bare for ours, bare in pairs)
                p50, p95 = statistics.median(times), percentile(times, 95)
                rows.append([state, kind, place, f"{p50:.2f}", f"{p95:.2f}", f"{ratio:.2f}"])
    return rows


def _times(runs: Sequence[dict[str, Any]], place: str) -> list[float]:
    """The times at a place, in the order of the queries: a warm run holds all places, a cold
    one the one it names."""
    if runs and "place" in runs[0]:
        return [run["ms"] for run in runs if run["place"] == place]
    return [run[place] for run in runs]


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of the values do not exceed.

    Example:
        >>> percentile([1, 2, 3, 4], 50), percentile([3, 1, 2], 95)
        (2, 3)
    """
    ordered = sorted(values)
    return ordered[max(1, math.ceil(len(ordered) * percent / 100)) - 1]


if __name__ == "__main__":
    main()
