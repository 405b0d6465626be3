"""Reads the database of Apple's Messages: chat.db of macOS, and sms.db of an iPhone's backup.

A person has a chat for each service, whose rows have the same identifier; they are one source.
Contacts are in another database, so people are named by their number or address.

Tested in tests/importers/test_imessage.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_text
from treemem.importers.common.content import Content
from treemem.importers.common.conversation import EMPTY, build_message, first_nonempty, marker
from treemem.importers.common.source_ids import is_uuid, one_line, printable, sent_at
from treemem.importers.common.sqlite_files import Tables
from treemem.importers.imessage.bodies import archived_text, is_taken_back, last_edit, summary_of
from treemem.types import Message, Source

DELETED = "deleted message"
NOTICE = "notice of the service"
REACTION = "reaction"
TAKEN_BACK = "message taken back"
VOTE = "vote in a poll"

# The name of whoever owns the database, of whom it has several addresses but no name.
ME = "Me"

_MESSAGE = frozenset({"guid", "text", "handle_id", "date", "is_from_me"})
_FIELDS = (
    "guid", "text", "attributedBody", "subject", "handle_id", "date", "is_from_me", "item_type",
    "associated_message_type", "balloon_bundle_id", "message_summary_info", "date_edited",
    "date_retracted",
)  # fmt: skip
_JOIN = frozenset({"chat_id", "message_id"})
_ATTACHMENT_JOIN = frozenset({"message_id", "attachment_id"})
_ROW = "SELECT {fields} FROM message WHERE ROWID = ?"
_CHATS = "SELECT ROWID, chat_identifier, guid, display_name FROM chat ORDER BY ROWID"
_MEMBERS = "SELECT chat_id, handle_id FROM chat_handle_join ORDER BY ROWID"
_HANDLES = "SELECT ROWID, id FROM handle"
# Messages counted seconds before macOS 10.13, and counts nanoseconds since.
_IDS = """
SELECT {chat}, m.ROWID FROM message m {join}
ORDER BY iif(m.date BETWEEN -1e12 AND 1e12, m.date * 1000000000, m.date), m.ROWID
"""
_JOINED = "LEFT JOIN chat_message_join j ON j.message_id = m.ROWID"
_RECOVERABLE = "chat_recoverable_message_join"
_DELETED = "SELECT message_id FROM chat_recoverable_message_join"
_ATTACHED = "SELECT message_id, attachment_id FROM message_attachment_join ORDER BY ROWID"
_ATTACHMENT = "SELECT {fields} FROM attachment WHERE ROWID = ?"
_ATTACHMENT_FIELDS = ("transfer_name", "filename", "mime_type", "is_sticker")

_EPOCH_S = 978_307_200  # 2001-01-01 in UTC
_NANOSECONDS_MIN = 10**12
# Where a text has an attachment, and what it is of an app alone.
_ATTACHED_CHAR, _APP_CHAR = "\ufffc", "\ufffd"
_PREVIEW_SUFFIX = ".pluginPayloadAttachment"
_REACTIONS, _VOTES = range(1_000, 4_000), range(4_000, 5_000)
_MEMBERS_SHOWN = 5
_LABELS = frozenset({"image", "video", "audio"})


class IMessage(Importer):
    """Imports the database of Messages; its sources are the chats."""

    name = "imessage"
    version = 1
    description = "Apple's Messages (chat.db of macOS, sms.db of an iPhone's backup)"
    kept = "speaker, text, time, ids, subjects, names and kinds of attachments and apps"
    dropped = "reactions, votes, wordings before an edit, messages taken back, notices, layout"
    marks = (("guid", "handle_id", "attributedBody", "is_from_me"), ("chat_id", "message_id"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        columns = sqlite_files.table_columns(file, head)
        is_messages = columns.get("message", frozenset()) >= _MESSAGE and "handle" in columns
        return 0.95 if is_messages and "chat_message_join" in columns else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with sqlite_files.open_tables(file) as tables:
            yield from _Database(file, tables).events()

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """The database's -wal."""
        return sqlite_files.companions(file)


@dataclass(slots=True)
class _Chat:
    """A chat: its name, its members, and the rows of its messages in order."""

    name: str | None = None
    members: dict[str, None] = field(default_factory=dict)
    messages: list[object] = field(default_factory=list)

    @property
    def title(self) -> str | None:
        return self.name or one_line(", ".join(list(self.members)[:_MEMBERS_SHOWN]))


