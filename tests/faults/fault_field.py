"""The place where the crash tests run their children, and what a whole file looks like."""

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
    """What a run without a kill leaves, in how many steps and with how many model calls."""

    path: Path
    picture: Picture
    steps: int
    calls: int


@dataclass
class Field:
    """A folder with logs and memory files.

    sqlite: "stdlib", or "" for the driver that treemem prefers. undisturbed: by state of the
    logs. kills: where each kill fell, as the child wrote it down.
    """

    folder: Path
    sqlite: str
    undisturbed: dict[int, Undisturbed] = field(default_factory=dict)
    kills: list[Note] = field(default_factory=list)

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def prepare(self) -> None:
        """Undisturbed runs over both states of the logs."""
        path = self.folder / "undisturbed.sqlite3"
        for state in fault_logs.STATES:
            fault_logs.write(self.logs, state)
            self.keep(state, path)

    def keep(self, state: int, path: Path) -> None:
        """Runs undisturbed over the logs as they stand, and keeps what that leaves."""
        Path(f"{path}.answers").unlink(missing_ok=True)
        outcome = self.outcome(path, minute=state * MINUTES_A_STATE)
        kept = self.folder / f"state-{state}.sqlite3"
        shutil.copy(path, kept)
        picture = Picture.of(path)
        self.undisturbed[state] = Undisturbed(kept, picture, outcome["steps"], calls_in(path))

    def run(
        self,
        path: Path,
        *,
        minute: int,
        kill_at: int = 0,
        kill_in: str = "",
        work_first: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """One child over the logs as they stand now. minute: since START_MS, by its clock.

        work_first: whether a worker drains the queue before anything is ingested.
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
        """What a child that is not killed says at its end."""
        done = self.run(path, minute=minute, work_first=work_first)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def remove(self, path: Path) -> None:
        """A memory file, and all that stands beside it."""
        for file in self.folder.glob(f"{path.name}*"):
            file.unlink()


def calls_in(path: Path) -> int:
    """How many answers of the model were paid for a file."""
    answers = Path(f"{path}.answers")
    return len(answers.read_text().splitlines()) if answers.exists() else 0


def calls_above_sources(path: Path) -> Counter[tuple[str, str]]:
    """How many answers are stored for each tree above the sources, by its scope and key."""
    connection = driver.connect(f"file:{path}?mode=ro", uri=True)
    try:
        sql = "SELECT scope, key FROM usage WHERE scope <> 'source'"
        return Counter(connection.execute(sql).fetchall())
    finally:
        connection.close()


def notes_in(path: Path) -> list[Note]:
    """Where the kills at a file fell."""
    killed = Path(f"{path}.killed")
    return [json.loads(line) for line in killed.read_text().splitlines()] if killed.exists() else []


def complaints_of(outcome: dict[str, Any]) -> list[str]:
    """A run that comes to its end has nothing to say about the ones before it."""
    wanted = {"notices": [], "errors": [], "failed": {}, "paused": {}, "stopped_by": "empty"}
    return [
        f"the last run's {name} are {outcome[name]}"
        for name, value in wanted.items()
        if outcome[name] != value
    ]


def findings_of(path: Path) -> list[str]:
    """What doctor finds in a file."""
    with Memory.open(path) as memory:
        checks = memory.diagnose().checks
    return [f"doctor: {finding}" for check in checks for finding in check.findings]
