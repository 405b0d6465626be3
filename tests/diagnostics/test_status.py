"""status counts what is stored and which jobs wait, and says what is missing."""

from __future__ import annotations

import pytest

from tests.helpers.logs import prose
from tests.helpers.shapes import SMALL_LEAVES
from treemem import Memory, Message
from treemem.types import TreeShape


@pytest.fixture
def shape() -> TreeShape:
    return SMALL_LEAVES


def test_status_counts_messages_and_jobs(memory: Memory) -> None:
    memory.append("s", [Message(text=prose(n, 8)) for n in range(30)])
    memory.work(max_calls=0)
    memory.append("t", [Message(text="We ship the importer on Friday.")])
    status = memory.status()
    assert (status.sources, status.messages) == (2, 31)
    assert status.leaves > 5
    assert status.jobs["seal"]["todo"] == 1
    assert status.summarizer is None
    assert any("summarizer" in sentence for sentence in status.missing)
