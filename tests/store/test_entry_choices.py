"""Which rules the user pinned or dropped."""

from __future__ import annotations

from treemem.store import entry_choices
from treemem.store.database import Database
from treemem.store.entry_choices import EntryChoice


def test_the_latest_choice_about_a_rule_counts(database: Database) -> None:
    with database.transaction():
        entry_choices.put(database, EntryChoice("Never ask.", "/w/shop", "dropped", 1))
        entry_choices.put(database, EntryChoice("Never ask.", "/w/shop", "pinned", 2))
        entry_choices.put(database, EntryChoice("Never ask.", "", "dropped", 3))
    assert [choice.state for choice in entry_choices.choices(database)] == ["pinned", "dropped"]
    with database.transaction():
        entry_choices.forget(database, "Never ask.", "")
    assert [choice.project for choice in entry_choices.choices(database)] == ["/w/shop"]


def test_a_scrub_rewrites_the_words_of_a_choice(database: Database) -> None:
    with database.transaction():
        entry_choices.put(database, EntryChoice("Use key abc.", "", "pinned", 1))
        ((key, _),) = entry_choices.texts(database)
        entry_choices.rewrite_text(database, key, "Use key [redacted].")
    assert entry_choices.choices(database) == [EntryChoice("Use key [redacted].", "", "pinned", 1)]


def test_a_scrub_that_makes_two_rules_equal_keeps_one_choice(database: Database) -> None:
    with database.transaction():
        entry_choices.put(database, EntryChoice("Use key abc.", "", "pinned", 1))
        entry_choices.put(database, EntryChoice("Use key [redacted].", "", "dropped", 2))
        seqs = {text: seq for seq, text in entry_choices.texts(database)}
        entry_choices.rewrite_text(database, seqs["Use key abc."], "Use key [redacted].")
    assert [choice.state for choice in entry_choices.choices(database)] == ["dropped"]
