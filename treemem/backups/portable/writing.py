"""Writes a memory as JSON Lines that can be read without treemem, with these types of lines:

    header         format, version, schema, memory, time
    setting        choices of the memory, without secrets
    source         a session, a chat or a document
    message        words, id, time, author, origin and extras, word for word
    alias          only with the key: how a redacted message is recognized in its log
    forgotten      only with the key: what a log must not bring back, as hashes
    place          where a message is: source, position, session, branch, what of it is sealed
    leaf           the stretches of messages in a sealed leaf of a source, in order
    live_session … log_file  as in the schema, see tables.py
    topic          leaves, and the user's name, pin and merges
    summary        what a model wrote about a node, with citations
    end            the number of lines and the digest of all before

Not written is what is made again from these: extractive statements, the ledger, vectors, and trees
above the leaves; nor the queue.

Tested in tests/backups/portable/test_exports.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from typing import Any

from treemem import times
from treemem.backups import copying
from treemem.backups.portable import summaries
from treemem.backups.portable.tables import OTHERS, SESSIONS
from treemem.forgetting import tombstones
from treemem.privacy.policy import Policy, policy_of
from treemem.store import json_text, migrations, settings
from treemem.store.database import Database, json_list

FORMAT = "treemem export"
VERSION = 1
# Settings that are secrets, or are about this file alone.
_OWN = (settings.REDACTION, settings.REDACTION_KEY, settings.MEMORY_ID, settings.BLOB_FOLDERS,
        settings.COPIES, settings.BACKUP_OF, settings.SCRUB_PENDING, settings.SCRUBS,
        settings.IMPORTING, settings.SYNC)  # fmt: skip


def lines(database: Database, now_ms: int, *, with_key: bool) -> Iterator[bytes]:
    """Yields the lines of an export of what the file has now, each with its end of line. with_key:
    also the key by which redacted messages are recognized, and what depends on it."""
    memory_id = copying.memory_id(database)
    digest = hashlib.blake2b(digest_size=20)
    number = 0
    with database.reading():
        header = {
            "type": "header", "format": FORMAT, "version": VERSION,
            "schema": migrations.SCHEMA_VERSION, "memory": memory_id,
            "made_at": times.from_ms(now_ms), "made_at_ms": now_ms,
        }  # fmt: skip
        for line in (header, *_content(database, with_key=with_key)):
            data = encoded(line)
            digest.update(data)
            number += 1
            yield data
    yield encoded({"type": "end", "lines": number, "digest": digest.hexdigest()})


def encoded(line: dict[str, Any]) -> bytes:
    """A line, with its end. Lone surrogates, which UTF-8 does not have, are written as escapes."""
    try:
        return (json.dumps(line, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(line) + "\n").encode()


def _content(database: Database, *, with_key: bool) -> Iterator[dict[str, Any]]:
    yield from _settings(database, with_key=with_key)
    yield from sources_of(database)
    yield from messages_of(database)
    if with_key:
        yield from aliases_of(database)
        yield from _forgotten(database)
    yield from places_of(database)
    yield from leaves_of(database)
    for kind in SESSIONS:
        if kind.name == "live_session":
            told: dict[str, int] = dict(database.rows(_TOLD))
            for line in kind.lines(database):
                yield {**line, "told": told.get(line["source"], 0)}
        else:
            yield from kind.lines(database)
    for kind in OTHERS:
        yield from kind.lines(database)
    yield from topics_of(database)
    yield from summaries.lines(database)


_ALIASES = """
SELECT a.alias, m.id FROM message_alias a JOIN message m ON m.seq = a.message_seq
{} ORDER BY m.seq, a.alias
"""
# The messages of some sources, and those sources.
_IN = """
WHERE m.seq IN (SELECT message_seq FROM source_message WHERE source_seq IN (
  SELECT seq FROM source WHERE id IN (SELECT value FROM json_each(?))))
"""
_AMONG = "WHERE s.id IN (SELECT value FROM json_each(?))"
# Ids of sources; None for all.
Of = Collection[str] | None
_MARKS = "SELECT mark FROM tombstone WHERE forgetting_seq = ? ORDER BY mark"


def _some(database: Database, sql: str, condition: str, of: Of) -> Any:
    """The rows of a query of all sources, or of some."""
    if of is None:
        return database.execute(sql.format(""))
    return database.execute(sql.format(condition), (json_list(of),))


def aliases_of(database: Database, of: Of = None) -> Iterator[dict[str, Any]]:
    """Yields a line for each id that a redacted message is recognized by."""
    for alias, message_id in _some(database, _ALIASES, _IN, of):
        yield {"type": "alias", "alias": alias, "message": message_id}


def _forgotten(database: Database) -> Iterator[dict[str, Any]]:
    for row in tombstones.records(database):
        marks = [mark.hex() for (mark,) in database.rows(_MARKS, (row.seq,))]
        if row.is_done and marks:
            yield {
                "type": "forgotten", "at_ms": row.at_ms, "chosen_by": list(row.chosen_by),
                "counts": [row.messages, row.sources, row.nodes], "marks": marks,
            }  # fmt: skip


# How many changes of pins the last context of a session has shown.
_TOLD = """
SELECT s.id, (SELECT count(*) FROM pin_change p
  WHERE p.session_seq = ls.seq AND p.seq <= ls.told_seq)
