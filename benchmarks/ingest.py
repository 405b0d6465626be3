"""Measures how fast a log becomes a durable, counted, sealed, searchable tree.

    python benchmarks/ingest.py [--megabytes 5,50] [--repeat 3] [--json FILE] [--smoke]

A Claude Code log of each size is stored by treemem, by a bare executemany of the same rows, by the
same plus counting and indexing, and by the sqlite-utils command line. Contenders take turns and are
compared pair by pair. Plain text and a chat of the smallest size are ingested too. Logs over 100 MB
are stored once. MB are 10⁶ bytes of log; seconds and CPU are from open to close, process_seconds
with the start of Python.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import os
import statistics
import time
from collections.abc import Sequence
from typing import Any

from benchmarks import harness
from benchmarks.data.export_logs import BUILDERS, SUFFIXES, ShortTalk, Talk
from benchmarks.data.logs import Writer
from benchmarks.harness import MB, Aim, median_of, paired

GROWTH = 1.01
# Larger logs take minutes, in which the noise of a machine evens out.
REPEATED_MB_MAX = 100
LABELS = {
    "bare": "bare executemany",
    "parts": "… with reading, counting, indexing",
    "sqlite-utils": "sqlite-utils insert, enable-fts",
    "sealed": "(a) treemem, without summaries",
    "ingest": "(b) treemem, Memory.ingest",
    "again": "(b) the same file for the 10th time",
    "grown": "(b) the file grown by 1 %",
    "line": "(b) the file with one line more",
}
NAMES = ("bare", "sealed", "parts", "ingest", "sqlite-utils")
OWN = ("sealed", "ingest", "again")
# What is kept of each contender, and shown in a table for each size.
BESIDE = {
    "contender": "", "seconds": "seconds", "cpu_seconds": "CPU s", "speed": "MB/s",
    "messages_per_second": "messages/s", "peak_mb": "peak MB over Python's",
    "written_ratio": "written/byte", "file_ratio": "file/byte",
}  # fmt: skip
# Other logs by the name of their importer, each with the talk that it is made of.
FORMATS = {"plain-text": Talk, "whatsapp": ShortTalk}
# A talk has at least this many turns, and the size of more is extrapolated from them.
PROBE_TURNS = 200
# What is kept of Memory.ingest for each log, and shown in a table.
FIGURES = {
    "log": "log", "megabytes": "MB", "messages": "messages", "speed": "MB/s",
    "parts_speed": "MB/s of its parts", "ratio": "ratio", "cpu_per_mb": "CPU s/MB",
    "peak_mb": "peak MB", "file_ratio": "file/byte", "grown_seconds": "grown by 1 %, s",
}  # fmt: skip

Run = dict[str, Any]
Runs = dict[str, list[Run]]


def main() -> None:
    smoke = {"megabytes": "0.2,0.4", "repeat": 1}
    options = harness.arguments(__doc__, smoke, megabytes="5,50", repeat=3, seed=1)
    sizes = sorted(map(float, options.megabytes.split(",")))
    measured: list[tuple[dict[str, Any], Runs]] = []
    with harness.work_folder(options.folder) as folder:
        machine = harness.circumstances(folder)
        for megabytes in sizes:
            repeat = options.repeat if megabytes <= REPEATED_MB_MAX else 1
            measured.append(_of_size(folder / f"{megabytes:g}", megabytes, options.seed, repeat))
            count = f"{measured[-1][0]['messages']:,} messages, medians of {repeat}"
            _show(f"ingest: {megabytes:g} MB, {count}", BESIDE, beside(*measured[-1]))
        formats = [_of_format(folder, name, sizes[0], options) for name in FORMATS]
    by_size = [figures_of("Claude Code", facts, runs) for facts, runs in measured]
    _show("Memory.ingest by log", FIGURES, [*by_size, *formats])
    aims = [*_aims(by_size, formats), *_aims_beside(*measured[-1])]
    harness.show_aims(aims)
    runs = [{"facts": facts, "runs": runs} for facts, runs in measured]
    results = {
        "by_size": by_size, "formats": formats, "beside": beside(*measured[-1]), "sizes": runs,
    }  # fmt: skip
    harness.write(options, machine, results, aims)


def _of_size(folder: Path, megabytes: float, seed: int, repeat: int) -> tuple[dict[str, Any], Runs]:
    """The facts about a log of this size, and the runs of every contender."""
    folder.mkdir()
    log, grown = _logs(folder, seed, megabytes)
    facts = _run("prepare", log, folder, folder / "none.db")
    facts |= {"log_bytes": log.stat().st_size, "bare_peak_bytes": harness.bare_peak_bytes()}
    runs = _measure(log, grown, folder, repeat)
    for path in (log, grown, folder / "rows.jsonl"):
        path.unlink()
    return facts, runs


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
                runs["line"].append(_run("line", log, folder, database))
                runs["grown"].append(_run("ingest", grown, folder, database))
            database.unlink()
    return runs


def _run(name: str, log: Path, folder: Path, database: Path) -> Run:
    """Runs a contender in a process of its own, after the writes of the last one have ended."""
    os.sync()
    began = time.perf_counter()
    result = harness.child(
        "benchmarks.contenders.ingest", name, log, folder / "rows.jsonl", database
    )
    result["process_seconds"] = time.perf_counter() - began
    if name in OWN:  # which may start processes, and then a peak is that of all together
        result["peak_bytes"] = max(result["peak_bytes"], result["tree_peak_bytes"])
    return result


def _of_format(folder: Path, name: str, megabytes: float, options: Any) -> dict[str, Any]:
    """The figures of ingesting a log of another format."""
    build, talk = BUILDERS[name], FORMATS[name]
    probe = len(build(talk(options.seed, PROBE_TURNS)))
    turns = max(PROBE_TURNS, int(megabytes * MB * PROBE_TURNS / probe))
    log = folder / f"log{SUFFIXES[name]}"
    log.write_bytes(build(talk(options.seed, turns)))
    databases = [folder / f"{name}-{turn}.db" for turn in range(options.repeat)]
    runs = {"ingest": [_run("ingest", log, folder, database) for database in databases]}
    facts = {"log_bytes": log.stat().st_size, "messages": runs["ingest"][0]["messages"]}
    return figures_of(name, facts, runs)


# -- figures -----------------------------------------------------------------------------


def figures_of(log: str, facts: dict[str, Any], runs: Runs) -> dict[str, Any]:
    """The figures of Memory.ingest, medians, by the keys of FIGURES.

    Those of what was not run beside it are missing.
    """
    size, whole = facts["log_bytes"], runs["ingest"]
    seconds, cpu, peak, file = (
        statistics.median(run[key] for run in whole)
        for key in ("seconds", "cpu_seconds", "peak_bytes", "file_bytes")
    )
    figures = {
        "log": log, "megabytes": size / MB, "messages": facts["messages"],
        "speed": size / seconds / MB, "cpu_per_mb": cpu * MB / size, "peak_mb": peak / MB,
        "file_ratio": file / size,
    }  # fmt: skip
    if "parts" in runs:
        parts_seconds = statistics.median(run["seconds"] for run in runs["parts"])
        figures |= {
            "parts_speed": size / parts_seconds / MB, "ratio": paired(runs["parts"], whole),
            "grown_seconds": median_of(runs["grown"], "seconds"),
        }  # fmt: skip
    return figures


def _aims(by_size: Sequence[dict[str, Any]], formats: Sequence[dict[str, Any]]) -> list[Aim]:
    """The aims of Memory.ingest; each is for the log that comes off worst."""
    speeds = [row["speed"] for row in by_size]
    mean = statistics.mean(speeds)
    several = len(by_size) > 1
    spread = max(abs(speed / mean - 1) for speed in speeds) if several else None
    growth = by_size[-1]["cpu_per_mb"] / by_size[0]["cpu_per_mb"] if several else None
    return [
        Aim("(b) MB/s", 3, min(speeds)),
        Aim("(b) speed over that of its parts", 0.5, min(row["ratio"] for row in by_size)),
        Aim("(b) MB/s of a size, share off the mean", 0.15, spread, at_most=True),
        Aim("(b) CPU per MB, largest over smallest", 1.2, growth, at_most=True),
        Aim("(b) peak memory, MB", 250, max(row["peak_mb"] for row in by_size), at_most=True),
        Aim("(b) file over log", 2, max(row["file_ratio"] for row in by_size), at_most=True),
        *(Aim(f"(b) {row['log']}, MB/s", 1.5, row["speed"]) for row in formats),
    ]


def _aims_beside(facts: dict[str, Any], runs: Runs) -> list[Aim]:
    """The aims beside other contenders."""
    utils, sealed, whole, again = (
        runs[name] for name in ("sqlite-utils", "sealed", "ingest", "again")
    )
    return [
        Aim("(a) time over bare executemany", 4, paired(sealed, runs["bare"]), at_most=True),
        Aim("(a) speed over sqlite-utils", 2.5, paired(utils, sealed, "process_seconds")),
        Aim("(b) speed over sqlite-utils", 1, paired(utils, whole, "process_seconds")),
        Aim("(b) peak memory over Python's, MB", 200, _peak_mb(whole, facts), at_most=True),
        Aim("(b) 10th ingest, time over reading and hashing", 1.5,
            paired(again, again, "seconds", "hash_seconds"), at_most=True),
    ]  # fmt: skip


def _peak_mb(runs: list[Run], facts: dict[str, Any]) -> float | None:
    peak = median_of(runs, "peak_bytes")
    return None if peak is None else (peak - facts["bare_peak_bytes"]) / MB


def beside(facts: dict[str, Any], runs: Runs) -> list[dict[str, Any]]:
    """The figures of every contender, medians, by the keys of BESIDE."""
    size, rows = facts["log_bytes"], []
    for name, label in LABELS.items():
        seconds, written, file = (
            median_of(runs[name], key) for key in ("seconds", "written_bytes", "file_bytes")
        )
        assert seconds is not None
        rows.append({
            "contender": label, "seconds": seconds,
            "cpu_seconds": median_of(runs[name], "cpu_seconds"), "speed": size / seconds / MB,
            "messages_per_second": facts["messages"] / seconds,
            "peak_mb": _peak_mb(runs[name], facts),
            "written_ratio": None if written is None else written / size,
            "file_ratio": (file or 0) / size,
        })  # fmt: skip
    return rows


def _show(title: str, columns: dict[str, str], rows: Sequence[dict[str, Any]]) -> None:
    cells = [[harness.cell(row.get(key)) for key in columns] for row in rows]
    harness.show_table(title, list(columns.values()), cells)


if __name__ == "__main__":
    main()
