"""Seasons and holidays."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest

from treemem.dates.names import HOLIDAYS, SEASONS, easter, season


@pytest.mark.parametrize(
    "sunday", ["2000-04-23", "2008-03-23", "2011-04-24", "2024-03-31", "2025-04-20", "2038-04-25"]
)
def test_easter_is_when_the_calendar_says(sunday: str) -> None:
    assert easter(int(sunday[:4])) == date.fromisoformat(sunday)


def test_the_seasons_of_a_year_follow_each_other_without_a_gap() -> None:
    names = ("spring", "summer", "autumn", "winter")
    for name, following in pairwise(names):
        assert season(name, 2026)[1] == season(following, 2026)[0]
    assert season("winter", 2025)[1] == season("spring", 2026)[0]
    assert SEASONS["fall"] == SEASONS["autumn"]


def test_thanksgiving_is_the_fourth_thursday_of_november() -> None:
    first_of, _ = HOLIDAYS["thanksgiving"]
    assert [first_of(year).isoformat() for year in (2024, 2025, 2026)] == [
        "2024-11-28", "2025-11-27", "2026-11-26",
    ]  # fmt: skip
