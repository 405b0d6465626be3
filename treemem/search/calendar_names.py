"""Knows when seasons and holidays are, by their English names.

Pure. Seasons are those of the northern half, in whole months.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

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
