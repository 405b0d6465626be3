"""Times as logs give them: text that keeps its zone, and a number to compare by.

Pure. A time without a zone stays without one in the text; for comparing it counts as UTC.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION = re.compile(r"(\.\d{6})\d+")


# Returns milliseconds since 1970, in UTC. An argument everywhere, so that tests set the time.
Clock = Callable[[], int]


def parse(value: str | datetime | None) -> tuple[str | None, int | None]:
    """The time as ISO 8601 text, and as milliseconds since 1970 UTC.

    A text that is no ISO time is kept as it is, with None for the number: nothing that a
    log said is thrown away, it only cannot be compared.

    Example:
        >>> parse("2026-01-01T01:00:00+02:00")
        ('2026-01-01T01:00:00+02:00', 1767222000000)
        >>> parse("yesterday")
        ('yesterday', None)
    """
    if value is None or value == "":
        return None, None
    if isinstance(value, datetime):
        return value.isoformat(), to_ms(value)
    if value.strip().isdigit():  # a number is no date, though Python might read one into it
        return value, None
    try:
        return value, to_ms(datetime.fromisoformat(_FRACTION.sub(r"\1", value.strip())))
    except (ValueError, OverflowError):
        return value, None


def to_ms(moment: datetime) -> int:
    """Milliseconds since 1970 UTC; a time without a zone counts as UTC.

    Example:
        >>> to_ms(datetime(1970, 1, 1, 0, 0, 1))
        1000
    """
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round((aware - _EPOCH).total_seconds() * 1000)


def from_ms(ms: int | None) -> str | None:
    """ISO 8601 in UTC, to the second; None for None, and outside the years 1 to 9999.

    Example:
        >>> from_ms(1000)
        '1970-01-01T00:00:01+00:00'
    """
    if ms is None:
        return None
    try:
        return (_EPOCH + timedelta(seconds=ms // 1000)).isoformat()
    except OverflowError:  # a zone can move a time out of the calendar
        return None


def local(ms: int) -> datetime:
    """A moment in the machine's zone, which knows when its clocks change where the system tells
    (TZ, or /etc/localtime); elsewhere it has the offset of that moment."""
    return datetime.fromtimestamp(ms / 1000, _local_zone())


def _local_zone() -> tzinfo | None:
    from zoneinfo import ZoneInfo

    named = os.environ.get("TZ", "").lstrip(":")
    try:
        if named:
            return ZoneInfo(named)
        with Path("/etc/localtime").open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):  # a TZ such as "CET-1CEST" is no zone's name
        return datetime.now(UTC).astimezone().tzinfo


def now_ms() -> int:
    """Milliseconds since 1970, by the machine's clock."""
    return time.time_ns() // 1_000_000
