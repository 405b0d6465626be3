"""Finds the time that a question is limited to ("what did we say on Friday?"), and parses the
`since` and `until` that a caller gives.

Pure, and English only. This module decides whether a time expression limits a question;
dates/phrases.py reads the time it means. It would rather miss a limit than invent one: a deadline
("due on Friday"), a plan ("what will we do on Friday"), a comparison ("faster than last week"), a
month's name as a word ("we may") and quoted words limit nothing. People mention events before or
after they happen, so a limit usually ranks matching messages higher instead of excluding the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Literal

from treemem import times
from treemem.dates import languages, phrases, tense
from treemem.dates.phrases import WEEKDAYS, Period, PeriodReader, Word
from treemem.errors import UsageError
from treemem.patterns import lazy_regex

QUERY_CHARS_MAX = 2_000
_VALUE_CHARS_MAX = 100
_YEARS_BACK_MAX = 30
_OWNER_LONGEST = timedelta(days=7)

_IN = frozenset("in during throughout within over".split())
_EDGES = frozenset("since after before until till".split())
_LEADS = _IN | _EDGES | {"on", "from", "for"}
_TO = frozenset("to until till through".split())

# Words between a preposition and its time.
_FILLERS = frozenset(
    "the of on in at end beginning start middle half early late mid about around".split()
)
# Words before a time that make it a deadline, a purpose or part of a comparison.
_REFUSED_BEFORE = frozenset(
    "by due for to than like as vs versus with next every each per over not".split()
)
_DUE = frozenset(
    "due overdue deadline deadlines eta expire expires expiring scheduled planned booked dated "
    "starting ending beginning effective".split()
)
_DURATIONS = frozenset(
    f"{unit}{s}" for unit in (*phrases.UNITS, "weekend", "minute") for s in ("", "s")
)
# Words that may follow "in March" or "in 2024"; after any other word it could be part of a name.
_GOES_ON = frozenset(
    "and or but what who whom whose which when where why how did was were had has have is are "
    "i we you he she it they the a an my our your his her their this that these there for with "
    "without about on by at to from of in as if because so then again".split()
)
# Words that can begin a time to come.
_AHEAD = frozenset(("the", "next", "coming", "tomorrow", "in", "within", *phrases.MONTHS))
# Limits in figures: "30d", "2 weeks", "2026-11".
_SPAN = lazy_regex(
    r"(?P<count>\d{1,4}) ?(?P<unit>h(?:ours?)?|d(?:ays?)?|w(?:eeks?)?|months?|y(?:ears?)?)"
)
_MONTH = lazy_regex(r"(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])")
_MONTHS = tuple(phrases.MONTHS)[:12]
Edge = Literal["since", "until"]


@dataclass(frozen=True, slots=True)
class When:
    """The time that a question is limited to.

    since: inclusive; until: exclusive; both in the zone of now, None if open. phrase: the words
    that name it, query[start:end].
    """

    since: datetime | None
    until: datetime | None
    phrase: str
    start: int
    end: int

    @property
    def since_ms(self) -> int | None:
        """The first millisecond, since 1970 UTC."""
        return None if self.since is None else times.to_ms(self.since)

    @property
    def until_ms(self) -> int | None:
        """The last millisecond, since 1970 UTC, inclusive."""
        return None if self.until is None else times.to_ms(self.until) - 1

    @property
    def days(self) -> tuple[date | None, date | None]:
        """The first and the last day, both inclusive."""
        until = None if self.until is None else self.until - timedelta(microseconds=1)
        return self.since and self.since.date(), until and until.date()


def find(query: str, now: datetime) -> When | None:
    """The time that a question is limited to; None unless it is certain that there is one.

    now: the time of the question, in the user's zone. Times joined by "and" or "or" give the
    period that covers them all, others their intersection, or None if that is empty. A name
    without a year means the most recent one: "on Friday" the last Friday before today, "in March"
    the last March that has begun.

    Example:
        >>> now = datetime(2026, 11, 27, 12, tzinfo=times.UTC)
        >>> limit = find("What did Ana say last week?", now)
        >>> limit.phrase, limit.since.isoformat()[:10], limit.until.isoformat()[:10]
        ('last week', '2026-11-16', '2026-11-23')
        >>> find("What is due on Friday?", now)
    """
    _check_zone(now)
    query = query[:QUERY_CHARS_MAX]
    words = languages.split_in(query, languages.of(query))
    whole: _Limit | None = None
    i = 0
    while i < len(words):
        limit = _read_limit(words, i, now)
        if limit is None:
            i += 1
            continue
        i = limit.after
        if not _is_meant(words, limit, now):
            continue
        limit = _with_listed(words, limit, now)
        i = limit.after
        whole = limit if whole is None else _intersection(whole, limit)
        if whole is None:
            return None
    if whole is None:
        return None
    start, end = words[whole.first].start, max(word.end for word in words[: whole.after])
    return When(whole.since, whole.until, query[start:end], start, end)


def days_ahead(query: str, now: datetime) -> tuple[date, date] | None:
    """The first and the last of the days to come that a question names, such as "next week"; None
    unless it is certain that they are meant.

    Example:
        >>> days_ahead("what is due tomorrow?", datetime(2026, 11, 27, 12, tzinfo=times.UTC))
        (datetime.date(2026, 11, 28), datetime.date(2026, 11, 28))
    """
    query = query[:QUERY_CHARS_MAX]
    words = languages.split_in(query, languages.of(query))
    for i in range(len(words)):
        if not (words[i].text in _AHEAD or words[i].text[0].isdigit()) or _is_quoted(words, i):
            continue
        read = _read(PeriodReader(words, i, now), i)
        if read is not None and read[0].sure and not read[0].bare and read[0].start > now:
            start, end = read[0].rough or (read[0].start, read[0].end)
            return start.date(), (end - timedelta(microseconds=1)).date()
    return None


def bound(value: str | datetime, edge: Edge, now: datetime) -> int:
    """Parses a limit that a caller gives, as milliseconds since 1970 UTC, inclusive.

    value: an ISO day, month or time, a span before now such as 30d or "2 weeks", "now", or words as
    in find; in the zone of now if it has none.
    For a period such as a day or "last week", "since" returns its first millisecond and "until"
    its last. Raises UsageError.

    Example:
        >>> bound("yesterday", "until", datetime(2026, 1, 2, tzinfo=times.UTC))
        1767311999999
    """
    _check_zone(now)
    if isinstance(value, str) and len(value.strip()) == len("2026-01-01"):
        try:
            day = datetime.fromisoformat(value.strip()).replace(tzinfo=now.tzinfo)
            return times.to_ms(day + timedelta(days=edge == "until")) - (edge == "until")
        except (ValueError, OverflowError):
            pass
    _, ms = times.parse(value, now.tzinfo)
    if ms is not None:
        return ms
    text = _spelled_out(str(value)[: _VALUE_CHARS_MAX + 1])
    if text == "now":
        return times.to_ms(now)
    words = languages.split_in(text, languages.of(text))
    read = _read(PeriodReader(words, 0, now), 0)
    if read is None or read[1] != len(words) or len(str(value)) > _VALUE_CHARS_MAX:
        raise UsageError(
            f"{edge} is a date or time such as 2026-11-27, 2026-11-27T09:30+01:00, yesterday, "
            f"'3 days ago', 30d, 'last week', 2024-03 or 'March 2024', "
            f"not {str(value)[:_VALUE_CHARS_MAX]!r}."
        )
    period = read[0]
    return times.to_ms(period.start) if edge == "since" else times.to_ms(period.end) - 1


def _spelled_out(text: str) -> str:
    """The words for a span before now or a month in figures; any other text as it is.

    Example:
        >>> _spelled_out("30d"), _spelled_out("2 weeks"), _spelled_out("2026-11")
        ('30 days ago', '2 weeks ago', 'november 2026')
    """
    short = text.strip().lower()
    if match := _SPAN.fullmatch(short):
        unit = next(unit for unit in ("hours", "days", "weeks", "months", "years")
                    if unit.startswith(match["unit"]))  # fmt: skip
        return f"{match['count']} {unit} ago"
    if match := _MONTH.fullmatch(short):
        return f"{_MONTHS[int(match['month']) - 1]} {match['year']}"
    return "now" if short == "now" else text


def bounds(
    since: str | datetime | None, until: str | datetime | None, now: datetime
) -> tuple[int | None, int | None]:
    """Parses both limits, as bound does. Raises UsageError, also if none can be between them."""
    since_ms = None if since is None else bound(since, "since", now)
    until_ms = None if until is None else bound(until, "until", now)
    times.check_order(since_ms, until_ms)
    return since_ms, until_ms


# -- reading ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Limit:
    """The words from number first to after (exclusive), and the time they name; see When.

    lead: the preposition, or "". shape: the period they were read as.
    """

    since: datetime | None
    until: datetime | None
    first: int
    after: int
    lead: str
    shape: Period


def _read(reader: PeriodReader, i: int, up_to: date | None = None) -> tuple[Period, int] | None:
    """The period that begins with word i; None without one, or if it is outside the calendar."""
    try:
        return reader.period(i, up_to)
    except (OverflowError, ValueError):
        return None


def _read_limit(words: list[Word], i: int, now: datetime, lead: str = "") -> _Limit | None:
    """The limit that begins with word i. lead: a preposition before the words."""
    reader = PeriodReader(words, i, now)
    own = words[i].text
    if own in ("from", "between"):
        limit = _read_stretch(reader, i, own)
        if limit or own == "between":
            return limit
    first = i + 1 if own in _LEADS else i
    lead = own if own in _LEADS else lead
    read = _read(reader, first)
    if read is None:
        return None
    period, after = read
    start, end = period.rough or (period.start, period.end)
    since = {"after": period.end, "before": None, "until": None, "till": None}
    until = {"before": period.start, "since": None, "after": None}
    limit = _Limit(since.get(lead, start), until.get(lead, end), i, after, lead, period)
    if first > i and lead not in _EDGES and not _fits(words, limit, now):
        return replace(limit, first=first, lead="")  # "which room were we in yesterday"
    return limit


def _read_stretch(reader: PeriodReader, i: int, lead: str) -> _Limit | None:
    """A range from one period to another, or between two. Names without a year are read so that
    the second follows the first: "from November to February 2024" begins in 2023."""
    one = _read(reader, i + 1)
    same_month = one is None and reader.at(i + 1).isdigit()  # between 3 and 9 May
    after = one[1] if one else i + 2
    ties = {"and"} if lead == "between" else _TO
    if not (one or same_month) or reader.at(after) not in ties:
        return None
    other = _read(reader, after + 1)
    if other is None:
        return None
    begin, end = one[0] if one else other[0], other[0]
    try:
        if same_month:
            begin = replace(end, start=end.start.replace(day=int(reader.at(i + 1))))
        elif begin.cycle_days and not end.cycle_days:
            begin = (_read(reader, i + 1, end.start.date()) or one or other)[0]
        elif end.cycle_days:
            days = {7: 7, phrases.MONTH_DAYS: 27}.get(end.cycle_days, 364)
            latest = begin.start.date() + timedelta(days=days)
            end = (_read(reader, after + 1, latest) or other)[0]
    except (OverflowError, ValueError):
        return None
    if times.to_ms(begin.start) >= times.to_ms(end.end):
        return None
    shape = replace(end, sure=begin.sure or end.sure, bare=begin.bare or end.bare)
    return _Limit(begin.start, end.end, i, other[1], lead, shape)


# -- combining -------------------------------------------------------------------------


def _with_listed(words: list[Word], limit: _Limit, now: datetime) -> _Limit:
    """The limit together with those that follow it in a list: "on Monday, Tuesday and Friday"."""
    while limit.lead not in _EDGES and limit.after < len(words):
        follows = words[limit.after]
        tied = follows.text in ("and", "or")
        first = limit.after + tied
        if not tied and (follows.before.strip() != "," or follows.text in _LEADS):
            break
        more = _read_limit(words, first, now, limit.lead) if first < len(words) else None
        if more is None or more.lead in _EDGES or not _is_meant(words, more, now):
            break
        since = min((limit.since, more.since), key=_order)
        until = max((limit.until, more.until), key=_order)
        limit = replace(limit, since=since, until=until, after=more.after)
    return limit


def _intersection(one: _Limit, other: _Limit) -> _Limit | None:
    """The time within both limits; None if there is none."""
    starts = [moment for moment in (one.since, other.since) if moment is not None]
    ends = [moment for moment in (one.until, other.until) if moment is not None]
    since, until = max(starts, key=_order, default=None), min(ends, key=_order, default=None)
    if since and until and times.to_ms(since) >= times.to_ms(until):
        return None
    return replace(one, since=since, until=until, after=other.after)


def _order(moment: datetime | None) -> int:
    """A sort key for moments; an open side comes first."""
    # Subtle: Python compares times of one zone by wall clock, which repeats an hour in autumn.
    return 0 if moment is None else times.to_ms(moment)


# -- judging ---------------------------------------------------------------------------


def _is_meant(words: list[Word], limit: _Limit, now: datetime) -> bool:
    """Whether the words limit the question."""
    began, ends = limit.since, limit.until
    if began is not None and times.to_ms(began) >= times.to_ms(now):
        return False
    if began is None and ends is not None and times.to_ms(ends) > times.to_ms(now):
        return False  # "before" a future day: a deadline
    return (
        _fits(words, limit, now)
        and not _is_refused(words, limit)
        and not _is_quoted(words, limit.first)
        and (
            limit.shape.sure
            or limit.lead == "since"
            or tense.looks_back(words, limit.first, limit.after)
        )
    )


def _fits(words: list[Word], limit: _Limit, now: datetime) -> bool:
    """Whether the preposition fits the period, and the expression ends there."""
    lead, shape = limit.lead, limit.shape
    last = words[limit.after - 1]
    if last.owner != last.text and lead not in _EDGES:  # "in yesterday's call", no year's budget
        return lead != "for" and shape.end - shape.start <= _OWNER_LONGEST
    if lead == "on":
        fits = shape.kind == "day"
    elif lead in _IN:
        fits = shape.kind != "day" or lead == "during"
    elif lead == "for":
        fits = shape.kind == "recent"
    elif lead in ("before", "until", "till"):
        fits = shape.sure
    else:
        fits = bool(lead) or not shape.bare
    if not shape.capital:
        fits = fits and lead in ("in", "on", "since", "during", "between", "from")
    if shape.bare and shape.sure and shape.kind == "span":  # a year, which may be any number
        age = now.year - shape.start.year
        fits = fits and 0 <= age <= _YEARS_BACK_MAX and lead not in ("over", "within")
    named = (shape.bare and shape.cycle_days != 7) or (not lead and shape.cycle_days == 365)
    return fits and (not named or _ends_at(words, limit.after))


def _ends_at(words: list[Word], after: int) -> bool:
    """Whether a name ends before word number after."""
    return after == len(words) or not words[after].joined or words[after].text in _GOES_ON


def _is_refused(words: list[Word], limit: _Limit) -> bool:
    """Whether the words around a limit make it a deadline, a comparison or a duration."""
    after = words[limit.after].text if limit.after < len(words) else ""
    turning = {"of"} if limit.shape.kind == "day" else {"of", "before", "after"}
    if after in _DUE or (after in turning and words[limit.after].joined):
        return True  # "the last week of the sprint", "last weekend before 5 May"
    if limit.lead == "from" and after in _TO:  # the end is not readable
        return True
    sentence = tense.sentence_before(words, limit.first)
    if any(word in _DUE for word in sentence[-3:]):
        return True
    before = [word for word in sentence if word not in _FILLERS][-1:]
    if before and before[0] in _REFUSED_BEFORE:
        return True
    if limit.lead not in _EDGES and limit.lead not in ("between", "from"):
        return False
    if limit.lead in ("before", "after") and {*sentence[-1:]} & (_DURATIONS | WEEKDAYS.keys()):
        return True  # "the week before 5 May" is another week
    before_limit = " ".join(sentence)
    asks_duration = any(f"how many {unit}" in before_limit for unit in _DURATIONS)
    return asks_duration or "how long" in before_limit


def _is_quoted(words: list[Word], first: int) -> bool:
    """Whether word number first is between quotation marks."""
    before = "".join(word.before for word in words[: first + 1])
    return before.count('"') % 2 == 1 or before.count("“") > before.count("”")


def _check_zone(now: datetime) -> None:
    if now.utcoffset() is None:
        raise UsageError(f"now needs a time zone, such as {now.isoformat()}+00:00.")
