"""Reads Grok's data export: prod-grok-backend.json, with all conversations of an account.

Tested in tests/importers/test_grok.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.importers.chat.messages import ROLE_OF
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.branches import path_to_root, tree_order
from treemem.importers.common.coerce import as_dict, as_list, as_text, id_text
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.exports import export_events, first_object
from treemem.importers.common.records import events_of
from treemem.importers.common.source_ids import file_key, is_uuid, one_line, printable, sent_at
from treemem.types import Message, Role, Source

EMPTY = "empty message"
EMPTY_CONVERSATION = "empty conversation"
NO_SPEAKER = "no message: no speaker"
NOT_AN_OBJECT = "no message: not an object"
NO_CONVERSATION = "no conversation: no messages in it"

_THOUGHTS = ("thinking_trace", "thinking")


class Grok(Importer):
    """Imports the conversations of an account's export."""

    name = "grok"
    version = 1
    description = "Grok's data export (prod-grok-backend.json)"
    kept = "turns, thinking, branches, ids of attached files"
    dropped = "model names, search results, cards, projects, tasks, files' contents, account"
    marks = (("conversation", "responses"), ("_id", "conversation_id", "message", "sender"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        first = first_object(head)
        elements = [first, *as_list(first.get("conversations"))[:1]]
        return 0.95 if any(map(_is_conversation, elements)) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        def events(value: dict[str, Any], number: int) -> Iterator[Event]:
            return _Conversation(file, value, number).events()

        yield from export_events(file, _is_conversation, lambda _: None, events, NO_CONVERSATION)


class _Conversation:
    """The responses of one conversation, which are the user's turns, too, by their ids."""

    def __init__(self, file: LogFile, value: dict[str, Any], number: int) -> None:
        about = as_dict(value.get("conversation"))
        key = as_text(about.get("id"))
        self._source = Source(
            f"{Grok.name}/{printable(key) if key else f'{file_key(file)}#{number}'}",
            Grok.name,
            title=one_line(about.get("title")),
            origin=file.label,
        )
        self._blocks = BlockReader()
        self._tree: dict[str, object] = {}
        parents: dict[str, str | None] = {}
        for index, element in enumerate(as_list(value.get("responses"))):
            # Each is wrapped, beside a link by which it may be shared.
            fields = as_dict(element).get("response", element)
            name = id_text(as_dict(fields).get("_id")) or f"#{index}"
            self._tree.setdefault(name, fields)
            parents.setdefault(name, as_text(as_dict(fields).get("parent_response_id")))
        if not any(parents.values()):
            names = list(parents)
            parents = dict(zip(names, [None, *names], strict=False))
        self._parent_of = parents
        self._active = path_to_root(parents, next(reversed(list(parents)), None))

    def events(self) -> Iterator[Event]:
        if not self._tree:
            yield Skipped(EMPTY_CONVERSATION)
        keys = tree_order(self._parent_of, self._active)
        yield from events_of(keys, lambda _, key: self._message(key), lambda _: self._source)

    def _message(self, key: str) -> Message | str:
        """The message of an id, or the reason to skip it."""
        value = self._tree[key]
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        sender = as_text(value.get("sender"))
        if sender is None:
            return NO_SPEAKER
        role: Role = ROLE_OF.get(sender.lower(), "other")
        content = Content()
        for thought in _THOUGHTS:
            content.add(as_text(value.get(thought)) or "", "thinking")
        content.add(as_text(value.get("message")) or "")
        for file in as_list(value.get("file_attachments")):
            if name := as_text(file) or as_text(as_dict(file).get("name")):
                self._blocks.add(content, [{"type": "file", "path": name}])
        if content.is_empty:
            return EMPTY
        return content.message(
            role,
            author=sender if role == "other" else None,
            sent_at=_time(value.get("create_time")),
            external_id=key,
            unique_id=is_uuid(key),
            active=key in self._active,
        )


def _time(value: object) -> str | None:
    """A time in text, or as MongoDB exports it.

    Example:
        >>> _time({"$date": {"$numberLong": "1772355600000"}}), _time("2026-03-01T09:00:00Z")
        ('2026-03-01T09:00:00+00:00', '2026-03-01T09:00:00Z')
    """
    while isinstance(value, dict):
        value = value.get("$date", value.get("$numberLong"))
    return sent_at(value)


def _is_conversation(value: object) -> bool:
    fields = as_dict(value)
    return isinstance(fields.get("conversation"), dict) and isinstance(
        fields.get("responses"), list
    )
