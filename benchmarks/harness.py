"""Parses the arguments of benchmarks, measures processes, and prints and writes results.

Every result comes with the commit, the machine and the settings, in a table and in a JSON file.
Peak memory and written bytes are exact on Linux; elsewhere getrusage gives the memory only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

ROOT = Path(__file__).resolve().parent.parent
MB = 1_000_000
TABLE_COLUMNS = 132
# Pages written and synced to measure what a durable commit costs here.
FSYNC_TRIES = 200
_PAGE_BYTES = 4_096
# Between two looks at the memory of a process and of those that it has started.
_LOOK_SECONDS = 0.05

Run = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Aim:
    """A target and the value reached, None where it was not measured.

    at_most: smaller values are better.
    """

    name: str
    wanted: float
    reached: float | None
    at_most: bool = False

    @property
    def verdict(self) -> str:
        if self.reached is None:
            return "not measured"
        is_met = self.reached <= self.wanted if self.at_most else self.reached >= self.wanted
        return "met" if is_met else "missed"


# -- arguments and folders -------------------------------------------------------------


def arguments(doc: str | None, smoke: Mapping[str, Any], **options: Any) -> argparse.Namespace:
    """Parses an option for each keyword, and --json, --folder and --smoke.

    options: a default value each, or a type for an option without one. smoke: the values that
    --smoke sets, for a run that only shows that everything works.
    """
    parser = argparse.ArgumentParser(description=(doc or "").split("\n", 1)[0])
    for name, value in options.items():
        if isinstance(value, type):
            parser.add_argument(f"--{name}", type=value)
        else:
            parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run as JSON")
    parser.add_argument("--folder", type=Path, help="where to put the files; not a RAM disk")
    parser.add_argument("--smoke", action="store_true", help="in miniature: only that it runs")
    parsed = parser.parse_args()
    if parsed.smoke:
        vars(parsed).update(smoke)
    return parsed


@contextlib.contextmanager
def work_folder(parent: Path | None = None) -> Iterator[Path]:
    """A temporary folder, below parent if that is given."""
    with tempfile.TemporaryDirectory(prefix="treemem-bench-", dir=parent) as name:
        yield Path(name)


def child(module: str, *words: object) -> dict[str, Any]:
    """Runs a module in a process of its own; returns the JSON object that it prints.

    tree_peak_bytes is added: the most memory that it and its processes were seen to hold at once,
    0 where that is unknown.
    """
    command = [sys.executable, "-m", module, *map(str, words)]
    peak = 0
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        while True:
            try:
                output, _ = process.communicate(timeout=_LOOK_SECONDS)
                break
            except subprocess.TimeoutExpired:
                peak = max(peak, _tree_bytes(process.pid))
            except BaseException:
                process.kill()
                raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    result: dict[str, Any] = orjson.loads(output)
    return {**result, "tree_peak_bytes": peak}


# -- statistics ------------------------------------------------------------------------


def median_of(runs: Sequence[Run], key: str) -> float | None:
    """The median of one figure over the runs; None if a run lacks it."""
    values = [run.get(key) for run in runs]
    known = [float(value) for value in values if value is not None]
    return statistics.median(known) if known and len(known) == len(values) else None


def paired(
    above: Sequence[Run], below: Sequence[Run], key: str = "seconds", key_below: str = ""
) -> float:
    """The median of the ratios of runs made side by side, which a busy machine slows alike."""
    pairs = zip(above, below, strict=True)
    return float(statistics.median(a[key] / b[key_below or key] for a, b in pairs))


# -- processes and machine -------------------------------------------------------------


def peak_bytes() -> int:
    """The most memory that this process has held.

    Subtle: getrusage also counts what the parent held when it forked; VmHWM does not.
    """
    if peak := _proc("status", "VmHWM"):
        return 1024 * peak
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _maxrss_bytes()


def resident_bytes() -> int:
    """The memory that this process holds now; 0 where it is unknown."""
    return 1024 * (_proc("status", "VmRSS") or 0)


def _tree_bytes(pid: int) -> int:
    """The memory that a process and all that it has started hold now; 0 where it is unknown.

    Pages of files count once, for the process with most of them: they are those of the interpreter
    and its libraries, which all share.
    """
    pids = [str(pid)]
    for running in pids:
        for path in Path(f"/proc/{running}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # it has ended
                pids += path.read_text().split()
    own = sum(_proc("status", "RssAnon", running) or 0 for running in pids)
    return 1024 * (own + max(_proc("status", "RssFile", running) or 0 for running in pids))


def bare_peak_bytes() -> int:
    """The same for an interpreter that does nothing, 0 where it is unknown."""
    code = "from pathlib import Path; print(Path('/proc/self/status').read_text())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return 1024 * (_field(done.stdout, "VmHWM") or 0)


def children_peak_bytes() -> int:
    """The most memory that a finished child of this process has held."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _maxrss_bytes()


