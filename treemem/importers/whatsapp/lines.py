"""Parses time and author at the start of a WhatsApp line, as iPhones and Android write them.

Pure. One line does not show the order of day and month; Order examines all of them.

Tested in tests/importers/test_whatsapp.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from treemem.patterns import lazy_regex

MARKS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
# WhatsApp's own text begins with this mark on iPhones.
GENERATED = "\u200e"

_MORNING = "am|a\\.\\s?m\\.?|上午|午前|오전|sa|ص|π\\.μ\\.|dop\\.|öö|de\\."
_EVENING = "pm|p\\.\\s?m\\.?|下午|午後|오후|ch|م|μ\\.μ\\.|odp\\.|ös|du\\."
_DAY = r"(?P<a>\d{1,4})\u200f?(?P<sep>[./\-])[ ]?(?P<b>\d{1,2})\u200f?(?P=sep)[ ]?(?P<c>\d{1,4})\.?"
_CLOCK = (
    r"\s(?:(?:klo|kl\.|at|à|um)\s)?"
    rf"(?:(?P<early>{_MORNING}|{_EVENING})\s?)?"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})SECONDS"
    rf"(?:\s?(?P<late>{_MORNING}|{_EVENING}))?"
)
# Subtle: Android phones write no seconds, and an iPhone's 2024-01-05 is followed by a comma. Else
# half of all program logs would look like chats.
_BRACKETED = _CLOCK.replace("SECONDS", r"(?:[:.](?P<second>\d{2}))?")
_DASHED = _CLOCK.replace("SECONDS", "(?P<second>(?!))?")
_HEADS = {
    "[": lazy_regex(
        rf"[{MARKS}]*\[(?!\d{{4}}-\d+-\d+\s){_DAY}[,،]?{_BRACKETED}\]\s?(?P<rest>.*)",
        re.IGNORECASE | re.DOTALL,
    ),
    "-": lazy_regex(
        rf"[{MARKS}]*{_DAY}[,،]?{_DASHED}\s[-–]\s(?P<rest>.*)", re.IGNORECASE | re.DOTALL
    ),
}
_EVENING_WORD = lazy_regex(_EVENING, re.IGNORECASE)
_AUTHOR = lazy_regex(r"(?P<author>[^\r\n]{1,120}?):(?: |(?=[\r\n]|\Z))")
# A notice may quote a name with a colon: 'Ann changed the group name to "Plan: B"'.
_QUOTES = lazy_regex('["“”„«»]')
_BUDDHIST_YEARS = 543


@dataclass(frozen=True, slots=True)
class Head:
    """A line that begins a message. author: None for a notice. numbers: the date's three numbers
    in file order. stamp: date and time as written. text: the rest, including marks."""

    stamp: str
    numbers: tuple[int, int, int]
    separator: str
    time: tuple[int, int, int | None]
    has_half: bool
    author: str | None
    text: str


def head_of(line: str, form: str | None = None) -> tuple[str, Head] | None:
    """Returns the form ("[" or "-") and the head of a line; None for one that continues a message.

    form: the only form to accept, once the file's first head has determined it.
    """
    for name in (form,) if form else _HEADS:
        match = _HEADS[name].match(line)
        if match is not None and (head := _head(match)) is not None:
            return name, head
    return None


def _head(match: re.Match[str]) -> Head | None:
    hour, minute = int(match["hour"]), int(match["minute"])
    second = int(match["second"]) if match["second"] else None
    half = match["early"] or match["late"]
    if half:
        hour = hour % 12 + (12 if _EVENING_WORD.fullmatch(half) else 0)
    if hour > 23 or minute > 59 or (second or 0) > 59:
        return None
    rest = match["rest"]
    named = _AUTHOR.match(rest)
    author = _name(named["author"]) if named else None
    if named is None or author is None or _QUOTES.search(author):
        return Head(_stamp(match), _numbers(match), match["sep"], (hour, minute, second),
                    bool(half), None, rest)  # fmt: skip
    return Head(_stamp(match), _numbers(match), match["sep"], (hour, minute, second),
                bool(half), author, rest[named.end() :])  # fmt: skip


def _numbers(match: re.Match[str]) -> tuple[int, int, int]:
    return int(match["a"]), int(match["b"]), int(match["c"])


def _stamp(match: re.Match[str]) -> str:
    return match.string[match.start("a") : match.start("rest")].rstrip(" -–]\u202f\xa0")


def _name(text: str) -> str | None:
    """A sender without the marks around a phone number, and without the "~" before a name that is
    not in the contacts."""
    bare = text.translate(dict.fromkeys(map(ord, MARKS))).replace("\u202f", " ")
    return bare.replace("\xa0", " ").removeprefix("~").strip() or None


class Order:
    """Decides which of a date's first two numbers is the day, from the whole file.

    A number over 12 is the day; else the order in which dates decrease less often wins; else the
    number that changes more often is the day; else the month is first only with slashes, two-digit
    years and AM or PM. Subtle: this last guess may prove wrong when the chat has grown, and then
    all messages are new.
    """

    def __init__(self) -> None:
        self._over_12 = [0, 0]
        self._backwards = [0, 0]
        self._before: list[tuple[int, int, int] | None] = [None, None]
        self._numbers: tuple[int, int, int] | None = None
        self._changes = [0, 0]
        self._usual = 0

    def weigh(self, head: Head) -> None:
        a, b, c = head.numbers
        if a > 31:
            return
        self._over_12[0] += a > 12
        self._over_12[1] += b > 12
        self._usual += 1 if head.separator == "/" and head.has_half and c < 100 else -1
        if self._numbers is not None:
            self._changes[0] += a != self._numbers[0]
            self._changes[1] += b != self._numbers[1]
        self._numbers = head.numbers
        for index, day in enumerate(((c, b, a), (c, a, b))):
            before = self._before[index]
            self._backwards[index] += before is not None and day < before
            self._before[index] = day

    @property
    def is_month_first(self) -> bool:
        day_first, month_first = self._over_12
        if day_first != month_first:
            return month_first > day_first
        if self._backwards[0] != self._backwards[1]:
            return self._backwards[1] < self._backwards[0]
        if self._changes[0] != self._changes[1]:
            return self._changes[1] > self._changes[0]
        return self._usual > 0


def time_of(head: Head, *, is_month_first: bool) -> str:
    """The time as ISO 8601 without a zone; the stamp unchanged if it is not a valid date.

    Example:
        >>> _, head = head_of("[1/4/23, 7:02:11 PM] Ann: hi")
        >>> time_of(head, is_month_first=True), time_of(head, is_month_first=False)
        ('2023-01-04T19:02:11', '2023-04-01T19:02:11')
    """
    a, b, c = head.numbers
    if a > 31:
        year, month, day = a, b, c
    else:
        year = c
        month, day = (a, b) if is_month_first else (b, a)
        if month > 12:
            month, day = day, month
    if year < 100:
        year += 2000
    elif year > 2400:
        year -= _BUDDHIST_YEARS
    hour, minute, second = head.time
    try:
        moment = datetime(year, month, day, hour, minute, second or 0)  # noqa: DTZ001
    except ValueError:
        return head.stamp
    return moment.isoformat(timespec="minutes" if second is None else "seconds")
