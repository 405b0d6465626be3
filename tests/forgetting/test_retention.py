"""What is older than it is to be kept is forgotten once a day."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.conftest import START_MS, FakeClock
from treemem import Memory, Message, NotFoundError, Scope, UsageError, times

DAY_MS = 86_400_000


def said(days_ago: int, text: str) -> Message:
    return Message(text=text, sent_at=times.from_ms(START_MS - days_ago * DAY_MS))


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.append(
        "inbox/1", [said(40, "Old mail."), said(3, "New mail."), Message(text="No time.")]
    )
    memory.append("chat/1", [said(40, "Old chat."), said(20, "Chat.")])
    memory.work(max_calls=0)
    return memory


def texts(memory: Memory) -> list[str]:
    return sorted(message.text for view in memory.sources()
                  for message in memory.messages(view.source.id))  # fmt: skip


def test_a_rule_is_applied_by_work_and_not_before(filled: Memory, clock: FakeClock) -> None:
    rule = filled.retention.set(30, Scope.where(source="inbox"))
    assert (rule.number, rule.days, rule.source) == (1, 30, "inbox")
    (planned,) = filled.retention.preview()
    assert (planned.report.messages, planned.report.sources[0].id) == (1, "inbox/1")
    assert "Old mail." in texts(filled)
    assert filled.work(max_calls=0).forgotten == 1
    assert texts(filled) == ["Chat.", "New mail.", "No time.", "Old chat."]
    (forgotten,) = filled.forget.list()
    assert forgotten.chosen_by == ("source", "until", "retention")
    assert [check.findings for check in filled.diagnose().checks if check.findings] == []


def test_it_is_applied_once_a_day(filled: Memory, clock: FakeClock) -> None:
    filled.retention.set(30)
    assert filled.work(max_calls=0).forgotten == 2
    filled.append("chat/1", [said(50, "Older still.")])
    assert filled.work(max_calls=0).forgotten == 0
    clock.advance(24 * 3600)
    assert filled.work(max_calls=0).forgotten == 1
    clock.advance(11 * 24 * 3600)
    assert filled.work(max_calls=0).forgotten == 1
    assert texts(filled) == ["New mail.", "No time."]


def test_a_clock_that_was_set_back_does_not_put_it_off(filled: Memory, clock: FakeClock) -> None:
    filled.retention.set(30)
    clock.advance(365 * 24 * 3600)
    filled.work(max_calls=0)
    clock.advance(-365 * 24 * 3600)
    filled.append("chat/1", [said(50, "Older still.")])
    assert filled.work(max_calls=0).forgotten == 1


def test_rules_are_replaced_and_removed(filled: Memory) -> None:
    filled.retention.set(30, Scope.where(tool="api"))
    filled.retention.set(90)
    filled.retention.set(10, Scope.where(tool="api"))
    assert [(r.number, r.days, r.tool) for r in filled.retention.list()] == [
        (1, 90, None), (2, 10, "api"),
    ]  # fmt: skip
    assert filled.retention.remove(1).days == 90
    assert [rule.number for rule in filled.retention.list()] == [1]
    with pytest.raises(NotFoundError, match="no retention rule 7; there are 1"):
        filled.retention.remove(7)
    with pytest.raises(UsageError, match="1 to 36,500 days, not 0"):
        filled.retention.set(0)
    filled.retention.remove(1)
    assert filled.work(max_calls=0).forgotten == 0


def test_a_rule_about_what_is_not_stored_does_nothing(filled: Memory) -> None:
    filled.retention.set(1, Scope.where(source="nothing-of-the-kind"))
    assert filled.work(max_calls=0).forgotten == 0
    assert [one.report.messages for one in filled.retention.preview()] == [0]


def test_a_rule_that_fits_several_sessions_forgets_nothing_and_stops_no_work(
    memory: Memory,
) -> None:
    for name in ("ab1", "ab2"):
        old = replace(said(40, f"In {name}."), session=name)
        memory.append(f"chat/{name}", [old])
    memory.retention.set(1, Scope.session("ab"))
    assert memory.work(max_calls=0).forgotten == 0
    assert len(texts(memory)) == 2
