"""What a log no longer holds when it is read again: it steps back in its source's history.

Words stay stored; only the state of messages in one source changes. It never decides whether
a log holds all of its source: the importer says so with Source.snapshot and Source.rewritten.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from treemem.store import messages
from treemem.store.database import Database

_HISTORY = """
SELECT sm.message_seq, sm.position, m.identity FROM source_message sm
JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? AND sm.state = 'active' ORDER BY sm.position
"""
_STORED = """
SELECT m.id, m.identity FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ?
"""
_SET_STATE = "UPDATE source_message SET state = ? WHERE source_seq = ? AND position = ?"


class Held(NamedTuple):
    """A message that a log holds. replaces: the number of the one it is a new version of."""

    id: str
    identity: str | None
    replaces: int | None


def replace_missing(database: Database, source_seq: int, held: Set[Held]) -> None:
    """Marks what is no longer in a document as replaced."""
    kept = _seqs(database, held)
    rows = database.rows(_HISTORY, (source_seq,))
    gone = [position for seq, position, _ in rows if seq not in kept]
    database.many(_SET_STATE, [("replaced", source_seq, position) for position in gone])


def abandon_taken_back(database: Database, source_seq: int, held: Set[Held]) -> None:
    """Marks as abandoned what a tool took out of the end of its log before it went on.

    Only if the log holds something new: else it may be an older copy. Only what was read behind
    all that is still there: what is missing before that, a compaction left out.
    """
    stored = database.rows(_STORED, (source_seq,))
    ids, identities = {row[0] for row in stored}, {row[1] for row in stored} - {None}
    if all(_is_old(item, ids, identities) for item in held):
        return
    kept = _seqs(database, held) | {item.replaces for item in held}
    named = {item.identity for item in held} - {None}
    gone: list[int] = []
    is_any_there = False
    for seq, position, identity in database.rows(_HISTORY, (source_seq,)):
        if seq in kept or identity in named:
            is_any_there = True
            gone.clear()
        else:
            gone.append(position)
    if is_any_there:
        database.many(_SET_STATE, [("abandoned", source_seq, position) for position in gone])


def _is_old(item: Held, ids: Set[str], identities: Set[str]) -> bool:
    return item.id in ids or item.identity in identities or item.replaces is not None


def _seqs(database: Database, held: Set[Held]) -> set[int]:
    return set(messages.known_ids(database, [item.id for item in held]).values())
