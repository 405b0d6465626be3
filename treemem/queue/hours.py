"""Hours of the day in which model work may be done, by the machine's wall clock.

Pure but for the machine's time zone. On the days on which clocks are changed the wall clock
counts: hours that it passes over do not come, hours that it repeats hold twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from treemem.errors import UsageError

_SPELLED = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})", re.ASCII)
_DAY_MINUTES = 24 * 60


@dataclass(frozen=True, slots=True)
class Hours:
    """From start, inclusive, to end, exclusive, in minutes after midnight; where end comes
    before start, over midnight."""

    start: int
    end: int

    @classmethod
    def parse(cls, text: str) -> Hours:
        """Hours as people write them; 24:00 is the midnight at the end. Raises UsageError.

        Example:
            >>> Hours.parse("22:00-07:30")
            Hours(start=1320, end=450)
        """
        found = _SPELLED.fullmatch(text.strip())
        numbers = [int(number) for number in found.groups()] if found else []
        if not numbers or numbers[0] > 23 or max(numbers[1::2]) > 59:
            raise _unusable(text)
        start, end = numbers[0] * 60 + numbers[1], numbers[2] * 60 + numbers[3]
        if end > _DAY_MINUTES:
            raise _unusable(text)
        if start == end % _DAY_MINUTES:
            raise _unusable(text)
        return cls(start, end % _DAY_MINUTES)

    def hold(self, now_ms: int) -> bool:
        """Whether it is within these hours."""
        now = _local(now_ms)
        minute = now.hour * 60 + now.minute
        if self.start < self.end:
            return self.start <= minute < self.end
        return minute >= self.start or minute < self.end

    def next_start_ms(self, now_ms: int) -> int:
        """When these hours begin next after now, in milliseconds since 1970 UTC."""
        now = _local(now_ms)
        first = datetime.combine(now.date(), time(self.start // 60, self.start % 60))
        if first <= now:
            first += timedelta(days=1)
        return round(first.timestamp() * 1000)

    def __str__(self) -> str:
        start, end = (f"{minute // 60:02}:{minute % 60:02}" for minute in (self.start, self.end))
        return f"{start}-{end}"


def _local(now_ms: int) -> datetime:
    """What this machine's wall clock shows, without its zone."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).astimezone().replace(tzinfo=None)


def _unusable(text: str) -> UsageError:
    return UsageError(
        f"{text!r} names no hours of the day. Write when they begin and end, in local time on a "
        "24-hour clock, such as 22:00-07:00; for the whole day leave them out."
    )
