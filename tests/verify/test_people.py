"""Tests treemem.verify.people."""

from __future__ import annotations

import pytest

from treemem.verify.people import People, whom

PEOPLE = People.of(["Clara", "Marlene", "user", "Project Lead"])


@pytest.mark.parametrize(
    ("clause", "subjects", "possessive"),
    [
        ("Clara sold her boat", ("Clara",), False),
        ("On Monday Clara sold her boat", ("Clara",), False),
        ("Clara and Marlene sold a boat", ("Clara", "Marlene"), False),
        ("Clara's brother sold a boat", ("Clara",), True),
        ("A boat was sold by Marlene", ("Marlene",), False),
        ("The boat of Clara is red", (), False),
        ("A friend made it for Clara", (), False),
        ("The user wants a boat", ("user",), False),
        ("The Project Lead wants a boat", ("Project Lead",), False),
        ("They sold a boat", (), False),
    ],
)
def test_the_subject_of_a_clause(clause: str, subjects: tuple[str, ...], possessive: bool) -> None:
    assert PEOPLE.subjects(clause) == (subjects, possessive)


def test_a_short_form_of_a_name_names_its_speaker_unless_it_is_a_word() -> None:
    assert PEOPLE.mentioned("Marl went home") == ["Marlene"]
    assert PEOPLE.mentioned("the project of a lead") == []


def test_each_word_is_about_the_nearest_person_before_it() -> None:
    text = "I sold it because my brother and Clara left"
    who = dict(zip(text.split(), whom(text, PEOPLE), strict=True))
    assert (who["sold"], who["brother"], who["left"]) == ("author", "kin", ("Clara",))
