"""How fast is a log read, beside merely parsing its bytes?

    python benchmarks/importers.py [--megabytes 10] [--repeat 5] [--formats codex,slack]
        [--out FILE] [--smoke]

For each format a log is made up, and read by its importer and by the plain parser of what it is
written in: json.loads of each line, json.loads of the document, the same for each member of an
archive, the standard library's email, or lines of text. Both take turns within one run; the ratio
is the median of pairs, 1 where reading costs nothing beside parsing. Nothing is stored.
"""

from __future__ import annotations

import sys
from pathlib import Path

# As a script it has this folder on the path, whose queue.py would hide the standard library's.
if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import email
import email.policy
import json
import statistics
import tempfile
import time
import zipfile
from collections.abc import Callable

from benchmarks.export_logs import BUILDERS, SUFFIXES, Talk
from benchmarks.report import Aim, circumstances, show, shown, write
from treemem.importers import LogFile, by_name
from treemem.importers.common import archives
from treemem.types import Message

MB = 1_000_000
JSONL_AIM = 0.5
PROBE_TURNS = 200
SMOKE = {"megabytes": 0.2, "repeat": 1}
COLUMNS = ("format", "beside", "MB", "messages", "MB/s", "parsing MB/s", "ratio")


def main() -> None:
    options = _options()
    chosen = options.formats.split(",") if options.formats else list(BUILDERS)
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        results = circumstances(Path(folder))
        for name in chosen:
            log = _log(Path(folder), name, int(options.megabytes * MB))
            measured[name] = _measure(name, log, options.repeat)
            log.unlink()
    rows = [
        (name, run["beside"], shown(run["bytes"] / MB), shown(run["messages"]),
         shown(run["bytes"] / MB / run["seconds"]), shown(run["bytes"] / MB / run["parse_seconds"]),
         shown(run["ratio"]))
        for name, run in measured.items()
    ]  # fmt: skip
    lines = [run["ratio"] for run in measured.values() if run["beside"] == "JSON lines"]
    aims = [Aim("JSON Lines, the slowest", JSONL_AIM, min(lines, default=None))]
    show("importers: reading beside parsing", COLUMNS, rows, aims)
    write(options.out, results | {"benchmark": "importers", "runs": measured}, aims)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--megabytes", type=float, default=10.0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--formats", help="only these, by their names")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.smoke:
        vars(options).update(SMOKE)
    return options


def _log(folder: Path, name: str, size_bytes: int) -> Path:
    """A log of about this size, at least PROBE_TURNS turns."""
    build = BUILDERS[name]
    turns = max(PROBE_TURNS, size_bytes * PROBE_TURNS // len(build(Talk(1, PROBE_TURNS))))
    path = folder / f"log{SUFFIXES.get(name, '.jsonl')}"
    path.write_bytes(build(Talk(1, turns)))
    return path


def _measure(name: str, log: Path, repeat: int) -> dict[str, object]:
    beside, parse = _parser(log)
    runs = []
    messages = 0
    for _ in range(repeat):
        parse_seconds, _ = _timed(lambda: parse(log))
        seconds, messages = _timed(lambda: _read(name, log))
        runs.append((parse_seconds, seconds))
    return {
        "beside": beside, "bytes": log.stat().st_size, "messages": messages,
        "parse_seconds": statistics.median(run[0] for run in runs),
        "seconds": statistics.median(run[1] for run in runs),
        "ratio": statistics.median(run[0] / run[1] for run in runs),
    }  # fmt: skip


def _timed(work: Callable[[], int]) -> tuple[float, int]:
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def _read(name: str, log: Path) -> int:
    """The messages that the importer finds."""
    file = LogFile(str(log), log)
    with archives.opened(file) as archive:
        if archive is None:
            return sum(isinstance(event, Message) for event in by_name(name).read(file))
        list(archive.survey())
        days = [member for member in archive.members() if "/" in member.label.rpartition("!")[2]]
        return sum(isinstance(e, Message) for day in days for e in by_name(name).read(day))


# -- what it is compared with ------------------------------------------------------------


def _parser(log: Path) -> tuple[str, Callable[[Path], int]]:
    return {
        ".jsonl": ("JSON lines", _json_lines), ".json": ("JSON document", _json_document),
        ".zip": ("JSON in ZIP", _json_members), ".mbox": ("email", _mails),
    }.get(log.suffix, ("text lines", _text_lines))  # fmt: skip


def _json_lines(log: Path) -> int:
    with log.open("rb") as stream:
        return sum(1 for line in stream if json.loads(line) is not None)


def _json_document(log: Path) -> int:
    return len(json.loads(log.read_bytes()))


def _json_members(log: Path) -> int:
    with zipfile.ZipFile(log) as archive:
        return sum(len(json.loads(archive.read(name))) for name in archive.namelist())


def _mails(log: Path) -> int:
    parts = log.read_bytes().split(b"\nFrom ")
    parsed = (email.message_from_bytes(part, policy=email.policy.default) for part in parts)
    return sum(len(mail.get_content()) for mail in parsed)


def _text_lines(log: Path) -> int:
    with log.open(encoding="utf-8") as stream:
        return sum(len(line) for line in stream)


if __name__ == "__main__":
    main()
