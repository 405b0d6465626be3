"""Tests that the order of sources, and what is kept of them, are those of reading all messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.logs import ClaudeSession, prose
from tests.helpers.secret_samples import SECRETS
from treemem import Memory, Message, Scope, TreeShape
from treemem.store.database import Database
from treemem.tree import listing, remembered

_SPANS = """
SELECT s.seq, min(m.sent_at_ms), max(m.sent_at_ms) FROM source s
LEFT JOIN source_message sm ON sm.source_seq = s.seq LEFT JOIN message m ON m.seq = sm.message_seq
GROUP BY s.seq
"""


@pytest.fixture
def shape() -> TreeShape:
    return TreeShape(leaf_tokens_max=60)


def _steps(memory: Memory, logs: Path) -> Iterator[str]:
    """Changes a file in all the ways that change what is shown of a source."""
    session = ClaudeSession("one")
    session.say(*(prose(seed, 3) for seed in range(12)))
    memory.ingest(session.write(logs))
    yield "a log"
    session.go_back_to(5)
    session.say(prose(50, 3))
    memory.ingest(session.write(logs))
    yield "a turn that abandons others"
    session.go_back_to(11)
    session.say("I prefer the longer one.")
    memory.ingest(session.write(logs))
    yield "a turn that goes on with abandoned ones"
    memory.ingest(session.resumed_as("two").write(logs))
    yield "a session that shares its messages"
    memory.append("chat/1", [Message(text=prose(9, 2), sent_at="2026-03-04T10:00:00Z")])
    yield "messages that are in no leaf"
    memory.work(max_calls=0)
    yield "their leaf"
    memory.append("chat/1", [Message(text="And no time.", author="Ana"), Message(text="Yes.")])
    memory.append("chat/2", [Message(text="No time at all.")], title="Later named")
    yield "messages without a time"
    secret = SECRETS[0][0]
    memory.append("chat/1", [Message(text=f"{prose(3, 3)} {secret}")], redact=False)
    memory.work(max_calls=0)
    yield "a secret"
    memory.append("chat/2", [Message(text="Old.", sent_at="1969-12-31T23:50:00Z")])
    memory.work(max_calls=0)
    yield "a time before 1970"
    memory.scrub()
    yield "a scrub"


def _seen(memory: Memory) -> dict[str, Any]:
    return {
        "sources": memory.sources(),
        "titles": memory.titles(),
        "headline": memory.headline(Scope.everything()),
        "ids": memory.source_ids(),
        "days": memory.days(zone="UTC"),
        "status": replace(memory.status(), size_bytes=0),
    }


def test_a_memory_that_stays_open_shows_what_one_that_is_opened_anew_does(
    memory: Memory, tmp_path: Path, shape: TreeShape, clock: Callable[[], int]
) -> None:
    for step in _steps(memory, tmp_path):
        with Memory.open(memory.path, clock=clock, shape=shape) as fresh:
            assert _seen(memory) == _seen(fresh), step


_COUNTS = """
SELECT (SELECT count(*) FROM message), (SELECT sum(tokens) FROM message),
  (SELECT count(*) FROM source_message WHERE state = 'active' AND open_from IS NOT NULL),
  (SELECT count(*) FROM message m WHERE NOT EXISTS (SELECT 1 FROM source_message sm
    WHERE sm.message_seq = m.seq AND sm.state = 'active'))
"""


def test_the_counts_of_the_status_are_those_of_all_messages(
    memory: Memory, database: Database, tmp_path: Path
) -> None:
    seen = set()
    for step in _steps(memory, tmp_path):
        status = memory.status()
        counts = (status.messages, status.tokens, status.open_messages, status.abandoned)
        assert counts == database.row(_COUNTS), step
        seen.add(counts)
    assert len({abandoned for *_, abandoned in seen}) > 2
    assert len({unsealed for *_, unsealed, _ in seen}) > 2


def test_the_times_of_sources_are_those_of_all_their_messages(
    memory: Memory, database: Database, tmp_path: Path
) -> None:
    for step in _steps(memory, tmp_path):
        with database.reading():
            rows = database.rows(_SPANS)
            found = listing.spans(database, [row[0] for row in rows])
        assert found == {seq: (first, last) for seq, first, last in rows}, step
        views = memory.sources()
        in_order = sorted(views, key=lambda v: (v.ended_at or "", v.source.id), reverse=True)
        assert views == in_order, step


def test_only_sources_that_have_changed_are_computed_again(
    memory: Memory, database: Database
) -> None:
    memory.append("a", [Message(text="One.")])
    memory.append("b", [Message(text="Two.")])
    memory.work(max_calls=0)
    computed: list[list[int]] = []

    def read() -> dict[int, int]:
        def compute(seqs: Any) -> dict[int, int]:
            computed.append(list(seqs))
            return {seq: len(computed) for seq in seqs}

        with database.reading():
            return remembered.of_sources(database, "test", [1, 2], compute)

    assert read() == read() == {1: 1, 2: 1}
    with Memory.open(memory.path) as other:
        other.append("b", [Message(text="Three.")])
        assert read() == read() == {1: 1, 2: 2}
        other.work(max_calls=0)
    assert read() == read() == {1: 1, 2: 3}
    assert computed == [[1, 2], [2], [2]]


def test_a_source_that_is_gone_is_forgotten(database: Database) -> None:
    with database.reading():
        assert remembered.of_sources(database, "test", [7], lambda seqs: {seqs[0]: 1}) == {}
