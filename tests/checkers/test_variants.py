"""A variant differs from its note in one thing, and reads like a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.checkers import wording
from treemem.checkers.variants import KINDS, OF_KIND_MAX, OF_NOTE_MAX, speakers_of, variants_of

LINES = [
    "Ilse: The kiln from Orsa came on Thursday, it cost 1,250 euros and 40 for Anton's van.",
    "Ruben: Nice! I left the choir in March. On the 15th I'll fetch my two bowls at 18:30.",
    "Ilse: Then Gesine can't come along, she won't be back before 9 May.",
]
NAMES = st.sampled_from(["Ilse", "Ruben", "Gesine", "The user", "Mr Vos"])
VERBS = st.sampled_from(["left", "will fetch", "has paid", "wants", "can open", "moved", "is at"])
THINGS = st.sampled_from(["the new kiln", "two bowls", "the choir", "40 euros", "Anton's van"])
WHENS = st.sampled_from(
    ["", " in March", " on Tuesdays", " last week", " before 18:30", " on the 15th", " in 2019"]
)
TAILS = st.sampled_from(["", ", not the old one", ", because Gesine never answered", " at Orsa"])
NOTES = st.builds("{} {} {}{}{}.".format, NAMES, VERBS, THINGS, WHENS, TAILS)


def texts(note: str, kind: str, lines: list[str] | None = None) -> list[str]:
    found = variants_of(note, LINES if lines is None else lines)
    return [variant.text for variant in found if variant.kind == kind]


@given(NOTES)
def test_a_variant_is_the_note_with_one_short_stretch_exchanged(note: str):
    for variant in variants_of(note, LINES):
        assert variant.text != note
        assert note[: variant.start] == variant.text[: variant.start]
        mine, other = note.split(), variant.text.split()
        start = 0
        while start < min(len(mine), len(other)) and mine[start] == other[start]:
            start += 1
        end = 0
        while end < min(len(mine), len(other)) - start and mine[-1 - end] == other[-1 - end]:
            end += 1
        swapped = sorted(" ".join(mine).lower()) == sorted(" ".join(other).lower())
        assert swapped or max(len(mine), len(other)) - start - end <= 3


@given(NOTES)
def test_a_variant_reads_like_a_sentence_of_the_same_length(note: str):
    for variant in variants_of(note, LINES):
        text = variant.text
        assert text[0].isupper()
        assert text.endswith(".")
        assert "  " not in text
        assert " ," not in text
        assert abs(len(text) - len(note)) <= 14


@given(NOTES)
def test_variants_are_few_different_and_ordered_from_the_end(note: str):
    found = variants_of(note, LINES)
    assert len({variant.text for variant in found}) == len(found) <= OF_NOTE_MAX
    assert [v.start for v in found] == sorted((v.start for v in found), reverse=True)
    for kind in KINDS:
        assert sum(variant.kind == kind for variant in found) <= OF_KIND_MAX


@given(st.text(max_size=80), st.lists(st.text(max_size=60), max_size=4))
def test_any_text_has_variants_or_none(note: str, lines: list[str]):
    assert all(variant.text != note for variant in variants_of(note, lines))


def test_a_speaker_becomes_another_speaker_and_two_change_places():
    assert texts("Ilse left.", "speaker") == ["Ruben left."]
    assert texts("Ilse told Ruben it.", "speaker") == ["Ruben told Ilse it."]
    lines = ["Henrike Vos: Hello.", "Bayo Adeyemi: Good morning."]
    assert texts("Vos came.", "speaker", lines) == ["Bayo Adeyemi came."]


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_without_another_speaker_one_is_made_up(role: str):
    (text,) = texts(f"The {role} ran it.", "speaker", [f"{role}: I ran it."])
    assert text in ("The user ran it.", "The assistant ran it.")


def test_no_name_is_made_up():
    assert texts("Ilse ran it.", "speaker", ["Ilse: I ran it."]) == []
    assert texts("Ilse asked Anton.", "name", ["Ilse: I asked my brother."]) == []


def test_an_article_goes_with_the_speaker():
    lines = ["Clinic Harbourview: Come on Monday.", "Adaeze Okafor: I can't."]
    assert texts("The clinic offers Monday.", "speaker", lines) == ["Adaeze Okafor offers Monday."]


def test_numbers_become_others_of_the_text_and_near_ones():
    assert texts("It cost 1,250 euros.", "number") == ["It cost 1,251 euros."]
    assert texts("He paid 15 euros.", "number") == ["He paid 40 euros.", "He paid 16 euros."]
    assert texts("He came on the 22nd.", "number")[0] == "He came on the 40th."
    assert texts("He has two bowls.", "number") == ["He has three bowls."]


def test_dates_become_other_dates():
    assert texts("He left in March.", "date") == ["He left in May."]
    assert texts("He left in June.", "date")[0] == "He left in March."
    assert texts("He is off on Tuesdays.", "date") == ["He is off on Thursdays."]
    assert texts("May he come?", "date") == []
    assert texts("It failed last week.", "date") == ["It failed next week."]
    assert texts("He came last.", "date") == []


def test_names_become_other_names_of_the_text():
    assert texts("Ilse asked Anton.", "name") == ["Ilse asked Orsa."]
    assert texts("Gesine stays away.", "name") == ["Orsa stays away."]
    assert texts("Ilse fetched Anton's van.", "name") == ["Ilse fetched Orsa's van."]


@pytest.mark.parametrize(
    ("note", "other"),
    [
        ("Gesine can't come.", "Gesine can come."),
        ("Gesine has not paid.", "Gesine has paid."),
        ("Gesine has paid.", "Gesine has not paid."),
        ("Gesine left early.", "Gesine never left early."),
        ("Gesine is away.", "Gesine is not away."),
        ("Nobody is away.", "Everybody is away."),
        ("It is no longer open.", None),
        ("Gesine has a dog here.", "Gesine never has a dog here."),
    ],
)
def test_a_negation_goes_or_comes(note: str, other: str | None):
    assert texts(note, "not") == ([] if other is None else [other])


def test_opposites_and_certainty_are_exchanged_both_ways():
    assert texts("It came before noon.", "opposite") == ["It came after noon."]
    assert texts("It came after noon.", "opposite") == ["It came before noon."]
    assert texts("He will come.", "certain") == ["He may come."]
    assert texts("He comes in May.", "certain") == []


def test_the_words_of_pairs_are_lower_case_and_never_their_own_opposite():
    for table in (wording.OPPOSITES, wording.LESS_CERTAIN, wording.RELATIVE, wording.AFFIRMED):
        for word, other in table.items():
            assert word == word.lower()
            assert word != other


def test_speakers_are_read_from_the_beginnings_of_lines():
    assert speakers_of([*LINES, "no speaker here"]) == ["Ilse", "Ruben"]
