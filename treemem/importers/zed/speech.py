"""Builds the messages of a thread of Zed's agent.

Pure. Zed gives the ids of a thread's messages anew when it converts an older thread. So a prompt is
identified by its words, and an answer by the prompt before it and its place behind that.

Tested in tests/importers/test_zed.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import TOO_DEEP
from treemem.importers.common.sdk_blocks import json_text
from treemem.importers.common.source_ids import TurnIds
from treemem.types import PARENT_AGENT, Message

EMPTY = "empty message"

# How a mention is called in the text: the first of these that it has.
_MENTION_NAMES = ("abs_path", "file_path", "skill_file_path", "name", "url", "base_ref", "path")


class Speech:
    """Builds the messages of one thread. Call in the thread's order."""

    def __init__(self, sent_at: str | None, *, is_agents: bool) -> None:
        self._sent_at = sent_at
        self._is_agents = is_agents
        self._blocks = BlockReader()
        self._ids = TurnIds()

    def read(self, value: object) -> Message | Skipped:
        """The message of an entry, or the reason for none."""
        if not isinstance(value, dict) or len(value) != 1:
            return Skipped(no_message(value))
        ((kind, inner),) = value.items()
        try:
            if kind == "User":
                return self._user(as_dict(inner))
            if kind == "Agent":
                return self._agent(as_dict(inner))
            if kind == "Compaction" and (summary := as_text(as_dict(inner).get("Summary"))):
                content = Content()
                content.add(summary)
                return self._message(content, self._ids.answer(), "assistant", kind="summary")
        except RecursionError:
            return Skipped(TOO_DEEP, problem=True)
        return Skipped(no_message(kind))

    def _user(self, entry: dict[str, Any]) -> Message | Skipped:
        content, line = Content(), ""
        mentions: list[tuple[str, str]] = []
        for block in as_list(entry.get("content")):
            kind, value = _tagged(block)
            if kind == "Text":
                line += as_text(value) or ""
            elif kind == "Mention":
                name = _mention_name(as_dict(value).get("uri"))
                line += f"@{name}"
                mentions.append((name, as_text(as_dict(value).get("content")) or ""))
            elif kind == "Image":
                content.add(line)
                line = ""
                self._blocks.add(content, _image(value))
            else:
                self._blocks.add(content, block)
        content.add(line)
        typed = "\n".join(content.spoken) or content.text
        for name, text in mentions:
            content.add(text, "text", name)
        if context := as_text(entry.get("context")):
            content.add(context, "marker", "context")
        if content.is_empty:
            return Skipped(EMPTY)
        external_id = self._ids.prompt(typed)
        if entry.get("is_hidden") is True:
            return self._message(content, external_id, "user", kind="injected")
        if self._is_agents:
            return self._message(content, external_id, "other", author=PARENT_AGENT)
        return self._message(content, external_id, "user")

    def _agent(self, entry: dict[str, Any]) -> Message | Skipped:
        external_id = self._ids.answer()
        content = Content()
        results = dict(as_dict(entry.get("tool_results")))
        for block in as_list(entry.get("content")):
            kind, value = _tagged(block)
            if kind == "Text":
                content.add(as_text(value) or "")
            elif kind == "Thinking":
                content.add(as_text(as_dict(value).get("text")) or "", "thinking")
            elif kind == "RedactedThinking":
                content.add("[redacted thinking]", "marker")
            elif kind == "ToolUse":
                self._add_call(content, as_dict(value), results)
            else:
                self._blocks.add(content, block)
        for use_id, result in results.items():
            self._add_result(content, use_id, as_dict(result))
        if content.is_empty:
            return Skipped(EMPTY)
        return self._message(content, external_id, "assistant")

    def _message(self, content: Content, external_id: str, role: Any, **fields: Any) -> Message:
        return content.message(role, sent_at=self._sent_at, external_id=external_id, **fields)

    # -- tools -----------------------------------------------------------------------------

    def _add_call(self, content: Content, use: dict[str, Any], results: dict[str, Any]) -> None:
        """Adds a call, and its result, which is taken from the results."""
        use_id = as_text(use.get("id"))
        value = use.get("input")
        arguments = json_text(value, content) if value else as_text(use.get("raw_input")) or "{}"
        name = as_text(use.get("name")) or "tool"
        content.add_tool_use(name, arguments, use_id, self._blocks.names)
        if use_id is not None and use_id in results:
            self._add_result(content, use_id, as_dict(results.pop(use_id)))

    def _add_result(self, content: Content, use_id: str, result: dict[str, Any]) -> None:
        """Adds a result: what the model was told, or else what the tool gave."""
        told = result.get("content")
        blocks = [_result_block(item) for item in (told if isinstance(told, list) else [told])]
        if not any(blocks) and (output := result.get("output")):
            blocks = [json_text(output, content)]
        name = as_text(result.get("tool_name"))
        self._blocks.add_tool_result(content, blocks, use_id, name)


