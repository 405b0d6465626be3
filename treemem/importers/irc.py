"""IRC logs of a channel or a private talk, in one file or in a file for every day.

It reads what people said and did, and passes joins, parts, modes and topics over. Logs have
times of day; the day is told by lines in between, or by the file's name.
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
from treemem.types import Message, Source

NOTICE = "notice of the service"
DAY_LINE = "line that tells the day"
UNKNOWN = "line of no known form"

_LINES_LOOKED_AT = 200
_KNOWN_SHARE_MIN = 0.8
_DATE_IN_NAME = re.compile(r"[._-]?(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)(?!\d)")
_MONTH_IN_NAME = re.compile(r"[._-]?(?:19|20)\d\d[-_.](?:0\d|1[0-2])\Z")
_LINE_END = re.compile(r"[\r\n]+\Z")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MODES = "@+%&~!. "
_DATED = re.compile(r"\[?(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(?::(\d\d))?\]?[ \t]")
_MONTHLY = re.compile(r"([A-Z][a-z]{2}) (\d\d) (\d\d):(\d\d):(\d\d)[ \t]")
_DAILY = re.compile(r"(?:\[(\d\d):(\d\d)(?::(\d\d))?\]|(\d\d):(\d\d)(?::(\d\d))?)[ \t]")
_SAID = re.compile(
    rf"<(?P<mode>[{_MODES}]*)(?P<nick>[^\s<>][^<>\n]{{0,60}}?)>[ \t](?P<text>.*)", re.DOTALL
)
_NOTICED = re.compile(r"-(?P<nick>[^\s<>!-][^\s<>]{0,40})- (?P<text>.*)", re.DOTALL)
_ACTED = re.compile(r" ?\*[ \t](?P<nick>[^\s*<>]{1,60}) (?P<text>.*)", re.DOTALL)
_ANNOUNCED = re.compile(r"(?:-!-|\*\*\*|===|-->|<--|--|=!=)(?:[ \t]|\Z)")
_TABBED = re.compile(r"(?P<who>[^\t]{0,60})\t(?P<text>.*)", re.DOTALL)
# HexChat has the same star before what somebody does and before what the server tells.
_TOLD = re.compile(
    r"\S+ (?:\([^()]*\) )?(?:has (?:joined|quit|left|changed the topic|set the topic)\b|"
    r"is now known as |sets? mode |gives? (?:channel|voice)|removes? (?:channel|voice)|"
    r"\[[^\]\s]*\] has (?:joined|quit|left))|(?:You are|Now talking|Topic for|Disconnected|"
    r"Connect)"
)
_DAY_LINE = re.compile(
    r"(?:--- (?:Log opened|Log closed|Day changed)|\*{4} (?:BEGIN|ENDING) LOGGING AT|"
    r"Session (?:Start|Close|Time|Ident):|\[?--- ?Day changed)"
)
_DAY = re.compile(r"([A-Za-z]{3})[a-z]*\.? {1,2}(\d{1,2}),? (?:[\d:]+ )?(?:[A-Z]{3,4} )?(\d{4})")
_FORMATTING = re.compile("\x03(?:\\d{1,2}(?:,\\d{1,2})?)?|[\x02\x0f\x11\x16\x1d\x1e\x1f]")


class Irc(Importer):
    """The importer of IRC logs; a channel's files are one source, day by day."""

    name = "irc"
    version = 1
    description = "IRC logs: irssi, WeeChat, ZNC, HexChat, mIRC, EnergyMech"
    kept = "nick, words, actions, notices of people, time without a zone"
    dropped = "joins, parts, modes, topics, colours, the signs of channel operators"
    places = (
        "irclogs/**/*.log",
        ".irssi/logs/**/*.log",
        ".weechat/logs/*.weechatlog",
        ".local/share/weechat/logs/*.weechatlog",
        ".znc/users/*/moddata/log/**/*.log",
        ".znc/moddata/log/**/*.log",
        ".config/hexchat/logs/**/*.log",
    )

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if b"\0" in head:
            return 0.0
        lines = [line for line in head_lines(head)[:_LINES_LOOKED_AT] if line.strip()]
        read = list(filter(None, map(read_line, lines)))
        if not lines or len(read) < len(lines) * _KNOWN_SHARE_MIN:
            return 0.0
        said = sum(isinstance(item, Spoken) and item.nick is not None for item in read)
        if any(isinstance(item, DayLine) for item in read) or file.suffix == ".weechatlog":
            return 0.9
        # Dates, tabs and words make any table; only "<nick>" or a notice tells a chat.
        is_table = all("\t" in line and " <" not in line for line in lines)
        has_notice = any(isinstance(item, Spoken) and item.nick is None for item in read)
        return 0.85 if said and (has_notice or not is_table) else 0.0

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        # Subtle: the day in a name is as good as a line of the file. Without it two quiet days
        # of the same few lines would pass for one file that is known.
        day = _day_in_name(file)
        return [LogFile(file.label, data=day.isoformat().encode())] if day else []

    def read(self, file: LogFile) -> Iterator[Event]:
        day = _day_in_name(file)
        year = day.year if day else None
        month = 0
        is_open, number = False, 0
        for line in document_lines(file):
            number += line.is_start
            found = read_line(_LINE_END.sub("", line.text)) if line.is_start else None
            if isinstance(found, DayLine):
                day = found.day or day
                year, month = (day.year, day.month) if day else (year, month)
                yield Skipped(DAY_LINE, number)
            elif found is None:
                if not line.is_blank:
                    yield Skipped(UNKNOWN, number, detail=one_line(line.text[:80]))
            elif found.nick is None:
                yield Skipped(NOTICE, number)
            else:
                if found.month_day is not None and year is not None:
                    # HexChat tells no year: it turns where the months begin anew.
                    year += found.month_day[0] < month
                    month = found.month_day[0]
                    day = day_of(year, *found.month_day)
                if not is_open:
                    is_open = True
                    yield _source(file)
                yield Message(
                    role="other", text=found.text, author=found.nick, sent_at=_time(found, day)
                )


