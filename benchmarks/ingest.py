"""How fast a log becomes a durable, counted, sealed, searchable tree, and at what price?

    python benchmarks/ingest.py [--megabytes 50] [--repeat 3] [--json FILE] [--smoke]

treemem stands beside a bare executemany of the same rows, the same with their tokens counted
and their words indexed, and the sqlite-utils command line.
Contenders take turns and are compared pair by pair within one run, since absolute times say
little on a busy machine. MB are 10⁶ bytes of log.
"""

from __future__ import annotations

import sys
from pathlib import Path

# As a script it has this folder on the path, whose queue.py would hide the standard library's.
if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from benchmarks import probe
from benchmarks.logs import Writer
from benchmarks.report import ROOT, Aim, circumstances, median_of, paired, show, shown, write

MB = 1_000_000
GROWTH = 1.01
SMOKE_MEGABYTES = 2
NAMES = ("bare", "sealed", "parts", "ingest", "sqlite-utils")
UNITS = {
    "seconds": "s, from open to close", "process_seconds": "s, with the interpreter's start",
    "peak_bytes": "bytes of memory, VmHWM", "written_bytes": "bytes passed to write(), wchar",
    "file_bytes": "bytes, after closing", "hash_seconds": "s, reading and hashing the log",
    "cpu_seconds": "s of all cores, with the interpreter's start",
    "read_seconds": "s, reading the rows, not part of seconds",
}  # fmt: skip
COLUMNS = (
    "", "seconds", "CPU s", "MB/s", "messages/s", "peak MB", "written/byte", "file/byte",
)  # fmt: skip

Runs = dict[str, list[dict[str, Any]]]


def main() -> None:
    options = _options()
    with _folder(options.folder) as folder:
        results = circumstances(folder)
        log, grown = _logs(folder, options.seed, options.megabytes)
        facts = _child("prepare", log, folder, folder / "none.db")
        facts |= {"log_bytes": log.stat().st_size, "bare_peak_bytes": probe.bare_peak_bytes()}
        runs = _measure(log, grown, folder, options.repeat)
    aims = _aims(runs, facts)
    name = f"ingest: {shown(options.megabytes)} MB, {facts['messages']:,} messages"
    show(f"{name}, medians of {options.repeat}", COLUMNS, _rows(runs, facts), aims)
    settings = {"seed": options.seed, "megabytes": options.megabytes, "repeat": options.repeat}
    results |= {"benchmark": "ingest", "settings": settings, "facts": facts, "units": UNITS}
    write(options.json, {**results, "runs": runs}, aims)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--folder", type=Path, help="where to put the files; not a RAM disk")
    parser.add_argument("--smoke", action="store_true", help="2 MB, once: only that it runs")
    options = parser.parse_args()
    if options.smoke:
        options.megabytes, options.repeat = SMOKE_MEGABYTES, 1
    return options


@contextmanager
def _folder(wanted: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="treemem-bench-", dir=wanted) as name:
        yield Path(name)


def _logs(folder: Path, seed: int, megabytes: float) -> tuple[Path, Path]:
    """The log, and the same log grown by one percent, both of the same session."""
    writer = Writer(seed)
    log = folder / f"{writer.session}.jsonl"
    writer.append_to(log, int(megabytes * MB))
    grown = folder / "grown" / log.name
    grown.parent.mkdir()
    grown.write_bytes(log.read_bytes())
    writer.append_to(grown, int(log.stat().st_size * GROWTH))
    return log, grown


def _measure(log: Path, grown: Path, folder: Path, repeat: int) -> Runs:
    """Every contender once per round, each round in another order."""
    runs: Runs = {name: [] for name in (*NAMES, "again", "grown")}
    for turn in range(repeat):
        shift = turn % len(NAMES)
        for name in NAMES[shift:] + NAMES[:shift]:
            database = folder / name / f"{turn}.db"
            database.parent.mkdir(exist_ok=True)
            runs[name].append(_child(name, log, folder, database))
            if name == "ingest":
                runs["again"].append(_child("again", log, folder, database))
                runs["grown"].append(_child("ingest", grown, folder, database))
            database.unlink()
    return runs


def _child(name: str, log: Path, folder: Path, database: Path) -> dict[str, Any]:
    """Runs a contender in a process of its own, with no writes of the last one left over."""
    os.sync()
    module = "benchmarks.ingest_contenders"
    paths = map(str, (log, folder / "rows.jsonl", database))
    command = [sys.executable, "-m", module, name, *paths]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    result: dict[str, Any] = orjson.loads(done.stdout)
    return {**result, "process_seconds": time.perf_counter() - began}


def _aims(runs: Runs, facts: dict[str, Any]) -> list[Aim]:
    utils, sealed, whole = runs["sqlite-utils"], runs["sealed"], runs["ingest"]
    peak = median_of(whole, "peak_bytes")
    memory = None if peak is None else (peak - facts["bare_peak_bytes"]) / MB
    process = ("process_seconds", "process_seconds")
    return [
        Aim("(a) time over bare executemany", 4, paired(sealed, runs["bare"]), at_most=True),
        Aim("(a) speed over sqlite-utils", 2.5, paired(utils, sealed, *process)),
        Aim("(b) speed over sqlite-utils", 1, paired(utils, whole, *process)),
        Aim("peak memory over the interpreter's, MB", 200, memory, at_most=True),
        Aim("10th ingest, time over reading and hashing", 1.5,
            paired(runs["again"], runs["again"], "seconds", "hash_seconds"), at_most=True),
    ]  # fmt: skip


def _rows(runs: Runs, facts: dict[str, Any]) -> list[list[str]]:
    labels = {
        "bare": "bare executemany", "parts": "… with reading, counting, indexing",
        "sqlite-utils": "sqlite-utils insert, enable-fts",
        "sealed": "(a) treemem, without summaries", "ingest": "(b) treemem, Memory.ingest",
        "again": "(b) the same file for the 10th time", "grown": "(b) the file grown by 1 %",
    }  # fmt: skip
    return [[label, *_figures(runs[name], facts)] for name, label in labels.items()]


def _figures(runs: list[dict[str, Any]], facts: dict[str, Any]) -> list[str]:
    seconds, size = median_of(runs, "seconds"), facts["log_bytes"]
    assert seconds is not None
    peak, written = median_of(runs, "peak_bytes"), median_of(runs, "written_bytes")
    memory = None if peak is None else (peak - facts["bare_peak_bytes"]) / MB
    file_bytes = median_of(runs, "file_bytes") or 0
    rates = [median_of(runs, "cpu_seconds"), size / seconds / MB, facts["messages"] / seconds]
    shares = [None if written is None else written / size, file_bytes / size]
    return [f"{seconds:.3f}", *map(shown, [*rates, memory, *shares])]


if __name__ == "__main__":
    main()
