"""Removes condemned messages and everything that was made of them.

One source after the other, each in a transaction that leaves the file consistent, so that the next
call goes on after a kill. What stays of a source is sealed again from the first leaf on that had
such a message; a source without any message left goes too.

Tested in tests/forgetting/test_forget.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from treemem.forgetting.words import MARKER
from treemem.ledger import update
from treemem.privacy.reseal import reseal_sources
from treemem.reports import StepProgress
from treemem.store import imported_files, json_text, long_messages, sources
from treemem.store.database import Database, Row, json_list
from treemem.times import Clock
from treemem.tree import builder, everything
from treemem.types import TreeShape

# Messages that are removed in one transaction.
AT_ONCE = 2_000

_NEXT = """
SELECT message_seq FROM condemned WHERE message_seq IN (
  SELECT message_seq FROM source_message WHERE source_seq = (
    SELECT min(sm.source_seq) FROM condemned c JOIN source_message sm USING (message_seq)))
ORDER BY message_seq LIMIT ?
"""
_OF_NO_SOURCE = "SELECT message_seq FROM condemned ORDER BY message_seq LIMIT ?"
# In this order, since rows refer to each other. Most statements went with their leaves.
_TAKE_OUT = (
    "DELETE FROM statement WHERE seq IN (SELECT statement_seq FROM citation WHERE message_seq IN "
    "(SELECT value FROM json_each(?)))",
    "DELETE FROM event_day WHERE message_seq IN (SELECT value FROM json_each(?))",
    "DELETE FROM program_state WHERE message_seq IN (SELECT value FROM json_each(?))",
    "UPDATE turn SET message_seq = NULL WHERE message_seq IN (SELECT value FROM json_each(?))",
    "DELETE FROM source_message WHERE message_seq IN (SELECT value FROM json_each(?))",
    "DELETE FROM condemned WHERE message_seq IN (SELECT value FROM json_each(?))",
    "DELETE FROM message WHERE seq IN (SELECT value FROM json_each(?))",
)
_TURNS = """
SELECT session_seq, position, content FROM turn
WHERE message_seq IN (SELECT value FROM json_each(?))
"""
_EMPTY_TURN = """
UPDATE turn SET content = ?, brief = ?, shown = NULL, shown_tokens = NULL, attached = NULL
WHERE session_seq = ? AND position = ?
"""
# What a provider needs of a message to accept the ones around it.
_KEPT_KEYS = frozenset({"role", "type", "id", "tool_call_id", "tool_use_id", "call_id", "name"})


def remove(
    database: Database, clock: Clock, shape: TreeShape, progress: StepProgress | None = None
) -> None:
    """Removes the condemned messages. progress: called with the number of messages removed so far,
    and of all."""
    total = int(database.value("SELECT count(*) FROM condemned"))
    done = 0
    while done < total:
        with database.transaction():
            rows = database.rows(_NEXT, (AT_ONCE,)) or database.rows(_OF_NO_SOURCE, (AT_ONCE,))
            seqs = [seq for (seq,) in rows]
            if not seqs:  # another process was quicker
                break
            had = sources.of_messages(database, seqs)
            reseal_sources(database, seqs, clock(), shape, before_sealing=_taking(database, seqs))
            _remove_empty_sources(database, [source_seq for source_seq, _ in had])
            update.refresh(database)
        done += len(seqs)
        if progress is not None:
            progress(done, total)


def _taking(database: Database, seqs: Sequence[int]) -> Callable[[], None]:
    def take_out() -> None:
        chosen = json_list(seqs)
        for seq in seqs:
            long_messages.forget(database, seq)
        for session_seq, position, content in database.rows(_TURNS, (chosen,)):
            emptied = json.dumps(_emptied(json_text.value_of(content)))
            database.execute(_EMPTY_TURN, (emptied, MARKER, session_seq, position))
        for sql in _TAKE_OUT:
            database.execute(sql, (chosen,))

    return take_out


def _emptied(value: Any, key: str = "") -> Any:
    """A provider's message without its words, which has the same form."""
    if isinstance(value, dict):
        return {} if key == "input" else {name: _emptied(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_emptied(one, key) for one in value]
    if not isinstance(value, str) or key in _KEPT_KEYS:
        return value
    return "{}" if key == "arguments" else MARKER


# -- sources without messages ----------------------------------------------------------

# Of those that had messages: that of a live session without a turn has none, and stays.
_EMPTY = """
SELECT s.seq, s.id, s.origin FROM source s
WHERE s.seq IN (SELECT value FROM json_each(?))
  AND NOT EXISTS (SELECT 1 FROM source_message sm WHERE sm.source_seq = s.seq)
"""
_LET_GO = (
    "DELETE FROM live_session WHERE source_seq = :seq",
    "DELETE FROM source_end WHERE source_seq = :seq",
    "DELETE FROM log_file WHERE :origin IN (path, place)",
    "UPDATE usage SET scope = NULL, key = NULL WHERE scope = 'source' AND key = :id",
    "UPDATE source SET parent_id = NULL WHERE parent_id = :id",
    "DELETE FROM job WHERE EXISTS (SELECT 1 FROM json_each(payload) WHERE value = :id)",
    "UPDATE entry SET dirty = 2 WHERE home = :seq",
    "DELETE FROM source WHERE seq = :seq",
)
_LOOSE_SESSIONS = """
DELETE FROM log_session WHERE NOT EXISTS (
  SELECT 1 FROM source_message sm WHERE sm.session_seq = log_session.seq)
"""


def _remove_empty_sources(database: Database, source_seqs: Sequence[int]) -> None:
    """Removes those of these sources of which no message is left."""
    for row in database.rows(_EMPTY, (json_list(source_seqs),)):
        _remove_source(database, row)
    database.execute(_LOOSE_SESSIONS)


def _remove_source(database: Database, row: Row) -> None:
    seq, source_id, origin = row
    tree = builder.find_tree(database, "source", source_id)
    if tree is not None:
        builder.drop(database, tree)
        everything.forget(database)
    imported_files.forget_states(database, source_id)
    for sql in _LET_GO:
        database.execute(sql, {"seq": seq, "id": source_id, "origin": origin})
