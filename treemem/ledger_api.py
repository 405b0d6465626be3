"""Lets users read the ledger, and close, reopen and drop its entries.

Tested in tests/ledger/test_reading.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo
from typing import Any, TypeVar

from treemem import times
from treemem.arguments import checked, in_page
from treemem.digest import scopes
from treemem.errors import UsageError
from treemem.ledger import choices, reading
from treemem.search import date_filter
from treemem.store.database import Database
from treemem.times import Clock
from treemem.tree import browse
from treemem.types import (
    ENTRY_KINDS,
    ENTRY_STATES,
    ORIGINS,
    Entry,
    EntryKind,
    EntryOrder,
    EntryState,
    Origin,
    Scope,
    one_or_more,
)

T = TypeVar("T", bound=str)


@checked
class Ledger:
    """The ledger of one memory: everything that was picked in leaves, each in its own words.

    Call it to read entries. An unambiguous beginning of an entry's id is enough.
    """

    def __init__(
        self, database: Database, clock: Clock,
        limited: Callable[[Any], Any] | None = None,
    ) -> None:  # fmt: skip
        self._database = database
        self._clock = clock
        self._limited = limited or (lambda found: found)

    def __call__(
        self,
        scope: Scope | None = None,
        *,
        kinds: Iterable[EntryKind] = ENTRY_KINDS,
        states: Iterable[EntryState] = reading.HOLDING,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        order: EntryOrder = "salience",
        limit: int | None = None,
        offset: int = 0,
        node: str | None = None,
        zone: tzinfo | str | None = None,
        origins: Iterable[Origin] = ORIGINS,
    ) -> list[Entry]:
        """Returns the entries of a scope that hold, the most salient first.

        kinds, states: see types.ENTRY_KINDS and types.ENTRY_STATES. since, until: inclusive limits
        as in Memory.search, for the time from the first to the last mention. order: "time" for the
        order in which they were last said, "latest" for its reverse. limit, offset: at most so
        many, after the first so many. node: a node's id; only the entries below it. zone: whose
        days the limits are; None for the machine's. origins: of their words, see types.ORIGINS.
        Raises UsageError, and NotFoundError or AmbiguousIdError for the scope and the node.
        """
        wanted = reading.Filter(
            _known(kinds, ENTRY_KINDS, "kind"), _known(states, ENTRY_STATES, "state"),
            *date_filter.bounds(since, until, times.of_reader(times.local(self._clock()), zone)),
            origins=_known(origins, ORIGINS, "origin"),
        )  # fmt: skip
        if order not in reading.ORDERS:
            raise UsageError(f"There is no order {order!r}; use {', '.join(reading.ORDERS)}.")
        in_page(limit, offset)
        with self._database.reading():
            if node is not None:
                wanted = wanted._replace(node_id=browse.node_row(self._database, node)[1])
            entries = reading.entries_of(
                self._database, scopes.resolved(self._database, scope), wanted,
                order=order, limit=limit, offset=offset,
            )  # fmt: skip
        limited: list[Entry] = self._limited(entries)
        return limited

    def count(
        self, scope: Scope | None = None, *, states: Iterable[EntryState] = reading.HOLDING
    ) -> dict[EntryKind, int]:
        """Returns how many entries of each kind a scope has."""
        wanted = reading.Filter(ENTRY_KINDS, _known(states, ENTRY_STATES, "state"))
        with self._database.reading():
            return reading.counts(self._database, scopes.resolved(self._database, scope), wanted)

    def show(self, entry_id: str, *, messages_max: int | None = None) -> Entry:
        """Returns an entry with the messages that say it, or the first messages_max of them. Raises
        NotFoundError, AmbiguousIdError."""
        with self._database.reading():
            entry: Entry = self._limited(reading.entry(self._database, entry_id, messages_max))
        return entry

    def close(self, entry_id: str) -> Entry:
        """Closes an open point or an error, also for when its log is read again. Raises
        NotFoundError, AmbiguousIdError, UsageError."""
        with self._database.transaction():
            return choices.close(self._database, entry_id, self._clock())

    def reopen(self, entry_id: str) -> Entry:
        """Makes an entry hold again. Raises NotFoundError, AmbiguousIdError."""
        with self._database.transaction():
            return choices.reopen(self._database, entry_id, self._clock())

    def drop(self, entry_id: str) -> Entry:
        """Hides an entry from now on, also when its log is read again. Raises NotFoundError,
        AmbiguousIdError."""
        with self._database.transaction():
            return choices.drop(self._database, entry_id, self._clock())

    def restore(self, entry_id: str) -> Entry:
        """Undoes what you chose about an entry: it is as the messages say. Raises NotFoundError,
        AmbiguousIdError."""
        with self._database.transaction():
            return choices.restore_entry(self._database, entry_id, self._clock())


def _known(given: Iterable[T], known: tuple[T, ...], what: str) -> tuple[T, ...]:
    """The values, if all are known. Raises UsageError."""
    values = one_or_more(given)
    for value in values:
        if value not in known:
            raise UsageError(f"There is no {what} {value!r} of entries; use {', '.join(known)}.")
    return values
