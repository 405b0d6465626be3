"""The parts that Gemini's messages are made of: text, thoughts, attachments, calls and answers.

Pure. A tool's call and its answer stand in one record, and so in one message.
"""

from __future__ import annotations

from typing import Any

from treemem.importers.common.attachments import compact_json, without_base64
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.content import BlockReader, Content
from treemem.types import MessageKind, Role

_ROLES: dict[object, Role] = {
    "user": "user", "gemini": "assistant", "model": "assistant",
    "info": "system", "warning": "system", "error": "system",
}  # fmt: skip
_CONTEXT = ("<session_context>", "</session_context>")
_OLD_CONTEXT = "This is the Gemini CLI. We are setting up the context for our chat."
# No set, which would hash every answer from its beginning to its end.
_ACKNOWLEDGED = ("Got it. Thanks for the context!", "Got it. Thanks for the additional context!")
_SNAPSHOT = "<state_snapshot>"
_MEDIA = frozenset({"image", "audio", "video"})


def role_of(record: dict[str, Any]) -> Role | None:
    """Who says it; None for a record that says nothing."""
    return _ROLES.get(as_text(record.get("type")) or as_text(record.get("role")))


def read_content(record: dict[str, Any], blocks: BlockReader) -> Content:
    """All that a message's record says: thoughts, words, calls with their answers."""
    content = Content()
    for thought in as_list(record.get("thoughts")):
        words = (as_text(as_dict(thought).get(key)) for key in ("subject", "description"))
        content.add("\n".join(filter(None, words)), "thinking")
    _add_parts(content, record.get("content") or record.get("parts"), blocks)
    for call in as_list(record.get("toolCalls")):
        _add_call(content, as_dict(call), blocks)
    return content


def kind_of(role: Role, spoken: list[str]) -> MessageKind:
    """Whether it was really said; the tool speaks in both names, and summarizes in the user's."""
    pieces = [piece.strip() for piece in spoken if not piece.isspace()]
    if role == "system":
        return "injected"
    if role == "user" and pieces and pieces[0].startswith(_SNAPSHOT):
        return "summary"
    posed = bool(pieces) and all(map(_is_context if role == "user" else _is_polite, pieces))
    return "injected" if posed else "said"


def _is_context(text: str) -> bool:
    return text.startswith(_OLD_CONTEXT) or (
        text.startswith(_CONTEXT[0]) and text.endswith(_CONTEXT[1])
    )


def _is_polite(text: str) -> bool:
    return text in _ACKNOWLEDGED


def _add_parts(content: Content, parts: object, blocks: BlockReader) -> None:
    for part in parts if isinstance(parts, list) else [parts]:
        found = as_dict(part)
        if isinstance(part, str):
            content.add(part)
        elif isinstance(text := found.get("text"), str):
            content.add(text, "thinking" if found.get("thought") is True else None)
        elif isinstance(data := found.get("inlineData"), dict):
            blocks.add(content, _embedded(data))
        elif isinstance(data := found.get("fileData"), dict):
            blocks.add(content, {"type": "file", "file": {**data, "url": data.get("fileUri")}})
        elif isinstance(call := found.get("functionCall"), dict):
            _add_use(content, call, blocks)
        elif isinstance(answer := found.get("functionResponse"), dict):
            name = as_text(answer.get("name"))
            blocks.add_tool_result(content, _answered(answer), answer.get("id"), name)
        elif part is not None:
            blocks.add(content, part)


def _add_call(content: Content, call: dict[str, Any], blocks: BlockReader) -> None:
    """A call as the log keeps it, and what came of it."""
    _add_use(content, call, blocks)
    result = call.get("result")
    if result is None:
        result = as_text(call.get("resultDisplay"))
    if isinstance(result, str):
        blocks.add_tool_result(content, result, call.get("id"), as_text(call.get("name")))
    elif result is not None:
        _add_parts(content, result, blocks)


def _add_use(content: Content, call: dict[str, Any], blocks: BlockReader) -> None:
    name = as_text(call.get("name")) or "unnamed"
    content.add_tool_use(name, compact_json(call.get("args")), call.get("id"), blocks.names)


def _answered(answer: dict[str, Any]) -> object:
    """The words of a tool's answer; an answer of another shape as compact JSON."""
    response = answer.get("response")
    for key in ("output", "error", "content"):
        if isinstance(text := as_dict(response).get(key), str):
            return text
    return None if response is None else compact_json(without_base64(response)[0])


def _embedded(data: dict[str, Any]) -> dict[str, Any]:
    """Inline data in the shape that attachments are read in."""
    media_type = as_text(data.get("mimeType")) or ""
    kind = media_type.partition("/")[0]
    source = {"type": "base64", "media_type": media_type, "data": data.get("data")}
    return {"type": kind if kind in _MEDIA else "file", "source": source}