def _time(found: Spoken, day: date | None) -> str | None:
    day = found.day or day
    hour, minute, second = found.time
    if day is None:
        return None
    seconds = "" if second is None else f":{second:02}"
    return f"{day.isoformat()}T{hour:02}:{minute:02}{seconds}"


def _day_in_name(file: LogFile) -> date | None:
    found = _DATE_IN_NAME.search(file.stem)
    return day_of(*map(int, found.groups())) if found else None


def _source(file: LogFile) -> Source:
    """The channel: the file's name without a date, or the folder of files that are only dates."""
    name = _MONTH_IN_NAME.sub("", _DATE_IN_NAME.sub("", file.stem)) or file.folder
    channel = name or "irc"
    folder = (file.place or "").removesuffix(file.name)
    key = place_key(channel, folder) if folder else printable(channel)
    return Source(f"irc/{key}", Irc.name, one_line(channel), origin=file.label)


# -- lines -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spoken:
    """One line. nick: None for a notice, which has no text. day: where the line itself tells
    it; month_day: where it tells all but the year. is_action: "/me waves"."""

    time: tuple[int, int, int | None]
    day: date | None
    month_day: tuple[int, int] | None
    nick: str | None
    text: str = ""
    is_action: bool = False


@dataclass(frozen=True, slots=True)
class DayLine:
    """A line that tells the day of those that follow; None where it cannot be read."""

    day: date | None


def read_line(line: str) -> Spoken | DayLine | None:
    """What a line is; None for one of no known form.

    Example:
        >>> read_line("10:05 <@ann> hi").nick, read_line("--- Day changed Tue Jan 02 2024").day
        ('ann', datetime.date(2024, 1, 2))
    """
    if _DAY_LINE.match(line):
        return DayLine(_day_in(line))
    for pattern, reader in ((_DATED, _dated), (_MONTHLY, _monthly), (_DAILY, _daily)):
        if (found := pattern.match(line)) is not None:
            when = reader(found)
            return _spoken(when, line[found.end() :], found[0]) if when is not None else None
    return None


_When = tuple[tuple[int, int, int | None], date | None, tuple[int, int] | None]


def _dated(found: re.Match[str]) -> _When | None:
    day = day_of(int(found[1]), int(found[2]), int(found[3]))
    clock = _clock(found[4], found[5], found[6])
    return (clock, day, None) if clock and day else None


def _monthly(found: re.Match[str]) -> _When | None:
    month = found[1].lower()
    clock = _clock(found[3], found[4], found[5])
    if month not in _MONTHS or clock is None:
        return None
    return clock, None, (_MONTHS.index(month) + 1, int(found[2]))


def _daily(found: re.Match[str]) -> _When | None:
    clock = _clock(found[1] or found[4], found[2] or found[5], found[3] or found[6])
    return (clock, None, None) if clock else None


def _clock(hour: str, minute: str, second: str | None) -> tuple[int, int, int | None] | None:
    clock = int(hour), int(minute), int(second) if second else None
    return clock if clock[0] < 24 and clock[1] < 60 and (clock[2] or 0) < 60 else None


def _spoken(when: _When, rest: str, before: str) -> Spoken | None:
    rest = _FORMATTING.sub("", rest)
    if _ANNOUNCED.match(rest):
        return Spoken(*when, None)
    if found := _SAID.match(rest):
        return Spoken(*when, found["nick"].strip(), found["text"])
    if when[1] is not None and before.endswith("\t") and (found := _TABBED.match(rest)):
        return _tabbed(when, found["who"], found["text"])
    if found := _ACTED.match(rest):
        told = _TOLD.match(rest.lstrip(" *\t"))
        return Spoken(*when, None) if told else Spoken(
            *when, found["nick"], f"{found['nick']} {found['text']}", True)  # fmt: skip
    if found := _NOTICED.match(rest):
        return Spoken(*when, found["nick"], found["text"])
    return Spoken(*when, None) if _TOLD.match(rest.lstrip("*\t ")) else None


def _tabbed(when: _When, who: str, text: str) -> Spoken | None:
    """WeeChat: who and what between tabs; an action has a star for a speaker."""
    if who.strip() == "*":
        nick = text.split(" ", 1)[0]
        return Spoken(*when, nick, text, True) if nick else None
    if who.strip() in ("", "-->", "<--", "--", "=!="):
        return Spoken(*when, None)
    nick = who.lstrip(_MODES)
    return Spoken(*when, nick, text) if nick and " " not in nick else None


def _day_in(line: str) -> date | None:
    found = _DAY.search(line, line.find(" ") + 1)
    while found is not None:
        month = found[1].lower()
        if month in _MONTHS:
            return day_of(int(found[3]), _MONTHS.index(month) + 1, int(found[2]))
        found = _DAY.search(line, found.start() + 1)
    return None


def day_of(year: int, month: int, day: int) -> date | None:
    """The day of three numbers; None for what is none.

    Example:
        >>> day_of(2024, 2, 29), day_of(2023, 2, 29)
        (datetime.date(2024, 2, 29), None)
    """
    try:
        return date(year, month, day)
    except ValueError:
        return None
