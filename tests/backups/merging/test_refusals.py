"""A file that cannot be merged is refused with a sentence, and no file is changed by a merge."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from treemem import BackupError, DatabaseError, Memory, Message, NotFoundError, UsageError
from treemem.store import migrations


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The closed file of another machine."""
    path = tmp_path / "other.sqlite3"
    with Memory.open(path) as memory:
        memory.append("chat/1", [Message(text="We ship on Friday.")])
    return path


def test_the_other_file_is_not_changed(memory: Memory, other: Path) -> None:
    before = other.read_bytes()
    assert memory.merge(other).messages == 1
    assert other.read_bytes() == before
    assert [path.name for path in other.parent.glob("other*")] == ["other.sqlite3"]


def test_the_other_file_may_be_in_use(memory: Memory, other: Path) -> None:
    with Memory.open(other) as used:
        used.append("chat/1", [Message(text="Good.")])
        assert memory.merge(other).messages == 2
        used.append("chat/1", [Message(text="One more.")])
    assert memory.merge(other).messages == 1


def test_the_memory_itself_is_refused(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is the memory itself"):
        memory.merge(tmp_path / "memory.sqlite3")


def test_a_missing_file_is_refused_and_not_created(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="There is no file"):
        memory.merge(tmp_path / "missing.sqlite3")
    assert not (tmp_path / "missing.sqlite3").exists()


def test_a_foreign_file_is_refused(memory: Memory, tmp_path: Path) -> None:
    text, empty, foreign = (tmp_path / name for name in ("text", "empty", "foreign"))
    text.write_text("This is no database at all. " * 100)
    empty.touch()
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE note (text)")
    connection.close()
    for path in (text, empty, foreign):
        before = path.read_bytes()
        with pytest.raises((BackupError, DatabaseError), match=path.name):
            memory.merge(path)
        assert path.read_bytes() == before


def test_a_file_of_an_earlier_schema_is_refused_and_not_upgraded(
    memory: Memory, other: Path
) -> None:
    connection = sqlite3.connect(other)
    connection.execute(f"PRAGMA user_version = {migrations.SCHEMA_VERSION - 1}")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(BackupError, match="written by an earlier treemem"):
        memory.merge(other)
    assert other.read_bytes() == before


@pytest.mark.parametrize(
    "change", ["text = 'We ship on Monday.'", "id = 'ffffffffffffffffffffffffffffffff'"]
)
def test_a_message_that_is_not_what_was_said_is_refused(
    memory: Memory, other: Path, change: str
) -> None:
    connection = sqlite3.connect(other)
    connection.execute(f"UPDATE message SET {change}")
    connection.commit()
    connection.close()
    memory.append("own/1", [Message(text="Mine.")])
    with pytest.raises(BackupError, match="Nothing was stored"):
        memory.merge(other)
    assert [view.source.id for view in memory.sources()] == ["own/1"]


def test_a_damaged_page_is_refused(memory: Memory, other: Path) -> None:
    with Memory.open(other) as filled:
        filled.append("chat/2", [Message(text=f"Word {n}. " * 50) for n in range(200)])
    data = bytearray(other.read_bytes())
    for page in range(20, len(data) // 4096, 3):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    other.write_bytes(data)
    with pytest.raises((BackupError, DatabaseError), match=r"damaged|malformed"):
        memory.merge(other)
    assert not memory.sources()
