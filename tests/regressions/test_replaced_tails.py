"""A tail that was replaced is deleted once the last tree above it lets go of it."""

from __future__ import annotations

import pytest

from tests.conftest import FakeClock
from tests.helpers.logs import prose
from treemem import Memory, Message
from treemem.store.database import Database
from treemem.topics import assignment
from treemem.topics import store as topic_store
from treemem.worker import collection_jobs


def test_a_replaced_tail_is_deleted_with_its_last_topic(
    memory: Memory, database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the tree over everything has let go of it before."""
    memory.append("s", [Message(text=prose(1, 3))])
    memory.work(max_calls=0)
    old = database.value("SELECT tail_seq FROM tree WHERE scope = 'source'")
    with database.transaction():
        topic_store.add(database, topic_store.create(database, ["old"]), [old])
    monkeypatch.setattr(collection_jobs.CollectionWork, "_lay_out_topics", lambda *_: None)
    monkeypatch.setattr(collection_jobs, "ROOT_INTERVAL_MS", 0)
    memory.append("s", [Message(text=prose(2, 3))])
    memory.work(max_calls=0)
    with database.transaction():
        collection_jobs.admit(database, clock(), at_once=True)
    memory.work(max_calls=0)
    assert database.value("SELECT count(*) FROM node WHERE seq = ?", (old,)) == 1
    assignment.place(database)
    assert database.value("SELECT count(*) FROM node WHERE seq = ?", (old,)) == 0
