"""Reads the chats of Open WebUI: exports in JSON, and its database webui.db.

Newer versions have the messages in a table of their own besides; both are put together by their
ids.

Tested in tests/importers/test_open_webui.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, json_or_none
from treemem.importers.common.exports import export_events, read_conversations, recognized
from treemem.importers.common.records import DAMAGED, events_of
from treemem.importers.common.source_ids import file_key, one_line, printable
from treemem.importers.common.sqlite_files import Tables
from treemem.importers.open_webui.speech import Chat
from treemem.types import Origin, Source

EMPTY_CHAT = "empty conversation"
NO_CHAT = "no conversation: no messages in it"

_CHAT = frozenset({"id", "user_id", "title", "chat"})
_ROW = ("id", "role", "parent_id", "content", "output", "files", "error", "created_at")
_CHATS = "SELECT id, title, chat FROM chat ORDER BY created_at, id"
_USERS = "SELECT count(DISTINCT user_id) FROM chat"
_ROWS = "SELECT {columns} FROM chat_message WHERE chat_id = ? ORDER BY created_at, id"
_DEFAULT_TITLES = frozenset({"new chat", ""})


class OpenWebUi(Importer):
    """Imports chats of Open WebUI."""

    name = "open-webui"
    version = 1
    description = "chats of Open WebUI (exports in JSON, webui.db)"
    kept = "turns, thinking, tool calls and results, branches, names of files, images, errors"
    dropped = "usage, model names, cited sources, files' contents, ratings, tags, settings"
    marks = (("id", "user_id", "title", "chat"), ("history", "models"), ("chat", "file", "user"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        tables = sqlite_files.table_columns(file, head)
        if tables:
            return 0.95 if tables.get("chat", frozenset()) >= _CHAT else 0.0
        return recognized(head, _is_chat, lambda _: None)

    def read(self, file: LogFile) -> Iterator[Event]:
        with file.open() as stream:
            is_database = stream.read(len(sqlite_files.MAGIC)) == sqlite_files.MAGIC
        if is_database:
            with sqlite_files.open_tables(file) as tables:
                yield from _database(file, tables)
            return
        users = {
            as_text(as_dict(value).get("user_id")) for value in read_conversations(file, _is_chat)
        }
        origin = _origin(len(users - {None}))

        def events(value: dict[str, Any], number: int) -> Iterator[Event]:
            chat = as_dict(value.get("chat"))
            key = as_text(value.get("id")) or as_text(chat.get("id"))
            title = value.get("title") or chat.get("title")
            source = _source(file, key or f"{file_key(file)}#{number}", title)
            yield from _events(source, Chat(_tree(chat), _leaf(chat), origin))

        yield from export_events(file, _is_chat, lambda _: None, events, NO_CHAT)

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        return sqlite_files.companions(file)


def _origin(users: int) -> Origin | None:
    """Whose words a user's are: on a server of several, only the reader knows which is they."""
    return "person" if users > 1 else None


def _database(file: LogFile, tables: Tables) -> Iterator[Event]:
    columns = tables.columns()
    if not columns.get("chat", frozenset()) >= _CHAT | {"created_at"}:
        return
    origin = _origin(next(tables.rows(_USERS))[0])
    known = columns.get("chat_message", frozenset())
    shown = ", ".join(name if name in known else "NULL" for name in _ROW)
    for chat_id, title, body in list(tables.rows(_CHATS)):
        chat = as_dict(json_or_none(body))
        if not chat and body:
            yield Skipped(DAMAGED, problem=True, detail=f"chat {chat_id}"[:200])
        tree = dict(_tree(chat))
        if {"id", "chat_id", "role", "created_at"} <= known:
            for row in tables.rows(_ROWS.format(columns=shown), (chat_id,)):
                key, value = _of_row(str(chat_id), row)
                tree.setdefault(key, value)
        source = _source(file, str(chat_id), title)
        yield from _events(source, Chat(tree, _leaf(chat), origin))


def _of_row(chat_id: str, row: tuple[Any, ...]) -> tuple[str, dict[str, Any]]:
    """A message of the newer table in the shape of the older ones, and its id."""
    fields = dict(zip(_ROW, row, strict=True))
    key = str(fields["id"]).removeprefix(f"{chat_id}-")
    content = json_or_none(fields["content"])
    return key, {
        "role": fields["role"],
        "parentId": fields["parent_id"],
        "content": fields["content"] if content is None else content,
        "timestamp": fields["created_at"],
        **{name: json_or_none(fields[name]) for name in ("output", "files", "error")},
    }


def _events(source: Source, chat: Chat) -> Iterator[Event]:
    keys = list(chat.keys())
    if not keys:
        yield Skipped(EMPTY_CHAT)
    yield from events_of(keys, lambda _, key: chat.message(key), lambda _: source)


def _source(file: LogFile, key: str, title: object) -> Source:
    named = one_line(title)
    return Source(
        f"{OpenWebUi.name}/{printable(key)}",
        OpenWebUi.name,
        title=None if named is None or named.lower() in _DEFAULT_TITLES else named,
        origin=file.label,
    )


def _tree(chat: dict[str, Any]) -> dict[str, object]:
    """The messages by their ids; those of the first versions are a list."""
    messages = as_dict(as_dict(chat.get("history")).get("messages"))
    if messages:
        return messages
    tree: dict[str, object] = {}
    last: str | None = None
    for number, value in enumerate(as_list(chat.get("messages"))):
        key = as_text(as_dict(value).get("id")) or f"#{number}"
        tree[key] = {"parentId": last, **value} if isinstance(value, dict) else value
        last = key
    return tree


def _leaf(chat: dict[str, Any]) -> object:
    return as_dict(chat.get("history")).get("currentId") or chat.get("currentId")


def _is_chat(value: object) -> bool:
    fields = as_dict(value)
    chat = as_dict(fields.get("chat"))
    history = as_dict(chat.get("history"))
    is_old = isinstance(chat.get("messages"), list) and "title" in chat
    return isinstance(history.get("messages"), dict) or is_old
