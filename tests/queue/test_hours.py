"""Hours of the day are read, compared with the local clock, and limit when calls begin."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fake_model import FakeClient, quoting, use
from tests.helpers.intervals import without_intervals
from tests.helpers.logs import prose
from treemem import Memory, Message, UsageError
from treemem.queue.hours import Hours

if TYPE_CHECKING:
    from tests.conftest import FakeClock


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's local time is that of Berlin: UTC+1 in winter, UTC+2 in summer."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


# -- reading ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "written"),
    [("22:00-07:00", "22:00-07:00"), (" 7:05 - 9:30 ", "07:05-09:30"),
     ("18:00-24:00", "18:00-00:00"), ("00:00-23:59", "00:00-23:59")],
)  # fmt: skip
def test_hours_are_read_with_and_without_spaces_and_leading_zeros(text: str, written: str) -> None:
    assert str(Hours.parse(text)) == written
    assert Hours.parse(written) == Hours.parse(text)


@pytest.mark.parametrize(
    "text",
    ["", "night", "22-7", "22:00", "24:00-07:00", "22:60-07:00", "22:00-24:01", "22:00-25:00",
     "07:00-07:00", "00:00-24:00", "22:00-07:00 UTC", "-1:00-07:00", "٢٢:00-07:00"],
)  # fmt: skip
def test_an_invalid_range_of_hours_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="such as 22:00-07:00") as raised:
        Hours.parse(text)
    assert repr(text) in str(raised.value)


# -- comparing with the clock ----------------------------------------------------------


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("hours", "now", "contained"),
    [
        ("22:00-07:00", "2026-01-10T20:59:59.999", False),  # local time is one hour later
        ("22:00-07:00", "2026-01-10T21:00:00", True),
        ("22:00-07:00", "2026-01-10T23:30:00", True),
        ("22:00-07:00", "2026-01-11T05:59:59.999", True),
        ("22:00-07:00", "2026-01-11T06:00:00", False),
        ("22:00-07:00", "2026-07-10T20:00:00", True),  # two hours later in summer
        ("09:00-17:30", "2026-01-10T07:59:00", False),
        ("09:00-17:30", "2026-01-10T08:00:00", True),
        ("09:00-17:30", "2026-01-10T16:29:00", True),
        ("09:00-17:30", "2026-01-10T16:30:00", False),
        ("18:00-24:00", "2026-01-10T22:59:59", True),
        ("18:00-24:00", "2026-01-10T23:00:00", False),
    ],
)
def test_hours_run_from_start_inclusive_to_end_exclusive_by_the_local_clock(
    hours: str, now: str, contained: bool
) -> None:
    assert Hours.parse(hours).contain(utc(now)) is contained


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("now", "start"),
    [
        ("2026-01-10T12:00:00", "2026-01-10T21:00:00"),
        ("2026-01-10T21:00:00", "2026-01-11T21:00:00"),  # within them: tomorrow's
        ("2026-03-28T21:30:00", "2026-03-29T20:00:00"),  # the night of the change to summer
        ("2026-10-24T20:30:00", "2026-10-25T21:00:00"),  # and back
    ],
)
def test_the_next_start_is_by_the_local_clock_also_when_clocks_change(now: str, start: str) -> None:
    assert Hours.parse("22:00-07:00").next_start_ms(utc(now)) == utc(start)


# -- working ---------------------------------------------------------------------------


@pytest.mark.usefixtures("berlin")
def test_outside_the_hours_only_jobs_without_a_model_are_done(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    client = FakeClient()
    use(monkeypatch, memory, client)
    memory.append("s", [Message(text=prose(1, 8))])
    clock.now_ms = utc("2026-01-10T20:59:59")
    report = memory.work(between="22:00-07:00")
    done = without_intervals(report.done)
    assert (report.stopped_by, done) == ("hours", {"seal": 1, "extract": 1})
    assert report.goes_on_at == "2026-01-10T21:00:00+00:00"
    assert client.questions == []
    (job,) = memory.jobs(["todo"])
    assert (job.kind, job.attempts) == ("summarize", 0)
    clock.advance(1)
    report = memory.work(between="22:00-07:00")
    assert (report.stopped_by, report.done, report.goes_on_at) == ("empty", {"summarize": 1}, None)


@pytest.mark.usefixtures("berlin")
def test_an_answer_is_stored_when_the_hours_end_within_a_job(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    def slow(question: str) -> str:
        clock.advance(10)
        return quoting(question)

    client = FakeClient(slow)
    use(monkeypatch, memory, client)
    memory.append("s", [Message(text=prose(n, 8)) for n in range(18)])
    clock.now_ms = utc("2026-01-11T05:59:55")
    report = memory.work(between="22:00-07:00")
    assert (report.stopped_by, report.model_calls) == ("hours", 1)
    assert report.goes_on_at == "2026-01-11T21:00:00+00:00"
    (job,) = memory.jobs(["todo"])
    assert (job.kind, job.attempts) == ("summarize", 0)
    clock.now_ms = utc("2026-01-11T21:00:00")
    assert memory.work(between="22:00-07:00").stopped_by == "empty"
    assert len(client.questions) == len(set(client.questions)) > 1


def test_invalid_hours_are_refused_before_any_job_is_done(memory: Memory) -> None:
    memory.append("s", [Message(text=prose(1, 8))])
    with pytest.raises(UsageError, match="22:00-07:00"):
        memory.work(between="at night")
    assert [job.kind for job in memory.jobs(["todo"])] == ["seal"]
