"""Reads the store of Cursor's agent, store.db: messages stored by content hash, and a root that
lists them in order.

The root is a protobuf message, of which only the framing is read, to find the hashes. A message
that the root does not list was summarized if it is older than all listed ones, or else rewound.

Tested in tests/importers/test_cursor.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_text, json_or_none
from treemem.importers.common.source_ids import file_key, one_line, printable
from treemem.importers.common.sqlite_files import Tables
from treemem.importers.cursor.speech import Speech, json_object, workspace_in
from treemem.importers.streams import protobuf
from treemem.types import Source

_META = "SELECT key, value FROM meta"
_IDS = "SELECT id, substr(data, 1, 1) FROM blobs ORDER BY rowid"
_BLOB = "SELECT data FROM blobs WHERE id = ?"
_HASH_BYTES = 32
_LOOKED_AT = 8
_LIST_FIELD = 1


def is_store(columns: dict[str, frozenset[str]]) -> bool:
    has_blobs = columns.get("blobs", frozenset()) >= {"id", "data"}
    return has_blobs and columns.get("meta", frozenset()) >= {"key", "value"}


def read(file: LogFile) -> Iterator[Event]:
    with sqlite_files.open_tables(file) as tables:
        meta = _meta(tables)
        own = as_text(meta.get("agentId"))
        yield Source(
            f"cursor/{printable(own) if own else file_key(file)}",
            "cursor",
            title=one_line(meta.get("name")),
            origin=file.label,
            project=_project(tables, meta),
        )
        speech = Speech()
        count: Counter[str] = Counter()
        for blob_id, active in _ordered(tables, as_text(meta.get("latestRootBlobId"))):
            value = json_object(_blob(tables, blob_id))
            if value is None or "role" not in value:
                yield Skipped("no message: no role")
                continue
            count[blob_id] += 1
            name = f"{blob_id}/{count[blob_id]}"
            yield speech.message(value, value.get("content"), external_id=name, active=active)


def _project(tables: Tables, meta: dict[str, Any]) -> str | None:
    """The workspace that the agent was told of before the first message."""
    for blob_id, _ in islice(_ordered(tables, as_text(meta.get("latestRootBlobId"))), _LOOKED_AT):
        value = json_object(_blob(tables, blob_id)) or {}
        if (workspace := workspace_in(value.get("content"))) is not None:
            return workspace
    return None


def _meta(tables: Tables) -> dict[str, Any]:
    """The session's metadata: JSON, encoded in hexadecimal digits."""
    for _, value in tables.rows(_META):
        meta = json_or_none(value)
        if not isinstance(meta, dict) and isinstance(value, str):
            try:
                meta = json_or_none(bytes.fromhex(value))
            except ValueError:
                continue
        if isinstance(meta, dict):
            return meta
    return {}


def _blob(tables: Tables, blob_id: str) -> object:
    return next((data for (data,) in tables.rows(_BLOB, (blob_id,))), None)


def _ordered(tables: Tables, root_id: str | None) -> Iterator[tuple[str, bool]]:
    """Yields the ids of the messages, and whether each is active."""
    rows = [(blob_id, start) for blob_id, start in tables.rows(_IDS) if isinstance(blob_id, str)]
    stored = {blob_id: place for place, (blob_id, start) in enumerate(rows) if start in ("{", b"{")}
    root = _blob(tables, root_id) if root_id else None
    listed = [blob_id for blob_id in _hashes(root) if blob_id in stored]
    first = min((stored[blob_id] for blob_id in _without_system(tables, listed)), default=len(rows))
    others = [blob_id for blob_id in stored if blob_id not in set(listed)]
    yield from ((blob_id, True) for blob_id in others if stored[blob_id] < first)
    yield from ((blob_id, True) for blob_id in listed)
    yield from ((blob_id, False) for blob_id in others if stored[blob_id] >= first)


def _without_system(tables: Tables, listed: list[str]) -> list[str]:
    """The listed ids without those of system prompts, which are listed repeatedly."""
    roles = (
        (blob_id, as_dict(json_object(_blob(tables, blob_id))).get("role")) for blob_id in listed
    )
    return [blob_id for blob_id, role in roles if role != "system"]


def _hashes(root: object) -> list[str]:
    """The hashes that a root lists, in order: those in field 1, or else those in any field."""
    if not isinstance(root, bytes):
        return []
    hashes = [
        (field, data.hex())
        for field, data in protobuf.fields(root)
        if isinstance(data, bytes) and len(data) == _HASH_BYTES
    ]
    listed = [digest for field, digest in hashes if field == _LIST_FIELD]
    return listed or [digest for _, digest in hashes]
