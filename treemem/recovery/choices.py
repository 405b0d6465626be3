"""Writes what the user chose, and live sessions, into a recovered memory.

No hash covers a choice. One about a rule or an entry is in a table and in its index; if they differ
it is kept apart, since a rule that the user never gave would be worse than none.

Tested in tests/recovery/test_recovering.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from treemem.recovery.finding import Found
from treemem.recovery.layouts import Row
from treemem.sessions import shapes
from treemem.store import json_text, messages, settings
from treemem.store.database import Database
from treemem.times import Clock
from treemem.topics import census
from treemem.topics import store as topic_store
from treemem.worker import collection_jobs

# A table whose rows are copied as they are, and the SQL that stores one.
_AS_THEY_ARE = {
    "awaited_title": "INSERT OR IGNORE INTO awaited_title VALUES (?, ?)",
    "log_file": "INSERT OR IGNORE INTO log_file VALUES (?, ?, ?, ?, ?, ?, ?)",
    "usage": "INSERT OR IGNORE INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
}
# What was forgotten must not come back from a log. A forgetting of which only the tombstones are
# left has no time and no numbers.
_FORGETTING = "INSERT OR IGNORE INTO forgetting VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_TOMBSTONE = "INSERT OR IGNORE INTO tombstone VALUES (?, ?)"
_CHOICE = """
INSERT OR IGNORE INTO entry_choice (seq, text, project, state, chosen_at_ms) VALUES (?, ?, ?, ?, ?)
"""
_STATE = """
INSERT OR IGNORE INTO program_state VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_END = """
INSERT OR IGNORE INTO source_end (source_seq, identity) SELECT seq, ? FROM source WHERE seq = ?
"""


def put_settings(database: Database, found: Found, apart: list[dict[str, object]]) -> None:
    """Writes settings, and what tells which messages were forgotten. Adds to apart a setting that
    is damaged."""
    for name, value in found.rows("setting"):
        if name in (settings.REDACTION, settings.SCRUBS) and json_text.value_of(value) is None:
            apart.append({"what": f"setting {name}", "why": "it is damaged", "text": value})
        else:
            settings.put(database, name, value)
    rows = found.rows("tombstone")
    unknown = {row[1] for row in rows} - {row[0] for row in found.rows("forgetting")}
    database.many(_FORGETTING, found.rows("forgetting"))
    database.many(_FORGETTING, [(seq, 0, "[]", 0, 0, 0, 1, None) for seq in sorted(unknown)])
    database.many(_TOMBSTONE, rows)


def put(
    database: Database, found: Found, known: Mapping[int, str], apart: list[dict[str, object]]
) -> int:
    """Writes choices, and what other tables say that nothing is derived from. known: the messages
    that are there. Returns the number of choices; adds to apart what is not sure."""
    for table, sql in _AS_THEY_ARE.items():
        database.many(sql, found.rows(table))
    database.many(_END, [(identity, seq) for seq, identity in found.rows("source_end")])
    database.many(_STATE, [row for row in found.rows("program_state")
                           if row[5] is None or row[5] in known])  # fmt: skip
    sure = _sure_choices(found, apart)
    database.many(_CHOICE, sure)
    return len(sure)


def _sure_choices(found: Found, apart: list[dict[str, object]]) -> list[Row]:
    rows = {row[0]: row for row in found.rows("entry_choice")}
    in_index = {seq: row for *row, seq in found.rows("sqlite_autoindex_entry_choice_1")}
    sure = []
    for seq in sorted(rows.keys() | in_index.keys()):
        text, project, state, at_ms = in_index.get(seq, rows.get(seq, ())[1:])
        if seq in rows:
            _, *said = rows[seq]
            if (
                said[:2] == [text, project]
                and state in (None, said[2])
                and at_ms in (None, said[3])
            ):
                sure.append(rows[seq])
            else:
                why = f"its index says {text!r} of {project!r}: {state} at {at_ms}"
                apart.append({"what": f"{said[2]} entry", "why": why, "text": said[0],
                              "project": said[1]})  # fmt: skip
        elif state is not None and at_ms is not None:
            sure.append((seq, text, project, state, at_ms))
        else:
            why = "what was decided about it is lost"
            apart.append({"what": "entry", "why": why, "text": text, "project": project})
    return sure


# -- topics ----------------------------------------------------------------------------

