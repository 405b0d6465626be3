"""A command killed from outside at any moment loses nothing.

test_kills.py kills between two steps; here the parent kills at a random time, so that a kill may
fall into a commit. With strace it also kills at chosen system calls: at one write out of many, at
one fsync. kill_driver.py then ends the work, with a clock by which every lease has expired.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import fault_logs
import pytest
from fault_field import START_MS, Field, complaints_of, findings_of
from fault_pictures import Picture

from treemem import Memory, Message

KILLS_FEW = 2
KILLS_MANY = max(1, int(os.environ.get("TREEMEM_KILLS", "200")) // 4)
CHAIN = 3
CALL_KILLS = max(1, KILLS_MANY // 5)
SEED = 20260302
OPENING_SECONDS_MAX = 30.0


class Command:
    """A treemem command. seconds: how long it takes from the opening of the file on."""

    def __init__(self, place: Field, words: Sequence[str]) -> None:
        self._words = words
        self._environment = os.environ | {"TREEMEM_SQLITE": place.sqlite}
        self.seconds = 0.0

    def measure(self, path: Path) -> None:
        """Runs to the end and measures it, so that later runs can be killed at any moment."""
        process = self._start(path)
        self._wait_for_opening(process, path)
        began = time.monotonic()
        assert process.wait() == 0
        self.seconds = time.monotonic() - began

    def kill(self, path: Path, fraction: float) -> bool:
        """Kills a run after that fraction of its time. False if it had ended before."""
        process = self._start(path)
        self._wait_for_opening(process, path)
        time.sleep(fraction * self.seconds)
        os.kill(process.pid, signal.SIGKILL)
        return process.wait() == -signal.SIGKILL

    def _start(self, path: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "treemem_cli.main", "--db", str(path), *self._words]
        return subprocess.Popen(
            command, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    @staticmethod
    def _wait_for_opening(process: subprocess.Popen[bytes], path: Path) -> None:
        """Waits until the file is open, since Python itself takes longer to start than the work."""
        until = time.monotonic() + OPENING_SECONDS_MAX
        while time.monotonic() < until and process.poll() is None:
            if _opened_by(path) == process.pid:
                return
            time.sleep(0.002)


def _opened_by(path: Path) -> int | None:
    try:
        return int(json.loads(Path(f"{path}-open").read_text())["pid"])
    except (OSError, ValueError):
        return None


def minutes_ahead() -> int:
    """A time for the driver's clock that is an hour ahead of the command line's."""
    return (time.time_ns() // 1_000_000 - START_MS) // 60_000 + 60


def kill_often(
    place: Field, command: Command, kills: int, start: Path | None, expected: Picture
) -> None:
    """Kills a command CHAIN times on one file and ends the work, until there were enough kills."""
    draw = random.Random(SEED)
    path = place.folder / "timed.sqlite3"

    def begin_again() -> None:
        place.remove(path)
        if start is not None:
            shutil.copy(start, path)

    killed = 0
    while killed < kills:
        begin_again()
        hits = sum(command.kill(path, draw.random()) for _ in range(CHAIN))
        expect_the_same_end(place, path, expected)
        killed += hits
        if not hits:  # every run ended first: the machine is quieter than when it was measured
            begin_again()
            command.measure(path)
    print(f"\n{killed} kills")


def expect_the_same_end(place: Field, path: Path, expected: Picture) -> None:
    outcome = place.outcome(path, minute=minutes_ahead())
    assert complaints_of(outcome) == []
    assert findings_of(path) == []
    assert expected.differences(Picture.of(path)) == []


def appended(place: Field) -> Path:
    """A file with many appended messages, none of which is sealed."""
    path = place.folder / "appended.sqlite3"
    place.remove(path)
    draw = random.Random(SEED)
    words = "the queue keeps every job until a worker has stored its result for good".split()
    with Memory.open(path) as memory:
        for source in ("chat/a", "chat/b"):
            added = [
                Message(text=f"{' '.join(draw.choices(words, k=80))}.", external_id=f"{source}{n}")
                for n in range(200)
            ]
            memory.append(source, added)
    return path


def killed_at_ingest(place: Field, kills: int) -> None:
    command = Command(place, ["ingest", str(place.logs)])
    measured = place.folder / "measured.sqlite3"
    place.remove(measured)
    command.measure(measured)
    kill_often(place, command, kills, None, place.undisturbed[1].picture)


def killed_at_work(place: Field, kills: int) -> None:
    start = appended(place)
    undisturbed = place.folder / "worked.sqlite3"
    measured = place.folder / "measured-work.sqlite3"
    for copy in (undisturbed, measured):
        place.remove(copy)
        shutil.copy(start, copy)
    place.outcome(undisturbed, minute=minutes_ahead())
    command = Command(place, ["work", "--max-calls", "0"])
    command.measure(measured)
    kill_often(place, command, kills, start, Picture.of(undisturbed))


def straced(place: Field, path: Path, options: Sequence[str]) -> int:
    """The exit code of an ingest under strace with these options."""
    ingest = [sys.executable, "-m", "treemem_cli.main", "--db", str(path)]
    return subprocess.run(
        ["strace", "-f", "-qq", *options, *ingest, "ingest", str(place.logs)],
        capture_output=True, check=False,
    ).returncode  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Field:
    place = Field(tmp_path_factory.mktemp("timed"), "")
    fault_logs.write(place.logs, 1)
    place.run_undisturbed(1, place.folder / "undisturbed.sqlite3")
    return place


@pytest.mark.slow
@pytest.mark.kill_sample
def test_the_command_ingest_killed_at_any_moment_loses_nothing(place: Field) -> None:
    killed_at_ingest(place, KILLS_FEW)


@pytest.mark.slow
@pytest.mark.kill_sample
def test_the_command_work_killed_at_any_moment_loses_nothing(place: Field) -> None:
    killed_at_work(place, KILLS_FEW)


@pytest.mark.slow
def test_the_command_ingest_killed_dozens_of_times_loses_nothing(place: Field) -> None:
    killed_at_ingest(place, KILLS_MANY)


@pytest.mark.slow
def test_the_command_work_killed_dozens_of_times_loses_nothing(place: Field) -> None:
    killed_at_work(place, KILLS_MANY)


@pytest.mark.slow
@pytest.mark.parametrize("call", ["pwrite64", "fsync", "fdatasync", "unlink"])
def test_the_command_ingest_killed_at_a_system_call_loses_nothing(place: Field, call: str) -> None:
    trace, path = place.folder / "trace", place.folder / "straced.sqlite3"
    place.remove(path)
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    if straced(place, path, ["-e", f"trace={call}", "-o", str(trace)]) != 0:
        pytest.skip("needs a machine that lets strace trace")
    count = trace.read_text().count(f"{call}(")
    if count == 0:
        pytest.skip("this SQLite makes no such call")
    for when in sorted({1 + number * count // CALL_KILLS for number in range(CALL_KILLS)}):
        if when <= count:
            place.remove(path)
            inject = f"inject={call}:signal=SIGKILL:when={when}"
            straced(place, path, ["-e", f"trace={call}", "-e", inject, "-o", "/dev/null"])
            expect_the_same_end(place, path, place.undisturbed[1].picture)