def cpu_seconds() -> float:
    """CPU time of this process and its finished children, the start of Python included."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def written_bytes() -> int | None:
    """Bytes passed to write() by this process and its finished children, None if unknown."""
    return _proc("io", "wchar")


def fsync_ms(folder: Path) -> float:
    """The median time for writing a page and fsync: the price of a durable commit."""
    path = folder / "fsync.probe"
    handle = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    times = []
    try:
        for index in range(FSYNC_TRIES):
            began = time.perf_counter()
            os.pwrite(handle, b"x" * _PAGE_BYTES, index * _PAGE_BYTES)
            os.fsync(handle)
            times.append(1000 * (time.perf_counter() - began))
    finally:
        os.close(handle)
        path.unlink(missing_ok=True)  # another run may use the same folder
    return statistics.median(times)


def _maxrss_bytes() -> int:
    return 1 if sys.platform == "darwin" else 1024


def _proc(name: str, key: str, pid: str = "self") -> int | None:
    try:
        return _field(Path(f"/proc/{pid}/{name}").read_text(), key)
    except OSError:
        return None


def _field(text: str, key: str) -> int | None:
    lines = [line.split() for line in text.splitlines() if line.startswith(f"{key}:")]
    return int(lines[0][1]) if lines else None


def circumstances(folder: Path) -> dict[str, Any]:
    """Commit, date, machine and its load. folder: where the databases are put."""
    from treemem.store.database import driver

    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "commit": _commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cores": os.cpu_count(), "cpu": models[0] if models else platform.processor(),
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(), "sqlite": driver.sqlite_version,
            "fsync_ms": round(fsync_ms(folder), 3), "load_before": round(os.getloadavg()[0], 2),
        },
    }  # fmt: skip


def _commit() -> str:
    """The commit that is measured, with a + if the package differs from it."""

    def git(*words: str) -> str:
        command = ["git", "--no-optional-locks", "-C", str(ROOT), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        head = git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if git("status", "--porcelain", "--", "treemem") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# -- tables and files ------------------------------------------------------------------


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1
) -> None:
    """Prints a table. text_columns: how many columns from the left hold words."""
    from rich.console import Console  # not at the top: measured processes import this module
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < text_columns else "right")
    for row in rows:
        table.add_row(*map(escape, row))
    Console(width=TABLE_COLUMNS).print(table)


def show_aims(aims: Sequence[Aim]) -> None:
    """Prints which aims were met."""
    rows = [
        (aim.name, f"{'≤' if aim.at_most else '≥'} {shown(aim.wanted)}", shown(aim.reached),
         aim.verdict)
        for aim in aims
    ]  # fmt: skip
    show_table("aims", ("aim", "wanted", "reached", ""), rows)


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


def cell(value: Any) -> str:
    """What a table shows of a figure, of a p50 and a p95 in a list, or of a name.

    Example:
        >>> cell([0.5, 12.0]), cell("huey"), cell(None)
        ('0.50 / 12', 'huey', '–')
    """
    if isinstance(value, list):
        return " / ".join(map(shown, value))
    return value if isinstance(value, str) else shown(value)


def percent(share: float | None) -> str:
    """A share in per cent, with one decimal."""
    return "–" if share is None else f"{100 * share:.1f}"


def write(
    options: argparse.Namespace, machine: Run, results: Run, aims: Sequence[Aim] = ()
) -> None:
    """Writes the machine, the settings and every run to the file of --json, if there is one."""
    if options.json is None:
        return
    settings = {key: value for key, value in vars(options).items() if key not in ("json", "folder")}
    rows = [asdict(aim) | {"verdict": aim.verdict} for aim in aims]
    data = {**machine, "settings": settings, **results, "aims": rows}
    options.json.write_bytes(orjson.dumps(data, default=str, option=orjson.OPT_INDENT_2) + b"\n")
