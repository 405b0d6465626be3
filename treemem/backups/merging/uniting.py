"""Unites the history of a source here with that of another memory, and seals it again.

A history that only grows at its end is sealed on. Otherwise it is sealed from its beginning, of
what is active alone, so that both memories cut the same leaves; those that stay as they were keep
their summaries.

Tested in tests/backups/merging/test_merging.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from treemem.backups.merging import histories
from treemem.backups.merging.histories import Place
from treemem.backups.portable import rows
from treemem.privacy.reseal import reseal_sources
from treemem.store import messages, sources
from treemem.store.database import Database
from treemem.types import TreeShape

_HISTORY = """
SELECT m.id, m.sent_at_ms, m.identity, sm.state, l.id FROM source_message sm
JOIN message m ON m.seq = sm.message_seq LEFT JOIN log_session l ON l.seq = sm.session_seq
WHERE sm.source_seq = ? ORDER BY sm.position
"""
_OPEN = "SELECT message_seq, open_from FROM source_message WHERE source_seq = ?"
_TAKE_OUT = "DELETE FROM source_message WHERE source_seq = ?"
_PUT = """
INSERT INTO source_message (source_seq, position, message_seq, session_seq, state, open_from)
VALUES (?, ?, ?, ?, ?, ?)
"""
_LEAVES = """
SELECT n.id FROM tree t JOIN tree_node tn ON tn.tree_seq = t.seq AND tn.level = 0
JOIN node n ON n.seq = tn.node_seq WHERE t.scope = 'source' AND t.key = ? ORDER BY tn.position
"""
_FIRST_SEALED = """
SELECT ls.message_seq FROM tree t JOIN tree_node tn ON tn.tree_seq = t.seq AND tn.level = 0
JOIN leaf_span ls ON ls.node_seq = tn.node_seq WHERE t.scope = 'source' AND t.key = ?
ORDER BY tn.position, ls.ordinal LIMIT 1
"""
_HAS_INACTIVE = """
SELECT 1 FROM tree t JOIN tree_node tn ON tn.tree_seq = t.seq AND tn.level = 0
JOIN leaf_span ls ON ls.node_seq = tn.node_seq
JOIN source_message sm ON sm.message_seq = ls.message_seq AND sm.source_seq = ?
WHERE t.scope = 'source' AND t.key = ? AND sm.state <> 'active' LIMIT 1
"""


def would_change(database: Database, source_id: str, theirs: Sequence[Place]) -> bool:
    """Whether to unite a source that is stored here with a history changes that here."""
    ours = _history(database, sources.seq_of(database, source_id))
    union = histories.united(ours, theirs)
    return len(union) != len(ours) or histories.live(union) != histories.live(ours)


def _history(database: Database, seq: int | None) -> list[Place]:
    return [Place(*row) for row in database.rows(_HISTORY, (seq,))]


def unite(
    database: Database, source_id: str, theirs: Sequence[Place], their_leaves: Sequence[str],
    now_ms: int, shape: TreeShape,
) -> bool:  # fmt: skip
    """Brings two histories of a stored source together, in the caller's transaction, once all
    messages are stored. their_leaves: ids of the leaves that are sealed there. Returns whether
    anything has changed here."""
    seq = sources.seq_of(database, source_id)
    assert seq is not None
    ours = _history(database, seq)
    union = histories.united(ours, theirs)
    now, then = histories.live(ours), histories.live(union)
    is_longer = then[: len(now)] == now
    is_same = is_longer and len(ours) == len(union) and len(now) == len(then)
    differs = histories.live(theirs) != now or not _agree(database, source_id, their_leaves)
    if is_longer and not (differs and _has_inactive(database, seq, source_id)):
        if is_same:
            return False
        _put(database, seq, union)
        return True
    sealed = database.value(_FIRST_SEALED, (source_id,))
    if sealed is None:
        sealed = messages.seqs_by_id(database, [ours[0].message_id])[ours[0].message_id]
    reseal_sources(
        database, [sealed], now_ms, shape, before_sealing=lambda: _put(database, seq, union)
    )
    return True


def _agree(database: Database, source_id: str, theirs: Sequence[str]) -> bool:
    """Whether the same leaves are sealed here, or more, or fewer."""
    ours = [one for (one,) in database.rows(_LEAVES, (source_id,))]
    return all(one == other for one, other in zip(ours, theirs, strict=False))


def _has_inactive(database: Database, seq: int, source_id: str) -> bool:
    """Whether a leaf has a message that was abandoned or replaced after it was sealed."""
    return database.row(_HAS_INACTIVE, (seq, source_id)) is not None


def _put(database: Database, seq: int, union: Sequence[Place]) -> None:
    """Stores a history in place of that of a source; what is sealed of it stays so."""
    open_from: dict[int, int | None] = dict(database.rows(_OPEN, (seq,)))
    seqs = messages.seqs_by_id(database, [place.message_id for place in union])
    sessions = sources.session_seqs(database, {place.session for place in union})
    database.execute(_TAKE_OUT, (seq,))
    database.many(_PUT, [
        (seq, position, seqs[place.message_id], sessions.get(place.session), place.state,
         open_from.get(seqs[place.message_id], 0))
        for position, place in enumerate(union)
    ])  # fmt: skip
    database.execute(rows.OPEN_POSITION, {"source": seq, "next": len(union)})
