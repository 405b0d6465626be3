"""Parses times from logs into text that keeps the zone, and a number for comparisons.

A time without a zone gets none in the text; in comparisons it is one of this machine's zone, which
is the reader's.
"""

from __future__ import annotations

import functools
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


def parse(
    value: str | datetime | None, zone: tzinfo | None = None
) -> tuple[str | None, int | None]:
    """Returns the time as ISO 8601 text and as milliseconds since 1970 UTC.

    zone: of a time that has none; None for the machine's. A text that is not an ISO time is
    returned unchanged, with None for the number: it is stored but cannot be compared.

    Example:
        >>> parse("2026-01-01T01:00:00+02:00")
        ('2026-01-01T01:00:00+02:00', 1767222000000)
        >>> parse("yesterday")
        ('yesterday', None)
    """
    if value is None or value == "":
        return None, None
    if isinstance(value, datetime):
        return value.isoformat(), to_ms(_in_zone(value, zone))
    if value.strip().isdigit():  # not a date, although Python can parse some numbers as one
        return value, None
    try:
        return value, to_ms(_in_zone(_iso(value), zone))
    except (ValueError, OverflowError):
        return value, None


def _iso(text: str) -> datetime:
    return datetime.fromisoformat(_FRACTION.sub(r"\1", text.strip()))


def _in_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    """The moment with a zone: its own, else this one, else the machine's."""
    return moment if moment.tzinfo else moment.replace(tzinfo=zone or local_zone())


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
    return datetime.fromtimestamp(ms / 1000, local_zone())


def local_zone() -> tzinfo | None:
    """The machine's time zone, see local."""
    return _zone_named(os.environ.get("TZ", "").lstrip(":"))


@functools.cache
def _zone_named(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    try:
        if name:
            return ZoneInfo(name)
        with Path("/etc/localtime").open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError, KeyError):  # a TZ such as "EST5" is not the name of a zone
        return datetime.now(UTC).astimezone().tzinfo


def of_reader(now: datetime, zone: tzinfo | str | None) -> datetime:
    """The moment in a zone, such as "Europe/Berlin"; None leaves it as it is. Raises UsageError for
    an unknown name."""
    if isinstance(zone, str):
        from zoneinfo import ZoneInfo

        try:
            zone = ZoneInfo(zone)
        except (OSError, ValueError, KeyError):
            raise UsageError(
                f"{zone!r} is not a time zone; write one such as UTC or Europe/Berlin."
            ) from None
    return now if zone is None else now.astimezone(zone)


def shown(moment: str | datetime | None, zone: tzinfo | None) -> datetime | None:
    """What the reader's clock shows at a moment; None for what is no ISO time. A time without a
    zone is shown as it is.

    Example:
        >>> shown("2026-03-01T23:30:00-05:00", UTC), shown("yesterday", UTC)
        (datetime.datetime(2026, 3, 2, 4, 30), None)
    """
    try:
        moment = moment if isinstance(moment, datetime) else _iso(moment or "")
        return (moment.astimezone(zone) if moment.tzinfo else moment).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def wall_clock(sent_at: str | datetime | None, zone: tzinfo | None) -> datetime | None:
    """What the sender's clock showed, without a zone; None for what is no ISO time.

    zone: of the reader, who stands for the sender where the log gives its times in UTC.

    Example:
        >>> wall_clock("2026-03-01T23:30:00-05:00", UTC), wall_clock("yesterday", UTC)
        (datetime.datetime(2026, 3, 1, 23, 30), None)
    """
    try:
        moment = sent_at if isinstance(sent_at, datetime) else _iso(sent_at or "")
    except ValueError:
        return None
    return moment.replace(tzinfo=None) if moment.utcoffset() else shown(moment, zone)


def now_ms() -> int:
    """Returns milliseconds since 1970 UTC by the machine's clock."""
    return time.time_ns() // 1_000_000
