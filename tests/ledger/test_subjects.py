"""Storing what entries are about, in lists by word."""

from __future__ import annotations

from treemem.store import entries
from treemem.store.database import Database
from treemem.store.entries import BLOCK, RULES_HOME

HOME, OTHER = 1, 2
GATE, GOAT, SHED = -7, 11, 2**31 - 1
LIMIT = 200


def add(database: Database, *seqs: int, home: int = HOME) -> None:
    for seq in seqs:
        sql = "INSERT INTO entry (seq, id, kind, home) VALUES (?, ?, 'fact', ?)"
        database.execute(sql, (seq, f"{seq:012x}", home))


def listed(database: Database, home: int = HOME) -> dict[int, list[int]]:
    found = entries.postings(database, home, (GATE, GOAT, SHED), LIMIT)
    return {stem: sorted(seqs) for stem, seqs in found.items()}


def test_entries_of_several_blocks_are_found_by_their_words(database: Database) -> None:
    last, first = BLOCK - 1, 5 * BLOCK
    add(database, 1, last, first)
    entries.put_subjects(database, {1: {GATE}, last: {GATE, SHED}, first: {GATE, GOAT}})
    assert listed(database) == {GATE: [1, last, first], GOAT: [first], SHED: [last]}
    assert listed(database, OTHER) == {}
    entries.put_subjects(database, {1: {GOAT}, first: {GATE, GOAT}})
    assert listed(database) == {GATE: [last, first], GOAT: [1, first], SHED: [last]}
    entries.delete(database, [last, first])
    assert listed(database) == {GOAT: [1]}
    assert database.value("SELECT count(*) FROM subject") == 1


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
    seqs = range(BLOCK - 100, BLOCK - 100 + LIMIT)
    add(database, *seqs, 1)
    entries.put_subjects(database, {seq: {GATE} for seq in seqs})
    assert listed(database) == {GATE: list(seqs)}
    entries.put_subjects(database, {1: {GATE, GOAT}})
    assert listed(database) == {GOAT: [1]}
