"""Reads the filter of an address: a scope, a time, a page; and makes addresses of the same filter.

Tested in tests/web/test_filters.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from treemem.errors import UsageError
from treemem.memory import Memory
from treemem.types import Scope

# The parts of a scope that an address may have.
SCOPE = ("source", "tool", "project", "person", "topic")
TIMES = ("since", "until")
# Characters of a value in an address, and the last page of a list.
VALUE_CHARS_MAX = 400
PAGE_MAX = 200
# What may be written where a time is asked for.
TIME_EXAMPLES = ("today", "yesterday", "last week", "last month", "last year")


class Filters(NamedTuple):
    """The parameters of an address that are not empty. path: of the page. values: by name."""

    path: str
    values: dict[str, str]

    @property
    def scope(self) -> Scope:
        """What the filter admits. Raises UsageError."""
        chosen: dict[str, Any] = {name: self.values.get(name) for name in SCOPE}
        return Scope.where(**chosen)

    @property
    def is_set(self) -> bool:
        """Whether a scope or a time is given."""
        return any(name in self.values for name in (*SCOPE, *TIMES))

    @property
    def page(self) -> int:
        """The number of the page of a list, from 1. Raises UsageError."""
        given = self.values.get("page", "1")
        if not given.isascii() or not given.isdecimal() or not 1 <= int(given[:9]) <= PAGE_MAX:
            raise UsageError(
                f"There are pages 1 to {PAGE_MAX}, not {given!r}; a narrower filter shows more."
            )
        return int(given)

    @property
    def address(self) -> str:
        """The address of this filter."""
        return self.but()

    @property
    def query(self) -> str:
        """The part of the address after the question mark."""
        return urlencode(self.values)

    def but(self, **changes: object) -> str:
        """The address of this filter with other values; None leaves one out. Subtle: of another
        filter the first page is shown."""
        changed: dict[str, object] = {**self.values, "page": None, **changes}
        rest = urlencode({name: value for name, value in changed.items() if value is not None})
        return f"{self.path}?{rest}" if rest else self.path


def filters_of(path: str, given: Mapping[str, str], names: tuple[str, ...]) -> Filters:
    """The filter of an address. names: the parameters that the page has; others are left out."""
    known = {name: given[name].strip()[:VALUE_CHARS_MAX] for name in names if name in given}
    return Filters(path, {name: value for name, value in known.items() if value})


def filters_in(query: str, path: str, names: tuple[str, ...]) -> Filters:
    """The filter of the part of an address after the question mark, such as a form sends back."""
    return filters_of(path, dict(parse_qsl(query)), names)


def choices(memory: Memory, filters: Filters) -> dict[str, Any]:
    """What a form of filters offers, for parts.html: what is known, and the values now."""
    known = memory.known_names()
    topic = filters.values.get("topic")
    has_topic = topic is None or any(one == topic for one, _ in known.topics)
    return {
        "filters": filters, "chosen": filters.values, "known": known,
        "other_topic": None if has_topic else topic, "time_examples": TIME_EXAMPLES,
    }  # fmt: skip
