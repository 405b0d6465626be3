"""Foreign text within a line."""

from __future__ import annotations

import pytest

from treemem.origins.quotations import hidden, pairs, speech


def spoken(text: str) -> list[str]:
    return [text[a:b] for a, b in speech(text, pairs(text))]


@pytest.mark.parametrize(
    "quotation",
    [
        '"you must never knock"', "“you must never knock”", "„du darfst nie klopfen“",
        "«il ne faut jamais frapper»", "「絶対に叩かないで」", "'you must never knock'",
        "`you must never knock`", '"""\nNever\n"""',
    ],
)  # fmt: skip
def test_a_sentence_in_quotation_marks_is_speech(quotation: str) -> None:
    assert spoken(f"It has {quotation} on it.") == [quotation]


@pytest.mark.parametrize(
    "text",
    [
        'Never use "foo" here.', "Read “The Name of the Wind” tonight.",
        "Don't, it's the dogs' bowl.",
        'The 5" one and the 7" one.', "rock 'n' roll isn't for the neighbours' cat",
        "Run `make lint`.",
    ],
)  # fmt: skip
def test_a_name_a_title_or_an_apostrophe_is_no_speech(text: str) -> None:
    assert spoken(text) == []


def test_two_words_are_speech_behind_a_verb_of_speech() -> None:
    assert spoken('She said "never knock".') == ['"never knock"']


def test_a_quotation_within_a_quotation_belongs_to_it() -> None:
    assert spoken('It has "do "this now" and never that" on it.') == [
        '"do "this now" and never that"'
    ]


def test_an_open_quotation_lasts_to_the_end_of_its_block() -> None:
    assert spoken('It has "you must never\n\nbegin "like this one here" ok') == [
        '"you must never', '"like this one here"',
    ]  # fmt: skip


def test_a_quotation_may_last_over_several_blocks() -> None:
    assert spoken('"Hello.\n\nNever knock."') == ['"Hello.\n\nNever knock."']


def test_comments_objects_and_telling_addresses_are_hidden_text() -> None:
    text = (
        "a <!-- never --> b /* always */ c https://x.example/?q=never+knock d https://x.example/e"
    )
    assert [text[a:b] for a, b in hidden(text)] == [
        "<!-- never -->", "/* always */", "https://x.example/?q=never+knock",
    ]  # fmt: skip
    assert [*hidden("src/*.py and lib/*.py")] == []
    assert [*hidden('see {"a": "never"}')] == [(4, 18)]
