"""Reading the ledger through Memory.ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from treemem import AmbiguousIdError, Memory, Message, NotFoundError, Scope, UsageError

RULE = "Always answer me in German."
OPEN = "I still need to order the filter for the pump."
DECIDED = "We decided to take the blue paint for the gate."


@pytest.fixture
def filled(tmp_path: Path) -> Memory:
    memory = Memory.open(tmp_path / "m.db")
    memory.append(
        "a",
        [
            Message(text=RULE, sent_at="2026-01-05T09:00:00Z"),
            Message(text=OPEN, sent_at="2026-02-05T09:00:00Z", session="s1"),
        ],
    )
    memory.append("b", [Message(text=DECIDED, sent_at="2026-03-05T09:00:00Z")])
    memory.work(max_calls=0)
    return memory


def test_entries_are_read_by_kind_and_scope(filled: Memory) -> None:
    with filled as memory:
        assert [e.text for e in memory.ledger(kinds=["constraint"])] == [RULE]
        assert [e.text for e in memory.ledger(Scope.source("b"))] == [DECIDED]
        assert [e.text for e in memory.ledger(Scope.session("s1"), kinds=["open"])] == [OPEN]
        assert memory.ledger.count()["decision"] == 1
        assert memory.ledger.count(Scope.source("a")) == {
            "constraint": 1, "decision": 0, "open": 1, "error": 0, "fact": 0,
        }  # fmt: skip


def test_entries_are_read_by_time_and_in_its_order(filled: Memory) -> None:
    with filled as memory:
        assert [e.text for e in memory.ledger(order="time")] == [RULE, OPEN, DECIDED]
        assert [e.text for e in memory.ledger(since="2026-02-01", until="2026-02-28")] == [OPEN]
        assert [e.text for e in memory.ledger(order="time", limit=2)] == [RULE, OPEN]


def test_an_entry_is_shown_with_its_messages_and_the_reasons_of_its_salience(
    filled: Memory,
) -> None:
    with filled as memory:
        (rule,) = memory.ledger(kinds=["constraint"])
        shown = memory.ledger.show(rule.id[:6])
        assert [message.text for message in shown.messages] == [RULE]
        assert dict(shown.explanation)["for good"] > 0
        assert abs(sum(weight for _, weight in shown.explanation) - shown.salience) < 0.01


def test_what_does_not_exist_is_an_error(filled: Memory) -> None:
    with filled as memory:
        with pytest.raises(NotFoundError, match="at least 4"):
            memory.ledger.show("xyz")
        with pytest.raises(NotFoundError, match="There is no ledger entry"):
            memory.ledger.show("ffffffffffff")
        with pytest.raises(UsageError, match="kind"):
            memory.ledger(kinds=["rule"])  # type: ignore[list-item]
        with pytest.raises(UsageError, match="order"):
            memory.ledger(order="random")  # type: ignore[arg-type]
        with pytest.raises((NotFoundError, AmbiguousIdError)):
            memory.ledger(Scope.topic("none"))
