"""Reads hours of the day, such as 22:00-07:00, in which model calls may begin.

Hours are wall-clock time on this machine. When clocks change, a skipped hour does not occur, and a
repeated one occurs twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from treemem.errors import UsageError
from treemem.patterns import lazy_regex

_HOURS = lazy_regex(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})", re.ASCII)
_DAY_MINUTES = 24 * 60


@dataclass(frozen=True, slots=True)
class Hours:
    """The time from start (inclusive) to end (exclusive), in minutes after midnight. It spans
    midnight if end is before start."""

    start: int
    end: int

    @classmethod
    def parse(cls, text: str) -> Hours:
        """Reads "HH:MM-HH:MM"; 24:00 is midnight. Raises UsageError.

        Example:
            >>> Hours.parse("22:00-07:30")
            Hours(start=1320, end=450)
        """
        match = _HOURS.fullmatch(text.strip())
        numbers = [int(number) for number in match.groups()] if match else []
        if not numbers or numbers[0] > 23 or max(numbers[1::2]) > 59:
            raise _invalid(text)
        start, end = numbers[0] * 60 + numbers[1], numbers[2] * 60 + numbers[3]
        if end > _DAY_MINUTES or start == end % _DAY_MINUTES:
            raise _invalid(text)
        return cls(start, end % _DAY_MINUTES)

    def contain(self, now_ms: int) -> bool:
        """Whether a time, in milliseconds since 1970 UTC, is within these hours."""
        now = _local(now_ms)
        minute = now.hour * 60 + now.minute
        if self.start < self.end:
            return self.start <= minute < self.end
        return minute >= self.start or minute < self.end

    def next_start_ms(self, now_ms: int) -> int:
        """When these hours next begin after now, in milliseconds since 1970 UTC."""
        now = _local(now_ms)
        first = datetime.combine(now.date(), time(self.start // 60, self.start % 60))
        if first <= now:
            first += timedelta(days=1)
        return round(first.timestamp() * 1000)

    def __str__(self) -> str:
        start, end = (f"{minute // 60:02}:{minute % 60:02}" for minute in (self.start, self.end))
        return f"{start}-{end}"


def _local(now_ms: int) -> datetime:
    """The wall-clock time on this machine, without a time zone."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).astimezone().replace(tzinfo=None)


def _invalid(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is not a range of hours. Write when it begins and ends, in local time on a "
        "24-hour clock, such as 22:00-07:00; for the whole day, leave it out."
    )
