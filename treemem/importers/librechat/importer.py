"""Reads LibreChat's export of a conversation in JSON: a list of messages, or a tree of them.

Tested in tests/importers/test_librechat.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.importers.common.attachments import compact_json
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.branches import path_to_root, tree_order
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.json_members import JsonMember, read_members
from treemem.importers.common.records import events_of
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import file_key, is_uuid, one_line, printable, sent_at
from treemem.types import Message, MessageKind, Source

EMPTY = "empty message"
NOT_AN_OBJECT = "no message: not an object"

_LISTS = ("messages", "messagesTree")
_HEADER = frozenset({"conversationId", "endpoint", "exportAt"})


class LibreChat(Importer):
    """Imports the exports of LibreChat."""

    name = "librechat"
    version = 1
    description = "LibreChat's export of a conversation (JSON)"
    kept = "turns, thinking, tool calls and results, branches, names of files, errors"
    dropped = "usage, model names, options, feedback, files' contents"
    marks = (
        ("conversationId", "endpoint", "exportAt", "messages"),
        ("messageId", "parentMessageId", "isCreatedByUser", "text"),
    )

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        value = as_dict(head_value(head))
        if value.keys() >= _HEADER:
            return 0.95
        messages = [item for key in _LISTS for item in as_list(value.get(key))[:5]]
        own = ["messageId" in as_dict(item) and "isCreatedByUser" in as_dict(item)
               for item in messages]  # fmt: skip
        return 0.9 if own and all(own) and "conversationId" in value else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        header: dict[str, object] = {}
        roots: list[object] = []
        for member in read_members(file):
            if isinstance(member, Skipped):
                yield member
            elif member.key in _LISTS and member.is_element:
                roots.append(member.value)
            elif isinstance(member, JsonMember) and member.key and not member.is_element:
                header[member.key] = member.value
        key = as_text(header.get("conversationId"))
        source = Source(
            f"{LibreChat.name}/{printable(key) if key else file_key(file)}",
            LibreChat.name,
            title=one_line(header.get("title")),
            origin=file.label,
        )
        conversation = _Conversation(roots)
        yield from events_of(
            conversation.keys(), lambda _, name: conversation.message(name), lambda _: source
        )


class _Conversation:
    """The messages by their ids, whether they were a list or a tree."""

    def __init__(self, roots: list[object]) -> None:
        self._blocks = BlockReader()
        self._tree: dict[str, object] = {}
        self._parent_of: dict[str, str | None] = {}
        stack: list[tuple[object, str | None]] = [(root, None) for root in reversed(roots)]
        last: str | None = None
        while stack:
            value, above = stack.pop()
            fields = as_dict(value)
            last = as_text(fields.get("messageId")) or f"#{len(self._tree)}"
            if last in self._tree:
                continue
            self._tree[last] = value
            self._parent_of[last] = above or as_text(fields.get("parentMessageId"))
            stack += [(child, last) for child in reversed(as_list(fields.get("children")))]
        # The branch that is shown first is the newest: the last one in the export.
        self._active = path_to_root(self._parent_of, last)

    def keys(self) -> Iterator[str]:
        return tree_order(self._parent_of, self._active)

    def message(self, key: str) -> Message | str:
        """The message of an id, or the reason to skip it."""
        value = self._tree[key]
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        content = Content()
        for part in as_list(value.get("content")):
            self._add(content, part)
        if content.is_empty:
            content = Content()
            content.add(as_text(value.get("text")) or "")
        for file in map(as_dict, as_list(value.get("files"))):
            if name := as_text(file.get("filename")) or as_text(file.get("filepath")):
                is_image = (as_text(file.get("type")) or "").startswith("image/")
                self._blocks.add(content, [{"type": "image" if is_image else "file", "path": name}])
        if content.is_empty:
            return EMPTY
        is_users = value.get("isCreatedByUser") is True
        kind: MessageKind = "injected" if value.get("error") is True else "said"
        return content.message(
            "user" if is_users else "assistant",
            sent_at=sent_at(value.get("createdAt")),
            external_id=key,
            unique_id=is_uuid(key),
            kind=kind,
            active=key in self._active,
        )

    def _add(self, content: Content, part: object) -> None:
        fields = as_dict(part)
        part_type = as_text(fields.get("type"))
        if part_type in ("text", "error", "think"):
            words = fields.get(part_type if part_type == "think" else "text")
            words = words if isinstance(words, str) else as_dict(words).get("value")
            words = words or fields.get("error")
            content.add(as_text(words) or "", "thinking" if part_type == "think" else None)
        elif part_type == "tool_call":
            self._add_call(content, as_dict(fields.get("tool_call")))
        elif part_type in ("image_file", "image_url"):
            image = as_dict(fields.get(part_type))
            path = as_text(image.get("filename")) or as_text(image.get("filepath"))
            known = {"type": "image", "path": path} if path else part
            self._blocks.add(content, [known])
        elif part_type != "agent_update":
            self._blocks.add(content, [part])

    def _add_call(self, content: Content, call: dict[str, Any]) -> None:
        function = as_dict(call.get("function"))
        name = as_text(call.get("name")) or as_text(function.get("name"))
        name = name or as_text(call.get("type")) or "unnamed"
        arguments = call.get("args", function.get("arguments", call.get(name)))
        shown = arguments if isinstance(arguments, str) else compact_json(arguments)
        content.add_tool_use(name, shown, call.get("id"), self._blocks.names)
        output = call.get("output", function.get("output"))
        if output not in (None, "", []):
            result = output if isinstance(output, str) else compact_json(output)
            self._blocks.add_tool_result(content, result, call.get("id"), name)
