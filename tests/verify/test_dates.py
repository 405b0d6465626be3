"""Tests treemem.verify.dates."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.verify.dates import mentions, relative

SENT = date(2023, 5, 8)  # a Monday


@pytest.mark.parametrize(
    ("note", "parts"),
    [
        ("Ana left on 7 May 2023.", (7, 5, 2023)),
        ("Ana left on Sunday, 7 May 2023, at noon.", (7, 5, 2023)),
        ("Ana left on May 7th, 2023.", (7, 5, 2023)),
        ("Ana left on 2023-05-07.", (7, 5, 2023)),
        ("Ana left on the 7th of May.", (7, 5, None)),
        ("Ana left in May 2023.", (None, 5, 2023)),
        ("Ana left in May.", (None, 5, None)),
        ("Ana left in 2022.", (None, None, 2022)),
    ],
)
def test_dates_are_read_in_the_usual_forms(
    note: str, parts: tuple[int | None, int | None, int | None]
) -> None:
    (mention,) = mentions(note)
    assert (mention.day, mention.month, mention.year) == parts


def test_a_verb_is_no_month_and_a_number_no_year() -> None:
    assert mentions("Ana may 7 times march to 2022 houses.") == []


@pytest.mark.parametrize(
    ("said", "day", "other"),
    [
        ("I left yesterday.", date(2023, 5, 7), date(2023, 5, 8)),
        ("I leave tomorrow.", date(2023, 5, 9), date(2023, 5, 8)),
        ("I left three days ago.", date(2023, 5, 5), date(2023, 5, 4)),
        ("I left last Friday.", date(2023, 5, 5), date(2023, 5, 4)),
        ("I leave next Friday.", date(2023, 5, 12), date(2023, 5, 5)),
        ("I left last week.", date(2023, 5, 3), date(2023, 5, 10)),
        ("I left last weekend.", date(2023, 5, 6), date(2023, 5, 8)),
        ("I leave next month.", date(2023, 6, 30), date(2023, 5, 31)),
        ("I left last year.", date(2022, 7, 1), date(2023, 1, 1)),
        ("I left two months ago.", date(2023, 3, 9), date(2023, 5, 1)),
    ],
)
def test_words_for_a_time_mean_days(said: str, day: date, other: date) -> None:
    (meant,) = relative(said, SENT)
    assert day in meant.days()
    assert other not in meant.days()


@given(st.text(max_size=80), st.dates())
def test_any_text_on_any_day_can_be_read(text: str, day: date) -> None:
    for meant in relative(f"{text} last month, 90 years ago", day):
        assert meant.first <= meant.last
    for mention in mentions(text):
        assert mention.start < mention.end
