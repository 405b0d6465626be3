"""Reads chats as JSON: one message or one conversation per line, or a document of either.

Accepts the shapes that many tools write (OpenAI's, ShareGPT's, plain speaker and text). Scores low,
so that an importer for a specific tool wins.

Tested in tests/importers/test_chat.py and test_chat_documents.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from treemem.importers.chat.messages import (
    CONVERSATION_KEYS,
    EMPTY,
    NO_SPEAKER,
    NO_TEXT,
    NOT_AN_OBJECT,
    ROLE_OF,
    MessageReader,
    is_conversation,
    messages_of,
    share_of_chat,
)
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import id_text
from treemem.importers.common.json_members import has_several_values, read_members
from treemem.importers.common.records import TOO_DEEP, read_records
from treemem.importers.common.sniffing import has_key, head_objects, head_value, is_blank, is_whole
from treemem.importers.common.source_ids import file_key, one_line, printable
from treemem.types import Source

__all__ = ["EMPTY", "EMPTY_CONVERSATION", "NOT_AN_OBJECT", "NO_SPEAKER", "NO_TEXT", "ChatJsonl"]

EMPTY_CONVERSATION = "empty conversation"

_ID_KEYS = ("id", "uuid", "conversation_id", "chat_id", "thread_id")
_SUFFIXES = (".jsonl", ".ndjson")
# Lists in a document's outermost object that may contain messages or conversations.
_LIST_KEYS = frozenset({*CONVERSATION_KEYS, "chats", "chat_history", "data", "history", "threads"})


class ChatJsonl(Importer):
    """Imports generic chats; its sources are the file, and each conversation in it."""

    name = "chat"
    version = 2
    description = "chat messages or whole conversations: JSON Lines, or one JSON document"
    kept = "speaker, text, time, ids, tool calls and results"
    dropped = "all other fields"
    marks = (("role", "content"), ("messages",), ("conversations",))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if is_blank(head):
            return 0.1 if file.suffix in _SUFFIXES else 0.0
        if _is_document(head):
            return share_of_chat(_document_values(head))
        objects, rest = head_objects(head)
        if not objects:
            roles = "|".join(ROLE_OF)
            return 0.5 if has_key(rest, "role", roles) or has_key(rest, "from", roles) else 0.0
        return share_of_chat(objects)

    def read(self, file: LogFile) -> Iterator[Event]:
        reading = _Reading(file)
        # Subtle: a line may be longer than the head, which then looks like that of a document.
        is_document = _is_document(file.head()) and not has_several_values(file)
        return reading.document() if is_document else reading.lines()


class _Reading:
    """One pass over a file; yields a Source before the first message of each run."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._messages = MessageReader()
        self._source = Source(f"chat/{file_key(file)}", ChatJsonl.name, origin=file.label)
        self._current: Source | None = None
        self._named: Counter[str] = Counter()

    def lines(self) -> Iterator[Event]:
        with self._file.open() as stream:
            for item in read_records(stream):
                if isinstance(item, Skipped):
                    yield item
                elif is_conversation(item.value):
                    name = self._name(item.value, item.line)
                    yield from self._conversation(name, item.line, item.value)
                else:
                    yield from self._message(self._source, item.line, item.value)

    def document(self) -> Iterator[Event]:
        """Reads the elements of the outermost array, or of the lists in the outermost object."""
        outer: dict[str, Any] = {}
        for number, member in enumerate(read_members(self._file), 1):
            if isinstance(member, Skipped):
                yield member
            elif member.key is not None and not member.is_element:
                if is_conversation(member.value):
                    yield from self._conversation(printable(member.key), None, member.value)
                elif member.key in ("title", "system"):
                    outer[member.key] = member.value
                    yield from self._begin(outer)
            elif is_conversation(member.value):
                name = self._name(member.value, number)
                yield from self._conversation(name, None, member.value)
            elif member.key is None or member.key in _LIST_KEYS:
                yield from self._message(self._source, None, member.value)
            elif share_of_chat([member.value]):
                yield from self._message(self._part(member.key), None, member.value)

    def _begin(self, outer: dict[str, Any]) -> Iterator[Event]:
        """Begins the source with the fields that the outermost object has before its messages."""
        if self._current is None and (title := one_line(outer.get("title"))):
            self._source = Source(
                self._source.id, ChatJsonl.name, title=title, origin=self._file.label
            )
        system = outer.pop("system", None)
        if isinstance(system, str) and system.strip():
            yield from self._message(self._source, None, {"role": "system", "content": system})

    def _part(self, name: str) -> Source:
        """The source of the conversation in a list of the outermost object, named by its key."""
        return Source(
            f"{self._source.id}#{printable(name)}", ChatJsonl.name, origin=self._file.label
        )

    def _name(self, value: object, number: int | None) -> str:
        """Identifies a conversation in its file by its id, or else its number. Conversations with
        the same id are numbered and stay separate."""
        fields = value if isinstance(value, dict) else {}
        own_id = next((name for key in _ID_KEYS if (name := id_text(fields.get(key)))), None)
        if own_id is None:
            return str(number)
        self._named[own_id] += 1
        repeated = f"-{self._named[own_id]}" if self._named[own_id] > 1 else ""
        return printable(f"{own_id}{repeated}")

    def _conversation(self, name: str, line: int | None, value: object) -> Iterator[Event]:
        """Reads a conversation as a source of its own, with an event for each message."""
        fields = value if isinstance(value, dict) else {}
        source = Source(
            f"{self._source.id}#{name}",
            ChatJsonl.name,
            title=one_line(fields.get("title")),
            origin=self._file.label,
        )
        messages = messages_of(value)
        if isinstance(system := fields.get("system"), str) and system.strip():
            yield from self._message(source, line, {"role": "system", "content": system})
        elif not messages:
            yield Skipped(EMPTY_CONVERSATION, line)
        for message in messages:
            yield from self._message(source, line, message)

    def _message(self, source: Source, line: int | None, value: object) -> list[Event]:
        try:
            message = self._messages.read(value)
        except RecursionError:
            return [Skipped(TOO_DEEP, line, problem=True)]
        if isinstance(message, str):
            return [Skipped(message, line)]
        if source is self._current or source == self._current:
            return [message]
        self._current = source
        return [source, message]


# -- recognizing -------------------------------------------------------------------------


def _is_document(head: bytes) -> bool:
    """Whether the head begins one JSON value over several lines, or a single array.

    An object on a line of its own is JSON Lines, even if it is the only one.
    """
    objects, _ = head_objects(head)
    if any(isinstance(value, dict) for value in objects):
        return False
    value = head_value(head)
    return isinstance(value, dict | list) and bool(value)


def _document_values(head: bytes) -> list[Any]:
    """The possible messages or conversations in the document that a head begins."""
    value = head_value(head)
    if isinstance(value, list):
        values = value
    elif isinstance(value, dict):
        lists = [inner for key, inner in value.items() if key in _LIST_KEYS]
        values = next((inner for inner in lists if isinstance(inner, list) and inner), [])
        values = values or [inner for inner in value.values() if is_conversation(inner)]
    else:
        return []
    # The last value may be incomplete if the head was cut.
    return values if is_whole(head) or len(values) < 2 else values[:-1]
