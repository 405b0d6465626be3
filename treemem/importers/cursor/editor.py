"""Reads the store of Cursor's editor, state.vscdb: conversations and messages as rows of JSON.

A conversation's row lists its messages ("bubbles") in order; each has a row of its own or, in older
versions, is inside the conversation's row. A message that is no longer listed was rewound.

Tested in tests/importers/test_cursor.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import is_uuid, one_line, path_of_uri, printable, sent_at
from treemem.importers.common.sqlite_files import Tables
from treemem.importers.cursor.speech import Speech, json_object
from treemem.types import Message, Source

DAMAGED_CONVERSATION = "damaged conversation"
EMPTY_CONVERSATION = "empty conversation"
GONE = "message is gone, its name is left"

_COMPOSER = "composerData:"
_BUBBLE = "bubbleId:"
_OLD_CHATS = "workbench.panel.aichat.view.aichat.chatdata"

_KEYS = "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY key"
_VALUE = "SELECT value FROM cursorDiskKV WHERE key = ?"
_ITEM = "SELECT value FROM ItemTable WHERE key = ?"
_HEAD_KEYS = frozenset({"bubbleId", "type", "serverBubbleId", "grouping"})
_TIME_MAX = 1e20
_KEY_VALUE = frozenset({"key", "value"})


def is_store(columns: dict[str, frozenset[str]]) -> bool:
    return columns.get("cursorDiskKV", frozenset()) >= _KEY_VALUE


def read(file: LogFile) -> Iterator[Event]:
    with sqlite_files.open_tables(file) as tables:
        store = _Store(file, tables)
        for composer_id in store.conversations():
            yield from store.conversation(composer_id)
        if tables.columns().get("ItemTable", frozenset()) >= _KEY_VALUE:
            yield from store.old_chats()


def _workspace_of(head: dict[str, Any]) -> str | None:
    """The folder or workspace that a conversation names."""
    uri = as_dict(as_dict(head.get("workspaceIdentifier")).get("uri"))
    return (
        as_text(uri.get("fsPath")) or as_text(uri.get("path")) or path_of_uri(uri.get("external"))
    )


def _workspace_beside(file: LogFile) -> str | None:
    """The folder of a workspace's store, which is noted beside it."""
    beside = file.neighbour("workspace.json")
    fields = as_dict(head_value(beside.head())) if beside is not None else {}
    return path_of_uri(fields.get("folder")) or path_of_uri(fields.get("workspace"))


