"""Reads the chats that Signal exports as text: main.jsonl, a line for each person, chat, message.

The numbers by which lines refer to each other change from export to export, so chats and people are
identified by Signal's own ids, and a message by its author and the time at which it was sent.

Signal Desktop encrypts its database, with a key that the system keeps; that is told of it.

Tested in tests/importers/test_signal.py.
"""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from treemem.importers.common.base import Event, Importer, LogFile
from treemem.importers.common.coerce import (
    as_dict,
    as_text,
    dicts_in,
    digest_of,
    id_text,
    no_message,
)
from treemem.importers.common.conversation import build_message, first_nonempty
from treemem.importers.common.records import Record, events_of, read_records
from treemem.importers.common.sniffing import head_objects
from treemem.importers.common.source_ids import file_key, one_line, printable, sent_at
from treemem.importers.signal_export.speech import Speech
from treemem.importers.streams import sealed
from treemem.types import Message, Source

HEADER = "no message: header of the export"
NOT_AN_OBJECT = "no message: not an object"
NEEDS = (
    "encrypted by Signal",
    "Let Signal export your chats (Settings, Chats), and read the main.jsonl that it writes.",
)

_DATABASE = "db.sqlite"
_UNKNOWN_OWNER = "Me"
_NAMES = (("nickname.given", "nickname.family"), ("systemGivenName", "systemFamilyName"),
          ("profileGivenName", "profileFamilyName"))  # fmt: skip
_SELF, _NOTE_TO_SELF = "me", "note-to-self"


