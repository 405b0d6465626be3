"""Writes days and periods as people do, such as "8 May – 22 Oct 2023".

Days are the reader's. A time that is no ISO date has no day, and what has none is left out.
"""

from __future__ import annotations

from datetime import date

from treemem import times
from treemem.patterns import lazy_regex

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_DAY = lazy_regex(r"\s*(\d{4})-(\d{2})-(\d{2})(?!\d)")


def day_of(sent_at: str | None) -> date | None:
    """The day of an ISO time, in the machine's zone; as written if the time has no zone.

    Example:
        >>> day_of("2026-03-01T23:30:00"), day_of("2026-03-01, late")
        (datetime.date(2026, 3, 1), datetime.date(2026, 3, 1))
    """
    moment = times.shown(sent_at, times.local_zone())
    if moment is not None:
        return moment.date()
    match = _DAY.match(sent_at or "")
    if match is None or not match[0].isascii():
        return None
    try:
        return date(*map(int, match.groups()))
    except ValueError:
        return None


def period(started_at: str | None, ended_at: str | None) -> str:
    """The days from one time to another; "" without any.

    Example:
        >>> period("2023-05-08T13:56:00", "2023-10-22"), period("2025-07-03", "2025-07-03")
        ('8 May – 22 Oct 2023', '3 Jul 2025')
        >>> period("2024-12-30", "2025-01-02"), period("2026-03-01", "2026-03-09")
        ('30 Dec 2024 – 2 Jan 2025', '1 – 9 Mar 2026')
    """
    start, end = day_of(started_at), day_of(ended_at)
    start, end = start or end, end or start
    if start is None or end is None:
        return ""
    if start > end:
        start, end = end, start
    last = f"{end.day} {_MONTHS[end.month - 1]} {end.year}"
    if start == end:
        return last
    if (start.year, start.month) == (end.year, end.month):
        return f"{start.day} – {last}"
    first = f"{start.day} {_MONTHS[start.month - 1]}"
    return f"{first} – {last}" if start.year == end.year else f"{first} {start.year} – {last}"