class _Store:
    """An open store. Holds all conversation ids, and one conversation at a time."""

    def __init__(self, file: LogFile, tables: Tables) -> None:
        self._file = file
        self._tables = tables
        self._parent: dict[str, str] = {}
        self._workspace = _workspace_beside(file)

    def _value(self, sql: str, key: str) -> object:
        return next((value for (value,) in self._tables.rows(sql, (key,))), None)

    def _keys(self, prefix: str) -> list[str]:
        """The rest of each key with this prefix, which ends in ":"; ";" follows it in ASCII."""
        bounds = (prefix, prefix[:-1] + ";")
        keys = (key for (key,) in self._tables.rows(_KEYS, bounds) if isinstance(key, str))
        return [key.removeprefix(prefix) for key in keys]

    def conversations(self) -> list[str]:
        """The ids of the conversations in the order they began, sub-agents last."""
        order: list[tuple[float, str]] = []
        for composer_id in self._keys(_COMPOSER):
            head = json_object(self._value(_VALUE, _COMPOSER + composer_id)) or {}
            for key in ("subagentComposerIds", "subComposerIds"):
                for child in filter(as_text, as_list(head.get(key))):
                    self._parent.setdefault(child, composer_id)
            parent = as_text(as_dict(head.get("subagentInfo")).get("parentComposerId"))
            if parent is not None:
                self._parent[composer_id] = parent
            began = head.get("createdAt")
            is_time = isinstance(began, int | float) and abs(began) < _TIME_MAX
            order.append((float(began) if began and is_time else 0.0, composer_id))
        order.sort(key=lambda entry: (entry[1] in self._parent, *entry))
        return [composer_id for _, composer_id in order]

    def conversation(self, composer_id: str) -> Iterator[Event]:
        value = self._value(_VALUE, _COMPOSER + composer_id)
        head = json_object(value)
        if head is None:
            is_void = value in (None, "", b"")
            reason = EMPTY_CONVERSATION if is_void else DAMAGED_CONVERSATION
            yield Skipped(reason, problem=not is_void)
            return
        listed = [
            as_dict(item)
            for key in ("fullConversationHeadersOnly", "conversation")
            for item in as_list(head.get(key))
        ]
        stored = self._keys(f"{_BUBBLE}{composer_id}:")
        if not listed and not stored:
            yield Skipped(EMPTY_CONVERSATION)
            return
        yield self._source(composer_id, head)
        speech = Speech()
        inline = as_dict(head.get("conversationMap"))
        seen: set[str] = set()
        summary = as_dict(as_dict(head.get("latestConversationSummary")).get("summary"))
        last = as_text(summary.get("truncationLastBubbleIdInclusive"))
        for item in listed:
            bubble_id = as_text(item.get("bubbleId")) or ""
            if bubble_id and bubble_id in seen:
                continue
            seen.add(bubble_id)
            bubble = self._bubble(composer_id, bubble_id) or as_dict(inline.get(bubble_id)) or item
            yield self._message(speech, bubble, bubble_id, active=True)
            if last is not None and last == bubble_id:
                yield from _summary(composer_id, summary)
        if last not in seen:
            yield from _summary(composer_id, summary)
        yield from self._rewound(speech, composer_id, [key for key in stored if key not in seen])

    def _rewound(self, speech: Speech, composer_id: str, ids: list[str]) -> Iterator[Event]:
        """Yields the messages that a conversation no longer lists, ordered by time."""
        bubble_rows = [(bubble_id, self._bubble(composer_id, bubble_id)) for bubble_id in ids]
        bubble_rows.sort(key=lambda pair: str(as_dict(pair[1]).get("createdAt")))
        for bubble_id, bubble in bubble_rows:
            yield self._message(speech, bubble or {}, bubble_id, active=False)

    def _bubble(self, composer_id: str, bubble_id: str) -> dict[str, Any] | None:
        return json_object(self._value(_VALUE, f"{_BUBBLE}{composer_id}:{bubble_id}"))

    def _message(
        self, speech: Speech, bubble: dict[str, Any], bubble_id: str, *, active: bool
    ) -> Message | Skipped:
        if bubble.keys() <= _HEAD_KEYS:
            return Skipped(GONE, problem=active)
        name, unique = bubble_id or None, is_uuid(bubble_id)
        return speech.bubble(bubble, external_id=name, unique_id=unique, active=active)

    def _source(self, composer_id: str, head: dict[str, Any]) -> Source:
        parent = self._parent.get(composer_id)
        is_child = parent is not None and parent != composer_id
        return Source(
            f"cursor/{printable(composer_id)}",
            "cursor",
            title=one_line(head.get("name")),
            origin=self._file.label,
            parent_id=f"cursor/{printable(str(parent))}" if is_child else None,
            project=_workspace_of(head) or self._workspace,
        )

    def old_chats(self) -> Iterator[Event]:
        """Yields the chats of the first versions, stored as one value per workspace."""
        head = json_object(self._value(_ITEM, _OLD_CHATS))
        for tab in map(as_dict, as_list(as_dict(head).get("tabs"))):
            tab_id = as_text(tab.get("tabId"))
            if tab_id is None:
                yield Skipped(EMPTY_CONVERSATION)
                continue
            title = one_line(tab.get("chatTitle"))
            yield Source(
                f"cursor/{printable(tab_id)}", "cursor", title=title, origin=self._file.label,
                project=self._workspace,
            )  # fmt: skip
            speech = Speech()
            for bubble in map(as_dict, as_list(tab.get("bubbles"))):
                name = as_text(bubble.get("id"))
                unique = name is not None and is_uuid(name)
                yield speech.bubble(bubble, external_id=name, unique_id=unique)


def _summary(composer_id: str, summary: dict[str, Any]) -> Iterator[Message]:
    """Yields the summary of a conversation's earlier part."""
    text = as_text(summary.get("summary"))
    if text is not None and not text.isspace():
        yield Message(
            role="assistant",
            text=text,
            sent_at=sent_at(summary.get("createdAt")),
            external_id=f"cursor:{composer_id}/summary",
            kind="summary",
            unique_id=is_uuid(composer_id),
        )
