"""Storing what entries are about, in lists by word."""

from __future__ import annotations

from treemem.store import entries
from treemem.store.database import Database
from treemem.store.entries import KEPT_TIMES, RULES_HOME, STEM_ENTRIES_MAX

HOME, OTHER = 1, 2
GATE, GOAT, SHED = -7, 11, 2**31 - 1
KEPT = KEPT_TIMES * STEM_ENTRIES_MAX


def add(database: Database, *seqs: int, home: int = HOME) -> None:
    for seq in seqs:
        sql = "INSERT INTO entry (seq, id, kind, home) VALUES (?, ?, 'fact', ?)"
        database.execute(sql, (seq, f"{seq:012x}", home))


def listed(database: Database, home: int = HOME) -> dict[int, list[int]]:
    found = entries.postings(database, home, {GATE, GOAT, SHED})
    return {stem: sorted(entries.unpacked([seqs])) for stem, seqs in found.items()}


def test_entries_are_found_by_their_words(database: Database) -> None:
    last, first = 4_095, 70_000
    add(database, 1, last, first)
    entries.put_subjects(database, {1: {GATE}, last: {GATE, SHED}, first: {GATE, GOAT}})
    assert listed(database) == {GATE: [1, last, first], GOAT: [first], SHED: [last]}
    assert listed(database, OTHER) == {}
    entries.put_subjects(database, {1: {GOAT}, first: {GATE, GOAT}})
    assert listed(database) == {GATE: [last, first], GOAT: [1, first], SHED: [last]}
    entries.delete(database, [last, first])
    assert listed(database) == {GOAT: [1]}
    assert database.value("SELECT count(*) FROM subject_list") == 1


def test_a_rule_is_listed_with_those_of_all_projects_while_it_is_one(database: Database) -> None:
    add(database, 1)
    add(database, 2, home=OTHER)
    entries.put_subjects(database, {1: {GATE, RULES_HOME}, 2: {GATE, GOAT, RULES_HOME}})
    assert listed(database, RULES_HOME) == {GATE: [1, 2], GOAT: [2]}
    assert listed(database, OTHER) == {GATE: [2], GOAT: [2]}
    entries.put_subjects(database, {2: {GATE, GOAT}})
    assert listed(database, RULES_HOME) == {GATE: [1]}
    assert listed(database, OTHER) == {GATE: [2], GOAT: [2]}
    entries.delete(database, [1])
    assert listed(database, RULES_HOME) == {}


def test_a_word_of_too_many_entries_tells_nothing(database: Database) -> None:
    seqs = range(100, 100 + STEM_ENTRIES_MAX)
    add(database, *seqs, 1)
    entries.put_subjects(database, {seq: {GATE} for seq in seqs})
    assert listed(database) == {GATE: list(seqs)}
    entries.put_subjects(database, {1: {GATE, GOAT}})
    assert listed(database) == {GOAT: [1]}
    entries.put_subjects(database, {100: {GOAT}})
    assert listed(database) == {GATE: [1, *seqs[1:]], GOAT: [1, 100]}


def test_a_long_list_is_not_kept_and_made_again_once_it_is_short(database: Database) -> None:
    seqs = range(100, 100 + KEPT)
    add(database, *seqs, 1)
    add(database, 2, home=OTHER)
    rule = {100: {GATE, GOAT, RULES_HOME}}
    entries.put_subjects(database, {seq: {GATE} for seq in seqs} | rule | {2: {GATE}})
    row = "SELECT length(entries), unlisted FROM subject_list WHERE home = ? AND stem = ?"
    assert database.row(row, (HOME, GATE)) == (4 * KEPT, 0)
    entries.put_subjects(database, {1: {GATE, SHED}})
    assert database.row(row, (HOME, GATE)) == (0, KEPT + 1)
    assert listed(database) == {GOAT: [100], SHED: [1]}
    gone = seqs[-STEM_ENTRIES_MAX:]
    entries.delete(database, gone)
    assert listed(database) == {GOAT: [100], SHED: [1]}
    entries.put_subjects(database, {101: {SHED}})
    assert listed(database) == {GATE: [1, 100, *seqs[2:-STEM_ENTRIES_MAX]], GOAT: [100],
                                SHED: [1, 101]}  # fmt: skip
    assert database.row(row, (HOME, GATE)) == (4 * STEM_ENTRIES_MAX, 0)
    assert listed(database, RULES_HOME) == {GATE: [100], GOAT: [100]}


def test_nothing_is_left_of_a_long_list_whose_entries_are_gone(database: Database) -> None:
    seqs = range(1, KEPT + 2)
    add(database, *seqs)
    entries.put_subjects(database, {seq: {GATE} for seq in seqs})
    assert database.value("SELECT unlisted FROM subject_list") == len(seqs)
    entries.delete(database, seqs)
    assert database.value("SELECT count(*) FROM subject_list") == 0
