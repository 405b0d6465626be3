"""Runs the children of the crash tests in a folder, and compares what they leave."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fault_logs
from fault_pictures import Picture

from treemem import Memory
from treemem.store.database import driver

DRIVER = Path(__file__).with_name("kill_driver.py")
START_MS = 1_772_400_000_000
MINUTES_BETWEEN = 20  # every lease and every interval has run out, and a new day is far
MINUTES_A_STATE = 24 * 60

Note = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """The file that a run without a kill leaves, and its numbers of steps and model calls."""

    path: Path
    picture: Picture
    steps: int
    calls: int


@dataclass
class Field:
    """A folder with logs and memory files.

    sqlite: "stdlib", or "" for the driver that treemem prefers. undisturbed: by state of the
    logs. kills: a note of each, written by the child before it.
    """

    folder: Path
    sqlite: str
    undisturbed: dict[int, Undisturbed] = field(default_factory=dict)
    kills: list[Note] = field(default_factory=list)

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def prepare(self) -> None:
        """Makes undisturbed runs over both states of the logs."""
        path = self.folder / "undisturbed.sqlite3"
        for state in fault_logs.STATES:
            fault_logs.write(self.logs, state)
            self.run_undisturbed(state, path)

    def run_undisturbed(self, state: int, path: Path) -> None:
        """Runs over the logs as they are now, without a kill, and keeps a copy of the file."""
        Path(f"{path}.answers").unlink(missing_ok=True)
        outcome = self.outcome(path, minute=state * MINUTES_A_STATE)
        copy = self.folder / f"state-{state}.sqlite3"
        shutil.copy(path, copy)
        picture = Picture.of(path)
        self.undisturbed[state] = Undisturbed(copy, picture, outcome["steps"], calls_in(path))

    def run(
        self,
        path: Path,
        *,
        minute: int,
        kill_at: int = 0,
        kill_in: str = "",
        work_first: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Runs one child over the logs as they are now. minute: since START_MS, by its clock.

        work_first: a worker drains the queue before anything is ingested.
        """
        command = [
            sys.executable, str(DRIVER), "work", "--db", str(path), "--logs", str(self.logs),
            "--now-ms", str(START_MS + minute * 60_000), "--kill-at", str(kill_at),
            "--kill-in", kill_in, "--killed", f"{path}.killed", "--answers", f"{path}.answers",
        ]  # fmt: skip
        if work_first:
            command.append("--work-first")
        environment = os.environ | {"TREEMEM_SQLITE": self.sqlite}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    def outcome(self, path: Path, *, minute: int, work_first: bool = False) -> dict[str, Any]:
        """The report of a child that is not killed."""
        done = self.run(path, minute=minute, work_first=work_first)
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    def remove(self, path: Path) -> None:
        """Removes a memory file and all files beside it."""
        for file in self.folder.glob(f"{path.name}*"):
            file.unlink()


def calls_in(path: Path) -> int:
    """The number of model answers that were paid for a file."""
    answers = Path(f"{path}.answers")
    return len(answers.read_text().splitlines()) if answers.exists() else 0


def calls_above_sources(path: Path) -> Counter[str]:
    """The number of stored answers for the trees above the sources, by their scope. A topic's id
    depends on which sources were complete when it was made, so topics count together."""
    connection = driver.connect(f"file:{path}?mode=ro", uri=True)
    try:
        sql = "SELECT scope FROM usage WHERE scope <> 'source'"
        return Counter(scope for (scope,) in connection.execute(sql))
    finally:
        connection.close()


def trees_above_sources(path: Path) -> Counter[str]:
    """The number of trees above the sources, by their scope."""
    connection = driver.connect(f"file:{path}?mode=ro", uri=True)
    try:
        sql = "SELECT scope FROM tree WHERE scope <> 'source'"
        return Counter(scope for (scope,) in connection.execute(sql))
    finally:
        connection.close()


def notes_in(path: Path) -> list[Note]:
    """The notes of the kills on a file."""
    killed = Path(f"{path}.killed")
    return [json.loads(line) for line in killed.read_text().splitlines()] if killed.exists() else []


def complaints_of(outcome: dict[str, Any]) -> list[str]:
    """What is wrong with the report of the last run: it must show nothing of the kills before."""
    wanted = {"notices": [], "errors": [], "failed": {}, "paused": {}, "stopped_by": "empty"}
    return [
        f"the last run's {name} are {outcome[name]}"
        for name, value in wanted.items()
        if outcome[name] != value
    ]


def findings_of(path: Path) -> list[str]:
    """The findings of doctor in a file."""
    with Memory.open(path) as memory:
        checks = memory.diagnose().checks
    return [f"doctor: {finding}" for check in checks for finding in check.findings]
