"""Parses times from logs into text that keeps the zone, and a number for comparisons.

Pure. A time without a zone gets none in the text; in comparisons it counts as UTC.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from treemem.errors import UsageError
from treemem.patterns import lazy_regex

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION = lazy_regex(r"(\.\d{6})\d+")


# Returns milliseconds since 1970 UTC. It is passed as an argument so that tests can set the time.
Clock = Callable[[], int]


def parse(value: str | datetime | None) -> tuple[str | None, int | None]:
    """Returns the time as ISO 8601 text and as milliseconds since 1970 UTC.

    A text that is not an ISO time is returned unchanged, with None for the number: it is stored
    but cannot be compared.

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
    if value.strip().isdigit():  # not a date, although Python can parse some numbers as one
        return value, None
    try:
        return value, to_ms(datetime.fromisoformat(_FRACTION.sub(r"\1", value.strip())))
    except (ValueError, OverflowError):
        return value, None


def to_ms(moment: datetime) -> int:
    """Returns milliseconds since 1970 UTC; a time without a zone counts as UTC.

    Example:
        >>> to_ms(datetime(1970, 1, 1, 0, 0, 1))
        1000
    """
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round((aware - _EPOCH).total_seconds() * 1000)


def from_ms(ms: int | None) -> str | None:
    """Returns ISO 8601 in UTC, to the second; None for None and outside the years 1 to 9999.

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


def check_order(since_ms: int | None, until_ms: int | None) -> None:
    """Raises UsageError if a range of time ends before it begins."""
    if since_ms is not None and until_ms is not None and until_ms < since_ms:
        raise UsageError(
            f"until ({from_ms(until_ms)}) is before since ({from_ms(since_ms)}): exchange them."
        )


def local(ms: int) -> datetime:
    """Returns a moment in the machine's time zone.

    The zone has its daylight-saving rules if the system names it (TZ or /etc/localtime); otherwise
    it is the current offset.
    """
    return datetime.fromtimestamp(ms / 1000, _local_zone())


def _local_zone() -> tzinfo | None:
    from zoneinfo import ZoneInfo

    name = os.environ.get("TZ", "").lstrip(":")
    try:
        if name:
            return ZoneInfo(name)
        with Path("/etc/localtime").open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):  # a TZ such as "CET-1CEST" is not the name of a zone
        return datetime.now(UTC).astimezone().tzinfo


def now_ms() -> int:
    """Returns milliseconds since 1970 UTC by the machine's clock."""
    return time.time_ns() // 1_000_000
