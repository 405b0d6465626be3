"""Reads Discord channels exported to JSON by DiscordChatExporter: a header, then the messages.

Streams the messages. Skips Discord's announcements, such as pins and joins, and marks forwarded
messages and link previews as other people's text.
"""

from __future__ import annotations

import re
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
    size_text,
)
from treemem.importers.common.json_members import read_members
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import file_key, one_line, printable, sent_at
from treemem.patterns import lazy_regex
from treemem.types import Message, Source

NOTICE = "notice of the service"

# Every other type is an announcement with Discord's own text.
_SAID_TYPES = frozenset({"default", "reply", "chatinputcommand", "contextmenucommand",
                         "threadstartermessage", "0", "19", "20", "21", "23"})  # fmt: skip
_THREAD_TYPE = lazy_regex(r"thread", re.IGNORECASE)


class Discord(Importer):
    """Imports exported channels; a thread is a source below its channel."""

    name = "discord"
    version = 1
    description = "Discord channels, exported to JSON by DiscordChatExporter"
    kept = "speaker, text, time, ids, text of embeds, names of attachments and stickers"
    dropped = "reactions, mentions, links of replies, layout, notices, files themselves"
    marks = (("guild", "channel", "messages"),)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        value = as_dict(head_value(head))
        has_header = isinstance(value.get("guild"), dict) and isinstance(value.get("channel"), dict)
        return 0.95 if has_header and isinstance(value.get("messages"), list) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        header: dict[str, dict[str, object]] = {}
        source: Source | None = None
        for member in read_members(file):
            if isinstance(member, Skipped):
                yield member
                continue
            if member.key != "messages" or not member.is_element:
                header[member.key or ""] = as_dict(member.value)
                continue
            event = _event(member.value)
            if isinstance(event, Message) and source is None:
                source = _source(file, header.get("guild", {}), header.get("channel", {}))
                yield source
            yield event


def _source(file: LogFile, guild: dict[str, object], channel: dict[str, object]) -> Source:
    guild_id, channel_id = id_text(guild.get("id")), id_text(channel.get("id"))
    name, parent_id = first_nonempty(channel.get("name")), None
    if channel_id is None:
        return Source(f"discord/{file_key(file)}", Discord.name, name, origin=file.label)
    place = f"discord/{printable(guild_id or '0')}"
    if _THREAD_TYPE.search(text_or_empty(channel.get("type"))):
        category = id_text(channel.get("categoryId"))
        parent_id = f"{place}/{printable(category)}" if category else None
    # All direct messages have the same "guild".
    title = name if guild_id in (None, "0") else f"{one_line(guild.get('name')) or ''} #{name}"
    return Source(
        f"{place}/{printable(channel_id)}", Discord.name, one_line(title), file.label, parent_id
    )


def _event(value: object) -> Message | Skipped:
    fields = as_dict(value)
    if not fields or "author" not in fields:
        return Skipped(NOT_A_MESSAGE)
    kind = str(fields.get("type", "Default")).lower()
    if kind not in _SAID_TYPES:
        return Skipped(NOTICE)
    content = Content()
    content.add(text_or_empty(fields.get("content")))
    _add_attachments(content, fields)
    forwarded = as_dict(fields.get("forwardedMessage"))
    if forwarded:
        content.add(text_or_empty(forwarded.get("content")), "marker", "forwarded")
        _add_attachments(content, forwarded)
    if content.is_empty:
        return Skipped(EMPTY)
    author = as_dict(fields.get("author"))
    message_id = id_text(fields.get("id"))
    return build_message(
        content,
        # The account's name, since a changed nickname would change every message.
        first_nonempty(author.get("name"), author.get("nickname"), author.get("id")),
        sent_at(fields.get("timestamp")),
        external_id=f"discord:{message_id}" if message_id else None,
        unique_id=True,
    )


def _add_attachments(content: Content, fields: dict[str, object]) -> None:
    """Adds attachments and stickers as markers, and embeds as other people's text."""
    for attachment in dicts_in(fields.get("attachments")):
        size = size_text(attachment.get("fileSizeBytes"))
        content.add(marker("attachment", attachment.get("fileName"), size), "marker")
    for sticker in dicts_in(fields.get("stickers")):
        content.add(marker("sticker", sticker.get("name")), "marker")
    for embed in dicts_in(fields.get("embeds")):
        pieces = [text_or_empty(embed.get(key)) for key in ("title", "description")]
        pieces += [
            f"{text_or_empty(field.get('name'))}: {text_or_empty(field.get('value'))}"
            for field in dicts_in(embed.get("fields"))
        ]
        content.add("\n".join(filter(None, pieces)), "marker", "embed")
