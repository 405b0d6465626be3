"""Tests that the tally is that of all messages, also while it is kept."""

from __future__ import annotations

import pytest

from tests.helpers.secret_samples import SECRETS
from treemem import Memory, Message
from treemem.store.database import Database
from treemem.tree import tally

_TRUTH = """
SELECT count(*), coalesce(sum(tokens), 0), min(sent_at_ms), max(sent_at_ms) FROM message
"""


def _of(database: Database) -> tuple[int, int, int | None, int | None]:
    with database.reading():
        found = tally.of_everything(database)
    return found.messages, found.tokens, found.first_ms, found.last_ms


def test_the_tally_follows_what_is_added_and_scrubbed(memory: Memory, database: Database) -> None:
    assert _of(database) == (0, 0, None, None)
    times = [None, "2026-03-04T10:00:00Z", "1969-12-31T23:50:00Z", "2026-03-04T10:14:59Z"]
    with Memory.open(memory.path) as other:
        for number, time in enumerate(times):
            text = f"Message {number} {SECRETS[0][0] if number == 2 else ''}"
            other.append("chat", [Message(text=text, sent_at=time)], redact=False)
            assert _of(database) == database.row(_TRUTH)
        before = database.row(_TRUTH)
    memory.scrub()
    assert _of(database) == database.row(_TRUTH) != before


def test_what_is_rolled_back_is_not_counted(memory: Memory, database: Database) -> None:
    memory.append("chat", [Message(text="One.")])

    def fail() -> None:
        with database.transaction():
            database.execute(
                "INSERT INTO message (seq, id, role, kind, text, chars, tokens) "
                "VALUES (9, ?, 'user', 'said', 'x', 1, 7)", ("9" * 32,),
            )  # fmt: skip
            assert tally.of_everything(database).messages == 2
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert _of(database) == database.row(_TRUTH)


def test_quarters_are_whole_also_before_1970(memory: Memory, database: Database) -> None:
    sent = ("1969-12-31T23:45:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z")
    memory.append("chat", [Message(text=f"At {time}", sent_at=time) for time in sent])
    with database.reading():
        assert tally.of_everything(database).quarters == {-1: 2, 0: 1}
        assert tally.of_source(database, 1) == {-1: 2, 0: 1}