FROM live_session ls JOIN source s ON s.seq = ls.source_seq
"""


def _settings(database: Database, *, with_key: bool) -> Iterator[dict[str, Any]]:
    for name, value in database.rows("SELECT name, value FROM setting ORDER BY name"):
        if name not in _OWN:
            yield {"type": "setting", "name": name, "value": value}
    policy = policy_of(database)
    if with_key:
        for name in (settings.REDACTION, settings.REDACTION_KEY):
            if (kept := settings.get(database, name)) is not None:
                yield {"type": "setting", "name": name, "value": kept}
    elif (plain := without_key(policy)) != Policy():
        value = {"pii": plain.pii, "allow": plain.allow, "deny": plain.deny}
        yield {"type": "setting", "name": settings.REDACTION, "value": json.dumps(value)}


def without_key(policy: Policy) -> Policy:
    """A policy without values that are stored as keyed hashes, and without fingerprints."""
    return Policy(
        policy.pii,
        tuple(one for one in policy.allow if not one.startswith("#")),
        tuple(one for one in policy.deny if not one.startswith("value:")),
    )


_SOURCES = """
SELECT s.id, s.format, s.title, s.origin, s.parent_id, s.project, s.is_mine, s.created_at_ms
FROM source s {} ORDER BY s.seq
"""


def sources_of(database: Database, of: Of = None) -> Iterator[dict[str, Any]]:
    """Yields a line for each source."""
    for row in list(_some(database, _SOURCES, _AMONG, of)):
        names = ("id", "format", "title", "origin", "parent", "project", "is_mine", "created_at_ms")
        yield {"type": "source", **dict(zip(names, row, strict=True))}


_ALL = """
SELECT m.seq, m.id, m.identity, m.external_id, m.role, m.author, m.kind, m.sent_at, m.sent_at_ms,
  m.origin, m.text, m.exact, m.extras FROM message m {} ORDER BY m.seq
"""


def messages_of(database: Database, of: Of = None) -> Iterator[dict[str, Any]]:
    """Yields a line for each message."""
    names = ("id", "identity", "external_id", "role", "author", "kind", "sent_at", "sent_at_ms",
             "origin")  # fmt: skip
    for _, *row in _some(database, _ALL, _IN, of):
        *plain, text, exact, extras = row
        words = text if exact is None else exact.decode("utf-8", "surrogatepass")
        line = {"type": "message", **dict(zip(names, plain, strict=True)), "text": words}
        yield {**line, "extras": json_text.object_of(extras)}


_PLACES = """
SELECT s.id, sm.position, m.id, l.id, sm.state, sm.open_from
FROM source_message sm JOIN source s ON s.seq = sm.source_seq
JOIN message m ON m.seq = sm.message_seq LEFT JOIN log_session l ON l.seq = sm.session_seq
{} ORDER BY s.seq, sm.position
"""
_LEAVES = """
SELECT t.key, n.id, n.seq FROM source s JOIN tree t ON t.scope = 'source' AND t.key = s.id
JOIN tree_node tn ON tn.tree_seq = t.seq AND tn.level = 0 JOIN node n ON n.seq = tn.node_seq
{} ORDER BY s.seq, tn.position
"""
_SPANS = """
SELECT m.id, ls.start, ls."end", ls.tokens FROM leaf_span ls
JOIN message m ON m.seq = ls.message_seq WHERE ls.node_seq = ? ORDER BY ls.ordinal
"""


def places_of(database: Database, of: Of = None) -> Iterator[dict[str, Any]]:
    """Yields a line for each message of each source, in order."""
    names = ("source", "position", "message", "session", "state", "open_from")
    for row in _some(database, _PLACES, _AMONG, of):
        yield {"type": "place", **dict(zip(names, row, strict=True))}


def leaves_of(database: Database, of: Of = None) -> Iterator[dict[str, Any]]:
    """Yields a line for each sealed leaf of each source, in order."""
    for source, node_id, seq in list(_some(database, _LEAVES, _AMONG, of)):
        spans = [list(row) for row in database.rows(_SPANS, (seq,))]
        yield {"type": "leaf", "source": source, "id": node_id, "spans": spans}


_TOPIC_LEAVES = """
SELECT n.id, tl.own FROM topic_leaf tl JOIN node n ON n.seq = tl.node_seq
WHERE tl.topic_seq = ? ORDER BY n.id
"""
_MERGED = """
SELECT id, into_id, name, gave_name, pinned FROM topic_alias WHERE topic_seq = ? ORDER BY id
"""
_PARTS = """
SELECT n.id FROM topic_part p JOIN node n ON n.seq = p.node_seq WHERE p.alias = ? ORDER BY n.id
"""


def topics_of(database: Database) -> Iterator[dict[str, Any]]:
    """Yields a line for each topic."""
    sql = "SELECT seq, id, name, named, pinned FROM topic ORDER BY seq"
    for seq, topic_id, name, named, pinned in database.rows(sql):
        merged = [
            {**dict(zip(("id", "into", "name", "gave_name", "pinned"), row, strict=True)),
             "leaves": [leaf for (leaf,) in database.rows(_PARTS, (row[0],))]}
            for row in database.rows(_MERGED, (seq,))
        ]  # fmt: skip
        yield {
            "type": "topic", "id": topic_id, "name": name, "named": named, "pinned": pinned,
            "leaves": [list(row) for row in database.rows(_TOPIC_LEAVES, (seq,))],
            "merged": merged,
        }  # fmt: skip
