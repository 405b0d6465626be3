"""What hooks did can be looked up, however many run at once and whatever is in the file."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from treemem.hooks import record
from treemem.hooks.record import Run

RUN = Run(
    "2026-11-29T12:00:00+01:00", "SessionEnd", "abc", False, "its log is being stored", 7, "/m"
)


@pytest.mark.usefixtures("home")
def test_the_last_runs_are_returned_the_latest_first() -> None:
    assert record.last(5) == []
    for number in range(4):
        record.add(replace(RUN, ms=number))
    assert [run.ms for run in record.last(3)] == [3, 2, 1]
    assert os.name == "nt" or stat.S_IMODE(record.path().stat().st_mode) == 0o600


@pytest.mark.usefixtures("home")
def test_runs_at_the_same_time_do_not_mix() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: record.add(replace(RUN, ms=number)), range(200)))
    assert sorted(run.ms for run in record.last(500)) == list(range(200))


@pytest.mark.usefixtures("home")
def test_the_file_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "BYTES_MAX", 2_000)
    for number in range(100):
        record.add(replace(RUN, note="x" * 5_000, ms=number))
    assert sum(file.stat().st_size for file in record.path().parent.iterdir()) < 6_000
    assert record.last(1)[0].ms == 99


def test_a_file_that_was_damaged_or_cannot_be_written_is_no_matter(home: Path) -> None:
    record.path().parent.mkdir(parents=True)
    record.path().write_bytes(b'\xff{\n{"at": 1}\n[]\n')
    record.add(RUN)
    assert record.last(5) == [RUN]
    record.path().unlink()
    record.path().mkdir()
    record.add(RUN)
    assert record.last(5) == []
