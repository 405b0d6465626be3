"""Forgets messages of a memory file, lists what was forgotten, and lifts its tombstones.

Tested in tests/forgetting/test_forget.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo

from treemem import times
from treemem.arguments import checked
from treemem.errors import SEE_FORGOTTEN, DatabaseLockedError, NotFoundError, UsageError
from treemem.forgetting import preview, removal, selection, tombstones, words
from treemem.forgetting.selection import Selection
from treemem.privacy import scrub
from treemem.privacy.policy import Redaction
from treemem.reports import ForgetReport, Forgotten, StepProgress
from treemem.search import date_filter
from treemem.store import imported_files, log_files, messages, settings, sources
from treemem.store.database import Database, json_list
from treemem.times import Clock
from treemem.types import Scope, TreeShape, one_or_more
from treemem.worker import run

_CONDEMN = """
INSERT OR IGNORE INTO condemned (message_seq, forgetting_seq)
SELECT value, ? FROM json_each(?)
"""
_NAMES = """
SELECT m.seq, m.id, m.identity, m.sent_at_ms, group_concat(a.alias, ' ') FROM message m
LEFT JOIN message_alias a ON a.message_seq = m.seq
WHERE m.seq IN (SELECT value FROM json_each(?)) GROUP BY m.seq
"""


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
        return self.chosen(wanted, dry_run=dry_run, progress=progress)

    def chosen(
        self,
        wanted: Selection,
        *,
        by: str | None = None,
        dry_run: bool = False,
        progress: StepProgress | None = None,
    ) -> ForgetReport:
        """The same for a selection. by: who chose, if it was not the caller, for the list."""
        if dry_run:
            with self._database.reading():
                return self._preview(selection.chosen(self._database, wanted))
        with self._database.transaction():
            report = self._condemn(wanted, [*wanted.chosen_by, *filter(None, [by])])
        finish(self._database, self._clock, self._shape, progress)
        return report

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

    # -- steps ---------------------------------------------------------------------------

    def _preview(self, seqs: Sequence[int]) -> ForgetReport:
        report = preview.report_of(self._database, seqs)
        report.texts = words.clean(self._database, seqs, write=False)
        return report

    def _condemn(self, wanted: Selection, chosen_by: Sequence[str]) -> ForgetReport:
        """Decides everything in one transaction: after it, a kill only delays the rest."""
        seqs = selection.chosen(self._database, wanted)
        report = preview.report_of(self._database, seqs)
        if not seqs:
            return report
        report.id = tombstones.record(
            self._database, self._clock(), chosen_by,
            (report.messages, len(report.sources), report.leaves + sum(report.groups.values())),
        )  # fmt: skip
        self._database.execute(_CONDEMN, (report.id, json_list(seqs)))
        tombstones.put(self._database, report.id, self._names(seqs))
        report.texts = words.clean(self._database, seqs, write=True)
        for _, source_id in sources.of_messages(self._database, seqs):
            imported_files.forget_states(self._database, source_id)
        imported_files.forget_looks(self._database)
        log_files.forget_marks(self._database)  # their states have texts of the logs
        settings.put(self._database, settings.SCRUB_PENDING, "1")
        scrub.count(self._database)
        return report

    def _names(self, seqs: Sequence[int]) -> Iterator[str]:
        """Yields all that these messages, and the titles of their sources, are known by."""
        stored = messages.by_seq(self._database, seqs)
        rows = self._database.rows(_NAMES, (json_list(seqs),))
        redaction = Redaction.of(self._database, True)
        for seq, message_id, identity, sent_at_ms, aliases in rows:
            # What was stored without a redaction may be read with one, and the other way round.
            known = {redaction.alias(message_id), *(aliases or "").split()}
            yield from tombstones.names_of(
                identity, [message_id], stored[seq], known, is_dated=sent_at_ms is not None
            )
        for _, source_id in sources.of_messages(self._database, seqs):
            yield f"source:{source_id}"


def finish(
    database: Database, clock: Clock, shape: TreeShape, progress: StepProgress | None = None
) -> None:
    """Removes what is condemned, makes the views of what stays, and rewrites the file. Does nothing
    if nothing is condemned. Raises DatabaseLockedError if the file cannot be rewritten now."""
    if not tombstones.unfinished(database):
        return
    removal.remove(database, clock, shape, progress)
    run.Run(database, clock, shape, run.limits(0, None, None)).work()
    scrub.empty_free_pages(database)
    with database.transaction():
        tombstones.finish(database)


def go_on(database: Database, clock: Clock, shape: TreeShape) -> None:
    """Finishes what an interrupted process had begun to forget, unless another one uses the
    file."""
    with contextlib.suppress(DatabaseLockedError):
        finish(database, clock, shape)
