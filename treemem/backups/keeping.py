"""Says which snapshots of a folder are kept: the last ones, and one of each day, week and so on.

Pure. Periods are those of UTC, so that the same snapshots are kept everywhere.

Tested in tests/backups/test_keeping.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from treemem.errors import UsageError

# Some hours back in small steps, a month in days and a quarter of a year in weeks.
DEFAULT = "last=7,daily=30,weekly=12"
# Keeps every snapshot.
ALL = "all"
# What two snapshots of one period have in common.
_PERIODS: dict[str, Callable[[datetime], object]] = {
    "last": lambda moment: moment,
    "hourly": lambda moment: (moment.date(), moment.hour),
    "daily": lambda moment: moment.date(),
    "weekly": lambda moment: tuple(moment.isocalendar())[:2],
    "monthly": lambda moment: (moment.year, moment.month),
    "yearly": lambda moment: moment.year,
}
_NUMBER_MAX = 100_000


def parsed(policy: str) -> dict[str, int] | None:
    """The numbers of a policy by period; None for all. Raises UsageError.

    Example:
        >>> parsed("last=7, daily=30")
        {'last': 7, 'daily': 30}
    """
    if policy.strip() == ALL:
        return None
    numbers: dict[str, int] = {}
    for item in policy.split(","):
        name, _, number = item.strip().partition("=")
        is_number = number.isascii() and number.isdigit() and 0 < int(number[:9]) <= _NUMBER_MAX
        if name not in _PERIODS or not is_number:
            raise UsageError(
                f"{item.strip()!r} does not say what is kept. Write all, or a list such as "
                f"{DEFAULT}, of {', '.join(_PERIODS)}."
            )
        numbers[name] = int(number)
    return numbers


def kept(made_at_ms: Mapping[str, int], policy: Mapping[str, int] | None) -> set[str]:
    """The names of the snapshots to keep. made_at_ms: by name. The newest is always kept.

    Of each period that has snapshots its last one counts, and as many periods as the policy says,
    from the newest on; periods without a snapshot take no place.

    Example:
        >>> day = 86_400_000
        >>> sorted(kept({"a": 0, "b": 1_000, "c": day, "d": 2 * day}, {"daily": 2}))
        ['c', 'd']
    """
    if policy is None:
        return set(made_at_ms)
    newest_first = sorted(made_at_ms, key=lambda name: (made_at_ms[name], name), reverse=True)
    names = set(newest_first[:1])
    for period, number in policy.items():
        seen: set[object] = set()
        for name in newest_first:
            moment = datetime.fromtimestamp(made_at_ms[name] / 1000, UTC)
            key = name if period == "last" else _PERIODS[period](moment)
            if key in seen:
                continue
            if len(seen) == number:
                break
            seen.add(key)
            names.add(name)
    return names
