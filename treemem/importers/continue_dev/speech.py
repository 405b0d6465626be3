"""Builds the messages of a session of Continue from the items of its history.

Pure. An item has a message, what was attached to it, and the calls of an answer with their results.
Only newer versions give items an id: a prompt is identified by its words, an answer by its prompt
and its place behind it.

Tested in tests/importers/test_continue.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import TOO_DEEP
from treemem.importers.common.sdk_blocks import json_text
from treemem.importers.common.source_ids import TurnIds, sent_at
from treemem.types import Message, MessageKind, Role

EMPTY = "empty message"
NO_ROLE = "no message: no role"
NOT_AN_OBJECT = "no message: not an object"
TOLD = "result of a tool, told with its call"

_ROLES: dict[object, Role] = {
    "user": "user", "assistant": "assistant", "thinking": "assistant", "system": "system",
    "tool": "tool",
}  # fmt: skip
# What the editor puts a whole prompt of a file in place of.
_COMMANDS = frozenset({"slashcommand", "prompt-block", "promptblock"})
_DEPTH_MAX = 20


class Speech:
    """Builds the messages of one session. Call in the session's order."""

    def __init__(self, began_at: str | None) -> None:
        self._time = began_at
        self._blocks = BlockReader()
        self._ids = TurnIds()
        self._told: set[str] = set()

    def read(self, item: dict[str, Any]) -> Iterator[Message | Skipped]:
        """Yields the message of an item, and the summary that it carries."""
        try:
            yield self._message(item, as_dict(item.get("message")))
        except RecursionError:
            yield Skipped(TOO_DEEP, problem=True)
        if summary := as_text(item.get("conversationSummary")):
            content = Content()
            content.add(summary)
            yield self._built(content, "assistant", "summary", self._ids.answer())

    def _message(self, item: dict[str, Any], message: dict[str, Any]) -> Message | Skipped:
        said = as_text(message.get("role"))
        role = _ROLES.get(said)
        if role is None:
            return Skipped(NO_ROLE)
        if role == "tool" and as_text(message.get("toolCallId")) in self._told:
            return Skipped(TOLD)
        reasoning = as_dict(item.get("reasoning"))
        self._time = sent_at(reasoning.get("startAt")) or self._time
        content = Content()
        kind: MessageKind = "injected" if role == "system" else "said"
        if role == "tool":
            self._blocks.add_tool_result(content, _blocks(message), message.get("toolCallId"))
        elif said == "thinking":
            content.add("\n\n".join(_texts(message)), "thinking")
        else:
            content.add(as_text(reasoning.get("text")) or "", "thinking")
            self._blocks.add(content, _blocks(message))
        if role == "assistant":
            self._add_calls(content, item, message)
        typed = "\n".join(content.spoken) or content.text
        if role == "user":
            kind = _mark_commands(content, item.get("editorState"))
            for attached in as_list(item.get("contextItems")):
                name, words = (as_text(as_dict(attached).get(key)) for key in ("name", "content"))
                content.add(words or "", "text", name)
        if content.is_empty:
            return Skipped(EMPTY)
        external_id = self._ids.prompt(typed) if role == "user" else self._ids.answer()
        return self._built(content, role, kind, external_id)

    def _built(self, content: Content, role: Role, kind: MessageKind, external_id: str) -> Message:
        return content.message(role, kind=kind, sent_at=self._time, external_id=external_id)

    def _add_calls(self, content: Content, item: dict[str, Any], message: dict[str, Any]) -> None:
        """Adds the calls of an answer, each with what it gave. Older versions have one state."""
        states = as_list(item.get("toolCallStates")) or [item.get("toolCallState")]
        stated: set[str | None] = set()
        for state in map(as_dict, states):
            if not state:
                continue
            call = as_dict(state.get("toolCall"))
            call_id = as_text(state.get("toolCallId")) or as_text(call.get("id"))
            stated.add(call_id)
            self._add_call(content, call, call_id, state.get("parsedArgs"))
            outputs = [as_text(as_dict(output).get("content"))
                       for output in as_list(state.get("output"))]  # fmt: skip
            if any(outputs):
                name = as_text(as_dict(call.get("function")).get("name"))
                self._blocks.add_tool_result(content, outputs, call_id, name)
                self._told |= {call_id} if call_id else set()
        for call in map(as_dict, as_list(message.get("toolCalls"))):
            call_id = as_text(call.get("id"))
            if call and call_id not in stated:
                self._add_call(content, call, call_id, None)

    def _add_call(
        self, content: Content, call: dict[str, Any], call_id: str | None, arguments: object
    ) -> None:
        function = as_dict(call.get("function"))
        text = as_text(function.get("arguments")) or json_text(arguments or {}, content)
        name = as_text(function.get("name")) or "tool"
        content.add_tool_use(name, text, call_id, self._blocks.names)


def _blocks(message: dict[str, Any]) -> object:
    """The content of a message as blocks."""
    content = message.get("content")
    if not isinstance(content, list):
        return content
    return [_block(as_dict(part)) if isinstance(part, dict) else part for part in content]


def _block(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "imageUrl":
        return part
    return {"type": "image_url", "image_url": part.get("imageUrl")}


def _texts(message: dict[str, Any]) -> list[str]:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return [text for part in parts if (text := as_text(as_dict(part).get("text")))]


# -- what was typed ------------------------------------------------------------------------


def _mark_commands(content: Content, editor: object) -> MessageKind:
    """Marks what a command of the editor, such as /test, put around the typed words; a message
    in which these are not found, or that has none, is the command's."""
    words: list[str] = []
    if not isinstance(editor, dict | list) or not _typed(editor, words, _DEPTH_MAX):
        return "said"
    text, typed = content.text, "".join(words).strip()
    at = text.find(typed) if typed else -1
    if at < 0:
        return "injected"
    for start, end in ((0, at), (at + len(typed), len(text))):
        if text[start:end].strip():
            content.mark(start, end, "marker", "command")
    return "said"


def _typed(node: object, words: list[str], depth: int) -> bool:
    """Collects the words of a document of the editor; returns whether it has a command."""
    if isinstance(node, list):
        # Each is looked at, since each has words.
        return sum(_typed(inner, words, depth) for inner in node) > 0
    fields = as_dict(node)
    kind = as_text(fields.get("type"))
    if kind in _COMMANDS:
        return True
    attributes = as_dict(fields.get("attrs"))
    if kind == "text":
        words.append(as_text(fields.get("text")) or "")
    elif kind == "mention":
        named = (as_text(attributes.get(key)) for key in ("renderInlineAs", "label"))
        words.append(next(filter(None, named), ""))
    elif kind == "hardBreak":
        words.append("\n")
    has_command = depth > 0 and _typed(as_list(fields.get("content")), words, depth - 1)
    if kind == "paragraph":
        words.append("\n")
    return has_command
