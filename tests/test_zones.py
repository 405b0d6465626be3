"""Tests that messages keep their time zone, and that order and limits follow real time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from tests.helpers.logs import prose
from tests.helpers.shapes import with_small_leaves
from treemem import Memory, Message, Scope, SearchResult
from treemem.text.tokens import count_tokens

if TYPE_CHECKING:
    from tests.conftest import FakeClock

BERLIN = ZoneInfo("Europe/Berlin")

# In the order of real time, which differs from the order of the texts and of the wall clocks.
SENT: list[tuple[str | datetime, str]] = [
    ("2026-03-28T17:20:00-07:00", "2026-03-29T00:20:00+00:00"),
    ("2026-03-29T01:30:00+01:00", "2026-03-29T00:30:00+00:00"),  # before clocks change in Berlin
    ("2026-03-29T00:40:00", "2026-03-29T00:40:00+00:00"),  # without a zone: the machine's, UTC
    ("2026-03-29T00:50:00Z", "2026-03-29T00:50:00+00:00"),
    (datetime(2026, 3, 29, 3, 0, tzinfo=BERLIN), "2026-03-29T01:00:00+00:00"),
    (datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=0), "2026-10-25T00:30:00+00:00"),
    (datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1), "2026-10-25T01:30:00+00:00"),
]
MESSAGES = [
    Message(text=f"The importer, remark {number}.", sent_at=sent_at)
    for number, (sent_at, _) in enumerate(SENT)
]
WRITTEN = [sent_at.isoformat() if isinstance(sent_at, datetime) else sent_at for sent_at, _ in SENT]


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def scattered(memory: Memory) -> Memory:
    """Stores each message in its own source, in reverse time order."""
    for number in reversed(range(len(MESSAGES))):
        memory.append(f"s{number}", [MESSAGES[number]])
    memory.work(max_calls=0)
    return memory


def times_found(memory: Memory, **limits: str | datetime) -> list[str]:
    result = memory.search("importer remark", budget_tokens=2_000, **limits)  # type: ignore[arg-type]
    return [str(message.sent_at) for passage in result.passages for message in passage.messages]


def test_messages_keep_their_time_as_given(memory: Memory) -> None:
    memory.append("s", MESSAGES)
    assert [message.sent_at for message in memory.messages("s")] == WRITTEN
    memory.work(max_calls=0)
    assert [message.sent_at for message in memory.messages("s")] == WRITTEN


def test_a_time_from_a_datetime_is_the_same_moment(memory: Memory) -> None:
    memory.append("s", MESSAGES)
    for message, (_, moment) in zip(memory.messages("s"), SENT, strict=True):
        read = datetime.fromisoformat(str(message.sent_at))
        assert read.replace(tzinfo=read.tzinfo or ZoneInfo("UTC")) == datetime.fromisoformat(moment)


def test_a_search_returns_them_in_the_order_of_real_time(scattered: Memory) -> None:
    assert times_found(scattered) == WRITTEN


@pytest.mark.parametrize("number", range(len(SENT)))
def test_a_limit_in_any_zone_applies_to_real_time(scattered: Memory, number: int) -> None:
    sent_at, moment = SENT[number]
    tokyo = datetime.fromisoformat(moment).astimezone(ZoneInfo("Asia/Tokyo"))
    for limit in (sent_at, moment, tokyo, tokyo.isoformat()):
        assert times_found(scattered, since=limit, until=limit) == [WRITTEN[number]]
        assert times_found(scattered, since=limit) == WRITTEN[number:]
        assert times_found(scattered, until=limit) == WRITTEN[: number + 1]


def test_the_same_words_at_the_same_wall_clock_in_two_zones_are_two_messages(
    memory: Memory,
) -> None:
    texts = ["2026-03-29T01:30:00+01:00", "2026-03-29T01:30:00-07:00", "2026-03-29T01:30:00"]
    ids = memory.append("s", [Message(text="Yes.", sent_at=text) for text in texts])
    assert len(set(ids)) == 3
    assert [message.sent_at for message in memory.messages("s")] == texts


@with_small_leaves
def test_the_times_of_a_node_are_real_times(memory: Memory, clock: FakeClock) -> None:
    """Its times are those of its messages in UTC."""
    late = Message(text=prose(1, 8), sent_at="2026-03-29T01:30:00+01:00")
    early = Message(text=prose(2, 8), sent_at="2026-03-29T02:00:00+09:00")
    memory.append("s", [late, early])
    memory.work(max_calls=0)
    root = memory.node(str(memory.tree(Scope.source("s")).root_id))
    assert root.started_at is not None
    assert root.ended_at is not None
    assert datetime.fromisoformat(root.started_at) == datetime.fromisoformat(str(early.sent_at))
    assert datetime.fromisoformat(root.ended_at) == datetime.fromisoformat(str(late.sent_at))


ZONES = ["UTC", "Pacific/Auckland", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Apia"]


def headings(result: SearchResult) -> list[str]:
    return [passage.text.partition("\n")[0] for passage in result.passages]


@pytest.mark.parametrize("zone", ZONES)
def test_a_message_is_shown_under_the_day_by_which_it_is_found(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    """In every zone, for times of any zone and of none."""
    monkeypatch.setenv("TZ", zone)
    start = datetime(2026, 12, 4, 0, 30)
    for number in range(24):
        moment = (start + timedelta(hours=number)).isoformat() + ("", "Z", "+09:00")[number % 3]
        memory.append(f"s{number}", [Message(text=f"remark {number}", sent_at=moment)])
    shown = headings(memory.search("remark", budget_tokens=2_000))
    days = {heading.split()[1].strip("]") for heading in shown}
    assert len(shown) == 24
    found = 0
    for day in days:
        result = memory.search("remark", since=day, until=day, budget_tokens=2_000)
        assert {heading.split()[1] for heading in headings(result)} == {day}
        found += len(result.passages)
    assert found == 24


@pytest.mark.parametrize("zone", ZONES)
def test_a_time_without_a_zone_is_shown_as_the_log_writes_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    memory.append("s", [Message(text="A remark.", sent_at="2026-12-04T23:40:00")])
    assert headings(memory.search("when was the remark?")) == ["[1 2026-12-04 Fri 23:40]"]
    (message,) = memory.search("remark").passages[0].messages
    assert message.sent_at == "2026-12-04T23:40:00"


@pytest.mark.parametrize(
    ("zone", "heading"),
    [
        ("UTC", "[1 2026-12-04 Fri 20:00]"),
        ("Pacific/Auckland", "[1 2026-12-05 Sat 09:00]"),
        ("America/Los_Angeles", "[1 2026-12-04 Fri 12:00]"),
    ],
)
def test_a_heading_says_weekday_and_time_only_where_a_question_is_about_time(
    memory: Memory, zone: str, heading: str
) -> None:
    memory.append("s", [
        Message(text="We fed the walrus.", sent_at="2026-12-04T20:00:00Z"),
        Message(text="The walrus is fed.", sent_at="2026-12-04T20:05:00Z"),
    ])  # fmt: skip
    for question in (
        "when was the walrus fed?",
        "on which day was the walrus fed?",
        "at what time was the walrus fed?",
        "who fed the walrus since 2025-01-01?",
    ):
        found = memory.search(question, zone=zone)
        assert headings(found) == [heading]
        assert found.tokens == count_tokens(found.text)
    (limited,) = headings(memory.search("who fed the walrus?", zone=zone, since="2026-12-01"))
    assert limited == heading
    for question in ("who fed the walrus?", "what happens when the walrus is fed?"):
        (short,) = headings(memory.search(question, zone=zone))
        assert short == heading.split()[0] + " " + heading.split()[1] + "]"
