"""Builds a message of an event of OpenHands' second generation, that of its SDK.

Pure. An event has its kind; an action and its observation share the id of a tool call.

Tested in tests/importers/test_openhands.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message, texts_of
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.sdk_blocks import json_text
from treemem.importers.common.source_ids import is_uuid, sent_at
from treemem.types import PARENT_AGENT, Message, MessageKind, Role

EMPTY = "empty message"
TOLD = "told by its action"

_SOURCES = ("agent", "user", "environment", "hook")
_ENDINGS = ("Event", "Observation", "Condensation", "CondensationRequest")
# Tools by which an agent says something; what they give repeats it.
_FINISH, _THINK = "finish", "think"
_RUNNING = frozenset({"pending", "in_progress"})

Speaker = tuple[Role, MessageKind, str | None]


def is_event(value: dict[str, Any]) -> bool:
    """Whether an object can only be an event of OpenHands' SDK."""
    kind = as_text(value.get("kind"))
    has_fields = {"id", "timestamp"} <= value.keys() and value.get("source") in _SOURCES
    return kind is not None and has_fields and kind.endswith(_ENDINGS)


class Speech:
    """Builds the messages of one conversation. Call in the order of its events."""

    def __init__(self, *, is_agents: bool) -> None:
        self._is_agents = is_agents
        self._blocks = BlockReader()

    def read(self, event: dict[str, Any], *, active: bool) -> Message | Skipped:
        """The message of an event, or the reason for none."""
        content = Content()
        speaker = self._add(content, event, str(event.get("kind")))
        if isinstance(speaker, Skipped):
            return speaker
        if content.is_empty:
            return Skipped(EMPTY)
        role, kind, author = speaker
        external_id = as_text(event.get("id"))
        return content.message(
            role,
            author=author,
            kind=kind,
            sent_at=sent_at(event.get("timestamp")),
            external_id=external_id,
            unique_id=external_id is not None and is_uuid(external_id),
            active=active,
        )

    def _add(self, content: Content, event: dict[str, Any], kind: str) -> Speaker | Skipped:
        """Adds the content of an event; returns who speaks."""
        if kind == "MessageEvent":
            return self._add_message(content, event)
        if kind == "ActionEvent":
            self._add_action(content, event)
            return "assistant", "said", None
        if kind == "ObservationEvent":
            return self._add_observation(content, event)
        if kind in ("AgentErrorEvent", "UserRejectObservation"):
            text = as_text(event.get("error")) or as_text(event.get("rejection_reason"))
            self._add_result(content, event, text)
            return "tool", "said", None
        if kind == "ACPToolCallEvent":
            return self._add_foreign_call(content, event)
        if kind == "SystemPromptEvent":
            for key in ("system_prompt", "dynamic_context"):
                content.add("\n".join(texts_of(event.get(key))))
            return "system", "injected", None
        if kind in ("Condensation", "CondensationSummaryEvent") and event.get("summary"):
            content.add(as_text(event.get("summary")) or "")
            return "assistant", "summary", None
        if kind == "ConversationErrorEvent":
            words = (as_text(event.get("code")), as_text(event.get("detail")))
            content.add(": ".join(filter(None, words)))
            return "system", "injected", None
        return Skipped(no_message(kind))

    def _add_message(self, content: Content, event: dict[str, Any]) -> Speaker:
        message = as_dict(event.get("llm_message"))
        self._add_thoughts(content, event | message)
        self._blocks.add(content, list(_blocks(message.get("content"))))
        for text in texts_of(event.get("extended_content")):
            content.add(text, "injected", "extended_content")
        if event.get("source") != "user" or message.get("role") != "user":
            is_agents = event.get("source") == "agent"
            return ("assistant", "said", None) if is_agents else ("user", "injected", None)
        sender = as_text(event.get("sender"))
        if sender is not None or self._is_agents:
            return "other", "said", sender or PARENT_AGENT
        return "user", "said", None

    def _add_thoughts(self, content: Content, event: dict[str, Any]) -> None:
        """Adds what a model thought, which is logged in the form of its provider and as text."""
        blocks = as_list(event.get("thinking_blocks"))
        self._blocks.add(content, blocks)
        if not blocks:
            content.add(as_text(event.get("reasoning_content")) or "", "thinking")
        item = as_dict(event.get("responses_reasoning_item"))
        thoughts = [*texts_of(item.get("summary")), *texts_of(item.get("content"))]
        content.add("\n\n".join(thoughts), "thinking")

    def _add_action(self, content: Content, event: dict[str, Any]) -> None:
        self._add_thoughts(content, event)
        content.add("\n".join(texts_of(event.get("thought"))))
        action, call = as_dict(event.get("action")), as_dict(event.get("tool_call"))
        name = as_text(event.get("tool_name")) or as_text(call.get("name")) or "tool"
        if name == _FINISH and (words := as_text(action.get("message"))):
            content.add(words)
        elif name == _THINK and (words := as_text(action.get("thought"))):
            content.add(words, "thinking")
        else:
            rest = {key: value for key, value in action.items() if key != "kind"}
            arguments = as_text(call.get("arguments")) or json_text(rest, content)
            use_id = as_text(event.get("tool_call_id")) or as_text(call.get("id"))
            content.add_tool_use(name, arguments, use_id, self._blocks.names)

    def _add_observation(self, content: Content, event: dict[str, Any]) -> Speaker | Skipped:
        if event.get("tool_name") in (_FINISH, _THINK):
            return Skipped(TOLD)
        observation = as_dict(event.get("observation"))
        told = observation.get("content")
        blocks = list(_blocks(told)) if told else []
        if not blocks:
            texts = (as_text(observation.get(key)) for key in ("output", "error", "detail"))
            rest = {key: value for key, value in observation.items() if key != "kind"}
            blocks = list(filter(None, texts)) or [json_text(rest, content)]
        self._add_result(content, event, blocks)
        for text in texts_of(event.get("extended_content")):
            content.add(text, "injected", "extended_content")
        return "tool", "said", None

    def _add_result(self, content: Content, event: dict[str, Any], blocks: object) -> None:
        use_id, name = event.get("tool_call_id"), as_text(event.get("tool_name"))
        self._blocks.add_tool_result(content, blocks, use_id, name)

    def _add_foreign_call(self, content: Content, event: dict[str, Any]) -> Speaker | Skipped:
        """Adds a call of an agent that OpenHands only runs; its last state has the result."""
        if event.get("status") in _RUNNING:
            return Skipped(no_message("ACPToolCallEvent", event.get("status")))
        use_id = as_text(event.get("tool_call_id"))
        name = as_text(event.get("title")) or as_text(event.get("tool_kind")) or "tool"
        arguments = json_text(event.get("raw_input") or {}, content)
        content.add_tool_use(name, arguments, use_id, self._blocks.names)
        told = event.get("content") or event.get("raw_output")
        if told:
            text = "\n".join(texts_of(told)) or json_text(told, content)
            self._blocks.add_tool_result(content, text, use_id, name)
        return "assistant", "said", None


def _blocks(content: object) -> Iterator[object]:
    """The content of a message as blocks; an image may have several addresses."""
    for block in content if isinstance(content, list) else [content]:
        urls = as_list(as_dict(block).get("image_urls"))
        if urls:
            yield from ({"type": "image", "url": url} for url in urls)
        else:
            yield block
