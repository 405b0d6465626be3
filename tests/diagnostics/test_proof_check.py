"""doctor vouches for every column, and repairs what can be made again without hiding the rest."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.helpers.logs import prose
from tests.helpers.shapes import SMALL_LEAVES
from treemem import Memory, Message
from treemem.store.database import Database, driver
from treemem.types import TreeShape

ROWS = "rows as they were written"


@pytest.fixture
def shape() -> TreeShape:
    return SMALL_LEAVES


@pytest.fixture
def filled(memory: Memory) -> Memory:
    said = [Message(text=f"We decided to use plan {n}. {prose(n, 8)}") for n in range(30)]
    memory.append("s", [*said, Message(text="Никогда не открывай ворота."), Message(text="\ud800")])
    memory.append("s", [Message(text="Never open the east gate.", external_id="gate", role="user")])
    memory.work(max_calls=0)
    return memory


def damage(memory: Memory, sql: str) -> None:
    """Changes the file as a damaged disk does: beside treemem."""
    with closing(driver.connect(str(memory.path), isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        assert connection.execute(sql).rowcount > 0


def failed(memory: Memory) -> set[str]:
    return {check.name for check in memory.diagnose().checks if not check.ok}


@pytest.mark.parametrize(
    ("sql", "check"),
    [
        # What has no digest has a check of its own.
        ("UPDATE message SET text = text || '.' WHERE seq = 3", "messages against their ids"),
        ("UPDATE message SET exact = x'41' WHERE exact IS NOT NULL", "messages against their ids"),
        ("UPDATE message SET search_text = 'x' WHERE seq = 31", "other forms of words"),
        ("UPDATE subject_list SET home = home + 7", "entries of the ledger"),
        ("UPDATE subject_list SET stem = stem * 2", "entries of the ledger"),
        ("UPDATE subject_list SET entries = x'09000000'", "entries of the ledger"),
        ("UPDATE subject_list SET entries = x'010203'", "entries of the ledger"),
        ("UPDATE subject_list SET unlisted = length(entries) / 4", "entries of the ledger"),
        # Columns of which nothing else tells what they were.
        ("UPDATE message SET external_id = 'x' WHERE external_id = 'gate'", ROWS),
        ("UPDATE source SET title = 'another'", ROWS),
        ("UPDATE statement SET kind = 'fact' WHERE seq = 1", ROWS),
        ("UPDATE statement SET speaker = 'Eve' WHERE seq = 1", ROWS),
        ("UPDATE entry SET for_good = 1 WHERE seq = 1", ROWS),
        ("UPDATE setting SET value = value || 'x'", ROWS),
        ("UPDATE job SET payload = '{}'", ROWS),
        ("UPDATE leaf_profile SET terms = '{}'", ROWS),
    ],
)  # fmt: skip
def test_a_changed_value_is_found(filled: Memory, sql: str, check: str) -> None:
    assert failed(filled) == set()
    damage(filled, sql)
    assert check in failed(filled)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE statement SET kind = 'fact' WHERE seq = 1",
        "UPDATE summary SET tokens = 1 WHERE seq = 2",
        "UPDATE citation SET message_seq = message_seq + 1 WHERE statement_seq = 1",
        "DELETE FROM summary_statement WHERE summary_seq = 1",
        "UPDATE entry SET weight = weight + 1 WHERE seq = 1",
        "UPDATE entry SET id = 'x' WHERE seq = 1",
        "UPDATE subject_list SET unlisted = 9",
        "UPDATE leaf_profile SET terms = '{}'",
        "UPDATE job SET payload = '[]'",
    ],
)
def test_what_can_be_made_again_is_as_it_was_after_a_repair(
    filled: Memory, database: Database, sql: str
) -> None:
    def shown() -> object:
        return (
            database.rows("SELECT kind, text, speaker, origin FROM stated ORDER BY 1, 2, 3"),
            database.rows("SELECT id, kind, mentions FROM entry ORDER BY id"),
        )

    before = shown()
    damage(filled, sql)
    assert failed(filled)
    filled.repair()
    filled.work(max_calls=0)
    assert failed(filled) == set()
    assert shown() == before


def test_what_cannot_be_made_again_is_found_after_a_repair_and_after_more_was_stored(
    filled: Memory,
) -> None:
    damage(filled, "UPDATE message SET sent_at_ms = 7 WHERE external_id = 'gate'")
    filled.repair()
    filled.append("s", [Message(text="The goats are counted.")])
    filled.work(max_calls=0)
    assert failed(filled) == {ROWS}
    (check,) = [check for check in filled.diagnose().checks if check.name == ROWS]
    (finding,) = check.findings
    assert finding.startswith("rows of message with seq BETWEEN ")


def test_an_origin_that_is_none_makes_no_rule(filled: Memory) -> None:
    damage(filled, "UPDATE message SET origin = 'typing' WHERE external_id = 'gate'")
    said = [message for message in filled.messages("s") if message.external_id == "gate"]
    assert [message.origin for message in said] == ["pasted"]
    assert ROWS in failed(filled)
