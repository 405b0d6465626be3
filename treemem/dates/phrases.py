"""Reads English expressions for a period: "last week", "5 May 2024", "in two weeks".

Pure. This module knows the grammar and the calendar: the day, week or month that an expression
means at a given moment in its zone; languages.py brings other languages into its words. Weeks
begin on Monday. Parts of a day are wide: a morning is midnight to noon, an afternoon noon to
18:00, an evening 17:00 to midnight, a night 18:00 to 6:00.
Tested in tests/search/test_date_filter.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from treemem.dates.names import (
    HOLIDAYS,
    SEASONS,
    first_of,
    latest,
    month_number,
    numeric_date,
    season,
)
from treemem.patterns import lazy_regex

WEEKDAYS = {
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5,
    "sunday": 6, "mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4,
}  # fmt: skip
UNITS = ("hour", "day", "week", "month", "quarter", "year")

MONTHS = {
    "january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7,
    "august": 8, "september": 9, "october": 10, "november": 11, "december": 12, "jan": 1, "feb": 2,
    "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10, "nov": 11,
    "dec": 12,
}  # fmt: skip
_ALSO_WORDS = ("may", "march", "mar", "august")
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "few": 4, "several": 6,
}  # fmt: skip
# Numbers that nobody counts: the days before and after that they may also mean.
_VAGUE = ("few", "several")
_VAGUE_DAYS = 2
# Which third of a period a word means.
_THIRDS = {
    "early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2,
}  # fmt: skip
# The days before and after that "around" adds to a day, and to a holiday.
_AROUND_DAYS, _AROUND_HOLIDAY_DAYS = 3, 7
_PARTS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
# By unit, the days before and after that an expression such as "two months ago" may also mean.
_SLACK_DAYS = {"day": 0, "week": 3, "month": 15, "year": 183}
# The days after which a day of the month surely occurs again.
MONTH_DAYS = 28
_MONTHS_LONG = {"month": 1, "quarter": 3, "year": 12}

_WORD = lazy_regex(r"""[^\s,;!?()\[\]{}"“”„«»…]+""")
# "mid-May" is two words.
_HYPHENATED = lazy_regex(r"\b(early|mid|late)-(?=\w)", re.IGNORECASE)
_ISO_DAY = lazy_regex(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_ORDINAL = lazy_regex(r"(\d{1,2})(?:st|nd|rd|th)", re.ASCII)
_YEAR = lazy_regex(r"(?:19|20)\d{2}", re.ASCII)
_DAY = lazy_regex(r"(\d{1,2})(?:st|nd|rd|th)?", re.ASCII)
_COUNT = lazy_regex(r"\d{1,3}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text, in lower case, with its place.

    before: the text between the word before it and this one. raw: the word as written.
    """

    text: str
    raw: str
    start: int
    end: int
    before: str

    @property
    def joined(self) -> bool:
        """Whether only spaces separate it from the word before."""
        return self.before.isspace()

    @property
    def owner(self) -> str:
        """The word without a possessive 's."""
        return self.text[:-2] if self.text.endswith(("'s", "’s")) else self.text


@dataclass(frozen=True, slots=True)
class Period:
    """A period that words name; both ends in the user's zone, end exclusive.

    kind: a "day" or a part of one; a "span" of the calendar, such as a week; "recent" for the
    last days, weeks or months up to the end of today.
    sure: the words alone exclude a future time, or they contain a year.
    bare: a mere name, which means a time only after a word such as "in" or "since".
    cycle_days: the days after which a name without a year occurs again; otherwise 0.
    rough: the wider period that "two months ago" may mean.
    capital: the month cannot be mistaken for the word "may", "march", "mar" or "august".
    """

    start: datetime
    end: datetime
    kind: Literal["day", "span", "recent"]
    sure: bool = True
    bare: bool = False
    cycle_days: int = 0
    rough: tuple[datetime, datetime] | None = None
    capital: bool = True


# A period, and the number of the first word after it.
Read = tuple[Period, int]


def split(text: str) -> list[Word]:
    """The words of a text, without the stops and quotes around them."""
    words: list[Word] = []
    last = 0
    text = _HYPHENATED.sub(r"\1 ", text)
    for match in _WORD.finditer(text):
        raw = match.group().strip(".:'‘’`*_")
        if raw:
            start = text.index(raw, match.start())
            words.append(
                Word(raw.lower().replace("’", "'"), raw, start, start + len(raw), text[last:start])
            )
            last = start + len(raw)
    return words


class PeriodReader:
    """Reads periods from words; word number first begins the expression.

    Every method takes the number of a word, and returns a period with the number of the word
    after it, or None if no period begins there. A period contains no punctuation mark except the
    comma of a date. up_to: the last day on which a name without a year begins; None for today.
    """

    def __init__(self, words: list[Word], first: int, now: datetime) -> None:
        self._words = words
        self._first = first
        self._now = now
        self._today = now.date()

    def at(self, i: int, *, comma: bool = False) -> str:
        """The word at i; "" after the end of the expression. comma: a comma does not end it."""
        if not 0 <= i < len(self._words):
            return ""
        word = self._words[i]
        if i == self._first or word.joined or (comma and word.before.strip() == ","):
            return word.text
        return ""

    def period(self, i: int, up_to: date | None = None) -> Read | None:
        up_to = up_to or self._today
        return (
            self._near(i) or self._ahead(i) or self._before_last(i) or self._recent(i)
            or self._last(i) or self._this(i) or self._ago(i)
            or self._around(i, up_to) or self._third(i, up_to)
            or self._week_of(i, up_to) or self._date(i, up_to) or self._month(i, up_to)
            or self._weekday(i, up_to) or self._quarter(i, up_to) or self._season(i, up_to)
            or self._holiday(i, up_to) or self._ordinal(i, up_to) or self._year(i)
        )  # fmt: skip

    # -- counted from now ----------------------------------------------------------------

    def _near(self, i: int) -> Read | None:
        owner = self._owner(i)
        if owner == "today":
            return self._days(self._today, 1, sure=False), i + 1
        if owner == "tonight":
            return replace(self._part(self._today, "night"), sure=False), i + 1
        if owner == "tomorrow":
            return self._with_part(self._days(self._today + timedelta(days=1), 1), i + 1)
        if owner == "yesterday":
            return self._with_part(self._days(self._today - timedelta(days=1), 1), i + 1)
        j = i + (self.at(i) == "the")
        if [self.at(j), self.at(j + 1), self._owner(j + 2)] == ["day", "before", "yesterday"]:
            return self._days(self._today - timedelta(days=2), 1), j + 3
        if [self.at(j), self.at(j + 1), self._owner(j + 2)] == ["day", "after", "tomorrow"]:
            return self._days(self._today + timedelta(days=2), 1), j + 3
        if self.at(i) == "the" and self._owner(i + 1) == "weekend":
            weekend = self._weekend(self._today)
            return replace(weekend, sure=False, bare=True, cycle_days=7), i + 2
        return None

    def _ahead(self, i: int) -> Read | None:
        """Next week, next Friday (the first one after today), in two weeks, 3 days from now."""
        j = i + (self.at(i) == "the")
        name = self._owner(j + 1)
        if self.at(j) in ("next", "coming"):
            if name == "weekend":
                return self._weekend(self._today + timedelta(days=7)), j + 2
            if name in ("week", "month", "quarter", "year"):
                return self._unit_around(self._today, name, 1), j + 2
            if name in WEEKDAYS:
                named = self._weekday(j + 1, self._today + timedelta(days=8))
            else:
                up_to = self._today.replace(day=1) + timedelta(days=364 + 32)
                named = self._month(j + 1, up_to) or self._season(j + 1, up_to)
            return named and (replace(named[0], sure=True, bare=False), named[1])
        lead = self.at(i) in ("in", "within")
        count, after = self._number(i + lead) or (0, 0)
        unit = self._unit(after) if count else ""
        from_now = (self.at(after + 1), self.at(after + 2)) == ("from", "now")
        if unit not in _SLACK_DAYS or lead == from_now:
            return None
        return self._distant(count, unit), after + (3 if from_now else 1)

    def _before_last(self, i: int) -> Read | None:
        """The Friday before last, the week before last."""
        j = i + (self.at(i) == "the")
        if (self.at(j + 1), self.at(j + 2)) != ("before", "last"):
            return None
        name = self.at(j)
        if name == "weekend":
            return self._weekend(self._today - timedelta(days=9)), j + 3
        if name in ("week", "month", "quarter", "year"):
            return self._unit_around(self._today, name, -2), j + 3
        if name in WEEKDAYS:
            return self._days(self._weekday_before(name, 2), 1), j + 3
        return None

    def _recent(self, i: int) -> Read | None:
        """The last ten days: from the start of the tenth day before today to the end of today."""
        the = self.at(i) == "the"
        j = i + the
        if self.at(j) not in ("last", "past"):
            return None
        past = self.at(j) == "past"
        count, after = self._number(j + 1) or (0, j + 1)
        unit = self._unit(after)
        if not unit or (not count and not past and (not the or unit == "day")):
            return None
        since = self._back(count or 1, unit)
        until = self._midnight(self._today + timedelta(days=1))
        return Period(since, until, "recent", bare=not (the or past)), after + 1

    def _last(self, i: int) -> Read | None:
        # Subtle: "the last Friday" is the last of a series, not the one before today.
        if (self.at(i), self.at(i + 1)) == ("this", "past"):
            i += 1
        elif self.at(i) != "last" or (i and self._words[i - 1].text == "the"):
            return None
        name = self._owner(i + 1)
        if name == "night":
            return self._part(self._today - timedelta(days=1), "night"), i + 2
        if name == "weekend":
            return self._weekend(self._today - timedelta(days=2)), i + 2
        if name in ("week", "month", "quarter", "year"):
            return self._unit_around(self._today, name, -1), i + 2
        named = self._weekday(i + 1, self._today)
        if named is None and not self.at(i + 2)[:1].isdigit():
            named = self._month(i + 1, self._today.replace(day=1) - timedelta(days=1))
            named = named or self._holiday(i + 1, self._today - timedelta(days=1))
            named = named or self._season(i + 1, self._today, is_over=True)
        if named is None or not named[0].cycle_days:
            return None
        return replace(named[0], sure=True, bare=False), named[1]

    def _this(self, i: int) -> Read | None:
        name = self._owner(i + 1)
        if self.at(i) != "this":
            return None
        if name in ("morning", "afternoon", "evening"):
            return replace(self._part(self._today, name), sure=False), i + 2
        if name == "weekend":
            saturday = self._today + timedelta(days=5 - self._today.weekday())
            return self._span(saturday, saturday + timedelta(days=2), sure=False), i + 2
        if name in ("week", "month", "quarter", "year"):
            return replace(self._unit_around(self._today, name, 0), sure=False), i + 2
        if name in WEEKDAYS:
            monday = self._today - timedelta(days=self._today.weekday())
            day = self._days(monday + timedelta(days=WEEKDAYS[name]), 1, sure=False)
            return self._with_part(day, i + 2)
        if name in SEASONS:
            year = self._today.year - (name == "winter" and self._today.month < 3)
            return replace(self._span(*season(name, year)), sure=False), i + 2
        return None

    def _ago(self, i: int) -> Read | None:
        """The day that many units before today, for months the same day of the month if it
        exists; for hours the exact time."""
        count, after = self._number(i) or (0, 0)
        unit = self._unit(after) if count else ""
        if count and self.at(after + 1) == "ago" and self.at(after) in ("fortnight", "fortnights"):
            count, unit = 2 * count, "week"
        elif count and self.at(after + 1) == "ago" and self.at(after).removesuffix("s") in WEEKDAYS:
            first = self._weekday_before(self.at(after).removesuffix("s"), count)
            return self._days(first, 1), after + 2
        if self.at(after + 1) != "ago" or not (unit == "hour" or unit in _SLACK_DAYS):
            return None
        if unit == "hour":
            early, start, soon, late = (self._back(count, unit, n) for n in (30, 0, -1, -30))
            return Period(start, soon, "day", rough=(early, late)), after + 2
        vague = _VAGUE_DAYS if self.at(after - 1) in _VAGUE else 0
        return self._distant(-count, unit, vague), after + 2

    def _distant(self, count: int, unit: str, vague_days: int = 0) -> Period:
        """The day count units after today, before it if count is negative."""
        slack = timedelta(days=max(_SLACK_DAYS[unit], vague_days))
        first = self._back(-count, unit).date()
        rough = (self._midnight(first - slack), self._midnight(first + slack + timedelta(days=1)))
        return replace(self._days(first, 1), rough=rough)

    # -- named ---------------------------------------------------------------------------

    def _around(self, i: int, up_to: date) -> Read | None:
        """Around a day or a holiday: some days more on both sides."""
        if self.at(i) not in ("around", "about"):
            return None
        read = self._holiday(i + 1, up_to)
        days = _AROUND_HOLIDAY_DAYS if read else _AROUND_DAYS
        read = read or self._date(i + 1, up_to) or self._ordinal(i + 1, up_to)
        if read is None:
            return None
        first = read[0].start.date() - timedelta(days=days)
        after = read[0].end.date() + timedelta(days=days)
        span = self._span(first, after)
        return replace(read[0], start=span.start, end=span.end, kind="span"), read[1]

    def _third(self, i: int, up_to: date) -> Read | None:
        """The beginning, the middle or the end of a month, a quarter, a season or a year."""
        j = i + (self.at(i) == "the")
        third = _THIRDS.get(self.at(j))
        j += 1
        if third is None or (j == i + 2 and self.at(j) != "of"):
            return None
        j += self.at(j) == "of"
        if (self.at(j), self.at(j + 1)) in (("the", "month"), ("the", "year"), ("the", "week")):
            inner: Read | None = (self._unit_around(self._today, self.at(j + 1), 0), j + 2)
        else:
            inner = self._last(j) or self._this(j) or self._month(j, up_to)
            inner = inner or self._quarter(j, up_to) or self._season(j, up_to) or self._year(j)
        if inner is None or inner[0].kind != "span":
            return None
        whole = inner[0]
        first, length = whole.start.date(), (whole.end.date() - whole.start.date()).days
        bounds = [first + timedelta(days=length * n // 3) for n in range(3)] + [whole.end.date()]
        part = self._span(bounds[third], bounds[third + 1])
        return replace(whole, start=part.start, end=part.end, bare=False), inner[1]

    def _season(self, i: int, up_to: date, *, is_over: bool = False) -> Read | None:
        """A season that has begun by the day up_to, the last one without a year. is_over: that
        has also ended."""
        j = i + (self.at(i) == "the")
        name = self._owner(j)
        if name not in SEASONS:
            return None
        year, after = self._its_year(j + 1)
        if year is None and name == "fall" and not is_over:
            return None  # "in the fall" is mostly no season
        years = (year,) if year else range(up_to.year, up_to.year - 3, -1)
        for candidate in years:
            first, end = season(name, candidate)
            if year or (end if is_over else first) <= up_to:
                cycle = 0 if year else 365
                named = replace(self._span(first, end), sure=bool(year), bare=not year)
                return replace(named, cycle_days=cycle), after
        return None

    def _holiday(self, i: int, up_to: date) -> Read | None:
        """A holiday, the last one that has begun by the day up_to without a year."""
        for length in (3, 2, 1):
            words = [self.at(i + n) for n in range(length)]
            name = " ".join(words) if all(words) else ""
            name = name if name in HOLIDAYS else name.removesuffix("'s")
            if name not in HOLIDAYS:
                continue
            first_of, days = HOLIDAYS[name]
            year, after = self._its_year(i + length)
            latest = up_to.year if first_of(up_to.year) <= up_to else up_to.year - 1
            first = first_of(year or latest)
            named = self._span(first, first + timedelta(days=days))
            return replace(named, sure=bool(year), cycle_days=0 if year else 365), after
        return None

    def _ordinal(self, i: int, up_to: date) -> Read | None:
        """The 13th: the last such day of a month on or before the day up_to."""
        match = _ORDINAL.fullmatch(self.at(i + 1)) if self.at(i) == "the" else None
        if match is None:
            return None
        number = month_number(up_to)
        for month in range(number, number - 3, -1):
            first = first_of(month)
            day = first + timedelta(days=int(match[1]) - 1)
            if int(match[1]) >= 1 and day.month == first.month and day <= up_to:
                named = self._days(day, 1, sure=False)
                return replace(named, bare=True, cycle_days=MONTH_DAYS), i + 2
        return None

    def _week_of(self, i: int, up_to: date) -> Read | None:
        j = i + (self.at(i) == "the")
        dated = self._date(j + 2, up_to) if (self.at(j), self.at(j + 1)) == ("week", "of") else None
        if dated is None:
            return None
        week = self._unit_around(dated[0].start.date(), "week", 0)
        return replace(dated[0], start=week.start, end=week.end, kind="span"), dated[1]

    def _date(self, i: int, up_to: date) -> Read | None:
        """A day of the calendar: 2026-11-03, 5 March 2024, March 5th, 2024, Friday, 5 March."""
        if self.at(i) in WEEKDAYS and self.at(i + 1, comma=True):
            dated = PeriodReader(self._words, i + 1, self._now)._date(i + 1, up_to)
            if dated:
                return dated
        if _ISO_DAY.fullmatch(self.at(i)):
            try:
                return self._days(date.fromisoformat(self.at(i)), 1), i + 1
            except ValueError:
                return None
        if (numeric := numeric_date(self.at(i))) is not None:
            is_short = not _YEAR.search(self.at(i))  # 13.11.26, which may be a version
            return replace(self._days(numeric, 1), bare=is_short), i + 1
        j = i + (self.at(i) == "the")
        number, month, after = _DAY.fullmatch(self.at(j)), j + 1, j + 2
        if number is None:
            number, month, after = _DAY.fullmatch(self.at(i + 1)), i, i + 2
        elif self.at(month) == "of":
            month, after = month + 1, after + 1
        if number is None or self.at(month) not in MONTHS:
            return None
        year, after = self._its_year(after)
        first = latest(MONTHS[self.at(month)], int(number[1]), year, up_to)
        if first is None:
            return None
        dated_period = self._days(first, 1, sure=year is not None)
        capital, cycle = self._capital(month), 0 if year else 365
        return replace(dated_period, cycle_days=cycle, capital=capital), after

    def _month(self, i: int, up_to: date) -> Read | None:
        if self.at(i) not in MONTHS or (i and _DAY.fullmatch(self._words[i - 1].text)):
            return None  # after a day that the month does not have, it is a mistake, not a month
        year, after = self._its_year(i + 1)
        first = latest(MONTHS[self.at(i)], 1, year, up_to)
        if first is None:
            return None
        period, named = self._unit_around(first, "month", 0), year is None
        capital, cycle = self._capital(i), 365 if named else 0
        return replace(
            period, sure=not named, bare=named, cycle_days=cycle, capital=capital
        ), after  # fmt: skip

    def _weekday(self, i: int, up_to: date) -> Read | None:
        """The last such day before the day up_to."""
        number = WEEKDAYS.get(self._owner(i))
        if number is None:
            return None
        week = i + 1 + (self.at(i + 1) == "of")
        steps = {"last": -1, "this": 0, "next": 1}.get(self.at(week))
        if steps is not None and self._owner(week + 1) == "week":  # Tuesday of last week
            monday = self._today + timedelta(days=7 * steps - self._today.weekday())
            return self._days(monday + timedelta(days=number), 1, sure=steps < 0), week + 2
        back = (up_to.weekday() - number - 1) % 7 + 1
        day = self._days(up_to - timedelta(days=back), 1, sure=False)
        return self._with_part(replace(day, bare=True, cycle_days=7), i + 1)

    def _quarter(self, i: int, up_to: date) -> Read | None:
        name, (year, after) = self.at(i), self._its_year(i + 1)
        if name not in ("q1", "q2", "q3", "q4"):
            return None
        first = latest(3 * int(name[1]) - 2, 1, year, up_to)
        if first is None:
            return None
        quarter = self._unit_around(first, "quarter", 0)
        return replace(
            quarter, sure=bool(year), bare=not year, cycle_days=0 if year else 365
        ), after

    def _year(self, i: int) -> Read | None:
        j = i + 2 * ((self.at(i), self.at(i + 1)) == ("the", "year"))
        if not _YEAR.fullmatch(self.at(j)):
            return None
        return replace(self._unit_around(date(int(self.at(j)), 1, 1), "year", 0), bare=True), j + 1

    # -- pieces --------------------------------------------------------------------------

    def _owner(self, i: int) -> str:
        return self._words[i].owner if self.at(i) else ""

    def _capital(self, i: int) -> bool:
        return self._words[i].raw[0].isupper() or self._words[i].text not in _ALSO_WORDS

    def _unit(self, i: int) -> str:
        unit = self._owner(i)
        return next((name for name in UNITS if unit in (name, f"{name}s", f"{name}s'")), "")

    def _number(self, i: int) -> tuple[int, int] | None:
        if self.at(i) == "a" and self.at(i + 1) == "few":
            return _NUMBERS["few"], i + 2
        j = i + (self.at(i) == "a" and self.at(i + 1) == "couple")
        if self.at(j) == "couple":
            return 2, j + 1 + (self.at(j + 1) == "of")
        word = self.at(i)
        count = int(word) if _COUNT.fullmatch(word) else _NUMBERS.get(word, 0)
        return (count, i + 1) if count else None

    def _its_year(self, i: int) -> tuple[int | None, int]:
        """The year after a day or a month, None without one, and the number of the next word."""
        j = i + (self.at(i) == "of")
        if _YEAR.fullmatch(self.at(j, comma=True)):
            return int(self.at(j, comma=True)), j + 1
        if self.at(j) in ("last", "this") and self._owner(j + 1) == "year":
            return self._today.year - (self.at(j) == "last"), j + 2
        return None, i

    def _with_part(self, day: Period, i: int) -> Read:
        if self._owner(i) not in _PARTS:
            return day, i
        part = self._part(day.start.date(), self._owner(i))
        return replace(day, start=part.start, end=part.end), i + 1

    def _midnight(self, day: date) -> datetime:
        # Subtle: if the clocks skip midnight, this is the moment of the change; if they repeat it,
        # the first of the two. So days neither overlap nor leave a gap.
        return datetime.combine(day, time(), tzinfo=self._now.tzinfo)

    def _days(self, first: date, count: int, *, sure: bool = True) -> Period:
        after = first + timedelta(days=count)
        return Period(self._midnight(first), self._midnight(after), "day", sure=sure)

    def _part(self, day: date, name: str) -> Period:
        """A part of a day; hours from 24 on are those of the next day."""
        start, end = (
            self._midnight(day + timedelta(days=hour // 24)).replace(hour=hour % 24)
            for hour in _PARTS[name]
        )
        return Period(start, end, "day")

    def _span(self, first: date, after: date, *, sure: bool = True) -> Period:
        return Period(self._midnight(first), self._midnight(after), "span", sure=sure)

    def _weekday_before(self, name: str, count: int) -> date:
        """The count-th such day before today."""
        back = (self._today.weekday() - WEEKDAYS[name] - 1) % 7 + 1
        return self._today - timedelta(days=back + 7 * (count - 1))

    def _weekend(self, up_to: date) -> Period:
        """The last weekend that began on or before a day."""
        saturday = up_to - timedelta(days=(up_to.weekday() - 5) % 7)
        return replace(self._days(saturday, 2), kind="span")

    def _unit_around(self, day: date, unit: str, steps: int) -> Period:
        """The week, month, quarter or year that contains a day, moved by steps of that unit."""
        if unit == "week":
            monday = day + timedelta(days=7 * steps - day.weekday())
            return replace(self._days(monday, 7), kind="span")
        length = _MONTHS_LONG[unit]
        number = (month_number(day) // length + steps) * length
        start, end = (self._midnight(first_of(n)) for n in (number, number + length))
        return Period(start, end, "span")

    def _back(self, count: int, unit: str, minutes: int = 0) -> datetime:
        """The start of the day count units before now; for hours the exact time, less the
        minutes."""
        if unit == "hour":  # elapsed hours, even if the clocks changed
            moment = self._now.astimezone(UTC) - timedelta(hours=count, minutes=minutes)
            return moment.astimezone(self._now.tzinfo)
        if unit in _MONTHS_LONG:
            first = first_of(month_number(self._today) - count * _MONTHS_LONG[unit])
            length = (first_of(month_number(first) + 1) - first).days
            return self._midnight(first.replace(day=min(self._today.day, length)))
        return self._midnight(self._today - timedelta(days=count * (7 if unit == "week" else 1)))
