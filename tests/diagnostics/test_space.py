"""status says what the bytes of the file are used for."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.helpers.logs import prose
from treemem import DatabaseCorruptError, Memory, Message


def test_the_tables_and_free_pages_are_the_file(memory: Memory, tmp_path: Path) -> None:
    texts = [prose(n, 20) + " é" for n in range(20)]
    memory.append("s", [Message(text=text) for text in texts])
    memory.work(max_calls=0)
    space = memory.status(space=True).space
    assert space is not None
    assert not space.estimated
    tables = sum(table.size_bytes for table in space.tables)
    assert tables + space.free_bytes == space.size_bytes
    assert space.text_bytes == sum(len(text.encode()) for text in texts)
    message = next(table for table in space.tables if table.name == "message")
    assert message.full_text_bytes > 4_096
    assert message.size_bytes > message.index_bytes + message.full_text_bytes + space.text_bytes
    assert message.per_text == pytest.approx(message.size_bytes / space.text_bytes)
    assert message.share == pytest.approx(message.size_bytes / space.size_bytes)
    names = {table.name for table in space.tables}
    assert not any("_fts" in name for name in names), names


def test_the_bytes_are_counted_only_if_asked_for(memory: Memory) -> None:
    assert memory.status().space is None
    with Memory.open(Path(":memory:")) as held:
        assert held.status(space=True).space is None


def test_an_empty_memory_has_tables_and_no_text(memory: Memory) -> None:
    space = memory.status(space=True).space
    assert space is not None
    assert space.text_bytes == 0
    assert all(table.per_text is None for table in space.tables)


def test_damage_is_named(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    with Memory.open(path) as memory:
        memory.append("s", [Message(text=prose(n, 40)) for n in range(20)])
    (root,) = sqlite3.connect(path).execute(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'usage_time'"
    ).fetchone()  # fmt: skip
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)
    with Memory.open(path) as memory, pytest.raises(DatabaseCorruptError, match=f"page {root}"):
        memory.status(space=True)
