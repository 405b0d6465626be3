"""Chats as JSON Lines: one message a line, or one whole conversation a line.

It reads the shapes that many tools write (OpenAI's, ShareGPT's, plain speaker and text) and
claims no format of its own: an importer that knows a file better wins over this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.importers.attachments import compact_json
from treemem.importers.base import Event, Importer, LogFile, Skipped
from treemem.importers.chat_fields import (
    ROLE_OF,
    blocks_of,
    has_text_key,
    id_of,
    session_of,
    speaker_of,
    time_of,
)
from treemem.importers.content import BlockReader, Content
from treemem.importers.naming import file_key, is_uuid, one_line
from treemem.importers.records import TOO_DEEP, read_records
from treemem.importers.sniffing import has_key, head_objects, is_blank
from treemem.model import Message, Source

EMPTY = "empty message"
EMPTY_CONVERSATION = "empty conversation"
NO_SPEAKER = "no message: no speaker"
NO_TEXT = "no message: no text"
NOT_AN_OBJECT = "no message: not an object"

_CONVERSATION_KEYS = ("messages", "conversations", "conversation")
# A speaker and a text alone may also be a commit, a log line or a review.
_FOREIGN_KEYS = frozenset({"sha", "commit", "level", "logger", "title", "rating", "subject"})
_SUFFIXES = (".jsonl", ".ndjson")
_MESSAGE_SHARE_MIN = 0.5
_NAMED_SHARE_MIN = 0.8
_MESSAGES_LOOKED_AT = 10


class ChatJsonl(Importer):
    """The importer of generic chats; its sources are the file, and each conversation line."""

    name = "chat"
    version = 1
    description = "chat messages or whole conversations, one JSON object per line"
    kept = "speaker, words, time, ids, tool calls and results"
    dropped = "all other fields"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if is_blank(head):
            return 0.1 if file.suffix in _SUFFIXES else 0.0
        objects, rest = head_objects(head)
        if not objects:
            roles = "|".join(ROLE_OF)
            return 0.5 if has_key(rest, "role", roles) or has_key(rest, "from", roles) else 0.0
        with_role = sum(_has_role(value) or _has_roles(value) for value in objects)
        if with_role >= len(objects) * _MESSAGE_SHARE_MIN:
            return 0.7
        named = sum(_is_said_by_someone(value) for value in objects)
        return 0.4 if with_role + named >= len(objects) * _NAMED_SHARE_MIN else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        return _Reading(file).events()


class _Reading:
    """One pass over a file; a Source is yielded before the first message of each stretch."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._blocks = BlockReader()
        self._source = Source(f"chat/{file_key(file)}", ChatJsonl.name, origin=file.label)
        self._current: Source | None = None

    def events(self) -> Iterator[Event]:
        with self._file.open() as stream:
            for item in read_records(stream):
                if isinstance(item, Skipped):
                    yield item
                elif isinstance(item.value, dict) and _is_conversation(item.value):
                    yield from self._conversation(item.line, item.value)
                else:
                    yield from self._said(self._source, item.line, item.value)

    def _conversation(self, line: int, value: dict[str, Any]) -> Iterator[Event]:
        """A line that holds a conversation: a source of its own, a record for each message."""
        source = Source(
            f"{self._source.id}#{line}",
            ChatJsonl.name,
            title=one_line(value.get("title")),
            origin=self._file.label,
        )
        messages = _messages(value)
        if isinstance(system := value.get("system"), str) and system.strip():
            yield from self._said(source, line, {"role": "system", "content": system})
        elif not messages:
            yield Skipped(EMPTY_CONVERSATION, line)
        for message in messages:
            yield from self._said(source, line, message)

    def _said(self, source: Source, line: int, value: object) -> Iterator[Event]:
        try:
            message = self._message(value)
        except RecursionError:
            yield Skipped(TOO_DEEP, line, problem=True)
            return
        if isinstance(message, str):
            yield Skipped(message, line)
            return
        if source != self._current:
            self._current = source
            yield source
        yield message

    def _message(self, value: object) -> Message | str:
        """The message that an object is, or why it is none."""
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        speaker = speaker_of(value)
        if speaker is None:
            return NO_SPEAKER
        role, author = speaker
        content = Content()
        if isinstance(thought := value.get("reasoning_content"), str):
            content.add(thought, "thinking")
        blocks = blocks_of(value)
        if role == "tool":
            name = value.get("name")
            tool = name if isinstance(name, str) else None
            self._blocks.add_tool_result(content, blocks, value.get("tool_call_id"), tool)
        else:
            self._blocks.add(content, blocks)
        has_calls = self._add_calls(content, value)
        if content.is_empty:
            return EMPTY if blocks is not None or has_calls or has_text_key(value) else NO_TEXT
        external_id = id_of(value)
        return Message(
            role=role,
            text=content.text,
            author=author,
            sent_at=time_of(value),
            external_id=external_id,
            session=session_of(value),
            parts=tuple(content.parts),
            tool_use_ids=tuple(content.tool_use_ids),
            tool_result_ids=tuple(content.tool_result_ids),
            blobs=tuple(content.blobs),
            unique_id=external_id is not None and is_uuid(external_id),
        )

    def _add_calls(self, content: Content, value: dict[str, Any]) -> bool:
        """OpenAI's tool calls: their arguments are JSON in a string, taken as it stands."""
        calls = value.get("tool_calls")
        legacy = value.get("function_call")
        for call in [*(calls if isinstance(calls, list) else []), {"function": legacy}]:
            function = call.get("function") if isinstance(call, dict) else None
            if not isinstance(function, dict) or not isinstance(function.get("name"), str):
                continue
            arguments = function.get("arguments")
            shown = arguments if isinstance(arguments, str) else compact_json(arguments)
            content.add_tool_use(function["name"], shown, call.get("id"), self._blocks.names)
        return bool(calls or legacy)


# -- recognizing -------------------------------------------------------------------------


def _messages(value: dict[str, Any]) -> list[object]:
    """The list of messages that a conversation's object holds."""
    lists = (value.get(key) for key in _CONVERSATION_KEYS)
    return next((found for found in lists if isinstance(found, list)), [])


def _is_conversation(value: object) -> bool:
    """Whether an object holds a list of messages, empty ones included."""
    if not isinstance(value, dict):
        return False
    messages = _messages(value)[:_MESSAGES_LOOKED_AT]
    if not messages:
        has_list = any(isinstance(value.get(key), list) for key in _CONVERSATION_KEYS)
        return has_list and speaker_of(value) is None
    return any(isinstance(message, dict) and speaker_of(message) for message in messages)


def _has_roles(value: object) -> bool:
    """Whether an object holds a conversation of which at least every second message has a role."""
    if not isinstance(value, dict) or not _is_conversation(value):
        return False
    messages = _messages(value)[:_MESSAGES_LOOKED_AT]
    return 2 * sum(map(_has_role, messages)) >= max(len(messages), 1)


def _has_role(value: object) -> bool:
    """Whether an object is a message of a user, an assistant, a system or a tool."""
    if not isinstance(value, dict) or (speaker := speaker_of(value)) is None:
        return False
    return speaker[0] != "other" and (has_text_key(value) or "tool_calls" in value)


def _is_said_by_someone(value: object) -> bool:
    """Whether an object names a speaker of its own and a text, and nothing that is no chat."""
    if not isinstance(value, dict) or _FOREIGN_KEYS & value.keys():
        return False
    return speaker_of(value) is not None and isinstance(blocks_of(value), str | list)
