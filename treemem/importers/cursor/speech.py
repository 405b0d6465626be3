"""Builds the messages of Cursor's stores, and separates typed text from injected context.

Pure. The user's text is in <user_query> tags; other tags contain the editor's state and rules.

Tested in tests/importers/test_cursor.py.
"""

from __future__ import annotations

from typing import Any

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_dict, as_text, json_or_none, texts_of
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import TOO_DEEP
from treemem.importers.common.sdk_blocks import add_block
from treemem.importers.common.source_ids import sent_at
from treemem.origins.wrappers import is_injected, own_elements
from treemem.patterns import lazy_regex
from treemem.types import Message, MessageKind, Role

EMPTY = "empty message"
NO_ROLE = "no message: no role"

ROLE_OF: dict[object, Role] = {
    "user": "user", "assistant": "assistant", "system": "system", "tool": "tool",
    1: "user", 2: "assistant", "ai": "assistant",
}  # fmt: skip
_WORKSPACE = lazy_regex(r"Workspace Path: ([^\n<]{1,4096})")
_CONTEXT_PART = "context"


def workspace_in(content: object) -> str | None:
    """The workspace that Cursor tells an agent of, in a text or in blocks; None without one."""
    named = next(filter(None, map(_WORKSPACE.search, texts_of(content))), None)
    return named[1].strip() if named else None


class Speech:
    """Builds messages; remembers the names of called tools."""

    def __init__(self) -> None:
        self.blocks = BlockReader()

    def message(self, value: dict[str, Any], blocks: object, **fields: Any) -> Message | Skipped:
        """Builds the message of a record in the AI SDK's or a provider's form. fields: further ones
        of Message."""
        role = ROLE_OF.get(as_text(value.get("role")))
        if role is None:
            return Skipped(NO_ROLE)
        content = Content()
        kind: MessageKind = "said"
        try:
            for block in blocks if isinstance(blocks, list) else [blocks]:
                if role == "user":
                    self._add_typed(content, block)
                else:
                    add_block(self.blocks, content, block)
        except RecursionError:
            return Skipped(TOO_DEEP, problem=True)
        if role == "user" and not content.spoken and content.parts:
            has_context = any(part.name == _CONTEXT_PART for part in content.parts)
            role = "tool" if content.is_answer else "user"
            kind = "injected" if has_context and role == "user" else "said"
        if role == "system":
            kind = "injected"
        return finished(content, role, kind, **fields)

    def _add_typed(self, content: Content, block: object) -> None:
        text = block if isinstance(block, str) else None
        if isinstance(block, dict) and block.get("type") == "text":
            text = as_text(block.get("text"))
        if text is None:
            add_block(self.blocks, content, block)
            return
        queries = own_elements(text)
        if not queries and is_injected([text]):
            _add_context(content, text)
        elif not queries:
            # With the tag elsewhere than behind the editor's context, nobody knows who wrote this.
            content.add(text, *(("pasted",) if "<user_query>" in text else ()))
        at = 0
        for query in queries:
            _add_context(content, text[at : query.start])
            words = text[query.words_start : query.words_end]
            content.add(words.removeprefix("\n").removesuffix("\n"))
            at = query.end
        if queries:
            _add_context(content, text[at:])

    # -- bubbles -----------------------------------------------------------------------------

    def bubble(self, bubble: dict[str, Any], **fields: Any) -> Message | Skipped:
        """Builds the message of a bubble: text, thinking, a tool call with its result."""
        role = ROLE_OF.get(_hashable(bubble.get("type")))
        if role is None:
            return Skipped(NO_ROLE)
        content = Content()
        try:
            thought = bubble.get("thinking")
            thought = thought if isinstance(thought, str) else as_dict(thought).get("text")
            content.add(as_text(thought) or "", "thinking")
            text = as_text(bubble.get("text")) or as_text(bubble.get("rawText")) or ""
            content.add(text, *(("thinking",) if bubble.get("isThought") is True else ()))
            self._add_tool(content, as_dict(bubble.get("toolFormerData")))
            for image in bubble["images"] if isinstance(bubble.get("images"), list) else []:
                self._add_image(content, image)
        except RecursionError:
            return Skipped(TOO_DEEP, problem=True)
        time = sent_at(bubble.get("createdAt"))
        if time is None:
            timing = as_dict(bubble.get("timingInfo"))
            times = (timing.get(key) for key in ("clientStartTime", "clientRpcSendTime"))
            time = next((parsed for value in times if (parsed := sent_at(value))), None)
        return finished(content, role, "said", sent_at=time, **fields)

    def _add_tool(self, content: Content, call: dict[str, Any]) -> None:
        name = as_text(call.get("name"))
        if name is None:
            return
        call_id = as_text(call.get("toolCallId"))
        arguments = as_text(call.get("rawArgs")) or as_text(call.get("params")) or "{}"
        content.add_tool_use(name, arguments, call_id, self.blocks.names)
        outputs = [call.get(key) for key in ("result", "error")]
        texts = [output if isinstance(output, str) else None for output in outputs]
        if any(map(as_text, texts)):
            self.blocks.add_tool_result(content, list(filter(None, texts)), call_id, name)

    def _add_image(self, content: Content, image: object) -> None:
        place = as_dict(image).get("path") or as_dict(image).get("uuid")
        if isinstance(image, str) or as_text(place):
            url = image if isinstance(image, str) else place
            self.blocks.add(content, {"type": "image", "url": url})


def finished(content: Content, role: Role, kind: MessageKind, **fields: Any) -> Message | Skipped:
    if content.is_empty:
        return Skipped(EMPTY)
    return content.message(
        role,
        kind=kind,
        **fields,
    )


def json_object(value: object) -> dict[str, Any] | None:
    """Parses the JSON object in a column of text or bytes; None for anything else."""
    parsed = json_or_none(value)
    return parsed if isinstance(parsed, dict) else None


def _add_context(content: Content, text: str) -> None:
    if text and not text.isspace():
        content.add(text, "marker", _CONTEXT_PART)


def _hashable(value: object) -> object:
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None
