"""Retires the messages that a log no longer contains when it is read again.

The messages stay stored; only their states in this source change. The importer says whether a log
contains its whole source: see Source.snapshot and Source.rewritten.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from treemem.ingest.matching import LogMessage, has_news, stored_seqs
from treemem.store import imported_files, messages, sources
from treemem.store.database import Database
from treemem.times import Clock
from treemem.types import Source
from treemem.worker import source_jobs


def retire_missing(
    database: Database, source: Source, in_log: AbstractSet[LogMessage], clock: Clock
) -> None:
    """Replaces or abandons the messages that a log no longer contains, in one transaction. Does
    nothing if the source is not stored."""
    with database.transaction():
        source_seq = sources.seq_of(database, source.id)
        if source_seq is None:
            return
        if source.snapshot:
            replace_missing(database, source_seq, in_log)
            # If the document returns to an earlier state, that state must be read again, even after
            # a crash. So the states are forgotten before any message of this one is stored.
            imported_files.forget_states(database, source.id)
        elif source.rewritten:
            abandon_taken_back(database, source_seq, in_log)
        source_jobs.admit_seal(database, source.id, clock())


def replace_missing(database: Database, source_seq: int, in_log: AbstractSet[LogMessage]) -> None:
    """Marks the messages that are no longer in a document as replaced."""
    present = stored_seqs(database, in_log)
    missing = [
        member.position
        for member in messages.history(database, source_seq)
        if member.is_active and member.seq not in present
    ]
    messages.set_state(database, source_seq, missing, "replaced")


def abandon_taken_back(
    database: Database, source_seq: int, in_log: AbstractSet[LogMessage]
) -> None:
    """Marks as abandoned the messages that a tool removed from the end of its log.

    Does nothing unless the log contains a new message: it may be an older copy. Only messages
    after the last one still present count; those missing earlier were dropped by a compaction.
    """
    history = messages.history(database, source_seq)
    if not has_news(history, in_log):
        return
    present = stored_seqs(database, in_log) | {entry.replaces for entry in in_log}
    identities = {entry.identity for entry in in_log} - {None}
    taken_back: list[int] = []
    is_any_present = False
    for member in history:
        if not member.is_active:
            continue
        if member.seq in present or member.identity in identities:
            is_any_present = True
            taken_back.clear()
        else:
            taken_back.append(member.position)
    if is_any_present:
        messages.set_state(database, source_seq, taken_back, "abandoned")
