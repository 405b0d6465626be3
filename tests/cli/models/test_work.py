"""Tests `treemem work`: its hours, and how it watches."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from tests.helpers.command_line import run, run_json
from tests.helpers.fake_model import FakeClient, use
from tests.helpers.logs import prose
from treemem import Memory, Message

if TYPE_CHECKING:
    from tests.conftest import FakeClock


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    """Sets a fake summarizer for the default memory."""
    client = FakeClient()
    with Memory.open() as memory:
        use(monkeypatch, memory, client)
    return client


@pytest.mark.parametrize("hours", ["at night", "22-7", "24:00-07:00", "07:00-07:00"])
def test_invalid_hours_are_a_usage_error_with_an_example(hours: str) -> None:
    result = run("work", "--between", hours)
    assert result.exit_code == 2
    assert "such as 22:00-07:00" in result.stderr


@pytest.fixture
def evening(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> FakeClock:
    """Sets the clock of the command line to a quarter past nine in the evening, local time."""
    clock.now_ms = int(datetime(2026, 1, 10, 21, 15).timestamp() * 1000)
    opened = Memory.open
    monkeypatch.setattr(
        Memory, "open", lambda path=None, **options: opened(path, clock=clock, **options)
    )
    monkeypatch.setattr(time, "time", lambda: clock() / 1000)
    return clock


@pytest.mark.usefixtures("evening")
def test_outside_the_hours_a_note_says_when_model_work_continues(model: FakeClient) -> None:
    with Memory.open() as memory:
        memory.append("s", [Message(text=prose(1, 8))])
    result = run("work", "--between", "22:00-07:00")
    assert result.exit_code == 0
    assert "Done: 1 seal job, 1 extract job" in result.stdout
    assert "model work continues at 2026-01-10 22:00 local time" in result.stderr
    report = run_json("work", "--between", "22:00-07:00")
    assert (report["stopped_by"], report["model_calls"]) == ("hours", 0)
    goes_on = datetime.fromisoformat(report["goes_on_at"])
    assert goes_on.timestamp() == datetime(2026, 1, 10, 22).timestamp()
    assert model.questions == []


def test_work_with_watch_sleeps_until_the_hours_begin(
    model: FakeClient, monkeypatch: pytest.MonkeyPatch, evening: FakeClock
) -> None:
    sleeps: list[tuple[float, int]] = []

    class Sleeper(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            sleeps.append((timeout, len(model.questions)))
            evening.advance(timeout)
            if len(sleeps) == 3:
                self.set()
            return self.is_set()

    @contextmanager
    def interruptible() -> Iterator[threading.Event]:
        yield Sleeper()

    monkeypatch.setattr("treemem_cli.models.work.interruptible", interruptible)
    with Memory.open() as memory:
        memory.append("s", [Message(text=prose(1, 8))])
    assert run("work", "--watch", "--every", "30m", "--between", "22:00-07:00").exit_code == 130
    assert sleeps == [(1_800, 0), (900, 0), (1_800, 1)]


def test_work_says_when_what_waits_for_its_interval_is_due(evening: FakeClock) -> None:
    with Memory.open() as memory:
        memory.append("a", [Message(text=prose(1, 8))])
        memory.work(max_calls=0)
        memory.append("b", [Message(text=prose(2, 8))])
        memory.work(max_calls=0)
    result = run("work")
    assert result.stdout.startswith("Done: nothing to do")
    assert "2 jobs due later, from 2026-01-10 21:30 on" in result.stderr
    for job in run_json("job", "list"):
        assert run("job", "retry", str(job["id"])).exit_code == 0
    again = run("work")
    assert "1 global job, 1 topics job" in again.stdout
    assert "due later" not in again.stderr
    with Memory.open() as memory:
        assert memory.status().jobs["global"].get("todo", 0) == 0
