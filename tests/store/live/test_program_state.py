"""What programs keep in the file is read as it was last stored, and deleted whole."""

from __future__ import annotations

from tests.helpers.secret_samples import ALNUM
from treemem import Memory, Message
from treemem.store.database import Database
from treemem.store.live import program_state

TOKEN = "ghp_" + ALNUM


def keep(database: Database, place: str, key: str, value: str = "1", now_ms: int = 5) -> None:
    program_state.put(database, "notes", place, key, value, now_ms)


def test_a_value_is_read_as_it_was_last_stored(database: Database) -> None:
    assert program_state.get(database, "notes", "a", "k") is None
    keep(database, "a", "k", "[1]", now_ms=5)
    keep(database, "a", "k", "[2]", now_ms=9)
    row = program_state.get(database, "notes", "a", "k")
    assert row == program_state.StateRow("k", "[2]", None, 5, 9)
    assert program_state.get(database, "others", "a", "k") is None


def test_rows_are_in_the_order_of_their_keys(database: Database) -> None:
    for key in ("k2", "k1", "k3"):
        keep(database, "a", key)
    keep(database, "b", "k9")
    assert program_state.keys(database, "notes", "a") == ["k1", "k2", "k3"]
    rows = program_state.of_place(database, "notes", "a", last=2)
    assert [row.key for row in rows] == ["k2", "k3"]
    assert program_state.of_place(database, "notes", "a", last=0) == []
    assert len(program_state.of_place(database, "notes", "a")) == 3


def test_places_are_found_by_their_beginning(database: Database) -> None:
    for place in ("users/ann", "users/bob", "user", "zoo"):
        keep(database, place, "k1")
        keep(database, place, "k2")
    assert program_state.places(database, "notes") == ["user", "users/ann", "users/bob", "zoo"]
    assert program_state.places(database, "notes", "users/") == ["users/ann", "users/bob"]


def test_a_key_or_a_place_is_deleted_and_nothing_else(database: Database) -> None:
    for place, key in (("a", "k1"), ("a", "k2"), ("b", "k1")):
        keep(database, place, key)
    assert program_state.delete(database, "notes", "a", "k1") == 1
    assert program_state.delete(database, "notes", "a", "k1") == 0
    assert program_state.keys(database, "notes", "a") == ["k2"]
    assert program_state.delete(database, "notes", "a") == 1
    assert program_state.places(database, "notes") == ["b"]


def test_a_row_knows_the_message_with_its_words(memory: Memory, database: Database) -> None:
    (message_id,) = memory.append("a", [Message(text="Ann likes tea.")])
    program_state.put(database, "notes", "a", "k", "{}", 0, message_id)
    row = program_state.get(database, "notes", "a", "k")
    assert row is not None
    assert row.message_id == message_id


def test_a_scrub_finds_the_secrets_in_values(memory: Memory, database: Database) -> None:
    keep(database, "a", "k", f'{{"note": ["the key is {TOKEN}", 7]}}')
    assert memory.scrub().notes == 1
    row = program_state.get(database, "notes", "a", "k")
    assert row is not None
    assert TOKEN not in row.value
    assert "[redacted: github-token" in row.value
