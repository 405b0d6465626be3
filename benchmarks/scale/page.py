"""Writes the figures of the benchmarks into a page, and draws their chart.

A part is what one benchmark measured. Its commit, date, machine and command stand above its table;
parts of several commits or machines are written only if asked for, and the page then says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.harness import cell, shown
from benchmarks.ingest import BESIDE
from benchmarks.scale import chart
from benchmarks.scale.chart import Panel

BEGIN, END = "<!-- figures: make bench writes them -->", "<!-- end of figures -->"
TITLE = "How fast treemem stores logs and searches them, and the memory that it takes"
# The aims that the chart draws: those of Memory.ingest.
SPEED_AIM, MEMORY_AIM = "(b) MB/s", "(b) peak memory, MB"
HEADINGS = {"ingest": "Ingest", "search": "Search", "queue": "Queue"}
# A load above this part of the cores is other work.
BUSY_SHARE = 0.5
AIMS = {"name": "aim", "wanted": "wanted", "reached": "reached", "verdict": ""}
COLUMNS: dict[str, dict[str, str]] = {
    "ingest": {
        "log": "log", "megabytes": "MB", "messages": "messages", "speed": "MB/s",
        "parts_speed": "MB/s of its parts alone", "ratio": "ratio",
        "cpu_per_mb": "CPU seconds per MB", "peak_mb": "peak memory, MB",
        "file_ratio": "file / log", "grown_seconds": "grown by 1 %, s",
    },
    "search": {
        "messages": "messages", "file_mb": "file, MB", "one source": "one source",
        "everything": "everything", "a tenth of the time": "a tenth of the time",
        "bare": "bare query", "cold": "everything, cold", "peak_mb": "peak memory, MB",
    },
    "queue": {
        "queue": "queue", "single": "single jobs/s", "batch": "in 32s, jobs/s",
        "cpu_ms": "CPU ms a job", "kills": "kills", "lost": "lost", "doubled": "doubled",
        "repeated": "repeated in flight",
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """What one benchmark measured.

    rows: by the keys of COLUMNS; a list is a p50 and a p95. beside: other contenders, by the keys
    of the ingest benchmark's BESIDE.
    """

    name: str
    command: str
    commit: str
    date: str
    machine: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    aims: Sequence[Mapping[str, Any]] = field(default_factory=list)
    beside: Sequence[Mapping[str, Any]] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The machine in words, without what changes from run to run."""
        machine = self.machine
        return (
            f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python "
            f"{machine['python']}, SQLite {machine['sqlite']}"
        )

    @property
    def noise(self) -> str:
        """Says that the machine did something else too, where it did; else is empty."""
        load, cores = self.machine["load_before"], self.machine["cores"]
        is_busy = load > BUSY_SHARE * cores
        return f"measured beside other work (load {load} on {cores} cores)" if is_busy else ""

    @property
    def commit_in_words(self) -> str:
        bare = self.commit.removesuffix("+")
        return bare if bare == self.commit else f"{bare} with uncommitted changes"


def mixture(parts: Sequence[Part]) -> str:
    """Says which commits or machines the parts are of if these are several; else is empty."""
    for name, values in (
        ("commits", {part.name: part.commit_in_words for part in parts}),
        ("machines", {part.name: part.where for part in parts}),
    ):
        if len(set(values.values())) > 1:
            listed = "; ".join(f"{part} of {value}" for part, value in values.items())
            return f"The figures are of several {name}: {listed}."
    return ""


def filled(page: str, parts: Sequence[Part]) -> str:
    """The page with the tables of these parts between its markers."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    assert pattern.search(page), f"the page lacks {BEGIN} and {END}"
    return pattern.sub(lambda _: f"{BEGIN}\n\n{_tables(parts)}\n\n{END}", page)


def _tables(parts: Sequence[Part]) -> str:
    mixed = mixture(parts)
    blocks = [f"**{mixed}** Compare nothing across the tables."] if mixed else []
    for part in parts:
        machine = part.machine
        blocks += [
            f"## {HEADINGS[part.name]}",
            f"`{part.command}`, commit {part.commit_in_words}, {_minute(part.date)}, on "
            f"{part.where}; a page and its fsync took {machine['fsync_ms']} ms.",
            *([f"**These figures were {part.noise}**: times are too long."] if part.noise else []),
            _table(COLUMNS[part.name], part.rows),
        ]
        if part.beside:
            largest = max(row["megabytes"] for row in part.rows)
            blocks += [f"Beside others, a log of {largest:.0f} MB:", _table(BESIDE, part.beside)]
        if part.aims:
            aims = [{**aim, "wanted": f"{'≤' if aim['at_most'] else '≥'} {shown(aim['wanted'])}"}
                    for aim in part.aims]  # fmt: skip
            blocks.append(_table(AIMS, aims))
    return "\n\n".join(blocks)


def _minute(date: str) -> str:
    return f"{date[:10]} {date[11:16]} UTC"


def _table(columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [[cell(row.get(key)).replace("|", "¦") for key in columns] for row in rows]
    lines = [list(columns.values()), ["---"] * len(columns), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# -- chart -------------------------------------------------------------------------------


def drawn(parts: Sequence[Part]) -> str:
    """The chart of these parts as SVG: ingest and memory by size of log, search by messages."""
    by_name = {part.name: part for part in parts}
    ingest, search = by_name["ingest"], by_name["search"]
    rows = [row for row in ingest.rows if row.get("parts_speed")]
    sizes = [f"{shown(round(row['megabytes'], 1))} MB" for row in rows]
    wanted = {aim["name"]: aim["wanted"] for aim in ingest.aims}
    fastest, memory = wanted[SPEED_AIM], wanted[MEMORY_AIM]
    panels = [
        Panel(
            "Ingest: MB/s by size of log", sizes,
            {"treemem": _column(rows, "speed"), "its parts alone": _column(rows, "parts_speed")},
            fastest, f"aim: at least {shown(fastest)}",
        ),
        Panel(
            "Search: ms by number of messages", [f"{row['messages']:,}" for row in search.rows],
            {"median": [row["everything"][0] for row in search.rows],
             "95 %": [row["everything"][1] for row in search.rows]},
        ),
        Panel(
            "Memory: peak MB by size of log", sizes, {"treemem": _column(rows, "peak_mb")},
            memory, f"aim: at most {shown(memory)}",
        ),
    ]  # fmt: skip
    return chart.svg(TITLE, panels, _footer([ingest, search]))


def _column(rows: Sequence[Mapping[str, Any]], key: str) -> list[float | None]:
    return [row.get(key) for row in rows]


def _footer(parts: Sequence[Part]) -> str:
    """Commit, day and machine; of each part if they differ."""
    part = parts[0]
    words = mixture(parts) or f"{part.commit_in_words}, {part.date[:10]}, {part.where}"
    noises = [part.noise for part in parts if part.noise]
    return "; ".join([words, *noises[:1]])
