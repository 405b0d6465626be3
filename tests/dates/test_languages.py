"""Expressions of time in other languages are brought into the English words that are read."""

from __future__ import annotations

import pytest

from treemem.dates import languages


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("letzten Freitag und nächste Woche", "last friday and next week"),
        ("Vor 3 Tagen, am 4. Dezember", "3 days ago on 4 december"),
        ("lundi dernier et la semaine prochaine", "last monday and next week"),
        ("il y a deux ans", "two years ago"),
        ("l'année dernière", "last year"),
        ("el lunes pasado", "on last monday"),
        ("hace un mes", "a month ago"),
        ("il mese scorso", "on last month"),
        ("l'altro ieri", "the day before yesterday"),
        ("na semana passada", "in last week"),
        ("há três dias", "three days ago"),
        ("drie dagen geleden", "three days ago"),
    ],
)
def test_words_take_the_order_of_english(text: str, english: str) -> None:
    language = languages.of(text)
    assert language is not None
    assert " ".join(word.text for word in languages.split_in(text, language)) == english


def test_words_keep_their_places() -> None:
    text = "Also, il y a deux ans, et lundi dernier."
    words = languages.split_in(text, "fr")
    places = {word.text: text[word.start : word.end] for word in words}
    assert places["ago"] == "il y a deux ans"
    assert places["monday"] == "lundi dernier"


@pytest.mark.parametrize(
    "text", ["What did we say last week?", "", "May the force be with you", "Не курить сегодня"]
)
def test_english_and_unknown_languages_are_left_as_they_are(text: str) -> None:
    assert languages.of(text) is None
