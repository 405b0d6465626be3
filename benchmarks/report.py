"""How results are told: machine and commit, medians, aims met or missed, a table, a JSON file.

A result without the machine, the commit, the seed and the units is no result; so they are
collected here, and no benchmark prints a bare number.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks import probe
from treemem.store.database import driver

ROOT = Path(__file__).resolve().parent.parent
TABLE_COLUMNS = 132


@dataclass(frozen=True, slots=True)
class Aim:
    """What was hoped for, and what was found. at_most: the smaller the better.

    found is None where it could not be measured here; missed is missed, even if by little.
    """

    name: str
    wanted: float
    found: float | None
    at_most: bool = False

    @property
    def verdict(self) -> str:
        if self.found is None:
            return "not measured"
        is_met = self.found <= self.wanted if self.at_most else self.found >= self.wanted
        return "met" if is_met else "missed"


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def median_of(runs: Sequence[Mapping[str, Any]], key: str) -> float | None:
    """The median of one figure over the runs; None if any run lacks it."""
    values = [run.get(key) for run in runs]
    known = [float(value) for value in values if value is not None]
    return median(known) if known and len(known) == len(values) else None


def paired(
    above: Sequence[Mapping[str, Any]],
    below: Sequence[Mapping[str, Any]],
    key: str = "seconds",
    key_below: str | None = None,
) -> float:
    """The median of the ratios of runs that were made side by side.

    A neighbour that slows the machine down for a minute slows both of a pair.
    """
    return median([a[key] / b[key_below or key] for a, b in zip(above, below, strict=True)])


# -- what it ran on --------------------------------------------------------------------


def circumstances(folder: Path) -> dict[str, Any]:
    """Commit, date, machine, and how busy it was. folder: where the databases are put."""
    return {
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cores": os.cpu_count(),
            "cpu": _cpu_model(),
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
            "sqlite": driver.sqlite_version,
            "fsync_ms": round(probe.fsync_ms(folder), 3),
            "load_before": round(os.getloadavg()[0], 2),
        },
    }


def commit() -> str:
    """The commit that was measured, with a + where the tree differs from it."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--", "treemem") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _cpu_model() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown"


# -- telling ---------------------------------------------------------------------------


def show(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], aims: Sequence[Aim]
) -> None:
    """The two tables of a benchmark: what was measured, and which aims were met."""
    show_table(title, columns, rows)
    show_aims(aims)


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1
) -> None:
    """One table. text_columns: how many columns from the left hold words, not figures."""
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < text_columns else "right")
    for row in rows:
        table.add_row(*map(escape, row))
    Console(width=TABLE_COLUMNS).print(table)


def show_aims(aims: Sequence[Aim]) -> None:
    """Which aims were met."""
    rows = []
    for aim in aims:
        wanted = f"{'≤' if aim.at_most else '≥'} {shown(aim.wanted)}"
        rows.append((aim.name, wanted, shown(aim.found), aim.verdict))
    show_table("aims", ("aim", "wanted", "found", ""), rows)


def shown(value: float | None) -> str:
    """A number with about three digits.

    Example:
        >>> shown(1234.5), shown(0.1234), shown(None), shown(2)
        ('1,234', '0.12', '–', '2')
    """
    if value is None:
        return "–"
    if isinstance(value, int) or value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def write(path: Path | None, results: Mapping[str, Any], aims: Sequence[Aim]) -> None:
    """Everything, raw runs too, as one JSON object."""
    if path is None:
        return
    told = [asdict(aim) | {"verdict": aim.verdict} for aim in aims]
    data = orjson.dumps({**results, "aims": told}, option=orjson.OPT_INDENT_2)
    path.write_bytes(data + b"\n")
