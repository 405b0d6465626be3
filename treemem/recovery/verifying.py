"""Checks by its hash that a message is what was stored, and mends what no hash covers.

A message is taken if its id is the hash of its words. What is not in the hash, such as its time or
whose words its parts are, is left out if it contradicts itself. Pure.

Tested in tests/recovery/test_verifying.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple, get_args

import orjson

from treemem import ids, times
from treemem.diagnostics.doctor import id_is_right
from treemem.recovery.layouts import Row
from treemem.store import json_text
from treemem.types import Message, Origin, PartKind

_KINDS = frozenset(get_args(PartKind))
_BLOB_FIELDS = 3
# Of equal messages without a time or a known source, how many are recognized.
_REPETITIONS = 8
# A time without a zone was one of the machine's zone, which may be another now.
_ZONES_MS = 27 * 3_600_000
_ZONE_STEP_MS = 15 * 60_000
# The origin of words of which it is no longer known whose they are: they never give an order.
_UNKNOWN: Origin = "pasted"


class Verified(NamedTuple):
    """A message that was proven. source_id: of the source with which it was; "" if it is the same
    message in any source. mended: whether something that no hash covers was left out."""

    seq: int
    id: str
    identity: str | None
    message: Message
    sent_at_ms: int | None
    text: str
    exact: bytes | None
    extras: str | None
    source_id: str
    mended: bool


class Verifier:
    """Verifies messages. It remembers how often each was repeated."""

    def __init__(self) -> None:
        self._repetitions: dict[str, set[str]] = {}

    def verified(self, row: Row, likely: Iterable[str], others: Iterable[str]) -> Verified | None:
        """The message of a row of the table; None if it is not proven. likely: the ids of its
        sources. others: ids of other sources, which are tried after them."""
        (seq, id_, _, external_id, role, author, kind, sent_at, sent_at_ms, text, exact,
         _, chars, _, extras, origin) = row  # fmt: skip
        more, is_whole = _checked_extras(extras, len(text))
        try:
            words = text if exact is None else exact.decode("utf-8", "surrogatepass")
        except (UnicodeDecodeError, AttributeError):
            return None
        message = Message(
            role=role, text=words, author=author, sent_at=sent_at, external_id=external_id,
            kind=kind, unique_id=bool(more.get("unique")), origin=origin,
        )  # fmt: skip
        versions = [message] if is_whole else [message, replace(message, unique_id=True)]
        wanted = str(more.get("scrubbed", id_))
        for version in versions:
            source_id = self._source_of(version, wanted, likely, others)
            if source_id is not None and len(words) == len(text):
                break
        else:
            return None
        if not is_whole:
            more = {"unique": True} if version.unique_id else {}
            version = replace(version, origin=_UNKNOWN if version.role == "user" else None)
        is_timed = _is_time(version.sent_at, sent_at_ms)
        identity = ids.message_identity(version, source_id)
        if not is_timed and identity is None:  # the time is in the hash, so it is right
            sent_at_ms = times.parse(version.sent_at)[1]
        elif not is_timed:
            version, sent_at_ms = replace(version, sent_at=None), None
        return Verified(
            seq, id_, identity, version, sent_at_ms, text, exact,
            extras if is_whole else orjson.dumps(more).decode() if more else None, source_id,
            mended=not (is_whole and is_timed and chars == len(words)),
        )  # fmt: skip

    def _source_of(
        self, message: Message, wanted: str, likely: Iterable[str], others: Iterable[str]
    ) -> str | None:
        """The source with which the message has the id that is wanted; None without one."""
        sent_at = None if message.sent_at is None else str(message.sent_at)
        has_id = message.external_id is not None
        if message.unique_id if has_id else times.parse(sent_at)[1] is not None:
            likely, others = [""], []
        for source_id in likely:
            identity = ids.message_identity(message, source_id)
            if id_is_right(message, wanted, source_id, identity, self._repetitions):
                return source_id
        for source_id in others:
            tried = (ids.message_id(message, source_id, sent_at, n) for n in range(_REPETITIONS))
            if wanted in tried:
                return source_id
        return None


def _is_time(sent_at: Any, sent_at_ms: int | None) -> bool:
    """Whether a time and the number that was made of it agree."""
    parsed = times.parse(sent_at)[1]
    if parsed is None or sent_at_ms is None:
        return parsed is None and sent_at_ms is None
    apart = abs(parsed - sent_at_ms)
    return apart <= _ZONES_MS and apart % _ZONE_STEP_MS == 0


def _checked_extras(extras: str | None, chars: int) -> tuple[dict[str, Any], bool]:
    """What a message has besides its words, and whether all of it can be right."""
    if extras is None:
        return {}, True
    more = json_text.object_of(extras)
    texts = ("uses", "results")
    is_whole = (
        bool(more)
        and more.keys() <= {"parts", "blobs", "unique", "scrubbed", *texts}
        and all(_is_part(part, chars) for part in _list(more, "parts"))
        and all(isinstance(one, str) for name in texts for one in _list(more, name))
        and all(isinstance(b, list) and len(b) == _BLOB_FIELDS for b in _list(more, "blobs"))
        and isinstance(more.get("scrubbed", ""), str)
    )
    return more, is_whole


def _list(more: dict[str, Any], name: str) -> list[Any]:
    value = more.get(name, [])
    return value if isinstance(value, list) else [None]


def _is_part(part: Any, chars: int) -> bool:
    if not isinstance(part, list) or len(part) != 4:
        return False
    kind, start, end, name = part
    return (
        kind in _KINDS
        and isinstance(start, int)
        and isinstance(end, int)
        and 0 <= start <= end <= chars
        and (name is None or isinstance(name, str))
    )
