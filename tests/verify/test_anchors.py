"""Tests treemem.verify.anchors."""

from __future__ import annotations

import pytest

from treemem.verify.anchors import misplaced
from treemem.verify.evidence import clauses_of, leaf_of

LOG = (
    ("Ana", "I sold the old boat for 4,200 euros in March. I had wanted 5,000."),
    ("Ben", "The hall costs 300 euros for an evening, and the band takes 450 euros."),
    ("Ana", "Nora keeps the keys of the hall. Since 2014 Oskar has been the chair of the club."),
    (
        "Ben",
        "The press stopped on the 3rd because of a belt, the mill on the 9th because of a fuse.",
    ),
    (
        "Ben",
        "The board must not pay the November duplicates before the October accounts are closed.",
    ),
    ("Ana", "We repainted the fence last week, and we asked for a permit in autumn."),
)


@pytest.mark.parametrize(
    "note",
    [
        "Ana got 4,200 euros when she sold her boat.",
        "Renting the hall for an evening takes 300 euros.",
        "The band asks for 450 euros.",
        "Oskar has been chair since 2014.",
        "A belt stopped the press on the 3rd.",
        "They repainted the fence last week.",
        "The chair is old.",
    ],
)
def test_a_term_that_is_where_its_source_has_it(note: str) -> None:
    leaf = leaf_of(LOG)
    assert misplaced(clauses_of(note, leaf), leaf) == ""


@pytest.mark.parametrize(
    ("note", "reason"),
    [
        ("Ana sold the old boat for 5,000 euros.", "number of something else"),
        ("The hall costs 450 euros for an evening.", "number of something else"),
        ("Nora has been the chair of the club.", "name or date of something else"),
        ("The hall costs 450 euros, and the band takes 300 euros.", "number of something else"),
        ("The board must not pay the October duplicates.", "name or date of something else"),
        ("They repainted the fence in autumn.", "name or date of something else"),
    ],
)
def test_a_term_of_something_else(note: str, reason: str) -> None:
    leaf = leaf_of(LOG)
    assert misplaced(clauses_of(note, leaf), leaf) == reason