def _tagged(block: object) -> tuple[str, object]:
    """The type and the content of a block, an object with one field."""
    if isinstance(block, dict) and len(block) == 1:
        ((kind, value),) = block.items()
        return kind, value
    return "", None


def _mention_name(uri: object) -> str:
    kind, value = _tagged(uri)
    if isinstance(uri, str):
        return uri
    named = as_dict(value)
    name = next(filter(None, (as_text(named.get(key)) for key in _MENTION_NAMES)), None)
    return name or kind or "mention"


def _image(value: object) -> dict[str, Any]:
    """An image, which Zed keeps as PNG, in the shape of a content block."""
    source = {"type": "base64", "media_type": "image/png", "data": as_dict(value).get("source")}
    return {"type": "image", "source": source}


def _result_block(item: object) -> object:
    """A piece of a result as a content block; its keys are in any case."""
    if not isinstance(item, dict):
        return item
    fields = {str(key).lower(): value for key, value in item.items()}
    if (text := as_text(fields.get("text"))) is not None:
        return text
    image = as_dict(fields.get("image")) or fields
    return _image(image) if as_text(image.get("source")) else (item if fields.get("type") else None)


# -- threads of older versions ---------------------------------------------------------------


def modern(entries: Iterable[object]) -> Iterator[object]:
    """Yields the messages of a thread in the newest shape, as Zed itself converts them: results in
    a message of the user's belong to the calls before it."""
    held: dict[str, Any] | None = None
    for entry in entries:
        role = as_text(as_dict(entry).get("role"))
        if role is None:
            shaped = entry
        else:
            legacy = as_dict(entry)
            results = _results_by_id(legacy.get("tool_results"))
            if role == "user" and results and held is not None:
                held["Agent"]["tool_results"] |= results
                continue
            shaped = _shaped(legacy, role, results)
        if held is not None:
            yield held
        held = shaped if role == "assistant" and isinstance(shaped, dict) else None
        if held is None:
            yield shaped
    if held is not None:
        yield held


def _results_by_id(results: object) -> dict[str, Any]:
    by_id = {}
    for result in as_list(results):
        if (use_id := as_text(as_dict(result).get("tool_use_id"))) is not None:
            by_id[use_id] = result
    return by_id


def _shaped(legacy: dict[str, Any], role: str, results: dict[str, Any]) -> dict[str, Any]:
    content: list[object] = []
    for segment in as_list(legacy.get("segments")) or [{"type": "text", **legacy}]:
        text = as_text(as_dict(segment).get("text")) or ""
        kind = as_dict(segment).get("type")
        if kind == "thinking":
            content.append({"Thinking": {"text": text}})
        elif kind == "RedactedThinking":
            content.append({"RedactedThinking": ""})
        elif text:
            content.append({"Text": text})
    if role == "user":
        extra = {key: legacy[key] for key in ("context", "is_hidden") if key in legacy}
        return {"User": {"content": content, **extra}}
    if role == "assistant":
        calls = [{"ToolUse": use} for use in as_list(legacy.get("tool_uses"))]
        return {"Agent": {"content": [*content, *calls], "tool_results": results}}
    return {role: content}
