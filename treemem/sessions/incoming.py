"""Reads the messages that a caller appends to a session.

Tested in tests/sessions/test_session.py and tests/privacy/test_policy.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from treemem.digest import activity
from treemem.errors import UsageError
from treemem.origins.marking import mark
from treemem.privacy.personal import is_personal
from treemem.privacy.policy import Redaction
from treemem.sessions import shapes
from treemem.sessions.shapes import Shape, Turn
from treemem.sessions.state import State
from treemem.store.database import storable_text
from treemem.store.live.turns import StoredTurn
from treemem.text.labels import clipped
from treemem.types import Message

# Characters of the first words of a turn.
BRIEF_CHARS = 120


@dataclass(frozen=True, slots=True)
class IncomingTurn:
    """A message to append. names: the tool by the id of its call, of the calls so far."""

    turn: Turn
    names: Mapping[str, str]

    def message(self, sent_at: str | datetime | None, typed: bool = True) -> Message | None:
        """The words of the message, as the memory stores them; None without any. typed: whether
        the user typed what has their role."""
        message = shapes.to_message(self.turn, self.names)
        if message is None or not message.text.strip():
            return None
        if message.role == "user" and not typed:
            message = replace(message, origin="agent")
        return replace(message, sent_at=sent_at, external_id=None, unique_id=False, session=None)

    @property
    def is_request(self) -> bool:
        """Whether the user asks something: words, without the result of a tool."""
        parts = self.turn.parts
        return self.turn.role == "user" and not any(p.kind == "tool_result" for p in parts)

    @property
    def brief(self) -> str:
        """The first words of the turn, of a request those that the user typed; or the tool that it
        calls or answers."""
        words = "\n".join(part.text[:2_000] for part in self.turn.parts if part.kind == "text")
        if self.is_request:
            request = activity.first_request([mark(Message(role="user", text=words))])
            words = request or words
        if words.strip():
            return clipped(words, BRIEF_CHARS)
        for part in self.turn.parts:
            if part.kind == "tool_use":
                return clipped(f"calls {part.name}", BRIEF_CHARS)
            if part.kind == "tool_result":
                name = part.name or self.names.get(part.use_id, "a tool")
                return clipped(f"result of {name}", BRIEF_CHARS)
        return ", ".join(part.kind for part in self.turn.parts)[:BRIEF_CHARS]

    @property
    def words(self) -> str:
        """Its texts."""
        return "\n".join(part.text for part in self.turn.parts if part.kind == "text")

    def row(
        self, position: int, tokens: int, message_seq: int | None, *, is_told: bool = False
    ) -> StoredTurn:
        """The turn as it is stored."""
        return StoredTurn(
            position, json.dumps(self.turn.raw, ensure_ascii=True), tokens, message_seq,
            self.is_request, self.brief, is_personal=is_told,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Incoming:
    """Messages to append. shape: of the session with them; None if they fit either. system: the
    new system prompt, None for no change."""

    turns: tuple[IncomingTurn, ...]
    shape: Shape | None
    system: str | None

    @classmethod
    def of(cls, given: Iterable[object], state: State, redaction: Redaction) -> Incoming:
        """Reads what a caller gave. Raises UsageError for what is no message."""
        raw = [_redacted(_plain(message), redaction) for message in given]
        of_session: Shape | None = None if state.row.shape is None else state.shape
        found = shapes.shape_of(raw)
        shape = of_session or found
        read = [shapes.parse(message, found or shape or "openai") for message in raw]
        if found is not None and shape is not None and found != shape:
            read = [shapes.parse(message, shape) for message in shapes.render(read, shape)]
        system = None
        if state.count == 0:
            words, read = shapes.split_system(read)
            system = words or None
        names = shapes.tool_names([turn.turn for turn in state.window])
        incoming = []
        for turn in read:
            names = {**names, **shapes.tool_names([turn])}
            incoming.append(IncomingTurn(turn, names))
        return cls(tuple(incoming), shape, system)


def personal_turns(incoming: Sequence[IncomingTurn], is_personal_before: bool) -> list[bool]:
    """Of each turn, whether the user speaks of themselves in it, or it answers such a turn.
    is_personal_before: whether the user did in the request before them."""
    found, is_told = [], is_personal_before
    for turn in incoming:
        if turn.is_request:
            is_told = is_personal(turn.words)
        found.append(is_told and turn.turn.role != "tool")
    return found


def listed(given: object) -> list[object]:
    """The messages that a caller gave, of which one may be alone. Raises UsageError."""
    if isinstance(given, Mapping) or hasattr(given, "model_dump"):
        return [given]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(
            "append takes messages as a provider does, such as "
            f'{{"role": "user", "content": "…"}}, not {type(given).__name__}.'
        )
    return list(given)


def _plain(message: object) -> dict[str, Any]:
    """A message as a dict of JSON values. Raises UsageError."""
    if hasattr(message, "model_dump"):  # an object of a provider's library
        message = message.model_dump(mode="json", exclude_none=True)
    if not isinstance(message, Mapping):
        raise UsageError(
            f"A message is a dict as a provider takes it, not {type(message).__name__}: "
            f"{repr(message)[:80]}."
        )
    try:
        plain = json.loads(json.dumps(dict(message), allow_nan=False))
    except RecursionError as error:
        raise _too_deep(message) from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"This message is no JSON ({error}): {repr(message)[:80]}.") from error
    if not isinstance(plain.get("role"), str):
        raise UsageError(f'A message has a "role", unlike {repr(message)[:80]}.')
    checked: dict[str, Any] = plain
    return checked


def _redacted(message: dict[str, Any], redaction: Redaction) -> dict[str, Any]:
    """A message without secrets in any of its texts, however deep they are, and without lone
    surrogates, which neither a file nor a provider takes. Raises UsageError."""
    try:
        return {storable_text(key)[0]: _clean(value, redaction) for key, value in message.items()}
    except RecursionError as error:
        raise _too_deep(message) from error


def _too_deep(message: Mapping[str, Any]) -> UsageError:
    # Subtle: repr() of it would fail too.
    return UsageError(f"This message is nested too deeply; it has {', '.join(map(str, message))}.")


def _clean(value: Any, redaction: Redaction) -> Any:
    if isinstance(value, str):
        return storable_text(redaction.text(value) or "")[0]
    if isinstance(value, list):
        return [_clean(item, redaction) for item in value]
    if isinstance(value, dict):
        return {storable_text(key)[0]: _clean(item, redaction) for key, item in value.items()}
    return value
