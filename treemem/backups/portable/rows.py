"""Stores the lines of an export: settings, sources, messages, their places, and sealed leaves.

Works in one transaction of the caller's, which is rolled back if anything does not fit.

Tested in tests/backups/portable/test_exports.py.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Set
from typing import Any

import orjson

from treemem import ids
from treemem.backups.portable.tables import Kind
from treemem.errors import BackupError
from treemem.forgetting import tombstones
from treemem.store import event_days, messages, settings, sources
from treemem.store.database import Database, storable_text
from treemem.text.tokens import count_many
from treemem.tree import builder
from treemem.types import Span, TreeShape

_BATCH = 500
_STATES = """
SELECT sm.position, m.id, sm.state FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? ORDER BY sm.position
"""
_SOURCE = """
INSERT INTO source (id, format, title, origin, parent_id, project, is_mine, created_at_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_PLACE = """
INSERT INTO source_message (source_seq, position, message_seq, session_seq, state, open_from)
VALUES (?, ?, ?, ?, ?, ?)
"""
OPEN_POSITION = """
UPDATE source SET open_position = coalesce(
  (SELECT min(position) FROM source_message WHERE source_seq = :source AND state = 'active'
   AND open_from IS NOT NULL), :next) WHERE seq = :source
"""
_TOLD = """
UPDATE live_session SET told_seq = coalesce((SELECT p.seq FROM pin_change p
  WHERE p.session_seq = live_session.seq ORDER BY p.seq LIMIT 1 OFFSET ? - 1), 0)
WHERE source_seq = (SELECT seq FROM source WHERE id = ?) AND ? > 0
"""
_TOMBSTONE = "INSERT OR IGNORE INTO tombstone (mark, forgetting_seq) VALUES (?, ?)"
_ALIAS = """
INSERT OR IGNORE INTO message_alias (alias, message_seq) SELECT ?, seq FROM message WHERE id = ?
"""


def places_of(database: Database, source_id: str) -> str | None:
    """A digest of the messages of a source, with their positions and states; None if there is no
    such source."""
    seq = sources.seq_of(database, source_id)
    if seq is None:
        return None
    digest = hashlib.blake2b()
    for row in database.execute(_STATES, (seq,)):
        digest.update(json.dumps(list(row)).encode())
    return digest.hexdigest()


class Writer:
    """Stores the lines of an export, in their order. new: the sources to store. needed: their
    messages, the others are passed over."""

    def __init__(
        self, database: Database, new: Set[str], needed: Set[str], shape: TreeShape
    ) -> None:
        self._database = database
        self._new = new
        self._needed = needed
        self._shape = shape
        self._source_seqs: dict[str, int] = {}
        self._batch: list[dict[str, Any]] = []
        self._leaves: dict[str, list[list[Span]]] = defaultdict(list)
        self._told: list[tuple[str, int]] = []
        self._has_key = False

    def put_setting(self, line: dict[str, Any]) -> None:
        """Stores a setting unless it is set."""
        kept = settings.put_new(self._database, str(line["name"]), str(line["value"]))
        if line["name"] == settings.REDACTION_KEY:
            self._has_key = kept == line["value"]

    def put_source(self, line: dict[str, Any]) -> None:
        """Stores a source."""
        if line["id"] not in self._new:
            return
        sources.check_id(line["id"])
        names = ("id", "format", "title", "origin", "parent", "project", "is_mine", "created_at_ms")
        values = tuple(line[name] for name in names)
        self._source_seqs[line["id"]] = self._database.insert(_SOURCE, values)

    def put_message(self, line: dict[str, Any]) -> None:
        """Stores a message unless it is there; several at a time."""
        if line["id"] in self._needed:
            self._batch.append(line)
        if len(self._batch) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        known = messages.seqs_by_id(self._database, [line["id"] for line in self._batch])
        batch = list({line["id"]: line for line in self._batch if line["id"] not in known}.values())
        self._batch = []
        if not batch:
            return
        first = int(self._database.value("SELECT coalesce(max(seq), 0) + 1 FROM message"))
        counts = count_many([line["text"] for line in batch])
        stored = []
        for seq, (line, tokens) in enumerate(zip(batch, counts, strict=True), first):
            text, exact = storable_text(line["text"])
            extras = orjson.dumps(line["extras"]).decode() if line["extras"] else None
            stored.append(
                (seq, line["id"], line["identity"], line["external_id"], line["role"],
                 line["author"], line["kind"], line["sent_at"], line["sent_at_ms"], text, exact,
                 messages.search_text(line["author"], text), len(text), tokens, extras,
                 line["origin"])
            )  # fmt: skip
        self._database.many(messages.MESSAGE_INSERT, stored)
        self._database.execute(messages.INDEX_WORDS, (first, first + len(batch) - 1))
        event_days.add(self._database, [
            (row[0], row[4], row[6], None if row[8] is None else row[7], row[9]) for row in stored
        ])  # fmt: skip

    def put_alias(self, line: dict[str, Any]) -> None:
        """Stores by what a redacted message is recognized."""
        self._flush()
        self._database.execute(_ALIAS, (line["alias"], line["message"]))

    def put_forgotten(self, line: dict[str, Any]) -> None:
        """Stores what a log must not bring back, for a memory that has the same key."""
        if not self._has_key:
            return
        messages_, sources_, nodes = map(int, line["counts"])
        chosen_by = [str(one) for one in line["chosen_by"]]
        seq = tombstones.record(
            self._database, int(line["at_ms"]), chosen_by, (messages_, sources_, nodes)
        )
        tombstones.finish(self._database)
        self._database.many(_TOMBSTONE, [(bytes.fromhex(mark), seq) for mark in line["marks"]])

    def put_place(self, line: dict[str, Any]) -> None:
        """Stores where a message is in a source."""
        self._flush()
        source_seq = self._source_seqs.get(line["source"])
        if source_seq is None:
            return
        session = line["session"]
        session_seq = sources.session_seqs(self._database, {session}).get(session)
        message_seq = self._database.value(
            "SELECT seq FROM message WHERE id = ?", (line["message"],)
        )
        values = (source_seq, line["position"], message_seq, session_seq, line["state"],
                  line["open_from"])  # fmt: skip
        self._database.execute(_PLACE, values)

    def put_leaf(self, line: dict[str, Any]) -> None:
        """Gathers the sealed leaves of a source, which finish() stores."""
        if line["source"] not in self._source_seqs:
            return
        spans = [Span(str(one), int(start), int(end), int(tokens))
                 for one, start, end, tokens in line["spans"]]  # fmt: skip
        self._leaves[line["source"]].append(spans)
        if ids.leaf_id(spans) != line["id"]:
            raise BackupError(f"The leaf {line['id']} has spans that do not match its id.")

    def put_row(self, kind: Kind, line: dict[str, Any]) -> None:
        """Stores a row of another table, unless it belongs to a source that is not stored."""
        self._flush()
        source = line.get("session", line.get("source")) if kind.references else None
        if source is not None and source not in self._source_seqs:
            return
        kind.put(self._database, line)
        if kind.name == "live_session":
            self._told.append((line["source"], int(line["told"])))

    def finish(self) -> None:
        """Stores what was gathered: leaves with the groups that they fill."""
        self._flush()
        for source_id, leaves in self._leaves.items():
            builder.put_sealed(self._database, source_id, leaves, self._shape)
        for seq in self._source_seqs.values():
            following = messages.next_position(self._database, seq)
            self._database.execute(OPEN_POSITION, {"source": seq, "next": following})
        for source_id, number in self._told:
            self._database.execute(_TOLD, (number, source_id, number))
