"""Reads IRC logs of a channel or a private conversation, in one file or one per day.

Imports messages and actions, and skips joins, parts, modes and topics. Most lines have only a time
of day; the date comes from date lines in the log, or from the file name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.documents import document_lines
from treemem.importers.common.sniffing import head_lines
from treemem.importers.common.source_ids import one_line, place_key, printable
from treemem.patterns import lazy_regex
from treemem.types import Message, Source

NOTICE = "notice of the service"
DAY_LINE = "line that tells the day"
UNKNOWN = "line of no known form"

_LINES_LOOKED_AT = 200
_KNOWN_SHARE_MIN = 0.8
_DATE_IN_NAME = lazy_regex(r"[._-]?(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)(?!\d)")
_MONTH_IN_NAME = lazy_regex(r"[._-]?(?:19|20)\d\d[-_.](?:0\d|1[0-2])\Z")
_LINE_END = lazy_regex(r"[\r\n]+\Z")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MODES = "@+%&~!. "
_DATED = lazy_regex(r"\[?(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(?::(\d\d))?\]?[ \t]")
_MONTHLY = lazy_regex(r"([A-Z][a-z]{2}) (\d\d) (\d\d):(\d\d):(\d\d)[ \t]")
_DAILY = lazy_regex(r"(?:\[(\d\d):(\d\d)(?::(\d\d))?\]|(\d\d):(\d\d)(?::(\d\d))?)[ \t]")
_MESSAGE_LINE = lazy_regex(
    rf"<(?P<mode>[{_MODES}]*)(?P<nick>[^\s<>][^<>\n]{{0,60}}?)>[ \t](?P<text>.*)", re.DOTALL
)
_NOTICE_LINE = lazy_regex(r"-(?P<nick>[^\s<>!-][^\s<>]{0,40})- (?P<text>.*)", re.DOTALL)
_ACTION_LINE = lazy_regex(r" ?\*[ \t](?P<nick>[^\s*<>]{1,60}) (?P<text>.*)", re.DOTALL)
_ANNOUNCED = lazy_regex(r"(?:-!-|\*\*\*|===|-->|<--|--|=!=)(?:[ \t]|\Z)")
_TABBED = lazy_regex(r"(?P<who>[^\t]{0,60})\t(?P<text>.*)", re.DOTALL)
# HexChat writes the same star before actions and before server notices.
_SERVER_NOTICE = lazy_regex(
    r"\S+ (?:\([^()]*\) )?(?:has (?:joined|quit|left|changed the topic|set the topic)\b|"
    r"is now known as |was kicked by \S+ \(|sets? mode |gives? (?:channel|voice)|"
    r"removes? (?:channel|voice)|"
    r"\[[^\]\s]*\] has (?:joined|quit|left))|(?:You are|Now talking|Topic for|Disconnected|"
    r"Connect)"
)
# What a server reports, in the words of every client; a program's log has stars or dashes too.
_SERVICE = lazy_regex(
    r"(?:-!-|\*\*\*|===|-->|<--|--|=!=|\*)\s+(?:(?:Joins|Parts|Quits): \S+ \(|"
    r"\S+ (?:[(\[][^()\[\]]*[)\]] )?(?:has (?:joined|quit|left|changed the topic|set the topic)\b|"
    r"is now known as \S|was kicked (?:by|from) \S|(?:sets? |changes? )(?:mode|topic)\b|"
    r"changed the topic\b|(?:gives?|removes?) (?:channel|voice))|"
    r"(?:[Mm]ode|ServerMode)[ /]?[#&]|(?:Topic for|Irssi: |Now talking))"
)
_DAY_LINE = lazy_regex(
    r"(?:--- (?:Log opened|Log closed|Day changed)|\*{4} (?:BEGIN|ENDING) LOGGING AT|"
    r"Session (?:Start|Close|Time|Ident):|\[?--- ?Day changed)"
)
_DAY = lazy_regex(r"([A-Za-z]{3})[a-z]*\.? {1,2}(\d{1,2}),? (?:[\d:]+ )?(?:[A-Z]{3,4} )?(\d{4})")
_FORMATTING = lazy_regex("\x03(?:\\d{1,2}(?:,\\d{1,2})?)?|[\x02\x0f\x11\x16\x1d\x1e\x1f]")


class Irc(Importer):
    """Imports IRC logs; all files of a channel are one source."""

    name = "irc"
    version = 2
    spans_files = True
    description = "IRC logs: irssi, WeeChat, ZNC, HexChat, mIRC, EnergyMech"
    kept = "nick, text, actions, notices of people, time without a zone"
    dropped = "joins, parts, modes, topics, colours, the signs of channel operators"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if b"\0" in head:
            return 0.0
        lines = [line for line in head_lines(head)[:_LINES_LOOKED_AT] if line.strip()]
        read = list(filter(None, map(read_line, lines)))
        if not lines or len(read) < len(lines) * _KNOWN_SHARE_MIN:
            return 0.0
        spoken = sum(isinstance(item, Spoken) and item.nick is not None for item in read)
        if any(isinstance(item, DayLine) for item in read) or file.suffix == ".weechatlog":
            return 0.9
        # Any table may have dates, tabs and text; "<nick>" or a notice proves a chat.
        is_table = all("\t" in line and " <" not in line for line in lines)
        has_notice = any(isinstance(item, Spoken) and item.nick is None for item in read)
        if spoken:
            return 0.85 if has_notice or not is_table else 0.0
        # On a quiet day people only come and go.
        return 0.85 if 2 * sum(map(_is_service, lines)) > len(lines) else 0.0

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        # Subtle: the date in the name counts as content. Otherwise two quiet days with the same few
        # lines would look like the same file.
        day = _day_in_name(file)
        return [LogFile(file.label, data=day.isoformat().encode())] if day else []

    def read(self, file: LogFile) -> Iterator[Event]:
        day = _day_in_name(file)
        year = day.year if day else None
        month = 0
        is_open, number = False, 0
        for line in document_lines(file):
            number += line.is_start
            item = read_line(_LINE_END.sub("", line.text)) if line.is_start else None
            if isinstance(item, DayLine):
                day = item.day or day
                year, month = (day.year, day.month) if day else (year, month)
                yield Skipped(DAY_LINE, number)
            elif item is None:
                if not line.is_blank:
                    yield Skipped(UNKNOWN, number, detail=one_line(line.text[:80]))
            elif item.nick is None:
                yield Skipped(NOTICE, number)
            else:
                if item.month_day is not None and year is not None:
                    # HexChat writes no year: a new one begins when the month decreases.
                    year += item.month_day[0] < month
                    month = item.month_day[0]
                    day = day_of(year, *item.month_day)
                if not is_open:
                    is_open = True
                    yield _source(file)
                yield Message(
                    role="other", text=item.text, author=item.nick, sent_at=_time(item, day)
                )


def _is_service(line: str) -> bool:
    """Whether a line is a notice of an IRC server, behind its time."""
    for pattern in (_DATED, _MONTHLY, _DAILY):
        if (match := pattern.match(line)) is not None:
            return _SERVICE.match(_FORMATTING.sub("", line[match.end() :]).lstrip()) is not None
    return False


def _time(spoken: Spoken, day: date | None) -> str | None:
    day = spoken.day or day
    hour, minute, second = spoken.time
    if day is None:
        return None
    seconds = "" if second is None else f":{second:02}"
    return f"{day.isoformat()}T{hour:02}:{minute:02}{seconds}"


def _day_in_name(file: LogFile) -> date | None:
    match = _DATE_IN_NAME.search(file.stem)
    return day_of(*map(int, match.groups())) if match else None


def _source(file: LogFile) -> Source:
    """The channel: the file's name without its date, or the folder of files named by date."""
    name = _MONTH_IN_NAME.sub("", _DATE_IN_NAME.sub("", file.stem)) or file.folder
    channel = name or "irc"
    folder = (file.place or "").removesuffix(file.name)
    key = place_key(channel, folder) if folder else printable(channel)
    return Source(f"irc/{key}", Irc.name, one_line(channel), origin=file.label)


