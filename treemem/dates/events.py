"""Finds the days that a message is about: "yesterday" in a message of the 5th means the 4th.

Pure. Expressions are read as in a question (phrases.py), from the day on which the message was
sent; in a sentence about the future, a name without a year means its next occurrence. What only
bounds a time ("since Friday", "before May") is no event. It would rather miss a day than invent
one. Tested in tests/dates/test_events.py.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from treemem.dates import languages, tense
from treemem.dates.names import HOLIDAYS, SEASONS
from treemem.dates.phrases import MONTHS, UNITS, WEEKDAYS, Period, PeriodReader, Word
from treemem.patterns import lazy_regex

Precision = Literal["day", "week", "month", "season", "year"]

# Characters of a message that are read, and the most days that are found in one.
CHARS_MAX = 20_000
EVENTS_MAX = 16
# Longer periods say nothing of when something happened.
_DAYS_MAX = 400
# Characters read before and after a word that names a time.
_CHARS_BEFORE, _CHARS_AFTER = 60, 45
# Words of an expression before the one that names its time: "a couple of weeks ago".
_WORDS_BEFORE = 5

_SPANS = (*UNITS, "night", "morning", "afternoon", "evening", "weekend")
_SPAN_NAMES = (*_SPANS, *WEEKDAYS, *MONTHS, *SEASONS)
_DAY_NAMES = (
    *WEEKDAYS, *MONTHS, "weekend", "weekends", "fortnight", "fortnights", "yesterday", "tomorrow",
    "today", "tonight", *(f"{day}s" for day in WEEKDAYS if len(day) > 4),
    *(name.split()[0].removesuffix("'s") for name in HOLIDAYS if name[:3] not in ("new", "goo")),
)  # fmt: skip
# Names that are also other words, which need a word before them.
_ALSO_WORDS = frozenset("may march mar sun sat dec spring fall second august".split())
_COUNTS = "(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|few|couple|\\d{1,3})"
_STARTS = frozenset((
    *_DAY_NAMES, *SEASONS, *UNITS, *HOLIDAYS,
    *"the day last past next coming this in within a an one two three four five six seven eight "
    "nine ten eleven twelve few several couple around about early mid late beginning start middle "
    "end good new q1 q2 q3 q4".split(),
))  # fmt: skip
_LEADS = frozenset("on in during of around by from for over at until till due".split())
_BOUNDS = frozenset("since before after until till than versus vs per every each".split())
_GOES_ON = frozenset("at and or but with to for in on we i they he she because when".split())
# The days after which a name without a year occurs again, and the days ahead in which it does.
_AHEAD_DAYS = {7: 8, 28: 31}
_WORD = lazy_regex(r"\w+")
# Blanks for what is no part of a word.
_BLANKED = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
_STOP = lazy_regex(r"(?<!\d)[.!?]\s|\n")


@dataclass(frozen=True, slots=True)
class Event:
    """The days, first to last, that the words text[start:end] mean."""

    start: int
    end: int
    first: date
    last: date

    @property
    def precision(self) -> Precision:
        """How exactly the words say when it was."""
        days = (self.last - self.first).days + 1
        bounds: tuple[tuple[int, Precision], ...] = (
            (3, "day"), (16, "week"), (45, "month"), (123, "season"),
        )  # fmt: skip
        return next((name for most, name in bounds if days <= most), "year")


def find(text: str, sent: datetime) -> list[Event]:
    """The events of a message in the order of its words. sent: by the clock on its sender's wall.

    Example:
        >>> [event] = find("We met Ana yesterday.", datetime(2026, 12, 5, 9, 30))
        >>> event.first.isoformat(), event.precision
        ('2026-12-04', 'day')
    """
    head = text[:CHARS_MAX]
    lowered = head.lower()
    if len(lowered) != len(head):  # a letter that has no lower case of its own
        lowered = head
    events: list[Event] = []
    if _needed().isdisjoint(_words(lowered)) and "from now" not in lowered:
        return events
    done, language = 0, None
    now = sent.replace(tzinfo=UTC)
    for match in _anchors().finditer(lowered):
        at = match.start()
        if at < done or (match.group() in _ALSO_WORDS and not _may_be_name(head, at)):
            continue
        if match.lastgroup == "foreign":
            language = language or languages.of(head)
        begin = max(done, at - _CHARS_BEFORE)
        event, done = _event_at(head, match.end() - 1, begin, now, language)
        if event is not None:
            events.append(event)
            if len(events) == EVENTS_MAX:
                break
    return events


def _words(lowered: str) -> list[str]:
    r"""The words of a text, split as by \w and \b."""
    return lowered.translate(_BLANKED).split() if lowered.isascii() else _WORD.findall(lowered)


@functools.cache
def _needed() -> frozenset[str]:
    """Words of which each match of _anchors has one, except for "from now". To look for them is
    several times as fast, and most messages have none."""
    foreign = (_WORD.findall(word)[0] for word in _foreign())
    numbers = (f"{number}{end}" for number in range(100) for end in ("st", "nd", "rd", "th"))
    digits = (f"0{number}{end}" for number in range(10) for end in ("st", "nd", "rd", "th"))
    return frozenset((
        *_DAY_NAMES, *_SPAN_NAMES, *(f"{name}s" for name in _SPAN_NAMES), *foreign, "ago", "q1",
        "q2", "q3", "q4", *map(str, range(1900, 2100)), *numbers, *digits,
    ))  # fmt: skip


@functools.cache
def _foreign() -> frozenset[str]:
    """The words of other languages that name a time."""
    known = {*_DAY_NAMES, "last", "next"}
    foreign = {
        expression.rpartition(" ")[2]
        for expression, english in languages.meanings()
        if english.rpartition(" ")[2].removesuffix("s") in (*known, *SEASONS, *_SPANS)
    }
    return frozenset(word for word in foreign - known if len(word) > 3 or not word.isascii())


@functools.cache
def _anchors() -> re.Pattern[str]:
    """Matches the words of any language that name a time, in lower case: no event is without."""
    spans = f"(?:{'|'.join(_SPAN_NAMES)})"
    return re.compile(
        rf"\b(?:(?:{_any_of(_DAY_NAMES)}|ago|from now|q[1-4]|(?:19|20)\d\d|\d{{1,2}}(?:st|nd|rd|th)"
        rf"|(?:last|next|past|coming|this) (?:past |{_COUNTS} )?{spans}s?"
        rf"|(?:in|within) (?:a )?{_COUNTS} (?:of )?(?:{'|'.join(UNITS)})s?"
        rf"|(?:day|week|month|year) (?:before|of|after)|(?:in|of|during|early|late|mid) (?:the )?"
        rf"{spans}"
        rf")\b|(?P<foreign>{_any_of(_foreign())})\b)"
    )


def _any_of(words: Iterable[str]) -> str:
    """A pattern for any of the words that compares each character once."""
    tree: dict[str, set[str]] = {}
    for word in words:
        tree.setdefault(word[:1], set()).add(word[1:])
    ends = "" in tree
    branches = [re.escape(head) + _any_of(tails) for head, tails in sorted(tree.items()) if head]
    if not branches:
        return ""
    pattern = branches[0] if len(branches) == 1 and not ends else f"(?:{'|'.join(branches)})"
    return pattern + "?" * ends


def _may_be_name(text: str, at: int) -> bool:
    """Whether the word at a place, such as "may", may be the name of a time."""
    return text[at].isupper() or text[max(0, at - 12) : at].split()[-1:] in [[w] for w in _LEADS]


def _event_at(
    text: str, at: int, begin: int, now: datetime, language: str | None
) -> tuple[Event | None, int]:
    """The event whose expression contains the word at a place of a text, and where it ends.

    begin: the expression begins there at the earliest.
    """
    stops = [stop.end() for stop in _STOP.finditer(text, begin, at)]
    begin = stops[-1] if stops else begin and text.find(" ", begin, at) + 1
    end = text.find(" ", at + _CHARS_AFTER)
    words = languages.split_in(text[begin : None if end < 0 else end], language)
    place = next((i for i, word in enumerate(words) if word.end > at - begin), None)
    if place is None:
        return None, at + 1
    for first in range(max(0, place - _WORDS_BEFORE), place + 1):
        read = _read(words, first, place, now, begin)
        if read is not None:
            return read[0], begin + max(word.end for word in words[first : read[1]])
    return None, at + 1


def _read(
    words: list[Word], first: int, at: int, now: datetime, offset: int
) -> tuple[Event | None, int] | None:
    """The event of the expression that begins with word first and contains word at, with the
    number of the word after it. None without an expression; the event is None if it names no time
    at which something happened."""
    start = words[first].text
    if start not in _STARTS and not start[:1].isdigit() and words[first].owner not in _STARTS:
        return None
    try:
        read = PeriodReader(words, first, now).period(first)
        if read is None or read[1] <= at:
            return None
        period, after = read
        days = _days(_meant(words, first, after, period, now))
    except (OverflowError, ValueError):
        return None
    if days is None:
        return None, after
    begin, end = words[first].start, max(word.end for word in words[first:after])
    return Event(offset + begin, offset + end, *days), after


def _meant(
    words: list[Word], first: int, after: int, period: Period, now: datetime
) -> Period | None:
    """The period that an expression means in its sentence; None if it names no event's."""
    lead = words[first - 1].text if first and words[first].joined else ""
    if lead == "the" and first > 1:
        lead = words[first - 2].text
    if lead in _BOUNDS or not _is_name_of_time(words, first, after, period, lead):
        return None
    if period.sure or not period.cycle_days or period.end > now:
        return period
    if tense.looks_back(words, first, after) and lead not in ("by", "due"):
        return period
    ahead = timedelta(days=_AHEAD_DAYS.get(period.cycle_days, period.cycle_days))
    read = PeriodReader(words, first, now).period(first, now.date() + ahead)
    return None if read is None else read[0]


def _is_name_of_time(words: list[Word], first: int, after: int, period: Period, lead: str) -> bool:
    """Whether an expression names a time, and is not part of another name ("the Friday build")."""
    if not period.bare:
        return True
    if lead in _LEADS:
        return period.capital or lead != "for"
    if period.cycle_days != 7 or not words[first].raw[:1].isupper():
        return False
    is_part = period.end - period.start < timedelta(days=1)
    ends = after == len(words) or not words[after].joined or words[after].text in _GOES_ON
    return is_part or ends


def _days(period: Period | None) -> tuple[date, date] | None:
    """The first and the last day of a period; a night is of the day on which it begins."""
    if period is None:
        return None
    start, end = period.rough or (period.start, period.end)
    first, last = start.date(), (end - timedelta(microseconds=1)).date()
    if period.end - period.start < timedelta(days=1) and not period.rough:
        last = first
    return (first, last) if (last - first).days < _DAYS_MAX else None
