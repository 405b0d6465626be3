"""Counts messages by the day on which they were sent. Callers read in one transaction.

Tested in tests/browsing/test_days.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from treemem.digest import scopes
from treemem.store.database import Database
from treemem.store.file import memo
from treemem.tree import remembered, tally
from treemem.types import DayCount, Scope

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def counts(database: Database, scope: Scope | None, zone: tzinfo | None) -> list[DayCount]:
    """How many messages of the sources of a scope were sent on each day, in order."""
    key = ("days", scope, zone)
    return list(memo.kept(database, key, lambda: _counts(database, scope, zone)))


def _counts(database: Database, scope: Scope | None, zone: tzinfo | None) -> list[DayCount]:
    seqs = scopes.source_seqs(database, scope)
    quarters = (
        tally.of_everything(database).quarters if seqs is None else _of_sources(database, seqs)
    )
    days = Counter[str]()
    for quarter, messages in quarters.items():
        moment = timedelta(milliseconds=quarter * tally.QUARTER_MS)
        try:
            days[(_EPOCH + moment).astimezone(zone).date().isoformat()] += messages
        except OverflowError:  # a zone can move a time out of the calendar
            continue
    return [DayCount(day, days[day]) for day in sorted(days)]


def _of_sources(database: Database, seqs: Sequence[int]) -> Counter[int]:
    def read(some: Sequence[int]) -> dict[int, Counter[int]]:
        return {seq: tally.of_source(database, seq) for seq in some}

    quarters = Counter[int]()
    for found in remembered.of_sources(database, "quarters", seqs, read).values():
        quarters.update(found)
    return quarters
