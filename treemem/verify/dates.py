"""Reads the dates in a note, and the days that "yesterday" or "last week" mean in a message.

Pure. A note gives dates where its source has such words, so they are compared with the day on
which the message was sent. Tested in tests/verify/test_dates.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from treemem.patterns import lazy_regex
from treemem.text.counting import DAYS, MONTHS, UNITS

_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS if len(month) > 3) + "|may"
_WEEKDAY = "|".join(f"{day[:3]}(?:{day[3:]})?" for day in DAYS)
# With what belongs to a date: "on Sunday, 2 March 2025", "in May 2023".
_DATE = lazy_regex(
    rf",?\s*(?:\b(?:on|in|since|by|from|until|of|at|around)\s+)?(?:the\s+)?(?:(?:{_WEEKDAY}),?\s+)?"
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_MONTH})"
    rf"|(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)"
    rf"|(?P<month3>{_MONTH})(?=,?\s+\d{{4}}))\b(?:,?\s+(?P<year>\d{{4}}))?"
    rf"|\s*\b(?:in|since|until|by|during)\s+(?:(?P<month4>{_MONTH})\b|(?P<year2>(?:19|20)\d\d)\b)"
    rf"|,?\s*\b(?:on\s+)?(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})\b",
    re.IGNORECASE,
)
_COUNTS = {word: count for count, word in enumerate(UNITS[1:11], 1)} | {
    "a": 1,
    "an": 1,
    "a couple of": 2,
    "a few": 3,
}
_RELATIVE = lazy_regex(
    rf"\b(?:(?P<word>today|tonight|this (?:morning|afternoon|evening)|yesterday|last night"
    rf"|tomorrow|the day before yesterday|the day after tomorrow)"
    rf"|(?P<which>last|this past|past|this|next|coming)\s+(?P<period>week|weekend|month|year"
    rf"|{_WEEKDAY})"
    rf"|(?P<count>\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})\s+"
    rf"(?P<unit>day|week|weekend|month|year)s?\s+(?P<way>ago|from now)"
    rf"|(?:on\s+)?(?P<weekday>{_WEEKDAY}))\b",
    re.IGNORECASE,
)
_SHIFTS = {
    "yesterday": -1, "last night": -1, "tomorrow": 1, "the day before yesterday": -2,
    "the day after tomorrow": 2,
}  # fmt: skip
_DAYS_OF = {"day": 1, "week": 7, "weekend": 7, "month": 30.5, "year": 365.25}
# How many days "N units ago" may be off on both sides.
_SLACK = {"day": 0, "week": 4, "weekend": 4, "month": 20, "year": 190}


@dataclass(frozen=True, slots=True)
class Meant:
    """The days that words for a time mean: from first to last, every step days.

    end: where the words end in their text.
    """

    end: int
    first: date
    last: date
    step: int = 1

    def days(self) -> Iterator[date]:
        """Yields each of the days."""
        for offset in range(0, (self.last - self.first).days + 1, self.step):
            yield self.first + timedelta(days=offset)

    def __str__(self) -> str:
        days = list(dict.fromkeys((self.first, self.last)))
        return (" or " if self.step > 1 else " to ").join(f"{day.day} {day:%B %Y}" for day in days)


@dataclass(frozen=True, slots=True)
class Mention:
    """A date in a note, with its place in the text. Parts that it does not name are None."""

    start: int
    end: int
    day: int | None
    month: int | None
    year: int | None

    def is_in(self, meant: Meant) -> bool:
        """Whether it may be one of these days."""
        return any(
            day.month == self.month
            and self.day in (None, day.day)
            and self.year in (None, day.year)
            for day in meant.days()
        )


def mentions(note: str) -> list[Mention]:
    """The dates in a note, of a day, a month or a year.

    Example:
        >>> [(m.day, m.month, m.year) for m in mentions("Ana left on Sunday, 2 March 2025.")]
        [(2, 3, 2025)]
    """
    found = []
    for match in _DATE.finditer(note):
        at = match.start(), match.end()
        if match["iso"]:
            year, month, day = (int(part) for part in match["iso"].split("-"))
            found.append(Mention(*at, day, month, year))
            continue
        name = match["month"] or match["month2"] or match["month3"] or match["month4"] or ""
        if name[:1].islower():
            continue  # the verbs "may" and "march"
        numbered = (
            number for number, full in enumerate(MONTHS, 1)
            if name and full.startswith(name[:3].lower())
        )  # fmt: skip
        day_named, year_named = match["day"] or match["day2"], match["year"] or match["year2"]
        found.append(
            Mention(
                *at,
                int(day_named) if day_named else None,
                next(numbered, None),
                int(year_named) if year_named else None,
            )
        )
    return found


def relative(text: str, sent: date) -> list[Meant]:
    """What the words for a time in a message of that day mean.

    Example:
        >>> [str(meant) for meant in relative("I left yesterday.", date(2023, 5, 8))]
        ['7 May 2023']
    """
    found = []
    for match in _RELATIVE.finditer(text):
        try:
            found.append(Meant(match.end(), *_meant(match, sent)))
        except (OverflowError, ValueError):
            continue  # "9 years ago" in the year 5
    return found


def _meant(match: re.Match[str], sent: date) -> tuple[date, date, int]:
    if match["word"]:
        day = sent + timedelta(days=_SHIFTS.get(match["word"].lower(), 0))
        return day, day, 1
    if match["count"]:
        word = match["count"].lower()
        count = int(word) if word.isdigit() else _COUNTS[word]
        unit = match["unit"].lower()
        sign = -1 if match["way"].lower() == "ago" else 1
        day = sent + timedelta(days=round(sign * count * _DAYS_OF[unit]))
        slack = timedelta(days=_SLACK[unit])
        return day - slack, day + slack, 1
    if match["weekday"]:
        return _weekdays(match["weekday"], sent, -7, 7)
    ahead = match["which"].lower() in ("next", "coming")
    step = 1 if ahead else 0 if match["which"].lower() == "this" else -1
    period = match["period"].lower()
    if period == "year":
        return date(sent.year + step, 1, 1), date(sent.year + step, 12, 31), 1
    if period == "month":
        months = sent.year * 12 + sent.month - 1 + step
        first = date(months // 12, months % 12 + 1, 1)
        after = date((months + 1) // 12, (months + 1) % 12 + 1, 1)
        return first, after - timedelta(days=1), 1
    monday = sent - timedelta(days=sent.weekday()) + timedelta(days=7 * step)
    if period == "week":
        return monday, monday + timedelta(days=6), 1
    if period == "weekend":
        return monday + timedelta(days=5), monday + timedelta(days=6), 1
    return _weekdays(period, sent, 1 if ahead else -13, 14 if ahead else 0)


def _weekdays(name: str, sent: date, since: int, until: int) -> tuple[date, date, int]:
    """The days of that name from since to until, in days from when the message was sent."""
    number = next(at for at, day in enumerate(DAYS) if day.startswith(name[:3].lower()))
    days = [sent + timedelta(days=offset) for offset in range(since, until + 1)]
    named = [day for day in days if day.weekday() == number]
    return named[0], named[-1], 7
