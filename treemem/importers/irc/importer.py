"""IRC logs of a channel or a private talk, in one file or in a file for every day.

It reads what people said and did, and passes joins, parts, modes and topics over. Logs have
times of day; the day is told by lines in between, or by the file's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.documents import document_lines
from treemem.importers.common.sniffing import head_lines
from treemem.importers.common.source_ids import one_line, place_key, printable
from treemem.importers.irc.lines import DayLine, Spoken, day_of, read_line
from treemem.types import Message, Source

NOTICE = "notice of the service"
DAY_LINE = "line that tells the day"
UNKNOWN = "line of no known form"

_LINES_LOOKED_AT = 200
_KNOWN_SHARE_MIN = 0.8
_DATE_IN_NAME = re.compile(r"[._-]?(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)(?!\d)")
_MONTH_IN_NAME = re.compile(r"[._-]?(?:19|20)\d\d[-_.](?:0\d|1[0-2])\Z")
_LINE_END = re.compile(r"[\r\n]+\Z")


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
