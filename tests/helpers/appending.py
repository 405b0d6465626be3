"""Appends messages as they are stored below the facade, blank ones included."""

from __future__ import annotations

from collections.abc import Sequence

from treemem import Message, Source
from treemem.ingest.append import append_messages
from treemem.privacy.policy import Redaction
from treemem.store.database import Database


def append_any(database: Database, source: str, messages: Sequence[Message]) -> list[str]:
    """As Memory.append, which refuses a blank message; a log or a session may have one."""
    redaction = Redaction.of(database)
    return append_messages(database, lambda: 1, Source(source, "api"), messages, redaction)
