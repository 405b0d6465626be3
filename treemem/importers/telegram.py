"""Reads Telegram Desktop's result.json: one chat, or all chats of an account.

Streams the messages at either nesting depth. Skips contacts, sessions and other parts of an
account's export.
"""

from __future__ import annotations

from collections.abc import Iterator

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, dicts_in, id_text, text_or_empty
from treemem.importers.common.content import Content
from treemem.importers.common.conversation import (
    EMPTY,
    NOT_A_MESSAGE,
    build_message,
    first_nonempty,
    marker,
)
from treemem.importers.common.json_members import read_nested
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import file_key, one_line, printable, sent_at
from treemem.types import Message, Source

NOTICE = "notice of the service"
OTHER_DATA = "no message: other data of the account"

_OTHER_DATA = frozenset({
    "personal_information", "profile_pictures", "stories", "contacts", "frequent_contacts",
    "sessions", "web_sessions", "other_data",
})  # fmt: skip
_LISTS = ("chats", "left_chats")
# Each family is numbered separately. A supergroup keeps its id when it becomes public, and bots are
# numbered like people.
_FAMILY_OF = {
    "saved_messages": "saved", "replies": "replies", "personal_chat": "user", "bot_chat": "user",
    "private_group": "group", "private_supergroup": "channel", "public_supergroup": "channel",
    "private_channel": "channel", "public_channel": "channel",
}  # fmt: skip
_TITLE_OF = {"saved": "Saved messages", "replies": "Replies"}
_CHAT_FIELDS = ("name", "type", "id")


class Telegram(Importer):
    """Imports Telegram exports; its sources are the chats."""

    name = "telegram"
    version = 1
    description = "Telegram Desktop exports (result.json), one chat or all of an account"
    kept = "speaker, text, time, ids, kinds of media, polls, sent contacts and places"
    dropped = "layout, reactions, links of replies, notices, the account's other data"
    marks = (("name", "type", "id", "messages"), ("about", "chats"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        value = as_dict(head_value(head))
        if text_or_empty(value.get("type")) in _FAMILY_OF and "id" in value:
            return 0.95 if isinstance(value.get("messages"), list) else 0.0
        lists = [as_dict(value.get(key)) for key in _LISTS]
        if any(isinstance(entry.get("list"), list) and "about" in entry for entry in lists):
            return 0.95
        # In an account's export, contacts may fill the whole head.
        is_account = "personal_information" in value and "about" in value
        return 0.85 if is_account and "Telegram" in text_or_empty(value.get("about")) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        return _Reading(file).events()


class _Reading:
    """One pass over a file: the open chat, and whether its source was yielded."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._chat: dict[str, object] = {}
        self._is_open = False

    def events(self) -> Iterator[Event]:
        for member in read_nested(self._file, _is_entered):
            if isinstance(member, Skipped):
                yield member
                continue
            path, value = member
            if path in _CHATS:
                self._chat, self._is_open = {}, False
            if path[:-1] in _CHATS and path[-1:] and path[-1] in _CHAT_FIELDS:
                self._chat[path[-1]] = value
                continue
            if path[:-2] not in _CHATS or path[-2:] != ("messages", "[]"):
                if len(path) == 1 and path[0] in _OTHER_DATA and value:
                    yield Skipped(OTHER_DATA)
                continue
            event = _event(value)
            if isinstance(event, Message) and not self._is_open:
                self._is_open = True
                yield _source(self._file, self._chat)
            yield event


_CHATS: tuple[tuple[str, ...], ...] = ((), *((key, "list", "[]") for key in _LISTS))


def _is_entered(path: tuple[str, ...]) -> bool:
    """Whether a path leads to messages: a list of messages, a chat, or a list of chats."""
    if path in _CHATS or (path[:-1] in _CHATS and path[-1] == "messages"):
        return True
    return path[:1] in (("chats",), ("left_chats",)) and path[1:] in ((), ("list",))


def _source(file: LogFile, chat: dict[str, object]) -> Source:
    family, chat_id = _FAMILY_OF.get(text_or_empty(chat.get("type"))), id_text(chat.get("id"))
    name = one_line(chat.get("name")) or _TITLE_OF.get(family or "")
    key = f"{family}-{printable(chat_id)}" if family and chat_id else file_key(file)
    return Source(f"telegram/{key}", Telegram.name, name, origin=file.label)


def _event(value: object) -> Message | Skipped:
    fields = as_dict(value)
    if fields.get("type") == "service":
        return Skipped(NOTICE)
    if fields.get("type") != "message":
        return Skipped(NOT_A_MESSAGE)
    content = Content()
    forwarded = first_nonempty(fields.get("forwarded_from"))
    is_forwarded = "forwarded_from" in fields
    if is_forwarded:
        content.add(marker("forwarded", forwarded), "marker", "forwarded")
    before = len(content.parts)
    # A forwarded text is somebody else's, not the sender's.
    text = _words(fields.get("text"))
    content.add(text, *(("marker", "forwarded") if is_forwarded else (None, None)))
    _add_media(content, fields)
    if content.is_empty or (is_forwarded and len(content.parts) == before):
        return Skipped(EMPTY)
    return build_message(
        content,
        first_nonempty(fields.get("from"), fields.get("author"), fields.get("from_id")),
        # Only the number is unambiguous: the date is in the exporting machine's time zone.
        sent_at(fields.get("date_unixtime")) or sent_at(fields.get("date")),
        external_id=id_text(fields.get("id")),
    )


def _words(text: object) -> str:
    """The text of a string, or of a list of strings and objects with a text."""
    if isinstance(text, list):
        return "".join(
            piece if isinstance(piece, str) else text_or_empty(as_dict(piece).get("text"))
            for piece in text
        )
    return text_or_empty(text)


def _add_media(content: Content, fields: dict[str, object]) -> None:
    """Adds media as markers. Omits paths, which differ from export to export."""
    media_type = text_or_empty(fields.get("mime_type")) or None
    if "photo" in fields:
        content.add(marker("photo"), "marker")
    if "file" in fields or "media_type" in fields:
        label = text_or_empty(fields.get("media_type")).replace("_", " ") or "file"
        label_text = marker(label, fields.get("file_name"), fields.get("sticker_emoji"),
                       fields.get("performer"), fields.get("title"), media_type)  # fmt: skip
        content.add(label_text, "marker", media_type)
    contact = as_dict(fields.get("contact_information"))
    if contact:
        names = (contact.get(key) for key in ("first_name", "last_name", "phone_number"))
        content.add(marker("contact", *names), "marker")
    place = as_dict(fields.get("location_information"))
    if place or "place_name" in fields:
        point = [str(place[key]) for key in ("latitude", "longitude") if key in place]
        named = (fields.get("place_name"), fields.get("address"))
        content.add(marker("location", *named, *point), "marker")
    if poll := as_dict(fields.get("poll")):
        answers = [text_or_empty(answer.get("text")) for answer in dicts_in(poll.get("answers"))]
        text = "\n".join(filter(None, [_words(poll.get("question")), *answers]))
        content.add(text, "marker", "poll")
    if "game_title" in fields:
        content.add(marker("game", fields.get("game_title")), "marker")
