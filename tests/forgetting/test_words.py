"""Words of forgotten messages are found in other texts, and no others."""

from __future__ import annotations

import pytest

from treemem import Memory, Message
from treemem.forgetting import words
from treemem.store.database import Database


def cleaned(memory: Memory, database: Database, said: str, note: str, *others: str) -> str:
    """What is left of a note when a message is forgotten and others stay."""
    memory.append("gone", [Message(text=said)])
    memory.append("kept", [Message(text=text) for text in others or ("Nothing of the kind.",)])
    (seq,) = database.row("SELECT seq FROM message WHERE text = ?", (said,)) or (0,)
    database.execute(
        "INSERT INTO breaker (kind, job_seqs, reason) VALUES ('leaf', '[]', ?)", (note,)
    )
    with database.transaction():
        database.execute("INSERT INTO forgetting (at_ms, chosen_by, messages, sources, nodes) "
                         "VALUES (0, '[]', 1, 1, 1)")  # fmt: skip
        database.execute("INSERT INTO condemned VALUES (?, 1)", (seq,))
        words.clean(database, [seq], write=True)
    return str(database.value("SELECT reason FROM breaker"))


@pytest.mark.parametrize(
    ("said", "note", "expected"),
    [
        ("My aunt Philippa is ill.", "asked about my aunt Philippa twice",
         "asked about [forgotten] twice"),
        ("My aunt Philippa is ill.", "MY AUNT PHILIPPA", "[forgotten]"),
        ("Ana is ill", "Ana is ill", "[forgotten]"),
        ("My aunt Philippa is ill.", "my uncle is ill", "my uncle is ill"),
        ("xAAAAAAAAAAAAx and yBBBBBBBBBBBBy", "AAAAAAAAAAAA, BBBBBBBBBBBB",
         "[forgotten], [forgotten]"),
    ],
)  # fmt: skip
def test_a_piece_of_a_message_is_taken_out(
    memory: Memory, database: Database, said: str, note: str, expected: str
) -> None:
    assert cleaned(memory, database, said, note) == expected


def test_what_a_staying_message_says_too_is_left(memory: Memory, database: Database) -> None:
    note = "the harvest festival"
    assert cleaned(memory, database, "I hate the harvest festival!", note, note.title()) == note
