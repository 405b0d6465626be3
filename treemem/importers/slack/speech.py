"""Builds the messages of a Slack channel from what Slack's interface tells of each.

Slack's own exports and those of other programs have the same records, and get the same messages.

Tested in tests/importers/test_slack.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from treemem.importers.common.base import Skipped
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
from treemem.importers.common.source_ids import sent_at
from treemem.importers.slack.people import Directory
from treemem.patterns import lazy_regex
from treemem.types import Message

NOTICE = "notice of the service"
DELETED = "deleted message"
COPY = "copy of a thread's reply"

_TS = lazy_regex(r"\d{9,11}\.\d{1,9}")
_DEPTH_MAX = 12
_NOTICES = frozenset({
    "bot_add", "bot_remove", "bot_enable", "bot_disable", "pinned_item", "unpinned_item",
    "reminder_add", "sh_room_created", "joiner_notification", "joiner_notification_for_inviter",
    "app_conversation_join", "app_conversation_leave", "ekm_access_denied", "huddle_thread",
    "channel_canvas_updated", "bookmark_added", "tabbed_canvas_updated",
})  # fmt: skip
_NOTICES_OF_CHANNELS = lazy_regex(r"(?:channel|group|mpim)_[a-z_]+")


class Speech:
    """Builds the messages of one channel.

    _key: the prefix of unique message ids; None if the workspace or the channel is not known, so
    that ids are unique only in their source.
    """

    def __init__(self, names: Directory, channel_id: str | None, source_id: str) -> None:
        self._names = names
        is_known = names.team and channel_id
        self._key = f"slack:{names.team}/{channel_id}" if is_known else None
        self._source_id = source_id

    def read(self, fields: dict[str, object]) -> Message | Skipped:
        """The message of a record, or the reason to skip it."""
        if not is_message(fields):
            return Skipped(NOT_A_MESSAGE)
        subtype = text_or_empty(fields.get("subtype"))
        if subtype == "message_changed" and is_message(fields.get("message")):
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
        key = self._key or self._source_id
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


def is_message(value: object) -> bool:
    """Whether a value is a message of Slack: of that type, with its time."""
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
