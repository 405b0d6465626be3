"""A long message is read once for all its leaves, and its leaves get the parts they overlap."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem import Memory, Message
from treemem.store import long_messages, messages, summaries
from treemem.store.database import Database
from treemem.store.long_messages import LONG_CHARS_MIN
from treemem.types import Part

LINE = "The harbour ledger of pier {n} was closed by Ana on Tuesday.\n"
LEAVES = "SELECT DISTINCT node_seq FROM leaf_span ORDER BY node_seq"


def long_text() -> str:
    lines = (LINE.format(n=n) + ("```\npass\n```\n" if n % 9 == 0 else "") for n in range(4_000))
    return "".join(lines)


def test_a_long_message_is_read_once_for_all_its_leaves(
    memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.append("s", [Message(text="Hello."), Message(text=long_text()), Message(text="Bye.")])
    memory.work(max_calls=0)
    leaves = [seq for (seq,) in database.rows(LEAVES)]
    assert len(leaves) > 10
    read: list[int] = []
    by_seq = messages.by_seq

    def counted(database: Database, seqs: set[int]) -> dict[int, Message]:
        found = by_seq(database, seqs)
        read.extend(len(message.text) for message in found.values())
        return found

    monkeypatch.setattr(messages, "by_seq", counted)
    fresh = Database(database.path)
    excerpts = [excerpt for leaf in leaves for excerpt in summaries.excerpts(fresh, leaf)]
    fresh.close()
    assert sum(chars >= LONG_CHARS_MIN for chars in read) == 1
    long = [excerpt for excerpt in excerpts if len(excerpt.message.text) >= LONG_CHARS_MIN]
    assert "".join(excerpt.text for excerpt in long) == long_text()
    for excerpt in long:
        for part in excerpt.message.parts:
            assert part.start < excerpt.end
            assert part.end > excerpt.start


def test_a_changed_message_is_read_again(memory: Memory, database: Database) -> None:
    memory.append("s", [Message(text=long_text())])
    memory.work(max_calls=0)
    leaf = database.rows(LEAVES)[0][0]
    (excerpt,) = summaries.excerpts(database, leaf)
    seq = database.value("SELECT seq FROM message")
    changed = Message(text=excerpt.message.text.replace("Ana", "Bea"))
    with database.transaction():
        messages.rewrite(database, seq, changed, 9, "m1")
    (again,) = summaries.excerpts(database, leaf)
    assert "Bea" in again.text
    assert "Ana" not in again.text


def test_a_message_that_another_process_changed_is_read_again(
    memory: Memory, database: Database
) -> None:
    memory.append("s", [Message(text=long_text())])
    memory.work(max_calls=0)
    leaf = database.rows(LEAVES)[0][0]
    summaries.excerpts(database, leaf)
    other = Database(database.path)
    seq = database.value("SELECT seq FROM message")
    with other.transaction():
        messages.rewrite(other, seq, Message(text="Bea. " * 40_000), 9, "m1")
    other.close()
    assert summaries.excerpts(database, leaf)[0].text.startswith("Bea. ")


SPANS = st.tuples(st.integers(0, LONG_CHARS_MIN), st.integers(0, 9_000))


@settings(max_examples=40)
@given(st.lists(SPANS, max_size=12), SPANS)
def test_exactly_the_parts_that_overlap_are_kept(
    spans: list[tuple[int, int]], stretch: tuple[int, int]
) -> None:
    parts = tuple(Part("code", start, start + length) for start, length in spans)
    start, end = stretch[0], stretch[0] + stretch[1]
    message = Message(text="x" * LONG_CHARS_MIN, parts=parts)
    within = long_messages.Kept.of(1, 0, message).within(start, end)
    expected = [part for part in parts if part.start < end and part.end > start]
    assert sorted(map(str, within.parts)) == sorted(map(str, expected))
    assert within.text == message.text
