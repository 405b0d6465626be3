"""Reads the messages that the chat window showed, for a task without the model's history.

Pure. An entry says or asks something; most are notices or states of the window, not messages.

Tested in tests/importers/test_cline.py.
"""

from __future__ import annotations

from typing import Any

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, json_or_none
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.sdk_blocks import json_text
from treemem.importers.common.source_ids import sent_at
from treemem.types import Message, MessageKind, Role

EMPTY = "empty message"

_TYPED = frozenset({"task", "user_feedback"})
_SPOKEN = frozenset(
    {"text", "completion_result", "followup", "plan_mode_respond", "act_mode_respond"}
)
_CALLS = frozenset(
    {"tool", "command", "use_mcp_server", "browser_action", "browser_action_launch", "new_task",
     "user_feedback_diff"}
)  # fmt: skip
_ANSWERS = frozenset(
    {"command_output", "mcp_server_response", "browser_action_result", "subtask_result"}
)


class Window:
    """Turns the entries of a task's chat window into messages. The first text is the task."""

    def __init__(self) -> None:
        self._blocks = BlockReader()
        self._has_task = False

    def message(self, entry: dict[str, Any]) -> Message | Skipped:
        kind = as_text(entry.get(str(entry.get("type")))) or "unknown"
        content = Content()
        speaker = self._add(content, kind, entry)
        if speaker is None:
            return Skipped(f"no message: {kind if kind.isidentifier() else 'unknown'}"[:60])
        if content.is_empty:
            return Skipped(EMPTY)
        role, message_kind = speaker
        return content.message(
            role,
            sent_at=sent_at(entry.get("ts")),
            kind=message_kind,
        )

    def _add(
        self, content: Content, kind: str, entry: dict[str, Any]
    ) -> tuple[Role, MessageKind] | None:
        text = as_text(entry.get("text")) or ""
        is_task = not self._has_task and kind in ("task", "text")
        if kind in _TYPED or is_task:
            self._has_task = True
            content.add(text)
            self._add_images(content, entry)
            return "user", "said"
        if kind in _SPOKEN:
            content.add(as_text(entry.get("reasoning")) or "", "thinking")
            content.add(_question(text) if kind == "followup" else text)
            return "assistant", "said"
        if kind == "reasoning":
            content.add(text or as_text(entry.get("reasoning")) or "", "thinking")
            return "assistant", "said"
        if kind in _CALLS:
            call = as_dict(json_or_none(text))
            name = as_text(call.get("tool")) or kind
            content.add_tool_use(name, text, None, self._blocks.names)
            return "assistant", "said"
        if kind in _ANSWERS:
            self._blocks.add_tool_result(content, text or None, None, kind)
            self._add_images(content, entry)
            return "tool", "said"
        if kind == "condense_context":
            content.add(as_text(as_dict(entry.get("contextCondense")).get("summary")) or "")
            return "assistant", "summary"
        return None

    def _add_images(self, content: Content, entry: dict[str, Any]) -> None:
        for image in as_list(entry.get("images")):
            if isinstance(image, str):
                self._blocks.add(content, {"type": "image", "url": image})


def is_window_entry(value: object) -> bool:
    entry = as_dict(value)
    kind = entry.get("type")
    return kind in ("ask", "say") and isinstance(entry.get(kind), str) and "ts" in entry


def _question(text: str) -> str:
    """The text of a question with the answers it offers."""
    followup = as_dict(json_or_none(text))
    question = as_text(followup.get("question"))
    if question is None:
        return text
    offered = [*as_list(followup.get("options")), *as_list(followup.get("suggest"))]
    answers = [as_dict(item).get("answer") if isinstance(item, dict) else item for item in offered]
    return "\n".join(
        [question, *(f"- {json_text(answer, Content())}" for answer in answers if answer)]
    )
