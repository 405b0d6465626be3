"""Builds a message of Crush from its row and its parts.

Pure. Each part is an object with its type and its data.

Tested in tests/importers/test_crush.py.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Any

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_dict, as_text, id_text
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import TOO_DEEP
from treemem.importers.common.source_ids import is_uuid, sent_at
from treemem.types import PARENT_AGENT, Message, MessageKind, Role

EMPTY = "empty message"
NO_ROLE = "no message: no role"

_ROLES: dict[object, Role] = {
    "user": "user", "assistant": "assistant", "system": "system", "tool": "tool",
}  # fmt: skip
_SHELL = "shell"


class Speech:
    """Builds the messages of one session. Call in the session's order."""

    def __init__(self, *, is_agents: bool) -> None:
        self._is_agents = is_agents
        self._blocks = BlockReader()

    def message(
        self,
        message_id: object,
        said: object,
        parts: Iterable[object],
        created: object,
        *,
        is_summary: bool,
    ) -> Message | Skipped:
        """Builds the message of a row, or says why there is none."""
        role = _ROLES.get(as_text(said))
        if role is None:
            return Skipped(NO_ROLE)
        content = Content()
        try:
            hidden = [self._add(content, as_dict(part)) for part in parts]
        except RecursionError:
            return Skipped(TOO_DEEP, problem=True)
        if content.is_empty:
            return Skipped(EMPTY)
        kind: MessageKind = "said"
        author = None
        if is_summary:
            kind = "summary"
        elif role == "system" or (role == "user" and any(hidden) and not content.spoken):
            kind = "injected"
        elif role == "user" and self._is_agents:
            role, author = "other", PARENT_AGENT
        external_id = id_text(message_id)
        return content.message(
            role,
            author=author,
            kind=kind,
            sent_at=sent_at(created),
            external_id=external_id,
            unique_id=external_id is not None and is_uuid(external_id),
        )

    def _add(self, content: Content, part: dict[str, Any]) -> bool:
        """Adds a part; returns whether it is in the user's name without being typed."""
        kind, data = as_text(part.get("type")), as_dict(part.get("data"))
        if kind == "text":
            is_hidden = data.get("hidden") is True
            marked = ("marker", "hidden") if is_hidden else ()
            content.add(as_text(data.get("text")) or "", *marked)
            return is_hidden
        if kind == "reasoning":
            content.add(as_text(data.get("thinking")) or "", "thinking")
        elif kind == "tool_call":
            name, text = as_text(data.get("name")) or "tool", as_text(data.get("input")) or "{}"
            content.add_tool_use(name, text, data.get("id"), self._blocks.names)
        elif kind == "tool_result":
            self._add_result(content, data)
        elif "exit_code" in data and "command" in data:
            command = as_text(data.get("command")) or ""
            content.add_tool_use(_SHELL, command, None, self._blocks.names)
            self._blocks.add_tool_result(content, as_text(data.get("output")), None, _SHELL)
            return True
        elif kind == "image_url":
            self._blocks.add(content, {"type": "image", "url": data.get("url")})
        elif kind == "binary":
            self._add_file(content, data)
        elif kind == "finish":
            words = (as_text(data.get("message")), as_text(data.get("details")))
            content.add("\n".join(filter(None, words)), "marker", "finish")
        elif part:
            self._blocks.add(content, part)
        return False

    def _add_result(self, content: Content, data: dict[str, Any]) -> None:
        blocks: list[object] = [as_text(data.get("content"))]
        if payload := as_text(data.get("data")):
            blocks.append(_embedded(as_text(data.get("mime_type")), payload))
        name = as_text(data.get("name"))
        self._blocks.add_tool_result(content, blocks, data.get("tool_call_id"), name)

    def _add_file(self, content: Content, data: dict[str, Any]) -> None:
        """Adds an attachment: the words of a text, of anything else a marker."""
        media_type, payload = as_text(data.get("MIMEType")), as_text(data.get("Data"))
        if payload is None:
            return
        if media_type is not None and media_type.startswith("text/"):
            try:
                words = base64.b64decode(payload, validate=True).decode("utf-8", "surrogateescape")
            except (binascii.Error, ValueError):
                pass
            else:
                content.add(words, "text", as_text(data.get("Path")) or media_type)
                return
        self._blocks.add(content, _embedded(media_type, payload))


def _embedded(media_type: str | None, payload: str) -> dict[str, Any]:
    """Embedded data in the shape of a content block."""
    label = "image" if (media_type or "").startswith("image/") else "file"
    source = {"type": "base64", "media_type": media_type, "data": payload}
    return {"type": label, "source": source}
