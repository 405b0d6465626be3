"""Measures whether logs of odd shapes are stored in linear time and flat memory.

    python -m benchmarks.scale.shapes [--megabytes 4] [--files 2000] [--times 4] [--whole 1]
        [--only message,folder] [--json FILE] [--smoke]

A source of one long message, a folder of tiny logs, one long log, and a ZIP archive of tiny logs.
Each is read, stored and sealed in a process of its own, once of the given size and once `times` as
large; growth is the CPU per MB of the large one over that of the small one, 1 where time is linear.
The start of Python and of treemem is in the peak and not in the seconds. --whole 1 measures
Memory.ingest instead, with all summaries. For the sizes that a user may have:
--megabytes 50 --files 50000.
"""

from __future__ import annotations

import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from benchmarks import harness
from benchmarks.data.logs import Writer
from benchmarks.harness import MB, Aim, shown
from treemem.ingest.files import Options, ingest_all
from treemem.ingest.walk import find_files
from treemem.memory import Memory
from treemem.privacy.policy import Redaction
from treemem.queue import jobs
from treemem.store.database import IN_MEMORY, Database
from treemem.types import TreeShape
from treemem.worker.source_jobs import SourceWork

PEAK_MB_MAX = 250
GROWTH_MAX = 1.3
COLUMNS = ("shape", "MB", "messages", "seconds", "CPU s/MB", "peak MB", "growth")
# Words that the long message repeats; to draw millions of them would take minutes.
_PROSE_PIECES = 50


def main() -> None:
    smoke = {"megabytes": 0.2, "files": 50, "times": 2}
    options = harness.arguments(
        __doc__, smoke, megabytes=4.0, files=2_000, times=4, whole=0, only=str
    )
    names = options.only.split(",") if options.only else list(SHAPES)
    runs: dict[str, list[dict[str, Any]]] = {}
    with harness.work_folder(options.folder) as folder:
        machine = harness.circumstances(folder)
        for name in names:
            runs[name] = []
            for times in (1, options.times):
                files, megabytes = options.files * times, options.megabytes * times
                runs[name].append(_run(folder, name, megabytes, files, options.whole))
                sys.stderr.write(f"{name}: {', '.join(_cells(runs[name][-1]))}\n")
    rows = [[name, *_cells(run), _growth(pair) if run is pair[1] else ""]
            for name, pair in runs.items() for run in pair]  # fmt: skip
    aims = [Aim(f"{name}: {what}", wanted, reached, at_most=True)
            for name, pair in runs.items()
            for what, wanted, reached in (
                ("peak memory, MB", PEAK_MB_MAX, pair[1]["peak_bytes"] / MB),
                ("growth", GROWTH_MAX, float(_growth(pair))),
            )]  # fmt: skip
    harness.show_table("shapes of logs: read, stored and sealed", COLUMNS, rows)
    harness.show_aims(aims)
    harness.write(options, machine, {"runs": runs}, aims)


def _run(folder: Path, name: str, megabytes: float, files: int, whole: int) -> dict[str, Any]:
    place = folder / f"{name}-{megabytes}-{files}"
    place.mkdir()
    SHAPES[name](place, megabytes, files)
    size_bytes = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    database = folder / f"{place.name}.db"
    run = harness.child("benchmarks.scale.shapes", "child", place, database, whole)
    return {**run, "bytes": size_bytes}


def _cells(run: dict[str, Any]) -> list[str]:
    size = run["bytes"] / MB
    figures = (size, run["messages"], run["seconds"], run["cpu"] / size, run["peak_bytes"] / MB)
    return [shown(figure) for figure in figures]


def _growth(pair: list[dict[str, Any]]) -> str:
    """How many times the CPU of a MB the large log of two takes."""
    small, large = (run["cpu"] / run["bytes"] for run in pair)
    return f"{large / small:.2f}"


# -- the shapes ------------------------------------------------------------------------


def _message(place: Path, megabytes: float, _: int) -> None:
    """A log of one message."""
    writer = Writer(1)
    piece = " ".join(writer.prose() for _ in range(_PROSE_PIECES)) + "\n\n"
    text = piece * (int(megabytes * MB) // len(piece) + 1)
    (place / f"{writer.session}.jsonl").write_bytes(writer.record("assistant", text))


def _tiny(count: int) -> Iterator[tuple[str, bytes]]:
    """Names and contents of logs of one short message each."""
    writer = Writer(2)
    for number in range(count):
        writer.session = f"{number:08d}-57a5-4f26-b12d-d022ee4e51b7"
        yield f"{writer.session}.jsonl", writer.record("user", writer.sentence())


def _folder(place: Path, _: float, files: int) -> None:
    for name, content in _tiny(files):
        (place / name).write_bytes(content)


def _archive(place: Path, _: float, files: int) -> None:
    with zipfile.ZipFile(place / "logs.zip", "w") as archive:
        for name, content in _tiny(files):
            archive.writestr(name, content)


def _log(place: Path, megabytes: float, _: int) -> None:
    writer = Writer(3)
    writer.append_to(place / f"{writer.session}.jsonl", int(megabytes * MB))


SHAPES = {"message": _message, "folder": _folder, "archive": _archive, "log": _log}


# -- what is measured ------------------------------------------------------------------


def child(place: Path, database: Path, *, whole: bool) -> dict[str, Any]:
    """Stores all below a folder; with --whole, as a user's call does. Before that, a tiny log is
    stored, so that what is loaded and compiled once is no part of the time."""
    with harness.work_folder() as warm:
        _folder(warm, 0, 1)
        _stored(warm, Path(IN_MEMORY))
    began, cpu = time.perf_counter(), time.process_time()
    messages = _ingested(place, database) if whole else _stored(place, database)
    return {
        "messages": messages, "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu, "peak_bytes": harness.peak_bytes(),
    }  # fmt: skip


def _ingested(place: Path, database: Path) -> int:
    with Memory.open(database) as memory:
        return memory.ingest(place).added


def _stored(place: Path, database: Path) -> int:
    store = Database(database)
    work = SourceWork(store, _now_ms, TreeShape(), lambda *_: None)

    def seal(_: object) -> None:
        while claims := jobs.claim(store, ["seal"], _now_ms()):
            work.run(claims[0])

    report = ingest_all(store, find_files([place]), _now_ms, seal, Options(Redaction.of(store)))
    store.close()
    assert not any(file.error for file in report.files)
    return report.added


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        figures = child(Path(sys.argv[2]), Path(sys.argv[3]), whole=sys.argv[4] == "1")
        sys.stdout.write(orjson.dumps(figures).decode())
    else:
        main()
