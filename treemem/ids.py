"""Content addresses: what a message and a node are called.

Pure. An id is a keyed BLAKE2b hash over what the thing is, and over nothing that a clock, a
model or an import order decides; so the same content has the same id everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from treemem import times
from treemem.types import Message, Span

ID_HEX_LENGTH = 32
TOPIC_HEX_LENGTH = 7


def _digest(person: bytes, fields: Iterable[str | int | None]) -> str:
    """BLAKE2b-128 over the fields, each behind its length, so that no two lists collide."""
    state = hashlib.blake2b(digest_size=ID_HEX_LENGTH // 2, person=person)
    for value in fields:
        # Subtle: None, "" and "0" must differ, and no field may run into the next.
        data = b"" if value is None else str(value).encode("utf-8", "surrogatepass")
        state.update(b"-" if value is None else b"%d:" % len(data))
        state.update(data)
    return state.hexdigest()


def message_identity(message: Message, source_id: str) -> str | None:
    """What all versions of one message share; None where the log gave it no id.

    An id that is unique in the world makes copies in other sources the same message; any
    other id counts within its source only.
    """
    if message.external_id is None:
        return None
    scope = None if message.unique_id else source_id
    return _digest(b"identity", (scope, message.external_id))


def message_id(message: Message, source_id: str, sent_at: str | None, occurrence: int) -> str:
    """The id of this version of a message.

    With an identity: over it and the words. Without: over who said what and when, and which
    repetition it is. A message with a time is the same in every source (so that a copied log
    shares its leaves); one without a time that can be told is only known within its source.
    """
    identity = message_identity(message, source_id)
    words = (message.role, message.author, message.kind, message.text)
    if identity is not None:
        return _digest(b"message", (identity, *words))
    scope = source_id if times.parse(sent_at)[1] is None else None
    return _digest(b"anonymous", (scope, sent_at, occurrence, *words))


def leaf_id(spans: Iterable[Span]) -> str:
    """A leaf is what it holds: which characters of which messages, in order."""
    fields: list[str | int] = [0]
    for span in spans:
        fields += (span.message_id, span.start, span.end)
    return _digest(b"node", fields)


def group_id(level: int, child_ids: Iterable[str]) -> str:
    """A group is its level and its ordered children.

    Example:
        >>> group_id(1, ["a", "b"]) == group_id(1, ["b", "a"])
        False
    """
    return _digest(b"node", (level, *child_ids))


def topic_id(leaf_ids: Iterable[str], attempt: int = 0) -> str:
    """A topic is called after the leaves it began with. attempt: counted up where another one
    is called so already.

    Example:
        >>> len(topic_id(["a", "b"])), topic_id(["a", "b"]) == topic_id(["b", "a"])
        (8, True)
    """
    return "t" + _digest(b"topic", (attempt, *sorted(leaf_ids)))[:TOPIC_HEX_LENGTH]
