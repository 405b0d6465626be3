"""Reads Claude.ai's data export: conversations.json, or single conversations from the web app.

A conversation is a source; messages on abandoned branches (edited questions, repeated answers) are
imported as inactive. Pasted texts become part of the message, files a marker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.importers.chat.messages import ROLE_OF
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.branches import path_to_root
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.exports import export_events, recognized
from treemem.importers.common.records import events_of
from treemem.importers.common.source_ids import file_key, is_uuid, one_line, printable, sent_at
from treemem.types import Message, Role, Source

EMPTY = "empty message"
EMPTY_CONVERSATION = "empty conversation"
NO_SPEAKER = "no message: no speaker"
NOT_AN_OBJECT = "no message: not an object"
NO_CONVERSATION = "no conversation: no messages in it"

_ROOT = "00000000-0000-4000-8000-000000000000"
_CONVERSATION_KEYS = frozenset({"uuid", "name", "created_at"})
_NO_SPEECH = frozenset({"token_budget", "flag"})
_BESIDE = (
    (frozenset({"full_name", "email_address"}), "no chat: account"),
    (frozenset({"prompt_template", "docs"}), "no chat: project"),
    (frozenset({"conversations_memory"}), "no chat: memory"),
)


class ClaudeAi(Importer):
    """Imports conversations.json of Claude.ai, whole or of one conversation."""

    name = "claude-ai"
    version = 1
    description = "Claude.ai data export (conversations.json)"
    kept = "turns, thinking, tool calls and results, pasted texts, names of files, branches"
    dropped = "files' contents, conversations' summaries, projects, memories, account, settings"
    marks = (("uuid", "name", "created_at", "chat_messages"),)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        return recognized(head, _is_conversation, _beside)

    def read(self, file: LogFile) -> Iterator[Event]:
        def events(value: dict[str, Any], number: int) -> Iterator[Event]:
            return _Conversation(file, value, number).events()

        yield from export_events(file, _is_conversation, _beside, events, NO_CONVERSATION)


class _Conversation:
    """The messages of one conversation, in the export's order."""

    def __init__(self, file: LogFile, value: dict[str, Any], number: int) -> None:
        self._rows = as_list(value.get("chat_messages"))
        self._active = _active_rows(self._rows, value.get("current_leaf_message_uuid"))
        self._blocks = BlockReader()
        name = as_text(value.get("uuid"))
        self._source = Source(
            f"{ClaudeAi.name}/{printable(name) if name else f'{file_key(file)}#{number}'}",
            ClaudeAi.name,
            title=one_line(value.get("name")),
            origin=file.label,
        )

    def events(self) -> Iterator[Event]:
        if not self._rows:
            yield Skipped(EMPTY_CONVERSATION)
        yield from events_of(
            self._rows,
            lambda at, row: self._message(row, at in self._active),
            lambda _: self._source,
        )

    def _message(self, row: object, active: bool) -> Message | str:
        """The message of a row, or the reason to skip it."""
        if not isinstance(row, dict):
            return NOT_AN_OBJECT
        sender = as_text(row.get("sender"))
        if sender is None:
            return NO_SPEAKER
        role: Role = ROLE_OF.get(sender.lower(), "other")
        content = self._content(row)
        if content.is_empty:
            return EMPTY
        external_id = as_text(row.get("uuid"))
        return content.message(
            role,
            author=sender if role == "other" else None,
            sent_at=sent_at(row.get("created_at")),
            external_id=external_id,
            unique_id=external_id is not None and is_uuid(external_id),
            active=active,
        )

    def _content(self, row: dict[str, Any]) -> Content:
        content = Content()
        for block in as_list(row.get("content")):
            self._add_block(content, block)
        # Subtle: the plain text is a poorer copy of the blocks, with a notice in place of those it
        # cannot show. It is used only if there are no blocks.
        if content.is_empty and (text := as_text(row.get("text"))):
            content = Content()
            content.add(text)
        for attached in map(as_dict, as_list(row.get("attachments"))):
            if name := as_text(attached.get("file_name")):
                self._blocks.add(content, {"type": "document", "path": name})
            if text := as_text(attached.get("extracted_content")):
                content.add(text, "text", as_text(attached.get("file_type")))
        for file in map(as_dict, as_list(row.get("files")) or as_list(row.get("files_v2"))):
            name = as_text(file.get("file_name")) or as_text(file.get("file_uuid"))
            if name:
                kind = "image" if file.get("file_kind") == "image" else "file"
                self._blocks.add(content, {"type": kind, "path": name})
        return content

    def _add_block(self, content: Content, block: object) -> None:
        fields = as_dict(block)
        block_type = as_text(fields.get("type"))
        if block_type is not None and block_type.endswith("tool_result"):
            name = as_text(fields.get("name"))
            use_id = fields.get("tool_use_id")
            self._blocks.add_tool_result(content, fields.get("content"), use_id, name)
        elif block_type == "voice_note" and isinstance(text := fields.get("text"), str):
            content.add(text)
        elif block_type not in _NO_SPEECH:
            self._blocks.add(content, block)


def _active_rows(rows: list[Any], leaf: object) -> set[int]:
    """The indices of the messages on the active branch; all of them if none names a parent.

    A message whose parent is missing continues the message before it.
    """
    names = [as_text(as_dict(row).get("uuid")) or f"#{index}" for index, row in enumerate(rows)]
    parents = [as_text(as_dict(row).get("parent_message_uuid")) for row in rows]
    if not any(parents):
        return set(range(len(rows)))
    known = set(names)
    parent_of: dict[str, str | None] = {}
    for index, (name, parent) in enumerate(zip(names, parents, strict=True)):
        if parent == _ROOT:
            parent = None
        elif parent not in known and index:
            parent = names[index - 1]
        parent_of[name] = parent
    at = leaf if isinstance(leaf, str) and leaf in known else next(reversed(names), None)
    path = path_to_root(parent_of, at)
    return {index for index, name in enumerate(names) if name in path}


def _is_conversation(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("chat_messages"), list):
        return False
    return bool(_CONVERSATION_KEYS & value.keys())


def _beside(value: dict[str, Any]) -> str | None:
    return next((reason for keys, reason in _BESIDE if keys <= value.keys()), None)
