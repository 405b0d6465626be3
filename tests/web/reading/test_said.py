"""A message is read with its source, its neighbours, its leaves and what was picked from it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
from treemem import Memory, Message
from treemem.web.reading import read, said

RULE = "We must never deploy on a Friday."


def viewed(memory: Memory, message_id: str) -> said.MessageView:
    return read(memory, lambda *file: said.message_view(*file, message_id))


@pytest.fixture
def ids(memory: Memory) -> list[str]:
    talk = [Message("user", RULE), Message("assistant", "word " * 9_000), Message("user", "Good.")]
    stored = memory.append("talk", talk, title="A talk", project="/home/ana/shop")
    memory.work(max_calls=0)
    return stored


def test_a_message_has_its_neighbours_and_its_leaves(memory: Memory, ids: list[str]) -> None:
    first, long, last = (viewed(memory, one) for one in ids)
    assert (first.before, first.after) == (None, ids[1])
    assert (long.before, long.after) == (ids[0], ids[2])
    assert (last.before, last.after) == (ids[1], None)
    assert (first.source_id, first.title, first.is_active) == ("talk", "A talk", True)
    assert len(first.leaves) == 1
    assert len(long.leaves) > 1
    assert [start for _, start, _ in long.leaves[1:]] == [end for *_, end in long.leaves[:-1]]


def test_a_message_has_what_was_picked_from_it(memory: Memory, ids: list[str]) -> None:
    (statement, node_id), *_ = viewed(memory, ids[0]).statements
    assert (statement.text, statement.grade) == (RULE, "verbatim")
    assert memory.node(node_id).is_leaf


def test_its_place_is_known_without_reading_its_log(tmp_path: Path, memory: Memory) -> None:
    log = tmp_path / "notes.md"
    log.write_text("# Notes\n\nWe ship on Friday.\n")
    memory.ingest(log)
    message = memory.messages(memory.sources()[0].source.id)[0]
    log.unlink()
    assert viewed(memory, message.id or "").place.path == str(log)
