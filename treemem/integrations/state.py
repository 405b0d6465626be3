"""Keeps what a framework changes and deletes in the memory file, beside the messages.

Its words can be stored in the same transaction, so that neither is there without the other.

Tested in tests/integrations/test_state.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from treemem.errors import UsageError
from treemem.memory import Memory
from treemem.privacy.policy import Redact, Redaction
from treemem.store.database import storable_text
from treemem.store.live import program_state
from treemem.store.live.program_state import StateRow

Clean = Callable[[str], str]

# Texts that were redacted last, which are not looked through again.
TEXTS_MAX = 4_096


class Kept(NamedTuple):
    """What a key has. message_id: of the message with its words; None without one."""

    key: str
    value: Any
    message_id: str | None
    created_at: datetime
    updated_at: datetime


class State:
    """What one integration keeps in a memory file: JSON values by place and key.

    owner: the integration's own part, such as "langgraph.item". redact: as in Memory.append, for
    every text of a value; names of fields, places and keys are stored as they are.
    """

    def __init__(self, memory: Memory, owner: str, redact: Redact = True) -> None:
        self._database = memory._database
        self._clock = memory._clock
        self._owner = owner
        self._redact = redact
        self._label, self._clean = "", _as_it_is

    def transaction(self) -> AbstractContextManager[None]:
        """A write transaction, which appends to the memory join."""
        return self._database.transaction()

    def reading(self) -> AbstractContextManager[None]:
        """A read transaction, in which all reads see the same state of the file."""
        return self._database.reading()

    def redaction(self) -> Redaction:
        """The file's rules for secrets, as they are now."""
        return Redaction.of(self._database, self._redact)

    def _cleaner(self, redaction: Redaction) -> Clean:
        """Redacts a text; that of a state which grows is the same from step to step."""
        if redaction.label != self._label:
            self._clean = lru_cache(TEXTS_MAX)(
                lambda text: storable_text(redaction.text(text) or "")[0]
            )
            self._label = redaction.label
        return self._clean

    def put(
        self, place: str, key: str, value: Any, message_id: str | None = None,
        redaction: Redaction | None = None,
    ) -> None:  # fmt: skip
        """Stores a value, without secrets, in place of the one that the key had. redaction: the
        file's rules, if they were read before. Raises UsageError if it is no JSON."""
        clean = redacted(value, self._cleaner(redaction or self.redaction()))
        program_state.put(
            self._database, self._owner, place, key, as_json(clean), self._clock(), message_id
        )

    def get(self, place: str, key: str) -> Kept | None:
        """What a key has; None if it has nothing."""
        row = program_state.get(self._database, self._owner, place, key)
        return None if row is None else _kept(row)

    def of_place(self, place: str, last: int | None = None) -> list[Kept]:
        """What a place has in the order of its keys, all or the last ones."""
        rows = program_state.of_place(self._database, self._owner, place, last)
        return [_kept(row) for row in rows]

    def keys(self, place: str) -> list[str]:
        """The keys of a place, in order."""
        return program_state.keys(self._database, self._owner, place)

    def places(self, start: str = "") -> list[str]:
        """The places that begin with start, in order."""
        return program_state.places(self._database, self._owner, start)

    def delete(self, place: str, key: str | None = None) -> int:
        """Deletes what a key has, or all of a place, and returns how much that was."""
        return program_state.delete(self._database, self._owner, place, key)


def _kept(row: StateRow) -> Kept:
    moments = (_moment(row.created_at_ms), _moment(row.updated_at_ms))
    return Kept(row.key, orjson.loads(row.value), row.message_id, *moments)


def _moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _as_it_is(text: str) -> str:
    return text


def redacted(value: Any, clean: Clean) -> Any:
    """A JSON value whose texts are cleaned: without secrets, and without lone surrogates, which no
    file takes. Raises UsageError for a value that is nested too deeply.

    The names of fields stay as they are, since programs look values up by them.
    """
    try:
        return _redacted(value, clean)
    except RecursionError as error:
        raise UsageError("This value is nested too deeply.") from error


def _redacted(value: Any, clean: Clean) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [_redacted(item, clean) for item in value]
    if isinstance(value, dict):
        return {key: _redacted(item, clean) for key, item in value.items()}
    return value


def as_json(value: Any, default: Callable[[Any], Any] | None = None) -> str:
    """The value as JSON. default: as in json.dumps. Raises UsageError."""
    try:
        return json.dumps(value, allow_nan=False, default=default)
    except RecursionError as error:
        raise UsageError("This value is nested too deeply.") from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"This value is no JSON ({error}): {repr(value)[:80]}.") from error
