"""A selection chooses what fits everything that is named."""

from __future__ import annotations

import pytest

from treemem import Memory, Message, Scope, UsageError
from treemem.forgetting.selection import Selection, chosen
from treemem.store import messages
from treemem.store.database import Database

SAID = [
    ("bob", "Bananas are in the kitchen.", "2026-03-01T10:00:00Z"),
    ("ana", "Ask Ana about the\nblue  folder.", "2026-03-02T10:00:00Z"),
    ("bob", "ANA ABOUT THE BLUE FOLDER again", "2026-03-03T10:00:00Z"),
    ("bob", "No time here.", None),
]


@pytest.fixture
def ids(memory: Memory) -> list[str]:
    said = [Message(text=text, author=author, sent_at=at) for author, text, at in SAID]
    return memory.append("chat/one", said)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({"text": "ana"}, [1, 2]),
        ({"text": "ana about the blue folder"}, [1, 2]),
        ({"text": "bananas"}, [0]),
        ({"pattern": r"[Kk]itchen|No time"}, [0, 3]),
        ({"pattern": "kitchen", "text": "ana"}, []),
        ({"scope": Scope.where(person="bob")}, [0, 2, 3]),
        ({"scope": Scope.where(person="bob"), "text": "ana"}, [2]),
        ({"since_ms": 1_772_424_000_000}, [1, 2]),
        ({"scope": Scope.source("chat/one"), "until_ms": 1_772_424_000_000}, [0]),
    ],
)
def test_a_message_fits_all_that_is_named(
    memory: Memory, database: Database, ids: list[str], named: dict[str, object],
    expected: list[int],
) -> None:  # fmt: skip
    seqs = chosen(database, Selection(**named))  # type: ignore[arg-type]
    stored = messages.by_seq(database, seqs)
    assert [stored[seq].id for seq in seqs] == [ids[number] for number in expected]


def test_all_versions_of_a_message_go_with_it(memory: Memory, database: Database) -> None:
    memory.append("chat", [Message(text="first", external_id="m1")])
    memory.append("chat", [Message(text="second", external_id="m1")])
    assert len(chosen(database, Selection(text="second"))) == 2


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ({"text": "it"}, "at least 3 characters"),
        ({"pattern": "x*"}, "found in every text"),
        ({"pattern": "("}, "not a valid regular expression"),
        ({"pattern": "(a+)+b"}, "very many ways"),
    ],
)
def test_a_choice_that_is_too_wide_or_slow_is_refused(
    database: Database, named: dict[str, str], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        chosen(database, Selection(**named))  # type: ignore[arg-type]


def test_sources_that_have_the_words_in_their_names_are_named(memory: Memory) -> None:
    memory.append("chat/blue_folder", [Message(text="Nothing of it in here.")])
    memory.append("chat/two", [Message(text="Neither here.")], title="Of the Blue  Folder")
    memory.append("chat/three", [Message(text="The blue folder is gone.")], project="/blue folder")
    memory.append("chat/bluefolders", [Message(text="Other words.")])
    report = memory.forget(text="blue folder")
    assert [source.id for source in report.sources] == ["chat/three"]
    assert report.named_like == ["chat/blue_folder", "chat/two"]
    assert memory.forget(pattern="blue.folder", dry_run=True).named_like == ["chat/blue_folder"]
