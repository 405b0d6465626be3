"""Reads the rows that both generations of llm's logs.db share: fragments, attachments, times.

turns.py and responses.py decide to which messages these belong.

Tested in tests/importers/test_llm.py.
"""

from __future__ import annotations

import base64
import hashlib
import re

from treemem.importers.common.coerce import as_text
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.source_ids import sent_at
from treemem.importers.common.sqlite_files import Tables
from treemem.patterns import lazy_regex
from treemem.types import Message, Role

_ZONE = lazy_regex(r"(?:[zZ]|[+-]\d\d:?\d\d)\Z")
_ULID = lazy_regex(r"[0-9a-z]{26}", re.IGNORECASE)
_ATTACHMENT = "SELECT type, path, url, content FROM attachments WHERE id = ?"
_FRAGMENT = "SELECT hash, content FROM fragments WHERE id = ?"


class Shared:
    """The rows to which several messages may refer."""

    def __init__(self, tables: Tables, columns: dict[str, frozenset[str]]) -> None:
        self.tables = tables
        self.columns = columns
        self.blocks = BlockReader()

    def has(self, table: str, *columns: str) -> bool:
        return set(columns) <= self.columns.get(table, frozenset())

    def fragment(self, fragment_id: object) -> tuple[str, str] | None:
        """The hash and text of a fragment."""
        if not self.has("fragments", "id", "hash", "content"):
            return None
        for digest, text in self.tables.rows(_FRAGMENT, (fragment_id,)):
            if as_text(text) is not None:
                return as_text(digest) or hashlib.sha256(
                    text.encode("utf-8", "surrogateescape")
                ).hexdigest(), text
        return None

    def add_attachment(self, content: Content, attachment_id: object) -> None:
        """Adds a marker with a digest, or with the path or URL of a file that is not stored."""
        if not self.has("attachments", "id", "type", "path", "url", "content"):
            return
        for media_type, path, url, stored in self.tables.rows(_ATTACHMENT, (attachment_id,)):
            label = "image" if str(media_type).startswith("image/") else "file"
            if isinstance(stored, str):
                stored = stored.encode("utf-8", "surrogateescape")
            if isinstance(stored, bytes) and stored:
                data = base64.b64encode(stored).decode()
                source = {"type": "base64", "media_type": media_type, "data": data}
                self.blocks.add(content, {"type": label, "source": source})
            elif (place := as_text(url) or as_text(path)) is not None:
                self.blocks.add(content, {"type": label, "url": place, "media_type": media_type})


def fragment_message(role: Role, name: str, text: str, time: str | None) -> Message:
    """The message of a fragment, a document placed before prompts; always the same one."""
    return Message(
        role=role,
        text=text,
        sent_at=time,
        external_id=f"llm:fragment:{name}",
        kind="injected",
        unique_id=True,
    )


def utc(value: object) -> str | None:
    """A time in the database, which is in UTC even without a zone.

    Example:
        >>> utc("2024-05-01 10:00:00.5"), utc("2024-05-01T10:00:00+00:00"), utc(None)
        ('2024-05-01 10:00:00.5+00:00', '2024-05-01T10:00:00+00:00', None)
    """
    time = sent_at(value)
    if time is None or _ZONE.search(time) or not time[:4].isdigit():
        return time
    return f"{time}+00:00"


def is_ulid(row_id: object) -> bool:
    """Whether an id is a ULID and so globally unique; others are unique only in their file.

    Example:
        >>> is_ulid("01jx3ye9h0t3yb2c1q6rxnz0aa"), is_ulid(7)
        (True, False)
    """
    return isinstance(row_id, str) and _ULID.fullmatch(row_id) is not None
