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


def test_what_held_at_a_time_can_be_told_and_that_nothing_holds_is_a_choice(
    database: Database,
) -> None:
    shop, key = "/w/shop", ("Never ask.", "/w/shop")
    with database.transaction():
        entry_choices.put(database, EntryChoice("Never ask.", shop, "dropped", 10))
        entry_choices.put(database, EntryChoice("Never ask.", shop, "pinned", 20))
        entry_choices.restore(database, [key, ("Never ask.", "")], 30)
        entry_choices.restore(database, [key], 40)  # changes nothing
    states = {at: entry_choices.latest(entry_choices.about(database, ["Never ask."], at), [key])
              for at in (9, 10, 19, 20, 29, 30, 40)}  # fmt: skip
    assert states == {9: None, 10: "dropped", 19: "dropped", 20: "pinned", 29: "pinned", 30: None,
                      40: None}  # fmt: skip
    assert entry_choices.choices(database, 19) == [EntryChoice("Never ask.", shop, "dropped", 10)]
    assert database.value("SELECT count(*) FROM entry_choice") == 3


def test_histories_of_two_machines_are_put_together(database: Database) -> None:
    theirs = [
        EntryChoice("Never ask.", "", state, at)
        for state, at in (("closed", 5), ("dropped", 20), ("open", 20), ("restored", 30))
    ]
    with database.transaction():
        entry_choices.put(database, EntryChoice("Never ask.", "", "pinned", 20))
        holds = [entry_choices.add(database, choice) for choice in theirs]
        again = [entry_choices.add(database, choice) for choice in theirs]
    # At one time, the state whose name comes later.
    assert holds == [False, False, False, True]
    assert again == [False] * 4
    assert database.value("SELECT count(*) FROM entry_choice") == 5


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
