"""status counts what is stored and which jobs wait, and says what is missing."""

from __future__ import annotations

from pathlib import Path

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


def test_a_notice_about_the_file_is_not_something_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    Memory.open(path).close()
    path.chmod(0o644)
    with Memory.open(path) as memory:
        (notice,) = (notice for notice in memory.notices if "mode 0644" in notice)
        assert notice not in memory.status().missing
