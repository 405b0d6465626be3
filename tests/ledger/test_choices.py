"""Closing, reopening and dropping entries."""

from __future__ import annotations

from pathlib import Path

import pytest

from treemem import Memory, Message, UsageError

RULE = "Always answer me in German."
OPEN = "I still need to order the filter for the pump."


def states(memory: Memory) -> dict[str, str]:
    return {e.text: e.state for e in memory.ledger(states=["holds", "closed", "withdrawn"])}


def test_a_choice_outlives_its_log(tmp_path: Path) -> None:
    log = [Message(text=OPEN, external_id="1"), Message(text="We also saw a heron on the roof.")]
    with Memory.open(tmp_path / "m.db") as memory:
        memory.append("a", log)
        memory.work(max_calls=0)
        (point,) = memory.ledger(kinds=["open"])
        assert memory.ledger.close(point.id).state == "closed"
        assert memory.ledger(kinds=["open"]) == []
        memory.append("b", [Message(text=OPEN)])  # said again elsewhere, in the same words
        memory.work(max_calls=0)
        assert states(memory)[OPEN] == "closed"
        assert memory.ledger.reopen(point.id).state == "holds"
        assert memory.ledger.drop(point.id).state == "withdrawn"


def test_a_choice_is_undone(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as memory:
        memory.append("a", [Message(text=OPEN)])
        memory.work(max_calls=0)
        (point,) = memory.ledger(kinds=["open"])
        for choose in (memory.ledger.close, memory.ledger.drop, memory.ledger.reopen):
            choose(point.id)
            assert memory.ledger.restore(point.id).state == "holds"


def test_dropping_a_rule_is_the_same_in_both_commands(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as memory:
        memory.append("a", [Message(text=RULE)])
        memory.work(max_calls=0)
        (entry,) = memory.ledger(kinds=["constraint"])
        memory.ledger.drop(entry.id)
        (rule,) = memory.rules()
        assert rule.state == "dropped"
        memory.restore_rule(rule.id)
        assert states(memory)[RULE] == "holds"
        memory.drop_rule(rule.id)
        assert states(memory)[RULE] == "withdrawn"
        memory.ledger.reopen(entry.id)
        assert memory.rules()[0].state == "in force"


def test_only_open_points_and_errors_can_be_closed(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as memory:
        memory.append("a", [Message(text=RULE)])
        memory.work(max_calls=0)
        (entry,) = memory.ledger(kinds=["constraint"])
        with pytest.raises(UsageError, match=r"memory\.ledger\.drop"):
            memory.ledger.close(entry.id)


def test_a_closed_point_is_no_rule(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as memory:
        memory.append("a", [Message(text=OPEN)])
        memory.work(max_calls=0)
        memory.ledger.drop(memory.ledger(kinds=["open"])[0].id)
        assert memory.rules() == []


def test_a_choice_holds_when_its_source_gets_a_project(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as memory:
        memory.append("a", [Message(text=OPEN)])
        memory.work(max_calls=0)
        memory.ledger.close(memory.ledger(kinds=["open"])[0].id)
        memory.append("a", [Message(text="We saw a heron on the roof.")], project="late")
        memory.work(max_calls=0)
        assert states(memory)[OPEN] == "closed"
