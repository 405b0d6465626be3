"""Tests treemem.verify.evidence."""

from __future__ import annotations

from collections.abc import Sequence

from treemem.verify.evidence import attributed, clauses_of, leaf_of, scores

TALK = (
    ("Clara", "How long have you been sailing?"),
    ("Marlene", "Seven years! My brother built our first boat."),
    ("Clara", "You won the cup, didn't you?"),
    ("Marlene", "Yes, in May."),
)


def _best(note: str, similar: object = None) -> str:
    leaf = leaf_of(TALK)
    (clause,) = clauses_of(note, leaf)
    found = scores(clause, leaf, similar)  # type: ignore[arg-type]
    return leaf.units[max(found, key=lambda at: found[at])].text


def test_an_answer_is_read_with_its_question() -> None:
    assert _best("Marlene has been sailing for seven years.") == "Seven years!"


def test_a_clause_without_a_subject_goes_on_with_the_one_before() -> None:
    clauses = clauses_of("Marlene won the cup, and sails a boat. The cup is old.", leaf_of(TALK))
    assert [clause.subjects for clause in clauses] == [("Marlene",), ("Marlene",), ()]


def test_words_are_said_of_their_author_of_whom_they_address_or_of_others() -> None:
    leaf = leaf_of(TALK)
    built, won = leaf.units[2], leaf.units[3]
    (own,) = clauses_of("Marlene built the first boat.", leaf)
    (kin,) = clauses_of("Marlene's brother built the first boat.", leaf)
    (cup,) = clauses_of("Marlene won the cup.", leaf)
    assert attributed(own, built, "Marlene", reports=False) < 0
    assert attributed(kin, built, "Marlene", reports=False) > 0
    assert attributed(cup, won, "Marlene", reports=False) > 0
    assert attributed(cup, won, "Clara", reports=False) < 0
    assert not won.asks  # Marlene says yes to it


def test_vectors_of_the_caller_find_what_shares_no_word() -> None:
    def similar(clause: str, sentences: Sequence[str]) -> list[float]:
        return [1.0 if "built" in sentence else 0.0 for sentence in sentences]

    assert _best("Marlene owns a vessel of old.", similar) == "My brother built our first boat."
