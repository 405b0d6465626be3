"""Gives leaves that were imported back to their topics, with what the user chose for those.

Tested in tests/backups/portable/test_exports.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treemem.store.database import Database
from treemem.topics import store as topic_store

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


def put(database: Database, lines: Iterable[dict[str, Any]]) -> None:
    """Puts the topics of an export in place of those that were made, in the caller's transaction.
    Leaves that are not there are left out. Raises KeyError for a field that is missing."""
    exported = list(lines)
    if not exported:
        return
    for topic in topic_store.topics(database):
        topic_store.remove(database, topic.id)
    for line in exported:
        topic_id = line["id"]
        database.execute(_TOPIC, (topic_id, line["name"], line["named"], line["pinned"]))
        database.many(_LEAF, [(own, topic_id, leaf) for leaf, own in line["leaves"]])
        for one in line["merged"]:
            database.execute(_ALIAS, (one["id"], one["into"], one["name"], one["gave_name"],
                                      one["pinned"], topic_id))  # fmt: skip
            database.many(_PART, [(one["id"], leaf) for leaf in one["leaves"]])
