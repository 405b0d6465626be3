"""A statement in the words of its message is a stretch of it, and reads as it was made."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treemem import Memory, Message
from treemem.proposals import Draft, View
from treemem.store import summaries
from treemem.store.database import Database
from treemem.store.schema.additions import QUOTED_CHARS_MAX

SAID = "We decided to keep the 🎂 in the cellar."
LONG = f"{SAID} " + "Nothing else was said about it that day. " * (QUOTED_CHARS_MAX // 40)
TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from("ab 🎂\0\ud800é"),
                min_size=1, max_size=30)  # fmt: skip
NAMES = (f"a model/{number}" for number in itertools.count())


def stored(memory: Memory, database: Database, said: list[str], text: str) -> tuple[str, bool]:
    """What a statement of this text about messages reads, and whether it is written with it."""
    memory.append("s", [Message(text=each) for each in said])
    memory.work(max_calls=0)
    leaf = database.value("SELECT max(node_seq) FROM leaf_span")
    ids = [message.id or "" for message in memory.messages("s")[-len(said) :]]
    with database.transaction():
        producer = summaries.ensure_producer(database, next(NAMES), 5)
        draft = Draft("fact", text, None, tuple(ids), 1.0)
        summaries.put(database, leaf, producer, View([draft], 1), 0)
    summary = summaries.summary_by(database, leaf, producer)
    (read,) = summaries.statements(database, summary)
    assert [message.id for message in read.messages] == list(dict.fromkeys(ids))
    written = database.value("SELECT written FROM statement WHERE seq = ?", (read.id,))
    return read.text, written is not None


@pytest.mark.parametrize(
    ("said", "text", "is_written"),
    [
        (["🎂 é. " + SAID], SAID, False),
        (["Yes.", SAID], SAID, False),
        ([SAID, SAID], SAID, False),
        ([SAID], "The cellar has it.", True),
        (["We decided", "to keep it."], "We decided to keep it.", True),
        ([LONG], SAID, True),
        ([f"{SAID} \0 is a NUL"], SAID, True),
        ([f"\ud800 {SAID}"], SAID, True),
    ],
)  # fmt: skip
def test_words_that_a_short_message_has_are_not_stored_again(
    memory: Memory, database: Database, said: list[str], text: str, is_written: bool
) -> None:
    assert stored(memory, database, said, text) == (text, is_written)
    assert memory.diagnose().healthy


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), TEXTS.filter(lambda text: bool(text.strip())))
def test_any_statement_reads_as_it_was_made(
    memory: Memory, database: Database, data: st.DataObject, said: str
) -> None:
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(said))] * 2)))
    text = data.draw(TEXTS | st.just(said[start:end]))
    assert stored(memory, database, [said], text)[0] == text.encode("utf-8", "replace").decode()


def test_what_is_picked_from_a_log_is_never_stored_twice(
    memory: Memory, database: Database
) -> None:
    memory.append("s", [Message(text=f"{SAID} Ana must not open gate {n}.") for n in range(30)])
    memory.work(max_calls=0)
    assert database.value("SELECT count(*) FROM statement")
    assert not database.value("SELECT count(*) FROM statement WHERE written IS NOT NULL")
    assert all(database.rows(
        "SELECT instr(m.text, st.text) FROM stated st JOIN citation c ON c.statement_seq = st.seq "
        "JOIN message m ON m.seq = c.message_seq"))  # fmt: skip
