"""doctor finds what is wrong with a live session."""

from __future__ import annotations

import pytest

from treemem import Memory
from treemem.store.database import Database

CHECK = "turns of live sessions"


@pytest.fixture
def talked(memory: Memory) -> Memory:
    """A memory with a session that was compacted, folded and recorded."""
    for name in ("a/1", "a/2"):
        session = memory.session(name, window=1_500)
        session.pin(goal="Ship it")
        for number in range(12):
            session.append(
                {"role": "user", "content": f"Turn wheel {number} of {name}. " + "Now. " * 60}
            )
            session.context()
            session.append({"role": "assistant", "content": f"Wheel {number} turns. " * 20})
        session.checkpoint()
        session.fold("turning wheels", since=session.catalog()[-2].id)
    memory.work(max_calls=0)
    return memory


def test_a_session_that_was_used_is_healthy(talked: Memory) -> None:
    diagnosis = talked.diagnose()
    assert diagnosis.healthy
    (check,) = (check for check in diagnosis.checks if check.name == CHECK)
    assert check.looked_at == 3


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM turn WHERE session_seq = 1 AND position = 3", "23 turns at 24 positions"),
        ("UPDATE turn SET content = 'x' WHERE position = 3 AND session_seq = 1", "no message"),
        ("UPDATE turn SET content = '[]' WHERE position = 3 AND session_seq = 1", "no message"),
        ("UPDATE turn SET shown = '[' WHERE position = 3 AND session_seq = 1", "shown in a way"),
        ("UPDATE turn SET attached = '[' WHERE position = 3 AND session_seq = 1", "shown in a way"),
        ("UPDATE turn SET message_seq = (SELECT message_seq FROM turn WHERE session_seq = 2) "
         "WHERE position = 3 AND session_seq = 1", "turn 3 has words that are not in its source"),
        ("UPDATE compaction SET boundary = 99 WHERE session_seq = 1 AND boundary > 0", "turn 99"),
        ("UPDATE compaction SET turns = 99 WHERE session_seq = 1", "of 99"),
        ("UPDATE fold SET end_position = 99 WHERE session_seq = 1", "'turning wheels' has turns"),
        ("UPDATE fold SET first_position = end_position WHERE session_seq = 1", "turning wheels"),
        ("UPDATE checkpoint SET turns = 99 WHERE session_seq = 1", "has 99 turns of 24"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_session_is_said(
    talked: Memory, database: Database, damage: str, said: str
) -> None:
    database.execute(damage)
    (check,) = (check for check in talked.diagnose().checks if not check.ok)
    assert check.name == CHECK
    assert all(finding.startswith("the session a/1") for finding in check.findings)
    assert said in check.findings[0]
