"""Tests the days of messages."""

from __future__ import annotations

from treemem import DayCount, Memory, Message, Scope


def _say(memory: Memory, source: str, *times: str | None) -> None:
    memory.append(source, [Message(text=f"{source} {time}", sent_at=time) for time in times])


def test_days_are_those_of_the_zone(memory: Memory) -> None:
    _say(memory, "a", "2026-03-01T23:30:00Z", "2026-03-02T08:00:00Z", None)
    assert memory.days(zone="UTC") == [DayCount("2026-03-01", 1), DayCount("2026-03-02", 1)]
    assert memory.days(zone="Europe/Berlin") == [DayCount("2026-03-02", 2)]
    assert memory.days(zone="Asia/Kathmandu") == [DayCount("2026-03-02", 2)]


def test_days_of_a_scope_are_those_of_its_sources(memory: Memory) -> None:
    _say(memory, "a", "2026-03-01T10:00:00Z")
    _say(memory, "b", "2026-03-01T10:00:00Z", "2026-03-03T10:00:00Z")
    assert memory.days(zone="UTC") == [DayCount("2026-03-01", 2), DayCount("2026-03-03", 1)]
    assert memory.days(Scope.source("a"), zone="UTC") == [DayCount("2026-03-01", 1)]
    _say(memory, "a", "2026-03-04T10:00:00Z")
    assert memory.days(Scope.source("a"), zone="UTC")[-1] == DayCount("2026-03-04", 1)


def test_a_memory_without_times_has_no_days(memory: Memory) -> None:
    _say(memory, "a", None)
    assert memory.days() == memory.days(Scope.source("a")) == []