class Signal(Importer):
    """Imports Signal's exports; their sources are the chats."""

    name = "signal"
    version = 1
    description = "Signal's export of chats as text (main.jsonl)"
    kept = "speaker, text, time, kinds of media, polls, sent contacts, link previews"
    dropped = "reactions, quotes, votes, wordings before an edit, layout, notices, files themselves"
    marks = (("chatId", "authorId", "dateSent"), ("version", "backupTimeMs"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if _is_sealed(file) and sealed.is_random(head):
            return 0.6
        objects = [value for value in head_objects(head)[0] if isinstance(value, dict)]
        if objects and {"version", "backupTimeMs"} <= objects[0].keys():
            return 0.95
        return 0.9 if any(map(_is_item, objects)) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        if _is_sealed(file) and sealed.is_random(file.head()):
            yield from sealed.refused(file, NEEDS)
        reading = _Reading(file)
        with file.open() as stream:
            yield from events_of(read_records(stream), reading.message, reading.source)

    def needs_of(self, name: str) -> tuple[str, str] | None:
        """That the database is encrypted, and what to do; None for an export."""
        return NEEDS if name == _DATABASE else None


def _is_sealed(file: LogFile) -> bool:
    """Whether a file has the name and the place of Signal Desktop's database."""
    if file.name != _DATABASE or file.place is None:
        return False
    parts = PurePath(file.place).parts
    return parts[-2:-1] == ("sql",) and any("Signal" in part for part in parts[:-2])


def _is_item(value: dict[str, Any]) -> bool:
    return {"chatId", "dateSent"} <= as_dict(value.get("chatItem")).keys()


@dataclass(frozen=True, slots=True)
class _Recipient:
    """Whom a chat is with. key: identifies them in every export."""

    name: str | None
    key: str


class _Reading:
    """One pass over a file: the people and chats so far, which come before what refers to them."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._me = _UNKNOWN_OWNER
        self._recipients: dict[str, _Recipient] = {}
        # The names of people by their ids in mentions, in Base64.
        self._names: dict[str, str] = {}
        self._speech = Speech(self._names)
        self._chats: dict[str, Source] = {}

    def message(self, ordinal: int, record: Record) -> Message | str:
        """The message of a line, or why it has none; remembers people and chats."""
        del ordinal
        value = as_dict(record.value)
        if not value:
            return NOT_AN_OBJECT
        if "backupTimeMs" in value:
            return HEADER
        kind, fields = next(((key, as_dict(held)) for key, held in value.items()))
        if kind == "account":
            self._me = _full_name(fields, "givenName", "familyName") or _UNKNOWN_OWNER
        elif kind == "recipient":
            self._add_recipient(fields)
        elif kind == "chat":
            self._add_chat(fields)
        elif kind == "chatItem":
            return self._item(fields)
        return no_message(kind)

    def source(self, record: Record) -> Source:
        """The chat of a message."""
        chat = id_text(as_dict(as_dict(record.value).get("chatItem")).get("chatId")) or ""
        if chat not in self._chats:
            key = printable(f"{file_key(self._file)}#{chat}")
            self._chats[chat] = Source(f"{Signal.name}/{key}", Signal.name, origin=self._file.label)
        return self._chats[chat]

    def _item(self, item: dict[str, Any]) -> Message | str:
        content = self._speech.content(item)
        if isinstance(content, str):
            return content
        author = self._recipients.get(id_text(item.get("authorId")) or "")
        # An edited message has the time of its last edit, and its first wording the first time.
        dates = [
            _milliseconds(each.get("dateSent")) for each in [item, *dicts_in(item.get("revisions"))]
        ]
        date = min((date for date in dates if date), default=None)
        return build_message(
            content,
            author.name if author else None,
            sent_at(date),
            external_id=f"{author.key}:{date}" if author and date else None,
        )

    def _add_recipient(self, fields: dict[str, Any]) -> None:
        contact = as_dict(fields.get("contact"))
        group = as_dict(fields.get("group"))
        if "self" in fields:
            recipient = _Recipient(self._me, _SELF)
        elif "releaseNotes" in fields:
            recipient = _Recipient("Signal", "release-notes")
        elif group:
            title = as_dict(as_dict(group.get("snapshot")).get("title")).get("title")
            # The key lets its owner into the group, so that only its digest is stored.
            secret = as_text(group.get("masterKey"))
            recipient = _Recipient(one_line(title), f"group-{digest_of(secret or str(title))}")
        else:
            recipient = _contact(contact, id_text(fields.get("id")))
            if (aci := as_text(contact.get("aci"))) and recipient.name:
                self._names[aci] = recipient.name
        self._recipients[id_text(fields.get("id")) or ""] = recipient

    def _add_chat(self, fields: dict[str, Any]) -> None:
        recipient = self._recipients.get(id_text(fields.get("recipientId")) or "")
        if recipient is None:
            return
        is_own = recipient.key == _SELF
        self._chats[id_text(fields.get("id")) or ""] = Source(
            f"{Signal.name}/{_NOTE_TO_SELF if is_own else printable(recipient.key)}",
            Signal.name,
            "Note to Self" if is_own else recipient.name,
            origin=self._file.label,
        )


def _contact(fields: dict[str, Any], number_in_file: str | None) -> _Recipient:
    flat = fields | {
        f"nickname.{key}": value for key, value in as_dict(fields.get("nickname")).items()
    }
    number = id_text(fields.get("e164"))
    phone = f"+{number.lstrip('+')}" if number else None
    names = (_full_name(flat, *keys) for keys in _NAMES)
    name = first_nonempty(*names, fields.get("systemNickname"), fields.get("username"), phone)
    own = _service_id(fields.get("aci")) or phone or _service_id(fields.get("pni"))
    return _Recipient(name, own or f"contact-{digest_of(name) if name else number_in_file}")


def _full_name(fields: dict[str, Any], *keys: str) -> str | None:
    return one_line(" ".join(filter(None, (as_text(fields.get(key)) for key in keys))))


def _service_id(value: object) -> str | None:
    """A UUID whose bytes the export has in Base64."""
    try:
        return str(uuid.UUID(bytes=base64.b64decode(value, validate=True)))  # type: ignore[arg-type]
    except (TypeError, ValueError, binascii.Error):
        return None


def _milliseconds(value: object) -> int | None:
    """A time, which the export has as text."""
    text = id_text(value)
    return int(text) if text and text.isdecimal() and len(text) < 20 else None
