"""Decides what is forgotten in one transaction, and has it removed.

After that transaction a kill only delays the rest, which the next call or work() does.

Tested in tests/forgetting/test_forget.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from treemem.errors import DatabaseLockedError
from treemem.forgetting import copies, preview, removal, selection, tombstones, words
from treemem.forgetting.selection import Selection
from treemem.privacy import scrub
from treemem.privacy.policy import Redaction
from treemem.reports import ForgetReport, StepProgress
from treemem.store import imported_files, log_files, messages, settings, sources
from treemem.store.database import Database, json_list
from treemem.times import Clock
from treemem.types import TreeShape
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


def forget(
    database: Database,
    clock: Clock,
    shape: TreeShape,
    wanted: Selection,
    *,
    by: str | None = None,
    dry_run: bool = False,
    progress: StepProgress | None = None,
) -> ForgetReport:
    """Forgets what a selection chooses; see Forget. by: who chose, if it was not the user now."""
    if dry_run:
        with database.reading():
            seqs = selection.chosen(database, wanted)
            report = preview.report_of(database, seqs, selection.named_like(database, wanted))
            report.texts = words.clean(database, seqs, write=False)
        if report.messages:
            report.copies = copies.made_before(database, clock())
        return report
    now_ms = clock()
    with database.transaction():
        report = _condemn(database, now_ms, wanted, [*wanted.chosen_by, *filter(None, [by])])
    finish(database, clock, shape, progress)
    if report.messages:
        report.copies = copies.made_before(database, now_ms)
        copies.let_go(database)
    return report


def _condemn(
    database: Database, now_ms: int, wanted: Selection, chosen_by: Sequence[str]
) -> ForgetReport:
    seqs = selection.chosen(database, wanted)
    report = preview.report_of(database, seqs, selection.named_like(database, wanted))
    if not seqs:
        return report
    nodes = report.leaves + sum(report.groups.values())
    counts = (report.messages, len(report.sources), nodes)
    report.id = tombstones.record(database, now_ms, chosen_by, counts)
    database.execute(_CONDEMN, (report.id, json_list(seqs)))
    tombstones.put(database, report.id, _names(database, seqs))
    report.texts = words.clean(database, seqs, write=True)
    for _, source_id in sources.of_messages(database, seqs):
        imported_files.forget_states(database, source_id)
    imported_files.forget_looks(database)
    log_files.forget_marks(database)  # their states have texts of the logs
    settings.put(database, settings.SCRUB_PENDING, "1")
    scrub.count(database)
    return report


def _names(database: Database, seqs: Sequence[int]) -> Iterator[str]:
    """Yields all that these messages, and the titles of their sources, are known by."""
    redaction = Redaction.of(database, True)
    for start in range(0, len(seqs), words.AT_ONCE):
        some = seqs[start : start + words.AT_ONCE]
        stored = messages.by_seq(database, some)
        for seq, message_id, identity, sent_at_ms, aliases in database.rows(
            _NAMES, (json_list(some),)
        ):
            # What was stored without a redaction may be read with one, and the other way round.
            known = {redaction.alias(message_id), *(aliases or "").split()}
            yield from tombstones.names_of(
                identity, [message_id], stored[seq], known, is_dated=sent_at_ms is not None
            )
    for _, source_id in sources.of_messages(database, seqs):
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
