"""Finds numbers and dates of a text, however written, that its source does not contain.

Pure. Each number and date is a set of readings; it is known if the source has one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from benchmarks.wording import folded, straight

# -- numbers ---------------------------------------------------------------------------

_DIGITS = re.compile(
    r"(?<![A-Z]-)(?<![\w.])(\d{1,3}(?:,\d{3})+(?!\d)|\d+)(\.\d+)?"
    r"(?::(\d\d)\b)?\s?(k|m|bn|thousand|million|billion|am|pm|a\.m\.|p\.m\.)?(?![A-Za-z]{3})",
    re.IGNORECASE,
)
_TIMES = {"k": 1_000, "thousand": 1_000, "m": 10**6, "million": 10**6, "bn": 10**9,
          "billion": 10**9}  # fmt: skip
_UNITS = {word: value for value, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen".split())}  # fmt: skip
_TENS = {word: 10 * value for value, word in enumerate(
    "twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}  # fmt: skip
_ORDINALS = {word: value for value, word in enumerate(
    "first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1)}  # fmt: skip
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9}
_ALSO = {"both": 2, "couple": 2, "pair": 2, "twice": 2, "double": 2, "once": 1, "single": 1,
         "half": 50, "dozen": 12, "triple": 3}  # fmt: skip
# Mostly not used as numbers: "one of them", "a second".
_VAGUE = frozenset({"one", "zero", "first", "second"})

Reading = tuple[str, frozenset[str]]


def unknown_numbers(text: str, source: str) -> list[str]:
    """The numbers of a text that its source does not contain in any notation.

    Example:
        >>> unknown_numbers("Two of 1000 cost 3k.", "2 of 1,000; three thousand")
        []
        >>> unknown_numbers("It took 41 seconds.", "It took 14 seconds.")
        ['41']
    """
    known = {value for _, values in _numbers(source) for value in values}
    known |= {str(_ALSO[word]) for word in folded(source).split() if word in _ALSO}
    wanted = [(item, values) for item, values in _numbers(text) if item not in _VAGUE]
    return [item for item, values in wanted if not values & known]


def _numbers(text: str) -> Iterator[Reading]:
    plain = straight(text)
    for match in _DIGITS.finditer(plain):
        yield match.group().strip(), frozenset(_readings(match))
    yield from _written_out(folded(plain))


def _readings(match: re.Match[str]) -> Iterator[str]:
    whole, decimals, minutes, unit = match.groups()
    value = Decimal(whole.replace(",", "") + (decimals or ""))
    unit = (unit or "").lower().replace(".", "")
    if minutes is not None:
        hours = {int(value), int(value) % 12 + 12 * (unit == "pm")} if unit else {int(value)}
        yield from (f"{hour}:{minutes}" for hour in hours)
        if minutes == "00":
            yield from map(str, hours)
        return
    yield _plain(value)
    if unit in _TIMES:
        yield _plain(value * _TIMES[unit])
    if unit in ("am", "pm") and value <= 12:
        hour = int(value) % 12 + 12 * (unit == "pm")
        yield from (str(hour), f"{hour}:00", f"{int(value)}:00")


def _plain(value: Decimal) -> str:
    shown = f"{value:f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def _written_out(plain: str) -> Iterator[Reading]:
    """Runs of number words: "two", "twenty-five", "three hundred and ten"."""
    run: list[str] = []
    for word in [*re.findall(r"[a-z]+|[^\sa-z-]", plain), ""]:
        if word in _UNITS or word in _TENS or word in _SCALES or (word == "and" and run):
            run.append(word)
            continue
        while run and run[-1] == "and":
            run.pop()
        if run and not (len(run) == 1 and run[0] in _SCALES):
            yield " ".join(run), frozenset(_values(run))
        run = []
        if word in _ORDINALS:
            yield word, frozenset({str(_ORDINALS[word])})


def _values(run: list[str]) -> Iterator[str]:
    """The run as one number, and as the numbers that a sequence or "and" may separate."""
    total, part = 0, 0
    for word in run:
        if word in _SCALES:
            part = max(part, 1) * _SCALES[word]
            if _SCALES[word] > 100:
                total, part = total + part, 0
        elif word != "and":
            part += _UNITS.get(word, 0) + _TENS.get(word, 0)
    yield str(total + part)
    if not any(word in _SCALES for word in run):
        yield from (str(_UNITS.get(word, _TENS.get(word, 0))) for word in run if word != "and")


# -- dates -----------------------------------------------------------------------------

_MONTH_NAMES = (
    "january february march april may june july august september october november december"
).split()
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_MONTHS |= {name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)} | {"sept": 9}
_MONTH = "(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY, _YEAR = r"(\d{1,2})(?:st|nd|rd|th)?\b(?!:)", r"(\d{4})\b"
_DATES = (
    (re.compile(rf"\b{_YEAR}-(\d\d?)-(\d\d?)"), "ymd"),
    (re.compile(r"\b(\d{1,2})[/.](\d{1,2})[/.](\d{4}|\d\d)\b"), "either"),
    (re.compile(rf"\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?", re.IGNORECASE), "dmy"),
    (re.compile(rf"\b{_MONTH} (?:the )?{_DAY}(?:,? {_YEAR})?", re.IGNORECASE), "mdy"),
    (re.compile(rf"\b{_MONTH},?(?: of)? {_YEAR}", re.IGNORECASE), "my"),
    (re.compile(rf"\b{_MONTH}", re.IGNORECASE), "m"),
)
_WORD_TOO = frozenset({"may", "march", "mar", "dec", "jan", "sep", "jun", "jul", "apr", "oct"})
_DAYS = {name[:3]: name for name in
         "monday tuesday wednesday thursday friday saturday sunday".split()}  # fmt: skip
_WEEKDAY = re.compile(
    r"\b(?:(mon|tues|wednes|thurs|fri|satur|sun)days?|(Mon|Tue|Tues|Wed|Thu|Thur|Thurs|Fri))\b",
    re.IGNORECASE,
)
_RELATIVE = re.compile(r"\b(?:yesterday|today|tomorrow|tonight)\b", re.IGNORECASE)

Date = tuple[int | None, int | None, int | None]


def unknown_dates(text: str, source: str) -> tuple[list[str], str]:
    """The dates, weekdays and "tomorrow"s not in the source, and the text without dates.

    Example:
        >>> unknown_dates("Due on May 8 or a Monday.", "On 2023-05-08, a Tuesday.")
        (['Monday'], 'Due on   or a  .')
    """
    plain = straight(source)
    known: set[Date] = set()
    for _, dates in _dates(plain):
        known |= dates
    unknown = []
    text = straight(text)
    for item, dates in _dates(text):
        if not any(_agree(date, other) for date in dates for other in known):
            unknown.append(item)
    for pattern, fold in ((_WEEKDAY, _weekday), (_RELATIVE, str.lower)):
        known_days = {fold(match.group()) for match in pattern.finditer(plain)}
        unknown += [m.group() for m in pattern.finditer(text) if fold(m.group()) not in known_days]
        text = pattern.sub(" ", text)
    for item, _ in _dates(text):
        text = text.replace(item, " ", 1)
    return unknown, text


def _weekday(word: str) -> str:
    return _DAYS[word[:3].lower()]


def _dates(text: str) -> Iterator[tuple[str, frozenset[Date]]]:
    """Each date as written, with its readings as (year, month, day)."""
    for pattern, order in _DATES:
        rest = []
        at = 0
        for match in pattern.finditer(text):
            if order == "m" and not _is_month(text, match):
                continue
            yield match.group().rstrip("."), frozenset(_read(match, order))
            rest.append(text[at : match.start()])
            at = match.end()
        text = " ".join([*rest, text[at:]])


def _is_month(text: str, match: re.Match[str]) -> bool:
    """Whether a word is a month: not in "you may" or "a march", and not at a sentence's start."""
    word = match.group()
    if word.lower().rstrip(".") not in _WORD_TOO:
        return True
    before = text[: match.start()].rstrip()
    return word[0].isupper() and bool(before) and before[-1] not in ".!?:"


def _read(match: re.Match[str], order: str) -> Iterator[Date]:
    parts = match.groups()
    if order == "either":
        year = int(parts[2]) if len(parts[2]) == 4 else 2000 + int(parts[2])
        yield from ((year, int(parts[0]), int(parts[1])), (year, int(parts[1]), int(parts[0])))
        return
    date: dict[str, int | None] = {"y": None, "m": None, "d": None}
    for place, part in zip(order, parts, strict=True):
        if part is not None:
            date[place] = _MONTHS[part.lower()] if part.isalpha() else int(part)
    yield date["y"], date["m"], date["d"]


def _agree(date: Date, other: Date) -> bool:
    """Whether the other date has every part of this one, with the same value."""
    return all(own is None or own == theirs for own, theirs in zip(date, other, strict=True))
