"""Builds a message's text from content blocks, and marks the parts that are not plain speech.

Blocks have the types that model providers' APIs and most logs share: text, thinking, tool use, tool
result, attachments. A block of unknown type is stored as JSON, so that nothing is lost.

Tested in tests/importers/test_claude_code.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from treemem.importers.common.attachments import (
    ATTACHMENT_TYPES,
    compact_json,
    read_attachment,
    without_base64,
)
from treemem.types import Blob, Message, Part, PartKind, Role

SEPARATOR = "\n\n"

_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
_TOOL_USE_TYPES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_DEPTH_MAX = 8
_TOOL_NAMES_MAX = 1_000


class ToolNames:
    """The names of tools that were called and have no result yet.

    Bounded, since a log may contain any number of calls without a result: the oldest are dropped.
    """

    def __init__(self) -> None:
        self._name_of: dict[str, str] = {}

    def remember(self, use_id: str, name: str) -> None:
        self._name_of[use_id] = name
        if len(self._name_of) > _TOOL_NAMES_MAX:
            del self._name_of[next(iter(self._name_of))]

    def take(self, use_id: str) -> str | None:
        return self._name_of.pop(use_id, None)

    def waiting(self) -> dict[str, str]:
        """The names by the ids of the calls, in the order of the calls."""
        return dict(self._name_of)

    def restore(self, waiting: dict[str, str]) -> None:
        """Makes these the names, as waiting() gave them."""
        self._name_of = dict(waiting)


class Content:
    """The text of one message while it is built.

    spoken: the pieces that are plain speech. is_answer: whether it contains a tool result.
    """

    __slots__ = (
        "_chars",
        "_pieces",
        "blobs",
        "is_answer",
        "parts",
        "spoken",
        "tool_result_ids",
        "tool_use_ids",
    )

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.blobs: list[Blob] = []
        self.tool_use_ids: list[str] = []
        self.tool_result_ids: list[str] = []
        self.spoken: list[str] = []
        self.is_answer = False
        self._pieces: list[str] = []
        self._chars = 0

    @property
    def text(self) -> str:
        return SEPARATOR.join(self._pieces)

    @property
    def is_empty(self) -> bool:
        return all(map(str.isspace, self._pieces))

    def add(self, text: str, kind: PartKind | None = None, name: str | None = None) -> int:
        """Appends a piece; kind is None for plain speech. Ignores an empty piece.

        Returns the offset of the piece in the text.
        """
        if not text:
            return self._chars
        start = self._chars + (len(SEPARATOR) if self._pieces else 0)
        self._pieces.append(text)
        self._chars = start + len(text)
        if kind is None:
            self.spoken.append(text)
        else:
            self.parts.append(Part(kind, start, self._chars, name))
        return start

    def mark(self, start: int, end: int, kind: PartKind, name: str | None = None) -> None:
        """Marks a range of the text so far as not plain speech."""
        self.parts.append(Part(kind, start, end, name))

    def add_tool_use(self, name: str, arguments: str, use_id: object, names: ToolNames) -> None:
        self.add(f"[tool use: {name}] {arguments}", "tool_use", name)
        if isinstance(use_id, str) and use_id:
            self.tool_use_ids.append(use_id)
            names.remember(use_id, name)

    def message(self, role: Role, **fields: Any) -> Message:
        """Builds a message from this content. fields: further fields of Message."""
        return Message(
            role=role,
            text=self.text,
            parts=tuple(self.parts),
            tool_use_ids=tuple(self.tool_use_ids),
            tool_result_ids=tuple(self.tool_result_ids),
            blobs=tuple(self.blobs),
            **fields,
        )


class BlockReader:
    """Adds content blocks to a Content; remembers a tool's name from its call to its result."""

    def __init__(self) -> None:
        self.names = ToolNames()

    def add(self, content: Content, blocks: object) -> None:
        """Adds a string, a block or a list of blocks."""
        if isinstance(blocks, str):
            content.add(blocks)
            return
        for block in _as_list(blocks):
            self._add_block(content, block, None, None, _DEPTH_MAX)

    def add_tool_result(
        self, content: Content, blocks: object, use_id: object, name: str | None = None
    ) -> None:
        """Adds the result of a tool call."""
        self._add_result(content, blocks, use_id, name, _DEPTH_MAX)

    def _add_result(
        self, content: Content, blocks: object, use_id: object, name: str | None, depth: int
    ) -> None:
        content.is_answer = True
        if isinstance(use_id, str) and use_id:
            content.tool_result_ids.append(use_id)
            name = self.names.take(use_id) or name
        for block in _as_list(blocks):
            self._add_block(content, block, "tool_result", name, depth - 1)

    def _add_block(
        self, content: Content, block: object, kind: PartKind | None, name: str | None, depth: int
    ) -> None:
        """Adds one block. kind, name: the part type of plain text inside a tool result."""
        if isinstance(block, str):
            content.add(block, kind, name)
            return
        if not isinstance(block, dict) or depth <= 0:
            _add_unknown(content, block)
            return
        type_name = block.get("type")
        block_type = type_name if isinstance(type_name, str) else None
        text = block.get("text")
        if block_type in _TEXT_TYPES and isinstance(text, str):
            content.add(text, kind, name)
        elif block_type == "thinking" and isinstance(thought := block.get("thinking"), str):
            content.add(thought, "thinking")
        elif block_type == "redacted_thinking":
            content.add("[redacted thinking]", "marker")
        elif block_type in _TOOL_USE_TYPES and isinstance(tool := block.get("name"), str):
            arguments = compact_json(block.get("input"))
            content.add_tool_use(tool, arguments, block.get("id"), self.names)
        elif isinstance(block_type, str) and block_type.endswith("tool_result"):
            use_id = block.get("tool_use_id")
            self._add_result(content, block.get("content"), use_id, None, depth)
        elif block_type in ATTACHMENT_TYPES:
            self._add_attachment(content, block, kind, name, depth)
        else:
            _add_unknown(content, block)

    def _add_attachment(
        self,
        content: Content,
        block: dict[str, object],
        kind: PartKind | None,
        name: str | None,
        depth: int,
    ) -> None:
        source = block.get("source")
        if isinstance(source, dict) and source.get("type") == "content":
            for inner in _as_list(source.get("content")):
                self._add_block(content, inner, kind or "text", name, depth - 1)
            return
        attachment = read_attachment(block)
        if attachment is None:
            _add_unknown(content, block)
        elif attachment.text is not None:
            content.add(attachment.text, kind or "text", name or attachment.media_type)
        else:
            content.add(attachment.marker, "marker", attachment.media_type)
            content.blobs += [attachment.blob] if attachment.blob else []


def join_fragments(first: Message, second: Message) -> Message:
    """Joins two fragments of one message; the metadata comes from the first."""
    shift = len(first.text) + len(SEPARATOR)
    moved = [
        Part(part.kind, part.start + shift, part.end + shift, part.name) for part in second.parts
    ]
    return replace(
        first,
        text=first.text + SEPARATOR + second.text,
        parts=(*first.parts, *moved),
        tool_use_ids=first.tool_use_ids + second.tool_use_ids,
        tool_result_ids=first.tool_result_ids + second.tool_result_ids,
        blobs=first.blobs + second.blobs,
    )


def _as_list(blocks: object) -> Iterable[object]:
    if blocks is None:
        return ()
    return blocks if isinstance(blocks, list) else (blocks,)


def _add_unknown(content: Content, block: object) -> None:
    """Adds a block of unknown type as compact JSON; ignores null."""
    if block is None:
        return
    shown, blobs = without_base64(block)
    block_type = block.get("type") if isinstance(block, dict) else None
    name = block_type if isinstance(block_type, str) else None
    content.add(compact_json(shown), "marker", name)
    content.blobs += blobs
