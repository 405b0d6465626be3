"""The days on which something was said, as bars by tool, and what was said on each.

Tested in tests/web/test_timeline.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treemem.assistants import texts
from treemem.browsing.on_day import DaysByTool, DaySource
from treemem.errors import NotFoundError
from treemem.memory import Memory
from treemem.types import Entry, Node
from treemem.web.answers import ask, page

# Months of the chart. Without gaps, this is fifteen years.
MONTHS_MAX = 180
# Entries of a day that are read, and shown.
ENTRIES_READ, ENTRIES_MAX = 300, 20
# Leaves of a day whose first statement is shown.
GISTS_MAX = 40
# The size of a chart, which the page stretches: units of a bar's place, and of the height.
_STEP, _HEIGHT = 10, 100


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a chart. key: its month or its day. numbers: messages of each tool. x: where its
    place begins. blocks: of each tool with messages, its number, the upper end and the height."""

    key: str
    numbers: tuple[int, ...]
    x: int
    blocks: tuple[tuple[int, float, float], ...]

    @property
    def total(self) -> int:
        """The messages of all tools."""
        return sum(self.numbers)


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars beside each other. width: in units. left_out: how many there are before the first."""

    bars: tuple[Bar, ...]
    width: int
    largest: int
    left_out: int = 0


def chart(numbers: Mapping[str, tuple[int, ...]], keys: Sequence[str], left_out: int = 0) -> Chart:
    """A chart of the numbers of these keys, in this order."""
    largest = max((sum(numbers.get(key, ())) for key in keys), default=0)
    bars = tuple(
        Bar(key, given := numbers.get(key, ()), at * _STEP, tuple(_blocks(given, largest)))
        for at, key in enumerate(keys)
    )
    return Chart(bars, max(len(bars), 1) * _STEP, largest, left_out)


def _blocks(numbers: Sequence[int], largest: int) -> Iterable[tuple[int, float, float]]:
    top = float(_HEIGHT)
    for tool, number in enumerate(numbers):
        if number:
            # A day with a single message is seen, too.
            height = max(_HEIGHT * number / largest, 1.5)
            top -= height
            yield tool, round(max(top, 0), 2), round(height, 2)


# -- months and days -------------------------------------------------------------------


def show_timeline(request: Request) -> Response:
    """The months, and the days of one."""
    found = ask(request, Memory.days_by_tool)
    values = _values(found, request.query_params.get("month", ""))
    is_empty = ask(request, lambda memory: memory.is_empty)
    return page(request, "timeline.html", **values, is_empty=is_empty)


def _values(found: DaysByTool, wanted: str) -> dict[str, Any]:
    months: dict[str, tuple[int, ...]] = {}
    for day, numbers in found.days.items():
        known = months.get(day[:7], (0,) * len(numbers))
        months[day[:7]] = tuple(map(sum, zip(known, numbers, strict=True)))
    month = wanted if wanted in months else next(reversed(months), "")
    keys = _without_large_gaps(list(months))
    shown = _around(keys, month)
    return {
        "found": found, "month": month,
        "before": _beside(list(months), month, -1), "after": _beside(list(months), month, 1),
        "months": chart(months, shown, keys.index(shown[0]) if shown else 0),
        "all_months": [(key, sum(months[key])) for key in shown if key in months],
        "days": chart(found.days, _days_of(month) if month else ()),
        "tools": [(name, sum(numbers[at] for numbers in found.days.values()))
                  for at, name in enumerate(found.tools)],
    }  # fmt: skip


def _around(keys: list[str], month: str) -> list[str]:
    """The latest months, or the latest of which one is the chosen month."""
    end = max(keys.index(month) + 1, 1) if month in keys[:-MONTHS_MAX] else len(keys)
    return keys[max(end - MONTHS_MAX, 0) : end]


def _without_large_gaps(months: list[str]) -> list[str]:
    """All months from the first to the last; those with messages alone if that would be too many,
    as with a message whose time is wrong."""
    if not months:
        return []
    first, last = _month_number(months[0]), _month_number(months[-1])
    if last - first >= MONTHS_MAX:
        return months
    return [f"{number // 12:04}-{number % 12 + 1:02}" for number in range(first, last + 1)]


def _month_number(month: str) -> int:
    return int(month[:-3]) * 12 + int(month[-2:]) - 1


def _days_of(month: str) -> list[str]:
    first = date.fromisoformat(f"{month}-01").toordinal()
    days = (date.fromordinal(first + at).isoformat() for at in range(31)
            if first + at <= date.max.toordinal())  # fmt: skip
    return [day for day in days if day.startswith(month)]


def _beside(keys: Sequence[str], key: str, by: int) -> str | None:
    """The next or the previous key that has messages."""
    later = [one for one in keys if (one > key if by > 0 else one < key)]
    return (later[0] if by > 0 else later[-1]) if later else None


# -- a day -----------------------------------------------------------------------------


def show_day(request: Request) -> Response:
    """What was said on a day."""
    day = request.path_params["day"]
    return page(request, "day.html", **ask(request, lambda memory: _day_values(memory, day)))


def _day_values(memory: Memory, day: str) -> dict[str, Any]:
    try:
        when = date.fromisoformat(day)
    except ValueError:
        when = None
    if when is None or when.isoformat() != day:
        raise NotFoundError(f"{day!r} is not a day: it is written as 2026-03-31.")
    said = memory.said_on(day)
    known = list(memory.days_by_tool().days)
    entries = memory.ledger(since=day, until=day, order="time", limit=ENTRIES_READ,
                            states=["holds", "closed", "superseded"])  # fmt: skip
    made = [one for one in entries if one.first_at is not None and one.kind != "fact"]
    began = [one for one in made if _is_on(one, day)]
    titles = memory.titles([one.id for one in said.sources])
    return {
        "day": day, "weekday": f"{when:%A}", "said": said,
        "before": _beside(known, day, -1), "after": _beside(known, day, 1),
        "sources": _with_gists(memory, said.sources), "titles": titles,
        "entries": began[:ENTRIES_MAX], "entries_left": max(len(began) - ENTRIES_MAX, 0),
    }  # fmt: skip


def _is_on(entry: Entry, day: str) -> bool:
    return texts.day(entry.first_at) == day


def _with_gists(memory: Memory, sources: Sequence[DaySource]) -> list[tuple[DaySource, list[Node]]]:
    """The sources, each with its leaves of that day, as long as these are not too many."""
    left, found = GISTS_MAX, []
    for source in sources:
        ids = source.node_ids[: max(left, 0)]
        left -= len(ids)
        found.append((source, [memory.node(node_id) for node_id in ids]))
    return found


ROUTES = [Route("/timeline", show_timeline), Route("/timeline/{day}", show_day)]
