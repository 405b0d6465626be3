"""doctor finds every kind of damage, changes nothing, and repairs what can be computed again."""

from __future__ import annotations

import time

import pytest

from tests.helpers.logs import prose
from tests.helpers.shapes import SMALL_LEAVES
from treemem import DatabaseReplacedError, Memory, Message, Scope
from treemem.store.database import Database
from treemem.types import TreeShape


@pytest.fixture
def shape() -> TreeShape:
    return SMALL_LEAVES


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.append("s", [Message(text=prose(n, 8)) for n in range(30)])
    memory.work(max_calls=0)
    return memory


def test_an_undamaged_file_is_healthy(filled: Memory) -> None:
    diagnosis = filled.diagnose()
    assert diagnosis.healthy
    assert all(check.looked_at for check in diagnosis.checks)


@pytest.mark.parametrize(
    ("damage", "check"),
    [
        ("UPDATE message SET text = 'x' || substr(text, 2) WHERE seq = 3", "messages against"),
        ("UPDATE message SET chars = chars - 1 WHERE seq = 3", "messages against"),
        ("UPDATE message SET role = 'tool' WHERE seq = 3", "messages against"),
        ('UPDATE leaf_span SET "end" = "end" - 1 WHERE node_seq = 1', "nodes against"),
        ("UPDATE node SET tokens = tokens + 1 WHERE seq = 1", "nodes against"),
        ("DELETE FROM leaf_span WHERE node_seq = 1 AND ordinal = 0", "nodes against"),
        ("DELETE FROM node_child WHERE ordinal = 2", "nodes against"),
        ("DELETE FROM tree_node WHERE level = 0 AND position = 3", "trees"),
        ("UPDATE tree_node SET level = 7 WHERE level = 1", "trees"),
        ("UPDATE source_message SET open_from = 0 WHERE position = 0", "messages in exactly"),
        ("UPDATE source SET open_position = 1000", "messages in exactly"),
        ("DELETE FROM citation", "nothing without"),
        ("DELETE FROM summary_statement", "nothing without"),
        ("DELETE FROM source_message WHERE position = 29", "nothing without"),
        ("UPDATE statement SET written = 'changed'", "statements in the words"),
        ("UPDATE citation SET start = start + 1000", "statements in the words"),
        ("UPDATE message SET search_text = 'changed' WHERE seq = 3", "full text"),
        ("DELETE FROM message WHERE seq = 3", "references"),
    ],
)  # fmt: skip
def test_damage_is_found_by_its_check(
    filled: Memory, database: Database, damage: str, check: str
) -> None:
    database.execute("PRAGMA foreign_keys = OFF")
    database.execute(damage)
    failed = [result.name for result in filled.diagnose().checks if not result.ok]
    assert any(name.startswith(check) for name in failed)


def test_repair_rebuilds_the_full_text_index_and_missing_summaries(
    filled: Memory, database: Database
) -> None:
    database.execute("INSERT INTO message_fts (message_fts) VALUES ('delete-all')")
    database.execute("DELETE FROM summary")
    assert filled.search("settlement").passages == ()
    filled.repair()
    assert filled.diagnose().healthy
    assert filled.search("settlement").passages
    assert filled.tree(Scope.source("s")).statements


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entry SET dirty = 1 WHERE seq = 1",
        "UPDATE statement SET entry_seq = NULL",
        "UPDATE entry SET statement_seq = NULL WHERE seq = 1",
        "UPDATE entry SET state = 'closed' WHERE seq = 1",
        "DELETE FROM entry",
    ],
)
def test_a_damaged_ledger_is_found_and_made_again(
    filled: Memory, database: Database, damage: str
) -> None:
    before = filled.ledger()
    assert before
    database.execute(damage)
    failed = [check.name for check in filled.diagnose().checks if not check.ok]
    assert failed == ["entries of the ledger"]
    filled.repair()
    assert filled.diagnose().healthy
    assert filled.ledger() == before


def test_two_thousand_repetitions_of_a_message_are_checked_in_linear_time(memory: Memory) -> None:
    memory.append("s", [Message(text="ok") for _ in range(2_000)])
    began = time.process_time()
    assert memory.diagnose().healthy
    assert time.process_time() - began < 2


def test_a_diagnosis_changes_nothing(filled: Memory) -> None:
    other = Database(filled.path)
    before = other.value("PRAGMA data_version")
    filled.diagnose()
    assert other.value("PRAGMA data_version") == before
    other.close()


# -- what cannot be looked at ----------------------------------------------------------


def not_checked(memory: Memory) -> list[str]:
    diagnosis = memory.diagnose()
    assert diagnosis.healthy
    reasons = {check.name: check.not_checked for check in diagnosis.checks}
    assert diagnosis.complete == (not any(reasons.values()))
    return [f"{name}: {reason}" for name, reason in reasons.items() if reason]


def test_a_locked_file_is_no_damaged_one(filled: Memory) -> None:
    impatient = Database(filled.path, busy_timeout_ms=50)
    other = Database(filled.path)
    with other.transaction():
        (reason,) = not_checked(Memory(impatient, shape=SMALL_LEAVES))
    assert reason.startswith("full text against content: ")
    assert "is locked by another process" in reason
    impatient.close()
    other.close()


def test_a_file_that_cannot_be_written_is_no_damaged_one(
    filled: Memory, database: Database
) -> None:
    database.execute("PRAGMA query_only = ON")
    (reason,) = not_checked(filled)
    assert "cannot be written" in reason
    database.execute("PRAGMA query_only = OFF")
    assert not_checked(filled) == []


def test_damage_is_found_in_a_file_that_cannot_be_written(
    filled: Memory, database: Database
) -> None:
    database.execute("UPDATE message SET role = 'tool' WHERE seq = 3")
    database.execute("PRAGMA query_only = ON")
    diagnosis = filled.diagnose()
    assert not diagnosis.healthy
    assert not diagnosis.complete


def test_a_file_that_was_replaced_is_an_error_and_no_finding(
    filled: Memory, database: Database
) -> None:
    database.path.unlink()
    with pytest.raises(DatabaseReplacedError, match="moved or deleted"):
        filled.diagnose()
