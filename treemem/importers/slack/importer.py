"""Reads Slack exports: a folder per channel with a file per day, and lists of people and channels.

Reads a day at a time, with names from the lists in the export's root. Skips Slack's announcements.

Tested in tests/importers/test_slack.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, dicts_in, id_text, text_or_empty
from treemem.importers.common.content import Content
from treemem.importers.common.conversation import (
    EMPTY,
    NOT_A_MESSAGE,
    build_message,
    first_nonempty,
    marker,
    size_text,
)
from treemem.importers.common.json_members import JsonMember, read_members
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import place_key, printable, sent_at
from treemem.importers.slack.people import CHANNEL_LISTS, PEOPLE_LISTS, Directory, directory
from treemem.patterns import lazy_regex
from treemem.types import Message, Source

WITH_THE_DAYS = "read with the days"
NOTICE = "notice of the service"
DELETED = "deleted message"
COPY = "copy of a thread's reply"

_LISTS = (*PEOPLE_LISTS, *CHANNEL_LISTS)
_OTHER_LISTS = ("integration_logs.json", "canvases.json", "lists.json", "file_conversations.json",
                "huddle_transcripts.json")  # fmt: skip
_LIST_BYTES_MAX = 256 * 1024**2
_TS = lazy_regex(r"\d{9,11}\.\d{1,9}")
_LIST_ID = lazy_regex(r"[UWCGDB][A-Z0-9]*")
_LOOKED_AT = 20
_DEPTH_MAX = 12
_NOTICES = frozenset({
    "bot_add", "bot_remove", "bot_enable", "bot_disable", "pinned_item", "unpinned_item",
    "reminder_add", "sh_room_created", "joiner_notification", "joiner_notification_for_inviter",
    "app_conversation_join", "app_conversation_leave", "ekm_access_denied", "huddle_thread",
    "channel_canvas_updated", "bookmark_added", "tabbed_canvas_updated",
})  # fmt: skip
_NOTICES_OF_CHANNELS = lazy_regex(r"(?:channel|group|mpim)_[a-z_]+")


class Slack(Importer):
    """Imports the days and lists of a Slack export; its sources are the channels."""

    name = "slack"
    version = 1
    spans_files = True
    description = "Slack exports: a ZIP or a folder of channels, with a file for every day"
    kept = "speaker, text, time, ids, threads, text of bots' attachments, names of files"
    dropped = "reactions, layout, joins and other notices, deleted messages, files themselves"
    marks = (("type", "user", "text", "ts"),)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        values = head_value(head)
        objects = dicts_in(values)[:_LOOKED_AT]
        if not objects or not isinstance(values, list):
            return 0.0
        if sum(map(_is_message, objects)) * 2 >= len(objects):
            return 0.95
        if file.name in _LISTS:
            ids = [text_or_empty(item.get("id")) for item in objects]
            return 0.9 if all(map(_LIST_ID.fullmatch, ids)) else 0.0
        is_log = file.name in _OTHER_LISTS and file.neighbour("channels.json") is not None
        return 0.9 if is_log else 0.0

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        if file.name in _LISTS or file.name in _OTHER_LISTS:
            return ()
        beside = (file.neighbour("..", name) for name in _LISTS)
        return [neighbour for neighbour in beside if neighbour is not None]

    def read(self, file: LogFile) -> Iterator[Event]:
        return _Reading(file, self.companions(file)).events()


class _Reading:
    """One pass over a day. _key: the prefix of unique message ids; None if no list identifies the
    channel, so that ids are unique only in their source."""

    def __init__(self, file: LogFile, lists: Iterable[LogFile]) -> None:
        self._file = file
        self._names = _directory(lists)
        folder = file.folder
        channel = self._names.channels.get(folder)
        team = self._names.team
        known = channel.id if channel else None
        self._key = f"slack:{team}/{known}" if team and known else None
        if team or known:
            name = "/".join(printable(part) for part in (team, known or folder) if part)
        else:
            # Subtle: without the file's name, since all days of a channel are one source.
            place = (file.place or "").removesuffix(file.name)
            name = place_key(folder, place) if place else printable(file.stem)
        title = channel.title if channel else folder or None
        self._source = Source(f"slack/{name}", Slack.name, title, origin=file.label)

    def events(self) -> Iterator[Event]:
        is_open = False
        for member in read_members(self._file):
            if isinstance(member, JsonMember) and member.key is not None:
                yield Skipped(NOT_A_MESSAGE)  # a day is an array, not an object
                return
            event = member if isinstance(member, Skipped) else self._event(member.value)
            if isinstance(event, Message) and not is_open:
                is_open = True
                yield self._source
            yield event

    def _event(self, value: object) -> Message | Skipped:
        fields = as_dict(value)
        if _LIST_ID.fullmatch(text_or_empty(fields.get("id"))) or self._file.name in _OTHER_LISTS:
            return Skipped(WITH_THE_DAYS)
        if not _is_message(fields):
            return Skipped(NOT_A_MESSAGE)
        subtype = text_or_empty(fields.get("subtype"))
        if subtype == "message_changed" and _is_message(fields.get("message")):
            fields = as_dict(fields["message"])
            subtype = text_or_empty(fields.get("subtype"))
        if subtype in ("tombstone", "message_deleted"):
            return Skipped(DELETED)
        if subtype in ("reply_broadcast", "message_replied"):
            return Skipped(COPY)
        if subtype in _NOTICES or _NOTICES_OF_CHANNELS.fullmatch(subtype):
            return Skipped(NOTICE)
        return self._message(fields)

    def _message(self, fields: dict[str, object]) -> Message | Skipped:
        content = Content()
        content.add(self._names.readable(_words(fields)))
        for attachment in dicts_in(fields.get("attachments")):
            text = self._names.readable(_attached_words(attachment))
            # A bot's attachments are its own text. Other attachments are link previews or shared
            # messages: other people's text.
            content.add(text, *((None, None) if _is_bot(fields) else ("marker", "attachment")))
        for shared in [*dicts_in(fields.get("files")), *dicts_in([fields.get("file")])]:
            content.add(
                _file_marker(shared), "marker", text_or_empty(shared.get("mimetype")) or None
            )
        if content.is_empty:
            return Skipped(EMPTY)
        ts, thread = str(fields["ts"]), id_text(fields.get("thread_ts"))
        key = self._key or self._source.id
        return build_message(
            content,
            self._author(fields),
            sent_at(ts),
            external_id=f"{self._key}/{ts}" if self._key else ts,
            unique_id=self._key is not None,
            session=f"{key}/{thread}" if thread else None,
        )

    def _author(self, fields: dict[str, object]) -> str | None:
        user = id_text(fields.get("user")) or id_text(as_dict(fields.get("comment")).get("user"))
        if user and (user in self._names.people or user == "USLACKBOT"):
            return self._names.person(user)
        profile, bot = as_dict(fields.get("user_profile")), as_dict(fields.get("bot_profile"))
        named = first_nonempty(
            profile.get("real_name"), profile.get("name"), fields.get("username"), bot.get("name")
        )
        return named or user or self._names.person(fields.get("bot_id"))


def _directory(lists: Iterable[LogFile]) -> Directory:
    people: list[bytes] = []
    channels: list[bytes] = []
    for file in lists:
        if file.size_bytes <= _LIST_BYTES_MAX:
            with file.open() as stream:
                (people if file.name in PEOPLE_LISTS else channels).append(stream.read())
    return directory(tuple(people), tuple(channels))


def _is_message(value: object) -> bool:
    fields = as_dict(value)
    return (
        fields.get("type") == "message"
        and _TS.fullmatch(text_or_empty(fields.get("ts"))) is not None
    )


def _is_bot(fields: dict[str, object]) -> bool:
    return fields.get("subtype") == "bot_message" or "bot_id" in fields


def _words(fields: dict[str, object]) -> str:
    """The message's text, or else the text of its blocks."""
    text = text_or_empty(fields.get("text"))
    return text or "\n".join(_block_texts(fields.get("blocks"), _DEPTH_MAX))


