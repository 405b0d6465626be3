"""Forgets messages of a memory file, lists what was forgotten, and lifts its tombstones.

Tested in tests/forgetting/test_forget.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

from treemem import times
from treemem.arguments import checked
from treemem.errors import SEE_FORGOTTEN, NotFoundError, UsageError
from treemem.forgetting import condemning, tombstones
from treemem.forgetting.selection import Selection
from treemem.reports import ForgetReport, Forgotten, StepProgress
from treemem.search import date_filter
from treemem.store import imported_files, log_files
from treemem.store.database import Database
from treemem.times import Clock
from treemem.types import Scope, TreeShape, one_or_more


@checked
class Forget:
    """Forgets messages of one memory. Call it to forget."""

    def __init__(self, database: Database, clock: Clock, shape: TreeShape) -> None:
        self._database = database
        self._clock = clock
        self._shape = shape

    def __call__(
        self,
        scope: Scope | None = None,
        *,
        messages: str | Iterable[str] = (),
        text: str | None = None,
        pattern: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        zone: tzinfo | str | None = None,
        dry_run: bool = False,
        progress: StepProgress | None = None,
    ) -> ForgetReport:
        """Deletes the messages that fit everything that is named, all that was made of them, and
        every byte of them in the file.

        Their leaves and all nodes above are made again of what stays, by the queue; until a model
        has run they have extractive summaries. Reading their logs again does not bring them back.
        If the process is killed, the file is intact, and the next call or work() goes on.

        scope: a source, a topic, a session, or Scope.where(person=…). messages: ids, or the
        beginnings of ids. text: words, found in any case and only whole. pattern: a regular
        expression. since, until: as in Memory.search; messages without a time fit no limit.
        dry_run: changes nothing, and reports what would go. progress: called with the number of
        messages removed and of all. Raises UsageError if nothing is named, NotFoundError,
        AmbiguousIdError, and DatabaseLockedError if another process keeps the file from being
        rewritten: then call again.
        """
        now = times.of_reader(times.local(self._clock()), zone)
        wanted = Selection(
            scope, one_or_more(messages), text, pattern, *date_filter.bounds(since, until, now)
        )
        return condemning.forget(
            self._database, self._clock, self._shape, wanted, dry_run=dry_run, progress=progress
        )

    def list(self) -> Sequence[Forgotten]:
        """Returns what was forgotten, the latest first: when, how it was chosen and how much."""
        with self._database.reading():
            return [
                Forgotten(
                    row.seq, times.from_ms(row.at_ms) or "", tuple(row.chosen_by), row.messages,
                    row.sources, row.nodes, row.is_done, times.from_ms(row.undone_at_ms),
                )
                for row in reversed(tombstones.records(self._database))
            ]  # fmt: skip

    def undo(self, number: int) -> Forgotten:
        """Lets logs bring back what was forgotten then: it is stored again when they are read. What
        was not in a log stays forgotten. Raises NotFoundError, and UsageError if it was undone."""
        with self._database.transaction():
            found = [row for row in tombstones.records(self._database) if row.seq == number]
            if not found:
                raise NotFoundError(f"Nothing was forgotten as {number}.", hint=SEE_FORGOTTEN)
            if found[0].undone_at_ms is not None:
                raise UsageError(f"What was forgotten as {number} was undone already.")
            tombstones.lift(self._database, number, self._clock())
            imported_files.forget_all(self._database)
            log_files.forget_marks(self._database)
        return next(one for one in self.list() if one.id == number)
