"""The memory of a server is opened when it is asked, and again if its file was replaced."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from treemem import DatabaseError, DatabaseReplacedError, Memory, Message
from treemem.serving.opening import OpenMemory


def test_nothing_is_opened_before_the_first_use(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    opened = OpenMemory(lambda: Memory.open(path))
    assert not path.exists()
    assert opened.use(lambda memory: memory.is_empty)
    assert path.exists()
    opened.close()


def test_a_file_that_is_missing_at_first_is_found_later(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    opened = OpenMemory(lambda: Memory.open(path, must_exist=True))
    with pytest.raises(DatabaseError):
        opened.use(lambda memory: memory.is_empty)
    with Memory.open(path) as memory:
        memory.append("a/1", [Message(text="We ship on Friday.")])
    assert not opened.use(lambda memory: memory.is_empty)
    opened.close()


def test_a_file_that_was_replaced_is_opened_by_the_next_use(tmp_path: Path) -> None:
    path, other = tmp_path / "memory.sqlite3", tmp_path / "other.sqlite3"
    with Memory.open(other) as memory:
        memory.append("b/1", [Message(text="The other file.")])
    opened = OpenMemory(lambda: Memory.open(path))
    append = [Message(text="This file.")]
    opened.use(lambda memory: memory.append("a/1", append))
    path.unlink()
    shutil.copy(other, path)
    with pytest.raises(DatabaseReplacedError):
        opened.use(lambda memory: memory.append("a/1", append))
    assert [view.source.id for view in opened.use(lambda memory: memory.sources())] == ["b/1"]
    opened.close()
