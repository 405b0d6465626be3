"""Builds the text of a message of Signal from an item of its export.

Pure. An item has one member that says what it is, such as standardMessage; defaults are left out.

Tested in tests/importers/test_signal.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from treemem.importers.common.coerce import as_dict, as_text, dicts_in, no_message, text_or_empty
from treemem.importers.common.content import Content
from treemem.importers.common.conversation import EMPTY, marker

DELETED = "deleted message"
NOTICE = "notice of the service"

_DELETED = ("remoteDeletedMessage", "adminDeletedMessage")
_NOTICES = ("updateMessage", "giftBadge")
# Members of an item that do not say what it is.
_ABOUT = frozenset({
    "chatId", "authorId", "dateSent", "expireStartDate", "expiresInMs", "revisions", "sms",
    "incoming", "outgoing", "directionless", "pinDetails",
})  # fmt: skip
# What a text has in place of each mention.
_MENTION = "\ufffc"
_FLAGS = {"VOICE_MESSAGE": "voice message", "GIF": "gif", "BORDERLESS": "sticker"}
_LABELS = frozenset({"image", "video", "audio"})

Fields = dict[str, Any]


class Speech:
    """Builds the contents of messages. names: of people by their ids as mentions have them, which
    grow while a file is read."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._add: dict[str, Callable[[Content, Fields], None]] = {
            "standardMessage": self._add_standard, "contactMessage": _add_contact,
            "stickerMessage": _add_sticker, "paymentNotification": _add_payment,
            "viewOnceMessage": _add_view_once, "directStoryReplyMessage": self._add_story_reply,
            "poll": _add_poll,
        }  # fmt: skip

    def content(self, item: Fields) -> Content | str:
        """The content of an item, or why it is no message."""
        if any(key in item for key in _DELETED):
            return DELETED
        if any(key in item for key in _NOTICES):
            return NOTICE
        for key, add in self._add.items():
            if key in item:
                content = Content()
                add(content, as_dict(item[key]))
                return EMPTY if content.is_empty else content
        return no_message(next((key for key in item if key not in _ABOUT), None))

    def _add_standard(self, content: Content, fields: Fields) -> None:
        self._add_text(content, fields.get("text"))
        if as_dict(fields.get("longText")):
            content.add(marker("the text goes on in a file"), "marker")
        for attachment in dicts_in(fields.get("attachments")):
            _add_attachment(content, attachment)
        for preview in dicts_in(fields.get("linkPreview")):
            # A preview is written by the page's author, not by the sender.
            parts = (text_or_empty(preview.get(key)) for key in ("title", "description"))
            content.add("\n".join(filter(None, parts)), "marker", "preview")

    def _add_story_reply(self, content: Content, fields: Fields) -> None:
        self._add_text(content, as_dict(fields.get("textReply")).get("text"))
        content.add(text_or_empty(fields.get("emoji")))

    def _add_text(self, content: Content, text: object) -> None:
        """Adds a text with the names of the people that it mentions."""
        fields = as_dict(text)
        body = text_or_empty(fields.get("body"))
        ranges = [each for each in dicts_in(fields.get("bodyRanges")) if "mentionAci" in each]
        for each in sorted(ranges, key=lambda each: _number(each.get("start"))):
            name = self._names.get(text_or_empty(each["mentionAci"]), "somebody")
            body = body.replace(_MENTION, f"@{name}", 1)
        content.add(body)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _add_attachment(content: Content, attachment: Fields) -> None:
    pointer = as_dict(attachment.get("pointer"))
    media_type = as_text(pointer.get("contentType"))
    major = (media_type or "").split("/")[0]
    label = _FLAGS.get(str(attachment.get("flag"))) or (major if major in _LABELS else "file")
    content.add(marker(label, pointer.get("fileName"), media_type), "marker", media_type)
    content.add(text_or_empty(pointer.get("caption")))


def _add_contact(content: Content, fields: Fields) -> None:
    # The first versions had a list of contacts.
    contacts = [as_dict(fields.get("contact")), *dicts_in(fields.get("contact"))]
    for contact in filter(None, contacts):
        name = as_dict(contact.get("name"))
        facts: list[object] = [name.get(key) for key in ("givenName", "familyName", "nickname")]
        facts += [each.get("value") for key in ("number", "email")
                  for each in dicts_in(contact.get(key))]  # fmt: skip
        content.add(marker("contact", *facts, contact.get("organization")), "marker")


def _add_sticker(content: Content, fields: Fields) -> None:
    content.add(marker("sticker", as_dict(fields.get("sticker")).get("emoji")), "marker")


def _add_payment(content: Content, fields: Fields) -> None:
    amount = as_text(fields.get("amountMob"))
    content.add(marker("payment", amount and f"{amount} MOB"), "marker")
    content.add(text_or_empty(fields.get("note")))


def _add_view_once(content: Content, fields: Fields) -> None:
    del fields  # what was seen once is not exported
    content.add(marker("view-once media"), "marker")


def _add_poll(content: Content, fields: Fields) -> None:
    options = [text_or_empty(each.get("option")) for each in dicts_in(fields.get("options"))]
    lines = [text_or_empty(fields.get("question")), *options]
    content.add("\n".join(filter(None, lines)), "marker", "poll")
