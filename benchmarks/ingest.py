"""Measures how fast a log becomes a durable, counted, sealed, searchable tree.

    python benchmarks/ingest.py [--megabytes 50] [--repeat 3] [--json FILE] [--smoke]

treemem is compared with a bare executemany of the same rows, with the same plus counting and
indexing, and with the sqlite-utils command line. Contenders take turns and are compared pair by
pair. MB are 10⁶ bytes of log; seconds are from open to close, process_seconds with the start of
Python.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import os
import time
from typing import Any

from benchmarks import harness
from benchmarks.data.logs import Writer
from benchmarks.harness import MB, Aim, median_of, paired, shown

GROWTH = 1.01
LABELS = {
    "bare": "bare executemany",
    "parts": "… with reading, counting, indexing",
    "sqlite-utils": "sqlite-utils insert, enable-fts",
    "sealed": "(a) treemem, without summaries",
    "ingest": "(b) treemem, Memory.ingest",
    "again": "(b) the same file for the 10th time",
    "grown": "(b) the file grown by 1 %",
}
NAMES = ("bare", "sealed", "parts", "ingest", "sqlite-utils")
COLUMNS = ("", "seconds", "CPU s", "MB/s", "messages/s", "peak MB", "written/byte", "file/byte")

Runs = dict[str, list[dict[str, Any]]]


def main() -> None:
    smoke = {"megabytes": 2.0, "repeat": 1}
    options = harness.arguments(__doc__, smoke, megabytes=50.0, repeat=3, seed=1)
    with harness.work_folder(options.folder) as folder:
        machine = harness.circumstances(folder)
        log, grown = _logs(folder, options.seed, options.megabytes)
        facts = _run("prepare", log, folder, folder / "none.db")
        facts |= {"log_bytes": log.stat().st_size, "bare_peak_bytes": harness.bare_peak_bytes()}
        runs = _measure(log, grown, folder, options.repeat)
    aims = _aims(runs, facts)
    title = f"ingest: {shown(options.megabytes)} MB, {facts['messages']:,} messages"
    rows = [[label, *_cells(runs[name], facts)] for name, label in LABELS.items()]
    harness.show_table(f"{title}, medians of {options.repeat}", COLUMNS, rows)
    harness.show_aims(aims)
    harness.write(options, machine, {"facts": facts, "runs": runs}, aims)


def _logs(folder: Path, seed: int, megabytes: float) -> tuple[Path, Path]:
    """A log, and the same log of the same session grown by one per cent."""
    writer = Writer(seed)
    log = folder / f"{writer.session}.jsonl"
    writer.append_to(log, int(megabytes * MB))
    grown = folder / "grown" / log.name
    grown.parent.mkdir()
    grown.write_bytes(log.read_bytes())
    writer.append_to(grown, int(log.stat().st_size * GROWTH))
    return log, grown


def _measure(log: Path, grown: Path, folder: Path, repeat: int) -> Runs:
    """Runs every contender once a round, each round in another order."""
    runs: Runs = {name: [] for name in LABELS}
    for turn in range(repeat):
        shift = turn % len(NAMES)
        for name in NAMES[shift:] + NAMES[:shift]:
            database = folder / name / f"{turn}.db"
            database.parent.mkdir(exist_ok=True)
            runs[name].append(_run(name, log, folder, database))
            if name == "ingest":
                runs["again"].append(_run("again", log, folder, database))
                runs["grown"].append(_run("ingest", grown, folder, database))
            database.unlink()
    return runs


def _run(name: str, log: Path, folder: Path, database: Path) -> dict[str, Any]:
    """Runs a contender in a process of its own, after the writes of the last one have ended."""
    os.sync()
    began = time.perf_counter()
    result = harness.child(
        "benchmarks.contenders.ingest", name, log, folder / "rows.jsonl", database
    )
    return {**result, "process_seconds": time.perf_counter() - began}


def _aims(runs: Runs, facts: dict[str, Any]) -> list[Aim]:
    utils, sealed, whole, again = (
        runs[name] for name in ("sqlite-utils", "sealed", "ingest", "again")
    )
    return [
        Aim("(a) time over bare executemany", 4, paired(sealed, runs["bare"]), at_most=True),
        Aim("(a) speed over sqlite-utils", 2.5, paired(utils, sealed, "process_seconds")),
        Aim("(b) speed over sqlite-utils", 1, paired(utils, whole, "process_seconds")),
        Aim("peak memory over Python's, MB", 200, _peak_mb(whole, facts), at_most=True),
        Aim("10th ingest, time over reading and hashing", 1.5,
            paired(again, again, "seconds", "hash_seconds"), at_most=True),
    ]  # fmt: skip


def _peak_mb(runs: list[dict[str, Any]], facts: dict[str, Any]) -> float | None:
    peak = median_of(runs, "peak_bytes")
    return None if peak is None else (peak - facts["bare_peak_bytes"]) / MB


def _cells(runs: list[dict[str, Any]], facts: dict[str, Any]) -> list[str]:
    seconds, size = median_of(runs, "seconds"), facts["log_bytes"]
    assert seconds is not None
    written = median_of(runs, "written_bytes")
    cells = [
        median_of(runs, "cpu_seconds"), size / seconds / MB, facts["messages"] / seconds,
        _peak_mb(runs, facts), None if written is None else written / size,
        (median_of(runs, "file_bytes") or 0) / size,
    ]  # fmt: skip
    return [f"{seconds:.3f}", *map(shown, cells)]


if __name__ == "__main__":
    main()
