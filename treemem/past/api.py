"""Opens a memory as it was at a past time.

Memory inherits the methods; the functions need no memory.

Tested in tests/past/test_past.py.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, Self

from treemem import times
from treemem.arguments import checked
from treemem.errors import UsageError
from treemem.reports import StepProgress
from treemem.sessions.boundary import Bounded
from treemem.times import Clock
from treemem.types import Scope, TreeShape

# The first year has times that are in no year in another zone.
_FIRST_MS: Final = times.to_ms(datetime(2, 1, 1, tzinfo=UTC))


@checked
class PastMethods(Bounded):
    """The methods of Memory for what was known at a past time."""

    _clock: Clock
    _shape: TreeShape
    _as_of_ms: int | None = None

    @property
    def as_of_at(self) -> str | None:
        """The time whose memory this is, with the zone of this machine; None for that of now."""
        return None if self._as_of_ms is None else times.local(self._as_of_ms).isoformat()

    def as_of(
        self,
        when: str | datetime,
        scope: Scope | None = None,
        *,
        with_topics: bool = True,
        progress: StepProgress | None = None,
    ) -> Self:
        """Returns the memory as it would be if only the messages said until then had been stored.
        Close it after use; it is also a context manager.

        It is made in RAM, without a model, and can be asked all that a memory is asked, but not
        changed. when: a day (its end), a time, or words such as "last week", as until of search.
        scope: what is asked about; of other sources it has only what belongs to the same project
        or gives a rule for all. None for everything. with_topics: False leaves out topics and the
        tree of everything, which the ledger does not need. progress: called with the number of
        messages done and their total. Of an entry that you closed, dropped or pinned, the choice
        that held then counts. Raises UsageError for a time in the future, or before the year 2.
        """
        from treemem.past.building import built
        from treemem.search import date_filter

        now = times.local(self._clock())
        try:
            until_ms = date_filter.bound(when, "until", now)
        except UsageError as error:
            raise UsageError(f"The past time{str(error).removeprefix('until')}") from None
        if date_filter.bound(when, "since", now) > times.to_ms(now):
            raise UsageError(f"{str(when)[:80]!r} is in the future: nothing is known of it yet.")
        if until_ms < _FIRST_MS:
            raise UsageError(f"{str(when)[:80]!r} is before the year 2, of which nothing is known.")
        database = built(
            self._database, until_ms, scope, self._shape, progress, above=with_topics
        )  # fmt: skip
        made: Any = type(self)
        past: Self = made(database, lambda: until_ms, self._shape, self._agent)
        past._as_of_ms = until_ms
        return past
