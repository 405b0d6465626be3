"""Makes and reads segments: small memory files with some sources, or with what the user chose.

Beside what a memory has, a segment has the table sent: the states of its sources, what models wrote
of them, and the redaction key, which only who has the code can read. Its trees, ledger and full
text are left out, since who takes it in makes them.

Tested in tests/backups/syncing/test_syncing.py.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treemem.backups import copying
from treemem.backups.portable import rows, summaries, topics, writing
from treemem.backups.portable.tables import BY_NAME
from treemem.backups.syncing import codes
from treemem.forgetting import tombstones
from treemem.store import settings
from treemem.store.database import Database, json_list
from treemem.types import TreeShape

_SENT = "CREATE TABLE sent (kind TEXT, value TEXT)"
_PUT_SENT = "INSERT INTO sent (kind, value) VALUES (?, ?)"
_STATE_BYTES = 8
# The longest name of a machine.
_NAME_CHARS_MAX = 64
# In place of the id of a source, for the state of what the user chose, named and forgot.
HEAD = ""
# Sources whose content is read at once to compare it.
_AT_ONCE = 50
_SOURCES = """
SELECT s.seq, s.id, s.title, s.project, s.parent_id FROM source s
WHERE s.seq NOT IN (SELECT source_seq FROM live_session) ORDER BY s.id
"""
_PLACES = """
SELECT m.id, sm.state FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? ORDER BY sm.position
"""
_LEAVES = """
SELECT n.id FROM tree t JOIN tree_node tn ON tn.tree_seq = t.seq AND tn.level = 0
JOIN node n ON n.seq = tn.node_seq WHERE t.scope = 'source' AND t.key = ? ORDER BY tn.position
"""
# The nodes of the tree of a source.
_NODES = """
SELECT tn.node_seq AS seq FROM tree t JOIN tree_node tn ON tn.tree_seq = t.seq
WHERE t.scope = 'source' AND t.key = :key
UNION SELECT tail_seq FROM tree WHERE scope = 'source' AND key = :key
UNION SELECT root_seq FROM tree WHERE scope = 'source' AND key = :key
"""
_VIEWS = f"""
SELECT n.id, p.name FROM ({_NODES}) o JOIN node n ON n.seq = o.seq
JOIN summary su ON su.node_seq = n.seq JOIN producer p ON p.seq = su.producer_seq AND p.rank > 0
ORDER BY n.id, p.name
"""  # noqa: S608
_MARKS = "SELECT DISTINCT mark FROM tombstone ORDER BY mark"
# A leaf of a topic whose source is in another segment: names find their topics by its id.
_BARE_LEAF = """
INSERT OR IGNORE INTO node (id, level, tokens, message_count, provisional) VALUES (?, 0, 0, 0, 0)
"""
# What is only made for searches.
_NOT_NEEDED = (
    "INSERT INTO message_fts (message_fts) VALUES ('delete-all')",
    "UPDATE message SET search_text = NULL",
    "DELETE FROM event_day",
)


@dataclass(slots=True)
class Sent:
    """What a segment says beside its rows. states: by the ids of its sources. views: what models
    wrote. key: the redaction key, wrapped; None without one. name: of the machine, as its system
    says; "" without one."""

    states: dict[str, str] = field(default_factory=dict)
    views: list[dict[str, Any]] = field(default_factory=list)
    key: str | None = None
    name: str = ""


# -- what has changed ------------------------------------------------------------------


def states(database: Database) -> dict[str, str]:
    """By the id of each source but those of live sessions, a digest of what can change of it. It
    is the same on all machines that have the same."""
    found = {}
    for seq, source_id, *facts in database.rows(_SOURCES):
        said = [facts, *map(list, database.execute(_PLACES, (seq,)))]
        said += [row[0] for row in database.execute(_LEAVES, (source_id,))]
        said += map(list, database.execute(_VIEWS, {"key": source_id}))
        found[source_id] = _digest(said)
    return found


def contents(database: Database, source_ids: Collection[str]) -> dict[str, str]:
    """By id, a digest of every word of sources. It changes if anything in them is scrubbed."""
    wanted = sorted(source_ids)
    found: dict[str, str] = {}
    written: dict[str, list[dict[str, Any]]] = {}
    for line in _views_of(database, wanted):
        written.setdefault(line["node"], []).append(line)
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        messages = {line["id"]: _digest(line) for line in writing.messages_of(database, some)}
        said: dict[str, list[Any]] = {
            line["id"]: [
                line,
                *(written.get(node) for node in sorted(_nodes(database, line["id"]))),
            ]
            for line in writing.sources_of(database, some)
        }
        for line in writing.places_of(database, some):
            said[line["source"]].append([line["message"], messages[line["message"]]])
        found |= {source_id: _digest(one) for source_id, one in said.items()}
    return found


def counts(database: Database, source_ids: Collection[str]) -> int:
    """How many messages sources have together."""
    sql = """
    SELECT count(*) FROM source_message sm JOIN source s ON s.seq = sm.source_seq
    WHERE s.id IN (SELECT value FROM json_each(?))
    """
    return int(database.value(sql, (json_list(source_ids),)))


def counter(database: Database) -> str:
    """Changes whenever something is forgotten or scrubbed."""
    number = database.value("SELECT coalesce(max(seq), 0) FROM forgetting")
    return f"{number} {settings.get(database, settings.SCRUBS)}"


def cipher(database: Database) -> str:
    """Changes whenever the memory file is encrypted, decrypted or given another key."""
    return "" if database.key is None else str(database.value("PRAGMA cipher_salt"))


def head_of(database: Database) -> tuple[str, dict[str, list[Any]]]:
    """What the user chose, named and forgot, and a digest of it."""
    head: dict[str, list[Any]] = {
        "choices": list(BY_NAME["choice"].lines(database)),
        "topics": [line for line in writing.topics_of(database) if line["named"]],
        "marks": [mark.hex() for (mark,) in database.rows(_MARKS)],
    }
    return _digest([head, settings.get(database, settings.REDACTION_KEY)]), head


def _digest(said: Any) -> str:
    data = json.dumps(said, sort_keys=True).encode()
    return hashlib.blake2b(data, digest_size=_STATE_BYTES).hexdigest()


def _nodes(database: Database, source_id: str) -> set[str]:
    """The nodes of the tree of a source that a model has written about."""
    return {node for node, _ in database.rows(_VIEWS, {"key": source_id})}


def _views_of(database: Database, source_ids: Collection[str]) -> Iterator[dict[str, Any]]:
    nodes = set[str]().union(*(_nodes(database, source_id) for source_id in source_ids))
    if nodes:
        yield from (line for line in summaries.lines(database) if line["node"] in nodes)


# -- writing ---------------------------------------------------------------------------


def write_sources(
    database: Database, target: Path, shape: TreeShape, code: str, known: dict[str, str]
) -> None:
    """Writes a segment with sources into a new file. known: their states, by id."""
    new = Database(target, key=database.key)
    try:
        with new.transaction():
            _put_sources(database, new, set(known), shape)
            sent = [("state", json.dumps(list(one))) for one in sorted(known.items())]
            sent += [("view", json.dumps(line)) for line in _views_of(database, known)]
            _finish(database, new, code, sent)
    finally:
        new.close()


def _put_sources(database: Database, new: Database, ids: set[str], shape: TreeShape) -> None:
    needed = {line["message"] for line in writing.places_of(database, ids)}
    writer = rows.Writer(new, ids, needed, shape)
    for lines, put in (
        (writing.sources_of, writer.put_source), (writing.messages_of, writer.put_message),
        (writing.aliases_of, writer.put_alias), (writing.places_of, writer.put_place),
        (writing.leaves_of, writer.put_leaf),
    ):  # fmt: skip
        for line in lines(database, ids):
            put(line)
    kind = BY_NAME["source_end"]
    for line in kind.lines(database):
        writer.put_row(kind, line)
    writer.finish()


def write_head(
    database: Database, target: Path, code: str, digest: str, head: dict[str, list[Any]],
    now_ms: int,
) -> None:  # fmt: skip
    """Writes a segment with what head_of returned into a new file."""
    new = Database(target, key=database.key)
    try:
        with new.transaction():
            for line in head["choices"]:
                BY_NAME["choice"].put(new, line)
            leaves = {leaf for line in head["topics"] for leaf, _ in line["leaves"]}
            new.many(_BARE_LEAF, [(leaf,) for leaf in sorted(leaves)])
            topics.put(new, [{**line, "merged": []} for line in head["topics"]])
            if head["marks"]:
                seq = tombstones.record(new, now_ms, ["sync"], (0, 0, 0))
                tombstones.finish(new)
                new.many(tombstones.ADD, [(bytes.fromhex(one), seq) for one in head["marks"]])
            _finish(database, new, code, [("state", json.dumps([HEAD, digest]))])
    finally:
        new.close()


def _finish(database: Database, new: Database, code: str, sent: list[tuple[str, str]]) -> None:
    new.execute(_SENT)
    key = settings.get(database, settings.REDACTION_KEY)
    if key is not None:
        sent = [("key", codes.wrapped(code, key)), *sent]
    sent = [("name", platform.node()[:_NAME_CHARS_MAX]), *sent]
    new.many(_PUT_SENT, sent)
    settings.put(new, settings.REDACTION_KEY, None)
    for sql in _NOT_NEEDED:
        new.execute(sql)


# -- reading ---------------------------------------------------------------------------


def read(database: Database, path: Path, code: str) -> Sent:
    """What a segment says beside its rows. Gives the file, a copy, its redaction key, so that it
    can be merged, and upgrades it if it is of an earlier version. Raises DatabaseError."""
    other = Database(path, must_exist=True, key=database.key)
    try:
        sent = Sent()
        for kind, value in other.rows("SELECT kind, value FROM sent"):
            if kind == "state":
                source_id, state = json.loads(value)
                sent.states[source_id] = state
            elif kind == "view":
                sent.views.append(json.loads(value))
            elif kind == "key":
                sent.key = value
            elif kind == "name":
                sent.name = str(value)[:_NAME_CHARS_MAX]
        if sent.key is not None:
            with other.transaction():
                key = codes.unwrapped(code, sent.key)
                settings.put(other, settings.REDACTION_KEY, key)
    finally:
        other.close()
    with copying.opened(path) as copy:
        copying.content(copy)
    return sent
