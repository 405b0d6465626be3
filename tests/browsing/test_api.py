"""Tests that pages are parts of the whole lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.logs import ClaudeSession, prose
from treemem import Memory, Message, Scope, TreeShape, UsageError
from treemem.store.database import Database


@pytest.fixture
def shape() -> TreeShape:
    return TreeShape(leaf_tokens_max=60)


@pytest.fixture
def filled(memory: Memory, tmp_path: Path) -> Memory:
    for number in range(7):
        session = ClaudeSession(f"s{number}")
        session.say(*(prose(20 * number + seed, 3) for seed in range(6)))
        session.write(tmp_path)
    memory.ingest(tmp_path)
    return memory


def test_pages_of_sources_are_those_of_the_whole_list(filled: Memory) -> None:
    whole = filled.sources()
    assert [view.source.id for view in whole] == filled.source_ids()
    assert [view for at in range(0, 9, 3) for view in filled.sources(limit=3, offset=at)] == whole
    assert filled.sources(offset=5) == whole[5:]
    assert filled.sources(limit=0) == []


def test_pages_of_messages_and_of_children_are_those_of_the_whole(filled: Memory) -> None:
    source_id = filled.source_ids()[0]
    whole = filled.messages(source_id)
    assert [filled.messages(source_id, limit=1, offset=at) for at in range(6)] == [
        [message] for message in whole
    ]
    assert filled.messages(source_id, offset=4) == whole[4:]
    root_id = filled.tree(Scope.source(source_id)).root_id or ""
    children = filled.expand(root_id)
    assert len(children) > 2
    assert filled.expand(root_id, limit=2, offset=1) == children[1:3]
    leaf = filled.source(source_id).root_id or ""
    while filled.node(leaf).child_ids:
        leaf = filled.node(leaf).child_ids[0]
    assert filled.expand(leaf, limit=1) == filled.expand(leaf)[:1]


def test_pages_of_the_ledger_and_of_topics_are_those_of_the_whole(filled: Memory) -> None:
    for order in ("salience", "time"):
        for kinds in (["open"], ["open", "error", "constraint", "decision", "fact"]):
            whole = filled.ledger(kinds=kinds, order=order)
            pages = [
                entry
                for at in range(0, len(whole) + 1, 4)
                for entry in filled.ledger(kinds=kinds, order=order, limit=4, offset=at)
            ]
            assert pages == whole
            assert len(whole) > 4
    whole_list = filled.topics.list()
    assert filled.topics.list(limit=1) == whole_list[:1]
    assert filled.topics.list(offset=1) == whole_list[1:]


def test_pages_of_a_ledger_longer_than_what_is_ranked_together(
    filled: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treemem.ledger.reading.RANKED_MAX", 5)
    whole = filled.ledger(kinds=["open", "error", "decision"])
    assert len(whole) > 10
    assert whole == [
        entry
        for at in range(0, len(whole), 3)
        for entry in filled.ledger(kinds=["open", "error", "decision"], limit=3, offset=at)
    ]


def test_sub_agents_are_left_out_only_if_their_session_is_listed(
    memory: Memory, database: Database
) -> None:
    memory.append("top", [Message(text="Start an agent.", sent_at="2026-03-01T10:00:00Z")])
    memory.append("top/sub", [Message(text="Done.", sent_at="2026-03-02T10:00:00Z")])
    database.execute("UPDATE source SET parent_id = 'top' WHERE id = 'top/sub'")
    assert memory.source_ids() == ["top/sub", "top"]
    assert memory.source_ids(with_agents=False) == ["top"]
    assert [view.source.id for view in memory.sources(with_agents=False)] == ["top"]
    assert memory.source_ids(since="2026-03-02", with_agents=False) == ["top/sub"]


def test_a_negative_page_is_refused(memory: Memory) -> None:
    for limit, offset in ((-1, 0), (1, -1)):
        for read in (memory.sources, memory.ledger, memory.topics.list):
            with pytest.raises(UsageError, match="is a number from 0"):
                read(limit=limit, offset=offset)
