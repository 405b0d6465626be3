"""Computes the ids of messages, nodes and topics from their content.

Pure. An id is a keyed BLAKE2b hash over content alone, never over a clock, a model or the order
of ingestion, so equal content has the same id everywhere.
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
    pieces = []
    for value in fields:
        # Subtle: None, "" and "0" must differ, and no field may run into the next.
        if value is None:
            pieces.append(b"-")
        else:
            data = str(value).encode("utf-8", "surrogatepass")
            pieces += (b"%d:" % len(data), data)
    whole = b"".join(pieces)
    return hashlib.blake2b(whole, digest_size=ID_HEX_LENGTH // 2, person=person).hexdigest()


def message_identity(message: Message, source_id: str) -> str | None:
    """The hash that all versions of a message share; None where the log gave it no id.

    A globally unique id makes copies in other sources the same message; any other id counts
    within its source only.
    """
    if message.external_id is None:
        return None
    scope = None if message.unique_id else source_id
    return _digest(b"identity", (scope, message.external_id))


def message_id(message: Message, source_id: str, sent_at: str | None, occurrence: int) -> str:
    """The id of this version of a message: version_id where the log gave it an id, else
    anonymous_id."""
    identity = message_identity(message, source_id)
    if identity is not None:
        return version_id(message, identity)
    return anonymous_id(message, source_id, sent_at, occurrence)


def version_id(message: Message, identity: str) -> str:
    """The id of a message with an identity: a hash over that and its words."""
    return _digest(b"message", (identity, *_words(message)))


def anonymous_id(message: Message, source_id: str, sent_at: str | None, occurrence: int) -> str:
    """The id of a message without one in its log: a hash over author, words and time.

    occurrence: 0 for the first of several equal messages. A message with a time has the same id
    in every source, so that a copied log shares its leaves. Without a time, or with one that
    cannot be parsed, the source is part of the hash.
    """
    scope = source_id if times.parse(sent_at)[1] is None else None
    return _digest(b"anonymous", (scope, sent_at, occurrence, *_words(message)))


def _words(message: Message) -> tuple[str | None, ...]:
    return message.role, message.author, message.kind, message.text


def leaf_id(spans: Iterable[Span]) -> str:
    """The id of a leaf: a hash over its spans of messages, in order."""
    fields: list[str | int] = [0]
    for span in spans:
        fields += (span.message_id, span.start, span.end)
    return _digest(b"node", fields)


def group_id(level: int, child_ids: Iterable[str]) -> str:
    """The id of a group: a hash over its level and its ordered children.

    Example:
        >>> group_id(1, ["a", "b"]) == group_id(1, ["b", "a"])
        False
    """
    return _digest(b"node", (level, *child_ids))


def topic_id(leaf_ids: Iterable[str], attempt: int = 0) -> str:
    """The id of a topic: "t" and a short hash over its first leaves. attempt: incremented while
    another topic has that id.

    Example:
        >>> len(topic_id(["a", "b"])), topic_id(["a", "b"]) == topic_id(["b", "a"])
        (8, True)
    """
    return "t" + _digest(b"topic", (attempt, *sorted(leaf_ids)))[:TOPIC_HEX_LENGTH]