_TOPIC = "INSERT INTO topic (id, name, named, pinned) VALUES (?, ?, ?, ?)"
_LEAF = """
INSERT OR IGNORE INTO topic_leaf (topic_seq, node_seq, own)
SELECT t.seq, n.seq, ? FROM topic t, node n WHERE t.id = ? AND n.id = ?
"""
_ALIAS = """
INSERT OR IGNORE INTO topic_alias (id, topic_seq, into_id, name, gave_name, pinned)
SELECT ?, t.seq, ?, ?, ?, ? FROM topic t WHERE t.id = ?
"""
_PART = """
INSERT OR IGNORE INTO topic_part (alias, node_seq)
SELECT a.id, n.seq FROM topic_alias a, node n WHERE a.id = ? AND n.id = ?
"""


def put_topics(database: Database, found: Found, clock: Clock) -> int:
    """Gives the leaves that are there again back to their topics, with what the user chose for
    those. Returns how many topics the user named, pinned or merged."""
    topics = {row[0]: row for row in found.rows("topic")}
    if not topics:
        return 0
    leaves = {row[0]: row[1] for row in found.rows("node") if row[2] == 0}
    aliases = [row for row in found.rows("topic_alias") if row[1] in topics]
    with database.transaction():
        for topic in topic_store.topics(database):
            topic_store.remove(database, topic.id)
        for _, topic_id, name, named, pinned, *_ in topics.values():
            database.execute(_TOPIC, (topic_id, name if named else None, named, pinned))
        database.many(_LEAF, [
            (1 if own is None else own, topics[topic_seq][1], leaves[node_seq])
            for topic_seq, node_seq, own in found.rows("topic_leaf")
            if topic_seq in topics and node_seq in leaves
        ])  # fmt: skip
        for alias, topic_seq, into_id, name, gave_name, pinned in aliases:
            topic_id = topics[topic_seq][1]
            values = (alias, into_id or topic_id, name, gave_name or 0, pinned, topic_id)
            database.execute(_ALIAS, values)
        database.many(_PART, [(alias, leaves[node_seq]) for alias, node_seq in
                              found.rows("topic_part") if node_seq in leaves])  # fmt: skip
        census.forget(database)
        collection_jobs.admit(database, clock(), at_once=True)
    merged = {row[1] for row in aliases}
    return sum(bool(row[3] or row[4] or row[0] in merged) for row in topics.values())


# -- live sessions ---------------------------------------------------------------------

_SESSION = """
INSERT INTO live_session (seq, source_seq, agent, is_private, shape, window_tokens, reserve_tokens,
  tokenizer, system, correction, told_seq, failures, created_at_ms, used_at_ms, shares_facts)
SELECT ?, seq, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM source WHERE seq = ?
"""
_TURN = """
INSERT INTO turn (session_seq, position, content, tokens, message_seq, is_request, brief,
  is_personal) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_PIN = "INSERT INTO pin_change VALUES (?, ?, ?, ?, ?, ?, ?)"
_CHECKPOINT = "INSERT OR IGNORE INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?)"


def put_sessions(database: Database, found: Found, known: Mapping[int, str]) -> tuple[int, int]:
    """Writes the live sessions of which every turn is there and says what its message says. The
    window of each is made anew. Returns how many there are, and how many were left out."""
    turns: dict[int, list[Row]] = defaultdict(list)
    for row in found.rows("turn"):
        turns[row[0]].append(row)
    whole = set()
    rows = found.rows("live_session")
    for row in rows:
        (seq, source_seq, *rest) = row
        its = turns.get(seq, [])
        if _is_whole(database, row, its, known):
            values = (*rest[:-1], rest[-1] or 0)
            if database.changed(_SESSION, (seq, *values, source_seq)):
                whole.add(seq)
                database.many(_TURN, [(*turn[:7], turn[10] or 0) for turn in its])
    database.many(_PIN, [row for row in found.rows("pin_change") if row[1] in whole])
    database.many(_CHECKPOINT, [row for row in found.rows("checkpoint")
                                if row[2] in whole and row[3] <= len(turns[row[2]])])  # fmt: skip
    return len(whole), len(rows) - len(whole)


def _is_whole(database: Database, session: Row, turns: list[Row], known: Mapping[int, str]) -> bool:
    shape: shapes.Shape = session[4] or "openai"
    if [turn[1] for turn in turns] != list(range(len(turns))):
        return False
    stored = messages.by_seq(database, [turn[4] for turn in turns if turn[4] in known])
    names: dict[str, str] = {}
    for turn in turns:
        content = json_text.object_of(turn[2])
        if not content or (turn[4] is not None and turn[4] not in stored):
            return False
        try:
            parsed = shapes.parse(content, shape)
            names |= shapes.tool_names([parsed])
            message = shapes.to_message(parsed, names)
        except (ValueError, TypeError, KeyError, AttributeError):
            return False
        words: Any = None if message is None or not message.text.strip() else message.text
        if words != (None if turn[4] is None else stored[turn[4]].text):
            return False
    return True
