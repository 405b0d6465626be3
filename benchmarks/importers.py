"""Measures how fast a log is read, compared with merely parsing its bytes.

    python benchmarks/importers.py [--megabytes 10] [--repeat 5] [--formats codex,slack]
        [--json FILE] [--smoke]

A log of each format is generated and read by its importer and by the plain parser of its
container: json.loads of each line, of the document or of each archive member, the standard
library's email, the rows of tables, or lines of text. Both take turns; the ratio is the median of
pairs, 1 where reading costs nothing beyond parsing. Nothing is stored.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import email
import email.policy
import json
import sqlite3
import statistics
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from typing import Any

from benchmarks import harness
from benchmarks.data.export_logs import BUILDERS, SUFFIXES, Talk
from benchmarks.harness import MB, Aim, shown
from treemem.importers import LogFile, by_name
from treemem.importers.common import archives
from treemem.types import Message

JSONL_AIM = 0.5
# A log has at least this many turns, and its size is extrapolated from them.
PROBE_TURNS = 200
COLUMNS = ("format", "beside", "MB", "messages", "MB/s", "parsing MB/s", "ratio")


def main() -> None:
    smoke = {"megabytes": 0.2, "repeat": 1}
    options = harness.arguments(__doc__, smoke, megabytes=10.0, repeat=5, formats=str)
    names = options.formats.split(",") if options.formats else list(BUILDERS)
    runs = {}
    with harness.work_folder(options.folder) as folder:
        machine = harness.circumstances(folder)
        for name in names:
            log = _log(folder, name, int(options.megabytes * MB))
            runs[name] = _measure(name, log, options.repeat)
            log.unlink()
    rows = []
    for name, run in runs.items():
        size = run["bytes"] / MB
        figures = (size, run["messages"], size / run["seconds"], size / run["parse_seconds"])
        rows.append([name, run["beside"], *map(shown, figures), shown(run["ratio"])])
    ratios = [run["ratio"] for run in runs.values() if run["beside"] == "JSON lines"]
    aims = [Aim("JSON Lines, the slowest", JSONL_AIM, min(ratios, default=None))]
    harness.show_table("importers: reading beside parsing", COLUMNS, rows, 2)
    harness.show_aims(aims)
    harness.write(options, machine, {"runs": runs}, aims)


def _log(folder: Path, name: str, size_bytes: int) -> Path:
    build = BUILDERS[name]
    turns = max(PROBE_TURNS, size_bytes * PROBE_TURNS // len(build(Talk(1, PROBE_TURNS))))
    path = folder / f"log{SUFFIXES.get(name, '.jsonl')}"
    path.write_bytes(build(Talk(1, turns)))
    return path


def _measure(name: str, log: Path, repeat: int) -> dict[str, Any]:
    beside, parse = PARSERS.get(log.suffix, ("text lines", _text_lines))
    pairs = []
    messages = 0
    for _ in range(repeat):
        began = time.perf_counter()
        parse(log)
        parsed = time.perf_counter()
        messages = _read(name, log)
        pairs.append((parsed - began, time.perf_counter() - parsed))
    return {
        "beside": beside, "bytes": log.stat().st_size, "messages": messages,
        "parse_seconds": statistics.median(parse_seconds for parse_seconds, _ in pairs),
        "seconds": statistics.median(seconds for _, seconds in pairs),
        "ratio": statistics.median(parse_seconds / seconds for parse_seconds, seconds in pairs),
    }  # fmt: skip


def _read(name: str, log: Path) -> int:
    """Counts the messages that the importer yields."""
    file = LogFile(str(log), log)
    with archives.open_archive(file) as archive:
        if archive is None:
            return sum(isinstance(event, Message) for event in by_name(name).read(file))
        list(archive.survey())
        days = [member for member in archive.members() if "/" in member.label.rpartition("!")[2]]
        return sum(isinstance(e, Message) for day in days for e in by_name(name).read(day))


# -- parsers to compare with -------------------------------------------------------------


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


def _table_rows(log: Path) -> int:
    with closing(sqlite3.connect(log)) as connection:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        statements = [f"SELECT * FROM {name}" for (name,) in names]
        return sum(len(row) for statement in statements for row in connection.execute(statement))


def _text_lines(log: Path) -> int:
    with log.open(encoding="utf-8") as stream:
        return sum(len(line) for line in stream)


PARSERS: dict[str, tuple[str, Callable[[Path], int]]] = {
    ".jsonl": ("JSON lines", _json_lines), ".json": ("JSON document", _json_document),
    ".zip": ("JSON in ZIP", _json_members), ".mbox": ("email", _mails),
    ".db": ("SQLite rows", _table_rows),
}  # fmt: skip


if __name__ == "__main__":
    main()
