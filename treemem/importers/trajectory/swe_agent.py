"""Reads the entries of SWE-agent's and mini-swe-agent's trajectories.

Pure. An entry is a chat message; SWE-agent adds its kind ("message_type") and the action in it.
Without the conversation there are steps: an action, the thought before it and its observation.

Tested in tests/importers/test_trajectory.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from treemem.importers.chat.messages import MessageReader
from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_list, as_text, texts_of
from treemem.importers.common.content import BlockReader, Content
from treemem.types import Message

EMPTY = "empty message"

_MESSAGE_TYPES = frozenset(
    {"action", "demonstration", "observation", "system_prompt", "thought", "user"}
)
_STEP_KEYS = frozenset({"action", "observation"})
_SHELL = "shell"


def is_entry(value: object) -> bool:
    """Whether a JSON value can only be an entry of SWE-agent."""
    if not isinstance(value, dict) or as_text(value.get("role")) is None:
        return False
    is_typed = as_text(value.get("message_type")) in _MESSAGE_TYPES
    return is_typed or ("agent" in value and {"action", "thought"} <= value.keys())


def is_step(value: object) -> bool:
    """Whether a JSON value is a step: an action with its observation."""
    return isinstance(value, dict) and value.keys() >= _STEP_KEYS and "role" not in value


def _text_of(entry: dict[str, Any]) -> str:
    """The words of an entry, which mostly repeat its action."""
    return "\n".join(texts_of(entry.get("content")))


class EntryReader:
    """Turns entries into messages, in their order: it remembers whether the agent has acted."""

    def __init__(self) -> None:
        self._chat = MessageReader()
        self._blocks = BlockReader()
        self._has_acted = False

    def read(self, entry: dict[str, Any]) -> list[Message | Skipped]:
        """The messages of an entry or a step."""
        if is_step(entry):
            return self._step(entry)
        return [self._entry(entry)]

    def _entry(self, entry: dict[str, Any]) -> Message | Skipped:
        role = entry.get("role")
        is_demonstration = (
            entry.get("is_demo") is True or entry.get("message_type") == "demonstration"
        )
        if role in ("user", "tool", "function") and self._has_acted and not is_demonstration:
            return self._observation(entry)
        if role == "exit":  # mini-swe-agent's note of how it ended
            entry = entry | {"role": "system"}
        if thoughts := as_list(entry.get("thinking_blocks")):
            content = entry.get("content")
            text = [{"type": "text", "text": content}] if isinstance(content, str) else content
            entry = entry | {"content": [*thoughts, *as_list(text)]}
        action = as_text(entry.get("action"))
        if action and not entry.get("tool_calls") and action.strip() not in _text_of(entry):
            call = {"name": _SHELL, "arguments": action}
            entry = entry | {"tool_calls": [{"function": call}]}
        message = self._chat.read(entry)
        if isinstance(message, str):
            return Skipped(message)
        if is_demonstration:
            return replace(message, kind="injected")
        self._has_acted = self._has_acted or message.role == "assistant"
        # The names in these entries are those of agents.
        return replace(message, author=None, kind="injected" if role == "system" else "said")

    def _observation(self, entry: dict[str, Any]) -> Message | Skipped:
        """What an action led to. The name of a tool is known if the action has an id."""
        ids = [*as_list(entry.get("tool_call_ids")), entry.get("tool_call_id")]
        call_id = next(filter(None, map(as_text, ids)), None)
        message = self._chat.read(
            {**entry, "role": "tool", "tool_call_id": call_id, "name": as_text(entry.get("name"))}
        )
        return Skipped(message) if isinstance(message, str) else message

    def _step(self, step: dict[str, Any]) -> list[Message | Skipped]:
        """The agent's words and its action, and the observation."""
        self._has_acted = True
        said, shown = Content(), Content()
        response, thought = as_text(step.get("response")), as_text(step.get("thought"))
        action = as_text(step.get("action"))
        if words := response or thought:
            said.add(words)
        if action and action.strip() and action.strip() not in (response or ""):
            said.add_tool_use(_SHELL, action, None, self._blocks.names)
        self._blocks.add_tool_result(shown, step.get("observation"), None, _SHELL)
        return [
            Skipped(EMPTY) if said.is_empty else said.message("assistant"),
            Skipped(EMPTY) if shown.is_empty else shown.message("tool"),
        ]
