"""A process killed with SIGKILL between any two calls of a live session, or within one, loses
nothing that it was told is stored.

Each child (session_driver.py) makes numbered calls and notes in a journal what it is going to do
and what has returned. It is killed at a random step; then the session must have what the journal
says, and perhaps the call that was under way, as a whole.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fault_field import MINUTES_BETWEEN, START_MS
from session_driver import SESSION, messages_of, pins_of

from treemem import Memory
from treemem.sessions import shapes

DRIVER = Path(__file__).with_name("session_driver.py")
KILLS_FEW, KILLS_SAMPLE = 4, 12
KILLS_MANY = int(os.environ.get("TREEMEM_KILLS", "200"))
# Kills on one file, and the most steps of a child before its kill.
KILLS_A_FILE, STEPS_MAX = 25, 2_500
SEED = 20261129
# Functions that random kills may miss, and the steps within them at which children are killed.
STEPS_WITHIN = (19, 4)
FUNCTIONS = (
    "session.Session._store", "session.Session.pin", "passes._store", "state.State.put",
    "folding.fold", "checkpoints.add", "session.Session._attach_memory",
    "source_jobs.SourceWork._seal",
)  # fmt: skip


@dataclass
class Journal:
    """What the children noted. begun: the numbers of all calls, in order; done: the results of
    those that returned."""

    path: Path
    begun: list[int] = field(default_factory=list)
    done: dict[int, Any] = field(default_factory=dict)

    def read(self) -> None:
        self.begun, self.done = [], {}
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        for line in lines:
            note = json.loads(line)
            if "begun" in note:
                self.begun.append(note["begun"])
            else:
                self.done[note["done"]] = note["result"]


@dataclass
class Killed:
    """A file whose children are killed."""

    folder: Path
    runs: int = 0

    @property
    def path(self) -> Path:
        return self.folder / "killed.sqlite3"

    def kill(self, *, at: int, within: str = "") -> Journal:
        """Runs a child from the next call on until it is killed."""
        journal = Journal(self.folder / "journal")
        journal.read()
        first = journal.begun[-1] + 1 if journal.begun else 0
        self.runs += 1
        child = subprocess.run(
            [sys.executable, str(DRIVER), "--db", str(self.path), "--journal", str(journal.path),
             "--first", str(first), "--now-ms", str(self.now_ms), "--kill-at", str(at),
             "--kill-in", within],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert child.returncode == -signal.SIGKILL, child.stderr
        journal.read()
        return journal

    @property
    def now_ms(self) -> int:
        """A time at which the leases of the child before have expired."""
        return START_MS + self.runs * MINUTES_BETWEEN * 60_000

    def check(self, journal: Journal) -> None:
        """Compares the session with the journal, and goes on with it."""
        self.runs += 1
        with Memory.open(self.path, clock=lambda: self.now_ms) as memory:
            if not journal.begun and SESSION not in [view.source_id for view in memory.sessions()]:
                return
            session = memory.session(SESSION)
            said = [messages_of(number) for number in journal.begun]
            assert_in_order(session.messages(), said, journal)
            changes: list[Any] = [(one.kind, one.text) for one in session.pin_changes]
            assert_in_order(changes, [pins_of(number) for number in journal.begun], journal)
            folds = [fold.title for fold in session.folds]
            titles = [[f"sub-task {number}"] if is_fold(number, journal) else []
                      for number in journal.begun]  # fmt: skip
            assert_in_order(folds, titles, journal)
            checkpoints = {checkpoint.id for checkpoint in session.checkpoints()}
            acked = {id_ for number, id_ in journal.done.items() if number % 10 == 8}
            assert acked <= checkpoints
            assert len(checkpoints) <= len(acked) + self.runs
            assert len(memory.messages(SESSION)) == session.turn_count  # a call has words, too
            assert [check.findings for check in memory.diagnose().checks if not check.ok] == []
        self.go_on()

    def go_on(self) -> None:
        """Makes the next context, in a copy of the file, and checks it."""
        copy = self.folder / "copy.sqlite3"
        shutil.copy(self.path, copy)
        with Memory.open(copy, clock=lambda: self.now_ms) as memory:
            session = memory.session(SESSION)
            session.append({"role": "user", "content": "Are you still there?"})
            context = session.context()
            assert shapes.problems(context.messages, "openai", None) == []
            assert context.tokens <= session.budget.room
            sent = json.dumps([context.system, context.messages])
            pins = session.pins
            for text in filter(None, [pins.goal, pins.active_task, *pins.constraints]):
                assert text in sent
            memory.work(max_calls=0)
            assert [check.findings for check in memory.diagnose().checks if not check.ok] == []
        copy.unlink()


def is_fold(number: int, journal: Journal) -> bool:
    """Whether a call folds, as far as is known."""
    return number % 10 == 9 and number % 4 != 1 and journal.done.get(number, "?") != ""


def assert_in_order(stored: Sequence[Any], said: Sequence[Sequence[Any]], journal: Journal) -> None:
    """What calls have stored is there once, in order, and of a call that did not return all or
    nothing."""
    at = 0
    for number, own in zip(journal.begun, said, strict=True):
        found = list(stored[at : at + len(own)])
        if found == list(own):
            at += len(own)
        else:
            assert number not in journal.done, f"call {number} is lost: {own} is not {found}"
    assert at == len(stored), f"nobody has stored {stored[at:]}"


def steps(kills: int) -> Iterator[int]:
    """The steps at which children are killed, many of them early in a call."""
    draw = random.Random(SEED)
    for _ in range(kills):
        yield draw.randint(1, draw.choice((60, 400, STEPS_MAX)))


def kill_often(folder: Path, kills: int) -> None:
    killed = Killed(folder)
    for number, step in enumerate(steps(kills)):
        if number % KILLS_A_FILE == 0:
            folder = killed.folder / f"file-{number}"
            folder.mkdir()
            place = Killed(folder)
        place.check(place.kill(at=step))


def test_a_session_killed_at_any_step_has_what_was_acknowledged(tmp_path: Path) -> None:
    kill_often(tmp_path, KILLS_FEW)


@pytest.fixture(scope="module")
def killed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a session that was killed once, which no test changes."""
    place = Killed(tmp_path_factory.mktemp("once"))
    place.check(place.kill(at=400))
    return place.folder


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_session_killed_within_a_function_has_what_was_acknowledged(
    killed_once: Path, tmp_path: Path, function: str
) -> None:
    place = Killed(tmp_path, runs=2)
    shutil.copytree(killed_once, tmp_path, dirs_exist_ok=True)
    for step in STEPS_WITHIN:
        place.check(place.kill(at=step, within=function))


@pytest.mark.slow
@pytest.mark.kill_sample
def test_a_session_killed_a_dozen_times_has_what_was_acknowledged(tmp_path: Path) -> None:
    kill_often(tmp_path, KILLS_SAMPLE)


@pytest.mark.slow
def test_a_session_killed_two_hundred_times_has_what_was_acknowledged(tmp_path: Path) -> None:
    kill_often(tmp_path, KILLS_MANY)
