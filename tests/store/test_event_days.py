"""The days that messages are about are stored with them, and can be made again."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from treemem import Memory, Message
from treemem.store import event_days

if TYPE_CHECKING:
    from treemem.store.database import Database

SAID = [
    Message(text="We met Ana yesterday.", sent_at="2026-12-05T09:30:00+01:00"),
    Message(role="tool", text="modified yesterday", sent_at="2026-12-05T09:31:00+01:00"),
    Message(text="Last month we sailed.", sent_at="2026-12-05T09:32:00+01:00"),
    Message(text="I saw her yesterday."),
]


def stored(database: Database) -> list[tuple[int, ...]]:
    return database.rows("SELECT * FROM event_day ORDER BY message_seq, start")


def test_a_persons_words_are_read_when_the_message_is_stored(
    memory: Memory, database: Database
) -> None:
    memory.append("s", SAID)
    found = event_days.within(database, date(2026, 12, 4), date(2026, 12, 4))
    assert [(event.message_seq, event.start, event.share) for event in found] == [(1, 11, 1.0)]
    november = event_days.within(database, date(2026, 11, 1), date(2026, 11, 15))
    assert [(event.message_seq, event.share) for event in november] == [(3, 0.5)]
    assert len(event_days.within(database, None, None)) == 2


def test_the_days_can_be_made_again(memory: Memory, database: Database) -> None:
    memory.append("s", SAID)
    before = stored(database)
    database.execute("DELETE FROM event_day")
    memory.repair()
    assert stored(database) == before


def test_a_file_of_an_earlier_version_gets_its_days(memory: Memory, database: Database) -> None:
    memory.append("s", SAID)
    before = stored(database)
    database.execute("DROP TABLE event_day")
    assert memory.search("what did we do on 4 December 2026?").text
    assert event_days.within(database, None, None) == []
    with database.transaction():
        event_days.create(database._connection)
    assert stored(database) == before


@pytest.mark.parametrize(
    ("zone", "sent_at", "day"),
    [
        ("Pacific/Auckland", "2026-12-04T20:00:00Z", date(2026, 12, 4)),  # the 5th there
        ("Pacific/Auckland", "2026-12-05T09:00:00+01:00", date(2026, 12, 4)),  # its own zone
        ("America/Los_Angeles", "2026-12-05T03:00:00+00:00", date(2026, 12, 3)),
        ("America/Los_Angeles", "2026-12-05T03:00:00", date(2026, 12, 4)),  # by the wall clock
    ],
)
def test_yesterday_is_the_day_before_by_the_clock_of_who_said_it(
    memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch, zone: str, sent_at: str,
    day: date,
) -> None:  # fmt: skip
    monkeypatch.setenv("TZ", zone)
    memory.append("s", [Message(text="We met yesterday.", sent_at=sent_at)])
    assert len(event_days.within(database, day, day)) == 1