# -- lines -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message or notice. nick: None for a notice, whose text is omitted. day, month_day: the date
    that the line has, with or without a year. is_action: a "/me" line."""

    time: tuple[int, int, int | None]
    day: date | None
    month_day: tuple[int, int] | None
    nick: str | None
    text: str = ""
    is_action: bool = False


@dataclass(frozen=True, slots=True)
class DayLine:
    """A date line, which applies to the lines below it; day is None if it cannot be parsed."""

    day: date | None


def read_line(line: str) -> Spoken | DayLine | None:
    """Parses a line; returns None if its form is unknown.

    Example:
        >>> read_line("10:05 <@ann> hi").nick, read_line("--- Day changed Tue Jan 02 2024").day
        ('ann', datetime.date(2024, 1, 2))
    """
    if _DAY_LINE.match(line):
        return DayLine(_day_in(line))
    for pattern, reader in ((_DATED, _dated), (_MONTHLY, _monthly), (_DAILY, _daily)):
        if (match := pattern.match(line)) is not None:
            when = reader(match)
            return _spoken(when, line[match.end() :], match[0]) if when is not None else None
    return None


_When = tuple[tuple[int, int, int | None], date | None, tuple[int, int] | None]


def _dated(match: re.Match[str]) -> _When | None:
    day = day_of(int(match[1]), int(match[2]), int(match[3]))
    clock = _clock(match[4], match[5], match[6])
    return (clock, day, None) if clock and day else None


def _monthly(match: re.Match[str]) -> _When | None:
    month = match[1].lower()
    clock = _clock(match[3], match[4], match[5])
    if month not in _MONTHS or clock is None:
        return None
    return clock, None, (_MONTHS.index(month) + 1, int(match[2]))


def _daily(match: re.Match[str]) -> _When | None:
    clock = _clock(match[1] or match[4], match[2] or match[5], match[3] or match[6])
    return (clock, None, None) if clock else None


def _clock(hour: str, minute: str, second: str | None) -> tuple[int, int, int | None] | None:
    clock = int(hour), int(minute), int(second) if second else None
    return clock if clock[0] < 24 and clock[1] < 60 and (clock[2] or 0) < 60 else None


def _spoken(when: _When, rest: str, before: str) -> Spoken | None:
    rest = _FORMATTING.sub("", rest)
    if _ANNOUNCED.match(rest):
        return Spoken(*when, None)
    if match := _MESSAGE_LINE.match(rest):
        return Spoken(*when, match["nick"].strip(), match["text"])
    if when[1] is not None and before.endswith("\t") and (match := _TABBED.match(rest)):
        return _tabbed(when, match["who"], match["text"])
    if match := _ACTION_LINE.match(rest):
        notice = _SERVER_NOTICE.match(rest.lstrip(" *\t"))
        return Spoken(*when, None) if notice else Spoken(
            *when, match["nick"], f"{match['nick']} {match['text']}", True)  # fmt: skip
    if match := _NOTICE_LINE.match(rest):
        return Spoken(*when, match["nick"], match["text"])
    return Spoken(*when, None) if _SERVER_NOTICE.match(rest.lstrip("*\t ")) else None


def _tabbed(when: _When, who: str, text: str) -> Spoken | None:
    """Reads WeeChat's form: nick and text separated by tabs; an action has a star as nick."""
    if who.strip() == "*":
        nick = text.split(" ", 1)[0]
        return Spoken(*when, nick, text, True) if nick else None
    if who.strip() in ("", "-->", "<--", "--", "=!="):
        return Spoken(*when, None)
    nick = who.lstrip(_MODES)
    return Spoken(*when, nick, text) if nick and " " not in nick else None


def _day_in(line: str) -> date | None:
    match = _DAY.search(line, line.find(" ") + 1)
    while match is not None:
        month = match[1].lower()
        if month in _MONTHS:
            return day_of(int(match[3]), _MONTHS.index(month) + 1, int(match[2]))
        match = _DAY.search(line, match.start() + 1)
    return None


def day_of(year: int, month: int, day: int) -> date | None:
    """The date with these numbers; None if there is no such day.

    Example:
        >>> day_of(2024, 2, 29), day_of(2023, 2, 29)
        (datetime.date(2024, 2, 29), None)
    """
    try:
        return date(year, month, day)
    except ValueError:
        return None
