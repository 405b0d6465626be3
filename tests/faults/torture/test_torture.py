"""Each operation is killed with its clock set, stalled, loses its power and meets a failing disk, a
few times each.

`make torture` does it thousands of times. What must hold is said in __main__.py.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.torture.operations import OPERATIONS
from tests.faults.torture.recording import Change, Disk

ROOT = Path(__file__).parents[3]
NO_COMPILER = "No power is cut"
NAMES = list(OPERATIONS)
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks and sends SIGKILL")


def torture(names: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    chosen = [word for name in names for word in ("--only", name)]
    command = [sys.executable, "-W", "ignore", "-m", "tests.faults.torture", *chosen, *options]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.parametrize("names", [NAMES[::3], NAMES[1::3], NAMES[2::3]], ids=" ".join)
def test_a_sample_of_each_operation_survives(names: list[str]) -> None:
    done = torture(names, "--kills", "6", "--stalls", "3", "--images", "16", "--errors", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n0 problems" in done.stdout
    assert "6 kills\n" in done.stdout
    assert " stalls\n" in done.stdout
    assert NO_COMPILER in done.stdout or "    16 images\n" in done.stdout


def test_commits_that_do_not_wait_for_the_disk_are_found() -> None:
    """Else the test of power cuts would prove nothing."""
    done = torture(["append"], "--images", "12", "--weak")
    if NO_COMPILER in done.stdout:
        pytest.skip("needs Linux and a C compiler")
    assert done.returncode == 1, done.stderr
    assert "append: LOST" in done.stdout


# -- the model of a disk ---------------------------------------------------------------


def after(changes: list[Change], mode: str, *, strict: bool = True) -> dict[str, bytes]:
    disk = Disk({"old": b"one"}, strict=strict)
    for change in changes:
        disk.change(change)
    return disk.after_power_cut(mode, random.Random(1))


def test_what_was_not_synced_may_be_lost_and_what_was_is_not() -> None:
    write, sync = Change("W", "old", 1, b"xyz"), Change("S", "old", 0, b"")
    assert after([write], "none") == {"old": b"one"}
    assert after([write], "all") == {"old": b"oxyz"}
    assert after([write, sync], "none") == {"old": b"oxyz"}
    assert after([write, sync, Change("T", "old", 2, b"")], "none") == {"old": b"oxyz"}


def test_a_name_needs_a_sync_of_its_folder_on_a_strict_disk() -> None:
    made = [
        Change("C", "a/new", 0, b""),
        Change("W", "a/new", 0, b"x"),
        Change("S", "a/new", 0, b""),
    ]
    assert after(made, "none") == {"old": b"one"}
    assert after(made, "none", strict=False) == {"old": b"one", "a/new": b"x"}
    assert after([*made, Change("S", "a", 0, b"")], "none") == {"old": b"one", "a/new": b"x"}


def test_a_rename_is_done_or_not() -> None:
    renamed = Change("R", "old", 0, b"new")
    assert after([renamed], "none") == {"old": b"one"}
    assert after([renamed], "all") == {"new": b"one"}
