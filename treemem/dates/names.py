"""Knows when seasons and holidays are, by their English names, and counts days and months.

Pure. Seasons are those of the northern half, in whole months.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from treemem.patterns import lazy_regex

# Year first, or last: 2026/11/13, 13.11.2026, 13/11/2026.
_YEAR_FIRST = lazy_regex(r"(\d{4})([/.-])(\d{1,2})\2(\d{1,2})", re.ASCII)
_YEAR_LAST = lazy_regex(r"(\d{1,2})([/.-])(\d{1,2})\2((?:19|20)\d{2}|\d{2})", re.ASCII)
# The first month of each season; each lasts three months.
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def season(name: str, year: int) -> tuple[date, date]:
    """The first day of a season that begins in a year, and the day after its last.

    Example:
        >>> season("winter", 2025)
        (datetime.date(2025, 12, 1), datetime.date(2026, 3, 1))
    """
    month = SEASONS[name]
    after = month + 3
    return date(year, month, 1), date(year + (after > 12), (after - 1) % 12 + 1, 1)


def easter(year: int) -> date:
    """Easter Sunday in the Gregorian calendar, by the algorithm of Meeus, Jones and Butcher.

    Example:
        >>> easter(2026)
        datetime.date(2026, 4, 5)
    """
    golden = year % 19
    century, rest = divmod(year, 100)
    leap, odd = divmod(century, 4)
    moon = (19 * golden + century - leap - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    sunday = (32 + 2 * odd + 2 * (rest // 4) - moon - rest % 4) % 7
    late = (golden + 11 * moon + 22 * sunday) // 451
    month, day = divmod(moon + sunday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def _thanksgiving(year: int) -> date:
    """The fourth Thursday of November."""
    first = date(year, 11, 1)
    return first + timedelta(days=(3 - first.weekday()) % 7 + 21)


# By name, the first day of a holiday in a year, and its number of days.
HOLIDAYS: dict[str, tuple[Callable[[int], date], int]] = {
    "christmas": (lambda year: date(year, 12, 24), 3),
    "xmas": (lambda year: date(year, 12, 24), 3),
    "christmas eve": (lambda year: date(year, 12, 24), 1),
    "christmas day": (lambda year: date(year, 12, 25), 1),
    "new year's eve": (lambda year: date(year, 12, 31), 1),
    "new year's day": (lambda year: date(year, 1, 1), 1),
    "new year": (lambda year: date(year, 1, 1), 1),
    "valentine's day": (lambda year: date(year, 2, 14), 1),
    "easter": (lambda year: easter(year) - timedelta(days=2), 4),
    "good friday": (lambda year: easter(year) - timedelta(days=2), 1),
    "easter sunday": (easter, 1),
    "easter monday": (lambda year: easter(year) + timedelta(days=1), 1),
    "halloween": (lambda year: date(year, 10, 31), 1),
    "thanksgiving": (_thanksgiving, 1),
}


def numeric_date(text: str) -> date | None:
    """A date in numbers. Of 3/4/2026, nobody knows which number is the month: None.

    Example:
        >>> numeric_date("13.11.2026"), numeric_date("11/13/2026"), numeric_date("3/4/2026")
        (datetime.date(2026, 11, 13), datetime.date(2026, 11, 13), None)
    """
    if match := _YEAR_FIRST.fullmatch(text):
        year, month, day = int(match[1]), int(match[3]), int(match[4])
    elif match := _YEAR_LAST.fullmatch(text):
        day, month, year = int(match[1]), int(match[3]), int(match[4])
        if len(match[4]) == 2:
            if match[2] != ".":
                return None  # a fraction, a version or a score
            year += 2000
        if match[2] == "/" and day <= 12:
            if month == day or month > 12:
                day, month = month, day
            else:
                return None
    else:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def month_number(day: date) -> int:
    return day.year * 12 + day.month - 1


def first_of(month_number: int) -> date:
    return date(month_number // 12, month_number % 12 + 1, 1)


def latest(month: int, day: int, year: int | None, up_to: date) -> date | None:
    """The day in that year, or, without a year, its latest occurrence on or before up_to; None if
    the month has no such day.

    Example:
        >>> latest(2, 29, None, date(2026, 1, 1))
        datetime.date(2024, 2, 29)
    """
    for candidate in (year,) if year else range(up_to.year, up_to.year - 9, -1):
        try:
            latest = date(candidate, month, day)
        except ValueError:
            continue
        if year or latest <= up_to:
            return latest
    return None
