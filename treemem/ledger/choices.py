"""Lets the user close, reopen and drop entries of the ledger.

A choice is stored for the words of an entry and where they were said, so it outlives the log. It is
the same for a rule as one made by `treemem rule`. Runs in the caller's transaction.
"""

from __future__ import annotations

from treemem.errors import UsageError
from treemem.ledger import reading, update
from treemem.store import entries, entry_choices
from treemem.store.database import Database
from treemem.store.entry_choices import ChoiceState, EntryChoice
from treemem.types import Entry, EntryKind

CLOSABLE: tuple[EntryKind, ...] = ("open", "error")


def close(database: Database, entry_id: str, now_ms: int) -> Entry:
    """Closes an open point or an error. Raises UsageError for another kind, and as find does."""
    entry = reading.entry(database, entry_id)
    if entry.kind not in CLOSABLE:
        raise UsageError(
            f"Entry {entry.id} is no open point and no error but a {entry.kind}, which cannot be "
            f"closed. To hide it: treemem ledger drop {entry.id}"
        )
    return _choose(database, entry_id, "closed", now_ms)


def reopen(database: Database, entry_id: str, now_ms: int) -> Entry:
    """Makes an entry hold again that was closed, replaced or dropped."""
    return _choose(database, entry_id, "open", now_ms)


def drop(database: Database, entry_id: str, now_ms: int) -> Entry:
    """Hides an entry from now on, also when its log is read again."""
    return _choose(database, entry_id, "dropped", now_ms)


def _choose(database: Database, entry_id: str, state: ChoiceState, now_ms: int) -> Entry:
    seq = reading.row_of(database, entry_id)[0]
    mentions = entries.mentions(database, [seq])[seq]
    # A rule of a source without a project is known by its source.
    is_rule = any(m.kind == "constraint" and m.origin == "typed" for m in mentions)
    homes = {(m.text, m.rule_home if is_rule else m.project) for m in mentions}
    # A source may get a project later.
    homes |= {(m.text, m.source_id) for m in mentions if not m.project}
    for text, home in homes:
        entry_choices.put(database, EntryChoice(text, home, state, now_ms))
    entries.mark_dirty(database, sorted({m.text for m in mentions}))
    update.refresh(database)
    return reading.entry(database, entry_id)
