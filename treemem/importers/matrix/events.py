"""Builds the messages of a Matrix room from its events.

A first pass learns who is called what, what was edited, and where threads begin; none of it is
beside the message that needs it.

Tested in tests/importers/test_matrix.py.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any, NamedTuple

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import (
    as_dict,
    as_list,
    as_text,
    dicts_in,
    no_message,
    text_or_empty,
    texts_of,
)
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
from treemem.patterns import lazy_regex
from treemem.types import Message

NOTICE = "notice of the service"
DELETED = "deleted message"
ENCRYPTED = "encrypted message, which the export could not decrypt"
EDIT = "edit, applied to its message"

_MEDIA = {"m.image": "image", "m.video": "video", "m.audio": "audio", "m.file": "file",
          "m.sticker": "sticker"}  # fmt: skip
_POLLS = ("m.poll.start", "org.matrix.msc3381.poll.start")
_POLL_KEYS = (*_POLLS, "m.poll")
_TEXT_KEYS = ("m.text", "org.matrix.msc1767.text")
_SAID = ("m.room.message", "m.sticker", *_POLLS)
# What older programs write before an answer: the message that it answers.
_QUOTE = lazy_regex(r"> (?:\* )?<[^\n]*(?:\n>[^\n]*)*(?=\n\n)")


class _Edit(NamedTuple):
    """The newest edit of a message by one of its senders. at: its time in milliseconds."""

    at: int
    content: dict[str, Any]


class Room:
    """A room: first note() each event, then read() each."""

    def __init__(self) -> None:
        self.room_id: str | None = None
        self._names: dict[str, str] = {}
        self._seen: set[str] = set()
        self._threads: set[str] = set()
        self._edits: dict[tuple[str, str], _Edit] = {}

    def note(self, value: object) -> None:
        """Learns from an event what others need."""
        event = as_dict(value)
        content = as_dict(event.get("content"))
        self.room_id = self.room_id or as_text(event.get("room_id"))
        if event.get("type") == "m.room.member":
            if (user := as_text(event.get("state_key"))) and (
                name := first_nonempty(content.get("displayname"))
            ):
                self._names[user] = name
            return
        event_id = as_text(event.get("event_id"))
        if event_id and event.get("type") in _SAID and not _is_encrypted(event):
            self._seen.add(event_id)
        kind, target = _relation(content)
        if kind == "m.thread" and target:
            self._threads.add(target)
        for edit in (event, _bundled_edit(event)):
            kind, target = _relation(as_dict(edit.get("content")))
            new, at = as_dict(edit.get("content")).get("m.new_content"), _time_ms(edit)
            key = (target or text_or_empty(event.get("event_id")), _sender(edit) or _sender(event))
            is_newest = key not in self._edits or at >= self._edits[key].at
            if kind == "m.replace" and isinstance(new, dict) and is_newest:
                self._edits[key] = _Edit(at, new)

    def read(self, value: object) -> Message | Skipped:
        """The message of an event, or the reason to skip it."""
        event = as_dict(value)
        kind, content = as_text(event.get("type")), as_dict(event.get("content"))
        if kind is None or not _sender(event):
            return Skipped(NOT_A_MESSAGE)
        is_deleted = "redacted_because" in as_dict(event.get("unsigned"))
        if _is_encrypted(event):
            return Skipped(DELETED if is_deleted else ENCRYPTED)
        if kind not in _SAID:
            is_notice = "state_key" in event or kind.startswith(("m.room.", "m.call.", "m.key."))
            return Skipped(NOTICE if is_notice else no_message(kind))
        if is_deleted or not content:
            return Skipped(DELETED)
        relation, target = _relation(content)
        event_id = as_text(event.get("event_id"))
        if relation == "m.replace" and target:
            if target in self._seen:
                return Skipped(EDIT)
            # The message itself cannot be read here: this is its newer version.
            event_id, newest = target, self._edits.get((target, _sender(event)))
            if newest is not None and newest.at > _time_ms(event):
                return Skipped(EDIT)
        return self._message(event, event_id, content)

    def _message(
        self, event: dict[str, Any], event_id: str | None, content: dict[str, Any]
    ) -> Message | Skipped:
        edit = self._edits.get((event_id or "", _sender(event)))
        said = _said(text_or_empty(event.get("type")), edit.content if edit else content, content)
        if isinstance(said, str):
            return Skipped(said)
        relation, target = _relation(content)
        thread = target if relation == "m.thread" else None
        if event_id in self._threads:
            thread = event_id
        return build_message(
            said,
            self._author(_sender(event)),
            sent_at(event.get("origin_server_ts")),
            external_id=f"matrix:{event_id}" if event_id else None,
            unique_id=True,
            session=f"matrix:{thread}" if thread else None,
        )

    @cached_property
    def _bearers(self) -> Counter[str]:
        """How many people have each name."""
        return Counter(self._names.values())

    def _author(self, user: str) -> str:
        """The name of somebody, with the id if others have the same name; else the id."""
        name = self._names.get(user)
        if name is None:
            return user
        return name if self._bearers[name] == 1 else f"{name} ({user})"


def _is_encrypted(event: dict[str, Any]) -> bool:
    is_bad = as_dict(event.get("content")).get("msgtype") == "m.bad.encrypted"
    return is_bad or event.get("type") == "m.room.encrypted"


def _said(kind: str, content: dict[str, Any], original: dict[str, Any]) -> Content | str:
    """What a message says, or why it says nothing. original: its content before an edit."""
    said = Content()
    body, message_type = text_or_empty(content.get("body")), content.get("msgtype")
    label = _MEDIA.get(kind) or _MEDIA.get(text_or_empty(message_type))
    if message_type == "m.key.verification.request":
        return NOTICE
    if kind in _POLLS:
        _add_poll(said, content)
    elif label:
        info = as_dict(content.get("info"))
        name = first_nonempty(content.get("filename"), body)
        facts = (name, info.get("mimetype"), size_text(info.get("size")))
        is_captioned = body and content.get("filename") not in (None, "", body)
        said.add(body if is_captioned else "")
        said.add(marker(label, *facts), "marker")
    elif message_type == "m.location":
        said.add(marker("place", body, content.get("geo_uri")), "marker")
    else:
        quote = _QUOTE.match(body) if _is_answer(original) else None
        if quote is not None:
            said.add(quote[0], "marker", "quote")
            body = body[quote.end() :].lstrip("\n")
        said.add(body)
    return EMPTY if said.is_empty else said


def _add_poll(said: Content, content: dict[str, Any]) -> None:
    poll = next((as_dict(content[key]) for key in _POLL_KEYS if key in content), {})
    lines = [_plain(poll.get("question")), *map(_plain, dicts_in(poll.get("answers")))]
    said.add("\n".join(filter(None, lines)) or _plain(content), "marker", "poll")


def _plain(value: object) -> str:
    """The text of a question or an answer, in any of the forms that it has had."""
    fields = as_dict(value)
    for key in _TEXT_KEYS:
        told = fields.get(key)
        bodies = [as_dict(item).get("body") for item in as_list(told)]
        if text := "".join([*texts_of(told), *filter(None, map(as_text, bodies))][:1]):
            return text
    return text_or_empty(fields.get("body"))


def _relation(content: dict[str, Any]) -> tuple[str | None, str | None]:
    """How an event relates to another one, and the other's id."""
    relates = as_dict(content.get("m.relates_to"))
    return as_text(relates.get("rel_type")), as_text(relates.get("event_id"))


def _is_answer(content: dict[str, Any]) -> bool:
    return "m.in_reply_to" in as_dict(content.get("m.relates_to"))


def _bundled_edit(event: dict[str, Any]) -> dict[str, Any]:
    """The newest edit of a message, as servers tell it beside the message."""
    relations = as_dict(as_dict(event.get("unsigned")).get("m.relations"))
    return as_dict(relations.get("m.replace"))


def _sender(event: dict[str, Any]) -> str:
    return as_text(event.get("sender")) or text_or_empty(event.get("user_id"))


def _time_ms(event: dict[str, Any]) -> int:
    at = event.get("origin_server_ts")
    return at if isinstance(at, int) else 0