def _block_texts(value: object, depth: int) -> Iterator[str]:
    if depth <= 0:
        return
    if isinstance(value, list):
        for item in value:
            yield from _block_texts(item, depth - 1)
    elif isinstance(value, dict) and text_or_empty(value.get("type")).startswith("rich_text_"):
        if inline := "".join(map(_inline, dicts_in(value.get("elements")))):
            yield inline
        else:
            yield from _block_texts(value.get("elements"), depth - 1)
    elif isinstance(value, dict):
        for key in ("text", "elements", "fields"):
            inner = value.get(key)
            if isinstance(inner, str) and inner:
                yield inner
            else:
                yield from _block_texts(inner, depth - 1)


def _inline(element: dict[str, object]) -> str:
    """The text of an inline element: text itself, a person, a link or an emoji."""
    if user := text_or_empty(element.get("user_id")):
        return f"<@{user}>"
    if element.get("type") == "emoji":
        return f":{text_or_empty(element.get('name'))}:"
    return text_or_empty(element.get("text")) or text_or_empty(element.get("url"))


def _attached_words(attachment: dict[str, object]) -> str:
    """An attachment's text, or else its fallback."""
    pieces = [text_or_empty(attachment.get(key)) for key in ("pretext", "title", "text")]
    for field in dicts_in(attachment.get("fields")):
        title, value = text_or_empty(field.get("title")), text_or_empty(field.get("value"))
        pieces.append(f"{title}: {value}" if title else value)
    text = "\n".join(filter(None, pieces))
    return text or text_or_empty(attachment.get("fallback"))


def _file_marker(shared: dict[str, object]) -> str:
    if shared.get("mode") == "tombstone":
        return marker("file", "deleted")
    name = first_nonempty(shared.get("name"), shared.get("title"))
    return marker("file", name, shared.get("mimetype"), size_text(shared.get("size")))
