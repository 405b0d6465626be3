"""Measures ingest, search and queue, and writes docs/benchmarks.md and its chart.

    python -m benchmarks.scale.report [--full] [--only ingest,search,queue] [--mixed]
        [--folder FOLDER] [--smoke]

It runs the benchmarks one after the other and keeps every run in build/bench; what the page shows
is in figures.json beside this module. --full takes a log of 500 MB and a million messages too.
--only keeps the other figures, and is refused if they are of another commit or machine; --mixed
writes them nevertheless, and the page says so. --smoke measures in miniature and writes nothing.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from benchmarks import harness
from benchmarks.harness import MB, ROOT
from benchmarks.latency import percentile
from benchmarks.retrieval.latency_worker import BARE, PLACES
from benchmarks.scale import page
from benchmarks.scale.page import Part

FIGURES = Path(__file__).with_name("figures.json")
PAGE = ROOT / "docs" / "benchmarks.md"
CHART = ROOT / "docs" / "images" / "bench.svg"
RAW = ROOT / "build" / "bench"
# The commands of each part: quick, full and in miniature.
QUICK: dict[str, list[str]] = {
    "ingest": ["benchmarks/ingest.py --megabytes 5,50"],
    "search": [f"benchmarks/latency.py --messages {count}" for count in (1_000, 10_000, 100_000)],
    "queue": ["benchmarks/queue.py"],
}
FULL = QUICK | {
    "ingest": ["benchmarks/ingest.py --megabytes 5,50,500"],
    "search": [*QUICK["search"], "benchmarks/latency.py --messages 1000000"],
}
SMOKE = {name: [f"{commands[0].split()[0]} --smoke"] for name, commands in QUICK.items()}

Result = dict[str, Any]


def main() -> None:
    options = _arguments()
    kept = [] if options.smoke else read(FIGURES)
    commands = SMOKE if options.smoke else FULL if options.full else QUICK
    wanted = options.only.split(",") if options.only else list(QUICK)
    if unknown := set(wanted) - set(QUICK):
        sys.exit(f"There is no part {', '.join(sorted(unknown))}; there are {', '.join(QUICK)}.")
    others = [part for part in kept if part.name not in wanted]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        if not options.mixed:
            now = harness.circumstances(Path(folder))
            _refuse_mixed([*others, Part("these", "", **_circumstances(now), rows=[])])
        raw = Path(folder) if options.smoke else RAW
        raw.mkdir(parents=True, exist_ok=True)
        fresh = [measured(name, commands[name], raw, Path(folder)) for name in wanted]
    by_name = {part.name: part for part in (*others, *fresh)}
    parts = [by_name[name] for name in QUICK if name in by_name]
    if not options.mixed:
        _refuse_mixed(parts)
    text, svg = page.filled(PAGE.read_text("utf-8"), parts), page.drawn(parts)
    if options.smoke:
        print(f"The page would have {len(text):,} characters, and the chart {len(svg):,}.")
        return
    FIGURES.write_bytes(written(parts))
    PAGE.write_text(text, "utf-8")
    CHART.write_text(svg, "utf-8")
    print(f"Written: {', '.join(str(path.relative_to(ROOT)) for path in (FIGURES, PAGE, CHART))}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--full", action="store_true", help="also 500 MB and a million messages")
    parser.add_argument("--only", metavar="PARTS", help="only these, such as ingest,search")
    parser.add_argument("--mixed", action="store_true", help="allow several commits or machines")
    parser.add_argument("--folder", type=Path, help="where to put the files; not a RAM disk")
    parser.add_argument("--smoke", action="store_true", help="in miniature; nothing is written")
    return parser.parse_args()


def _refuse_mixed(parts: Sequence[Part]) -> None:
    if mixed := page.mixture(parts):
        sys.exit(f"{mixed} Measure all (make bench), or pass --mixed, and the page says so.")


# -- measuring ---------------------------------------------------------------------------


def measured(name: str, commands: Sequence[str], raw: Path, folder: Path) -> Part:
    """Runs the commands of a part. raw: where their JSON goes. folder: where databases go."""
    results = []
    for number, command in enumerate(commands):
        path = raw / f"{name}-{number}.json"
        words = [*shlex.split(command), "--json", str(path), "--folder", str(folder)]
        print(f"\n$ python {command}", flush=True)
        began = time.monotonic()
        if code := subprocess.run([sys.executable, *words], cwd=ROOT, check=False).returncode:
            sys.exit(f"{command} ended with {code}; nothing was written.")
        print(f"{time.monotonic() - began:.0f} seconds")
        results.append(orjson.loads(path.read_bytes()))
    shown = f"python {commands[0]}"
    if len(commands) > 1:  # they differ in their last word
        shown += "".join(f", {command.split()[-1]}" for command in commands[1:])
    return part_of(name, shown, results)


def part_of(name: str, command: str, results: Sequence[Result]) -> Part:
    """What the page shows of results. Exits if the commit changed while they were measured."""
    rows = [row for result in results for row in ROWS[name](result)]
    aims = [aim for result in results for aim in result["aims"]]
    _refuse_mixed([
        Part(f"{name} {number}", command, **_circumstances(result), rows=[])
        for number, result in enumerate(results, start=1)
    ])  # fmt: skip
    return Part(name, command, **_circumstances(results[0]), rows=rows, aims=aims,
                beside=results[0].get("beside", []))  # fmt: skip


def _circumstances(result: Mapping[str, Any]) -> dict[str, Any]:
    return {key: result[key] for key in ("commit", "date", "machine")}


def _ingest_rows(result: Result) -> list[Result]:
    return [*result["by_size"], *result["formats"]]


def _search_rows(result: Result) -> list[Result]:
    """p50 and p95 in milliseconds over all kinds of queries, warm, and of everything cold."""

    def spread(state: str, place: str) -> list[float] | None:
        runs = result["warm"]["runs"] if state == "warm" else result["cold"]
        times = [run[place] for run in runs]
        return [percentile(times, 50), percentile(times, 95)] if times else None

    row = {place: spread("warm", place) for place in (*PLACES, BARE)}
    row["cold"] = spread("cold", "everything")
    peak, file = result["warm"]["peak_bytes"] / MB, result["filled"]["file_bytes"] / MB
    return [{"messages": result["settings"]["messages"], "file_mb": file, "peak_mb": peak, **row}]


def _queue_rows(result: Result) -> list[Result]:
    rows = []
    for name, runs in result["speeds"].items():
        row = {key: harness.median_of(runs, key) for key in ("single", "batch", "cpu_ms")}
        rows.append({"queue": name, **row, **result["losses"].get(name, {})})
    return rows


ROWS = {"ingest": _ingest_rows, "search": _search_rows, "queue": _queue_rows}


# -- figures -----------------------------------------------------------------------------


def read(path: Path) -> list[Part]:
    """The parts in a file of figures; none if there is no such file."""
    return [Part(**row) for row in orjson.loads(path.read_bytes())] if path.exists() else []


def written(parts: Sequence[Part]) -> bytes:
    """The parts as read() takes them."""
    return orjson.dumps([asdict(part) for part in parts], option=orjson.OPT_INDENT_2) + b"\n"


if __name__ == "__main__":
    main()
