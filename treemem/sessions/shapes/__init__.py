"""The shapes of providers' messages: everything that a session needs of them, by one name.

Finds the shape of messages and turns one into a stored message; reading and changing a message is
in turns, sending in conversion, mending in repairs, the providers' rules in validation. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from treemem.errors import UsageError
from treemem.importers.chat.messages import MessageReader
from treemem.sessions.shapes.conversion import render, split_system
from treemem.sessions.shapes.repairs import groups, open_calls, repaired
from treemem.sessions.shapes.turns import (
    REASONING_KEYS,
    Shape,
    Turn,
    TurnPart,
    TurnPartKind,
    TurnRole,
    copied,
    parse,
    tool_names,
    with_appended,
    with_text,
    without_thinking,
)
from treemem.sessions.shapes.validation import problems
from treemem.types import Message

__all__ = [
    "Shape",
    "Turn",
    "TurnPart",
    "TurnPartKind",
    "TurnRole",
    "groups",
    "open_calls",
    "parse",
    "problems",
    "render",
    "repaired",
    "shape_of",
    "split_system",
    "to_message",
    "tool_names",
    "with_appended",
    "with_text",
    "without_thinking",
]

_OPENAI_ROLES = frozenset({"system", "developer", "tool"})
_OPENAI_KEYS = ("tool_calls", "tool_call_id", "refusal", *REASONING_KEYS)
_OPENAI_TYPES = frozenset({"image_url", "input_audio", "file", "refusal"})
_ANTHROPIC_TYPES = frozenset(
    {"thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document",
     "server_tool_use", "search_result"}
)  # fmt: skip
_STORED_KEYS = ("role", "name", "tool_call_id", "tool_calls", "id", "timestamp")


def shape_of(messages: Sequence[Mapping[str, Any]]) -> Shape | None:
    """The shape of messages; None if they fit both, being plain text.

    Raises UsageError if some of them are of one shape and some of the other.

    Example:
        >>> shape_of([{"role": "tool", "tool_call_id": "c1", "content": "3"}])
        'openai'
    """
    found: dict[Shape, int] = {}
    for place, message in enumerate(messages):
        for shape in _signs(copied(message)):
            found.setdefault(shape, place)
    if len(found) == 2:
        raise UsageError(
            f"Message {found['openai']} has OpenAI's shape and message {found['anthropic']} has "
            "Anthropic's. Give the messages of each shape by themselves."
        )
    return next(iter(found), None)


def to_message(turn: Turn, names: Mapping[str, str] | None = None) -> Message | None:
    """The turn as a message to store; None if there is no text in it.

    names: the tool by the id of its call, as tool_names gives it. A message with nothing but
    results has the role "tool". What the user's part says is the user's own, since a live program
    sends it.
    """
    known = {part.use_id: names[part.use_id] for part in turn.results
             if names and part.use_id in names}  # fmt: skip
    message = MessageReader(known).read(_as_logged(turn))
    if isinstance(message, str):
        return None
    role = "tool" if turn.role == "tool" else message.role
    return replace(message, role=role, origin=None)


def _signs(message: Any) -> Iterator[Shape]:
    if not isinstance(message, dict):
        return
    if message.get("role") in _OPENAI_ROLES or any(message.get(key) for key in _OPENAI_KEYS):
        yield "openai"
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        block_type = block.get("type") if isinstance(block, dict) else None
        if block_type in _OPENAI_TYPES:
            yield "openai"
        elif block_type in _ANTHROPIC_TYPES:
            yield "anthropic"


def _as_logged(turn: Turn) -> dict[str, Any]:
    """The message with the fields that logs have too, all refusals as text."""
    raw = turn.raw
    logged = {key: raw[key] for key in _STORED_KEYS if key in raw}
    if turn.shape == "openai":
        logged["reasoning_content"] = next(
            (raw[key] for key in REASONING_KEYS if isinstance(raw.get(key), str)), None
        )
    if raw.get("tool_calls"):
        logged["tool_calls"] = [_as_function(call) for call in raw["tool_calls"]]
    content = raw.get("content")
    if any(part.at == ("refusal",) for part in turn.parts) or isinstance(content, list):
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        refusal = {"type": "refusal", "refusal": raw.get("refusal") or ""}
        content = [
            {"type": "text", "text": block["refusal"]}
            if block.get("type") == "refusal" and isinstance(block.get("refusal"), str)
            else block
            for block in (*blocks, refusal)
        ]
    return logged | {"content": content}


def _as_function(call: dict[str, Any]) -> dict[str, Any]:
    """A call of a custom tool, whose input is a text, as one of a function."""
    custom = call.get("custom")
    if not isinstance(custom, dict):
        return call
    function = {"name": custom.get("name"), "arguments": custom.get("input")}
    return {"id": call.get("id"), "function": function}
