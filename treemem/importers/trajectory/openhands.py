"""Reads the events of OpenHands: actions, and the observations that they lead to.

Pure. An observation names its action by the id in "cause".

Tested in tests/importers/test_trajectory.py.
"""

from __future__ import annotations

from typing import Any

from treemem.importers.common.attachments import compact_json
from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_dict, as_text, id_text, no_message
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.source_ids import sent_at
from treemem.types import PARENT_AGENT, Message, MessageKind, Role

EMPTY = "empty message"

_SOURCES = ("user", "agent", "environment")
# Events about the run itself.
_STATES = frozenset({
    "agent_state_changed", "change_agent_state", "null", "recall", "condensation", "pause",
    "resume", "initialize", "task_tracking_state",
})  # fmt: skip
# Arguments that are words, of an action that only says something.
_WORDS = ("content", "final_thought", "thought")
_HIDDEN = frozenset({"thought", "image_urls", "wait_for_response", "is_confirmed",
                     "confirmation_state", "security_risk", "hidden"})  # fmt: skip


def is_event(value: object) -> bool:
    """Whether a JSON value can only be an event of OpenHands."""
    if not isinstance(value, dict) or value.get("source") not in _SOURCES:
        return False
    is_action = as_text(value.get("action")) is not None and isinstance(value.get("args"), dict)
    return is_action or (as_text(value.get("observation")) is not None and "content" in value)


class EventReader:
    """Turns events into messages; remembers the names of tools from action to observation."""

    def __init__(self) -> None:
        self._blocks = BlockReader()
        self._delegated: set[str] = set()

    def read(self, event: dict[str, Any]) -> Message | Skipped:
        """The message of an event, or the reason for none."""
        content = Content()
        observation = as_text(event.get("observation"))
        name = observation or as_text(event.get("action")) or ""
        role: Role = "tool"
        kind: MessageKind = "said"
        if name in _STATES and not as_dict(event.get("args")).get("summary"):
            return Skipped(no_message(name))
        if observation is not None:
            self._blocks.add_tool_result(
                content, event.get("content"), id_text(event.get("cause")), observation
            )
        else:
            role, kind = self._add_action(content, event, name)
        if content.is_empty:
            return Skipped(EMPTY)
        return content.message(
            role,
            author=PARENT_AGENT if role == "other" else None,
            sent_at=sent_at(event.get("timestamp")),
            external_id=id_text(event.get("id")),
            kind=kind,
        )

    def _add_action(
        self, content: Content, event: dict[str, Any], name: str
    ) -> tuple[Role, MessageKind]:
        """Adds an action; returns its role and kind."""
        arguments = as_dict(event.get("args"))
        is_users = event.get("source") == "user"
        if name == "system":
            content.add(as_text(arguments.get("content")) or "")
            return "system", "injected"
        if name == "condensation":
            content.add(as_text(arguments.get("summary")) or "")
            return "assistant", "summary"
        if name == "think":
            content.add(as_text(arguments.get("thought")) or "", "thinking")
            return "assistant", "said"
        if name in ("message", "finish", "reject"):
            text = next(filter(None, (as_text(arguments.get(key)) for key in _WORDS)), "")
            content.add(text)
            if is_users and text in self._delegated:
                return "other", "said"
            return ("user" if is_users else "assistant"), "said"
        if name == "delegate":
            # Its task is logged once more, as a message of the user.
            task = as_text(as_dict(arguments.get("inputs")).get("task"))
            self._delegated.add(f"TASK: {task}")
        content.add(as_text(arguments.get("thought")) or "")
        rest = {key: value for key, value in arguments.items() if key not in _HIDDEN}
        use_id = id_text(event.get("id"))
        content.add_tool_use(name, compact_json(rest), use_id, self._blocks.names)
        # A command that the user ran is not an instruction.
        return ("user", "injected") if is_users else ("assistant", "said")