class _Database:
    """An open database. Holds the ids of messages, and one message at a time."""

    def __init__(self, file: LogFile, tables: Tables) -> None:
        self._file = file
        self._rows = tables.rows
        self._columns = tables.columns()
        self._row = _ROW.format(fields=self._known("message", _FIELDS))
        self._attachment = _ATTACHMENT.format(fields=self._known("attachment", _ATTACHMENT_FIELDS))
        self._handles: dict[object, str] = {}
        if self._has("handle", "id"):
            found = ((row, one_line(name)) for row, name in self._rows(_HANDLES))
            self._handles = {row: name for row, name in found if name}
        self._attached: dict[object, list[object]] = {}
        if (
            self._has("message_attachment_join", *_ATTACHMENT_JOIN)
            and "attachment" in self._columns
        ):
            self._attached = tables.grouped(_ATTACHED)

    def events(self) -> Iterator[Event]:
        """Yields each chat with its messages; those of no chat come last."""
        chats, alone = self._chats()
        for key, chat in chats.items():
            if chat.messages:
                yield self._source(key, chat.title)
            for row in chat.messages:
                yield from self._messages(row)
        deleted: set[object] = set()
        if self._has(_RECOVERABLE, "message_id"):
            deleted = {row for (row,) in self._rows(_DELETED)}
        yield from (Skipped(DELETED) for row in alone if row in deleted)
        if kept := [row for row in alone if row not in deleted]:
            yield self._source("no-chat", "Messages without a chat")
            for row in kept:
                yield from self._messages(row)

    def _has(self, table: str, *columns: str) -> bool:
        return self._columns.get(table, frozenset()) >= set(columns)

    def _known(self, table: str, fields: Iterable[str]) -> str:
        known = self._columns.get(table, frozenset())
        return ", ".join(name if name in known else "NULL" for name in fields)

    def _source(self, key: str, title: str | None) -> Source:
        return Source(f"{IMessage.name}/{key}", IMessage.name, title, origin=self._file.label)

    def _chats(self) -> tuple[dict[str, _Chat], list[object]]:
        """The chats by their keys, and the rows of the messages that are in none."""
        chats: dict[str, _Chat] = {}
        chat_of: dict[object, _Chat] = {}
        if self._has("chat", "chat_identifier", "guid", "display_name"):
            for row, identifier, guid, name in self._rows(_CHATS):
                key = printable(as_text(identifier) or as_text(guid) or f"chat {row}")
                chat = chat_of[row] = chats.setdefault(key, _Chat())
                chat.name = one_line(name) or chat.name
        if self._has("chat_handle_join", "chat_id", "handle_id"):
            for row, handle in self._rows(_MEMBERS):
                if row in chat_of and handle in self._handles:
                    chat_of[row].members[self._handles[handle]] = None
        alone: list[object] = []
        seen: set[object] = set()
        is_joined = self._has("chat_message_join", *_JOIN)
        chat_id, join = ("j.chat_id", _JOINED) if is_joined else ("NULL", "")
        for row, message in self._rows(_IDS.format(chat=chat_id, join=join)):
            # A message may be in the chats of two services.
            if message not in seen:
                seen.add(message)
                (chat_of[row].messages if row in chat_of else alone).append(message)
        return chats, alone

    def _messages(self, row: object) -> Iterator[Message | Skipped]:
        for values in self._rows(self._row, (row,)):
            yield self._message(dict(zip(_FIELDS, values, strict=True)), row)

    def _message(self, row: dict[str, object], number: object) -> Message | Skipped:
        kind = row["associated_message_type"]
        if kind in _REACTIONS:
            return Skipped(REACTION)
        if kind in _VOTES:
            return Skipped(VOTE)
        if row["item_type"]:
            return Skipped(NOTICE)
        words = as_text(row["text"]) or archived_text(row["attributedBody"])
        # Most messages have a summary, but only few need it.
        summary = {} if words else summary_of(row["message_summary_info"])
        content = Content()
        content.add(as_text(row["subject"]) or "")
        self._add_words(content, words or last_edit(summary) or "", list(self._attachments(number)))
        if content.is_empty and (app := one_line(row["balloon_bundle_id"])):
            content.add(marker("app", app.rsplit(":", 1)[-1]), "marker")
        if content.is_empty:
            is_back = is_taken_back(summary) or row["date_retracted"] or row["date_edited"]
            return Skipped(TAKEN_BACK if is_back else EMPTY)
        guid = as_text(row["guid"])
        author = ME if row["is_from_me"] else self._handles.get(row["handle_id"])
        return build_message(
            content, author, _time(row["date"]), external_id=guid,
            unique_id=guid is not None and is_uuid(guid),
        )  # fmt: skip

    def _attachments(self, message: object) -> Iterator[tuple[str, str | None]]:
        """The marker and the media type of each attachment."""
        for attachment in self._attached.get(message, ()):
            for name, path, mime, is_sticker in self._rows(self._attachment, (attachment,)):
                shown = first_nonempty(name, PurePosixPath(as_text(path) or "").name)
                if shown and shown.endswith(_PREVIEW_SUFFIX):
                    continue
                media_type = one_line(mime)
                major = (media_type or "").split("/")[0]
                label = "sticker" if is_sticker else major if major in _LABELS else "file"
                yield marker(label, shown, media_type), media_type

    @staticmethod
    def _add_words(content: Content, words: str, attached: list[tuple[str, str | None]]) -> None:
        """Adds a text with its attachments where it has them, and the others behind it."""
        for piece in words.split(_ATTACHED_CHAR):
            if piece.replace(_APP_CHAR, "").strip():
                content.add(piece)
            if attached:
                text, media_type = attached.pop(0)
                content.add(text, "marker", media_type)
        for text, media_type in attached:
            content.add(text, "marker", media_type)


def _time(value: object) -> str | None:
    """The time of a count since 2001, in nanoseconds or, from older versions, in seconds."""
    if not isinstance(value, int) or not value:
        return None
    is_seconds = abs(value) < _NANOSECONDS_MIN
    return sent_at(value + _EPOCH_S * (1 if is_seconds else 10**9))
