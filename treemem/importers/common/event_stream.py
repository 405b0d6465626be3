"""The events of records that say one thing each: a message behind its source, or why there is
none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from treemem.importers.common.base import Event, Skipped
from treemem.importers.common.records import TOO_DEEP
from treemem.types import Message, Source

Item = TypeVar("Item")


def events_of(
    items: Iterable[Item | Skipped],
    message_of: Callable[[int, Item], Message | str],
    source_of: Callable[[Item], Source],
) -> Iterator[Event]:
    """Each item ends in one event; a source comes before the first message of each stretch.

    message_of: the message that an item is, or the reason why it is none, given its running
    number, those that are Skipped counted. source_of: whose it is; the same value each time.
    """
    current: Source | None = None
    for ordinal, item in enumerate(items):
        if isinstance(item, Skipped):
            yield item
            continue
        line: int | None = getattr(item, "line", None)
        try:
            found = message_of(ordinal, item)
        except RecursionError:
            yield Skipped(TOO_DEEP, line, problem=True)
            continue
        if isinstance(found, str):
            yield Skipped(found, line)
            continue
        source = source_of(item)
        if source is not current:
            current = source
            yield source
        yield found
