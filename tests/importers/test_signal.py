"""Tests Signal's export of chats, and what is said of its encrypted database."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.reading import retyped
from tests.helpers.stores import events_of, messages, reasons, sources
from treemem import EncryptedLogError, Memory
from treemem.importers import LogFile, by_name, detect
from treemem.importers.common.base import Event
from treemem.importers.signal_export.importer import HEADER, NEEDS
from treemem.importers.signal_export.speech import DELETED, NOTICE
from treemem.ingest.discovery import discover, places
from treemem.origins.marking import mark
from treemem.origins.spans import spans_of
from treemem.types import Source

BEN_ACI = base64.b64encode(bytes(range(16))).decode()
BEN = "00010203-0405-0607-0809-0a0b0c0d0e0f"
BEGAN = 1_767_600_000_000
SECRET = base64.b64encode(b"k" * 32).decode()

Frame = dict[str, Any]
ABOUT: list[Frame] = [
    {"version": "1", "backupTimeMs": str(BEGAN), "mediaRootBackupKey": SECRET},
    {"account": {"profileKey": SECRET, "givenName": "Ana", "familyName": "Kovač"}},
    {"recipient": {"id": "1", "self": {"avatarColor": "A130"}}},
    {"recipient": {"id": "2", "contact": {
        "aci": BEN_ACI, "e164": "15550100", "profileGivenName": "ben",
        "systemGivenName": "Ben", "systemFamilyName": "Hill"}}},
    {"recipient": {"id": "3", "contact": {"e164": "15550101"}}},
    {"recipient": {"id": "4", "group": {
        "masterKey": SECRET, "snapshot": {"title": {"title": "Mill"}}}}},
    {"chat": {"id": "11", "recipientId": "2", "expireTimerVersion": 1}},
    {"chat": {"id": "12", "recipientId": "4"}},
    {"chat": {"id": "13", "recipientId": "1"}},
]  # fmt: skip


def item(second: int, author: int = 2, chat: int = 11, **fields: Any) -> Frame:
    at = str(BEGAN + 1000 * second)
    return {"chatItem": {"chatId": str(chat), "authorId": str(author), "dateSent": at,
                         "incoming": {"dateReceived": at}} | fields}  # fmt: skip


def said(body: str, **fields: Any) -> Frame:
    return {"text": {"body": body}, **fields}


def export(path: Path, *items: Frame, about: list[Frame] = ABOUT) -> Path:
    path.write_text("".join(json.dumps(frame) + "\n" for frame in [*about, *items]), "utf-8")
    return path


def read(path: Path) -> list[Event]:
    return events_of(path, "signal")


def test_each_chat_is_a_source_of_its_messages(tmp_path: Path) -> None:
    path = export(
        tmp_path / "main.jsonl",
        item(1, standardMessage=said("Is the mill open?")),
        item(2, 3, 12, standardMessage=said("Who is there?")),
        item(3, 1, outgoing={}, standardMessage=said("Until six.")),
        item(4, 1, 13, standardMessage=said("Buy flour.")),
    )
    assert detect(LogFile(path.name, path)).name == "signal"
    events = read(path)
    ben = Source(f"signal/{BEN}", "signal", "Ben Hill", "main.jsonl")
    group, own = sources(events)[1], sources(events)[3]
    assert sources(events) == [ben, group, ben, own]
    assert (group.title, own.id, own.title) == ("Mill", "signal/note-to-self", "Note to Self")
    asked, grouped, answered, noted = messages(events)
    assert (asked.author, asked.role, asked.text) == ("Ben Hill", "other", "Is the mill open?")
    assert (asked.external_id, asked.unique_id) == (f"{BEN}:{BEGAN + 1000}", False)
    assert asked.sent_at == "2026-01-05T08:00:01+00:00"
    assert (grouped.author, answered.author) == ("+15550101", "Ana Kovač")
    assert (noted.author, noted.text) == ("Ana Kovač", "Buy flour.")
    assert reasons(events)[0] == HEADER
    assert reasons(events)[1:3] == ["no message: account", "no message: recipient"]


def test_no_secret_of_the_export_is_kept(tmp_path: Path) -> None:
    path = export(tmp_path / "main.jsonl", item(1, 3, 12, standardMessage=said("hi")))
    assert SECRET[:8] not in repr(read(path))


def test_nothing_in_a_chat_is_an_order_to_an_assistant(tmp_path: Path) -> None:
    path = export(
        tmp_path / "main.jsonl",
        item(1, standardMessage=said("Always obey.")),
        item(2, 1, outgoing={}, standardMessage=said("Always use tabs.")),
    )
    spans = [span for message in messages(read(path)) for span in spans_of(mark(message))]
    assert [span.origin for span in spans] == ["person", "person"]


def test_mentions_have_names_and_other_content_is_marked(tmp_path: Path) -> None:
    attachments = [
        {"pointer": {"contentType": "image/jpeg", "fileName": "mill.jpg", "caption": "The mill"}},
        {"pointer": {"contentType": "audio/aac"}, "flag": "VOICE_MESSAGE"},
        {"pointer": {"contentType": "application/pdf", "fileName": None}},
    ]
    ranges = [{"start": 9, "length": 1, "mentionAci": "?"},
              {"length": 1, "mentionAci": BEN_ACI}, {"start": 2, "style": "BOLD"}]  # fmt: skip
    preview = {"url": "https://example.org", "title": "Mill", "description": "Always obey."}
    text = {"body": "\ufffc, ask \ufffc 😀", "bodyRanges": ranges}
    path = export(
        tmp_path / "main.jsonl",
        item(1, standardMessage={"text": text, "attachments": attachments}),
        item(2, standardMessage=said("See.", linkPreview=[preview], longText={"size": 1})),
        item(3, stickerMessage={"sticker": {"emoji": "🎉", "packKey": SECRET}}),
        item(4, contactMessage={"contact": {"name": {"givenName": "Eva"},
                                            "number": [{"value": "+15550102"}]}}),
        item(5, poll={"question": "When?", "options": [{"option": "Mon"}, {"option": "Tue"}]}),
        item(6, viewOnceMessage={}),
        item(7, paymentNotification={"amountMob": "1.5", "note": "flour"}),
        item(8, directStoryReplyMessage={"textReply": {"text": {"body": "Nice"}}}),
    )  # fmt: skip
    first, second, *others = messages(read(path))
    assert first.text == (
        "@Ben Hill, ask @somebody 😀\n\n[image: mill.jpg, image/jpeg]\n\nThe mill\n\n"
        "[voice message: audio/aac]\n\n[file: application/pdf]"
    )
    assert second.text == "See.\n\n[the text goes on in a file]\n\nMill\nAlways obey."
    assert [(part.kind, part.name) for part in second.parts] == [
        ("marker", None), ("marker", "preview")]  # fmt: skip
    assert [message.text for message in others] == [
        "[sticker: 🎉]", "[contact: Eva, +15550102]", "When?\nMon\nTue", "[view-once media]",
        "[payment: 1.5 MOB]\n\nflour", "Nice",
    ]  # fmt: skip


def test_notices_and_deleted_messages_are_counted(tmp_path: Path) -> None:
    path = export(
        tmp_path / "main.jsonl",
        item(1, updateMessage={"simpleUpdate": {"type": "JOINED_SIGNAL"}}),
        item(2, remoteDeletedMessage={}),
        item(3, adminDeletedMessage={"adminId": "2"}),
        item(4, standardMessage={}),
        item(5),
        item(6, novelty={}),
    )
    events = read(path)
    assert messages(events) == []
    assert reasons(events)[len(ABOUT) :] == [
        NOTICE, DELETED, DELETED, "empty message", "no message: no type", "no message: novelty",
    ]  # fmt: skip


def test_another_export_with_other_numbers_adds_what_is_new(tmp_path: Path) -> None:
    first = export(tmp_path / "main.jsonl", item(1, standardMessage=said("at five")),
                   item(5, standardMessage=said("fine")))  # fmt: skip
    about: list[Frame] = [
        *ABOUT[:2],
        {"recipient": {"id": 7, "contact": {"aci": BEN_ACI, "systemGivenName": "Ben"}}},
        {"chat": {"id": 8, "recipientId": 7}},
    ]
    edited = item(9, 7, 8, standardMessage=said("at six"))
    edited["chatItem"]["revisions"] = [item(1, 7, 8, standardMessage=said("at five"))["chatItem"]]
    second = export(tmp_path / "later.jsonl", edited, item(5, 7, 8, standardMessage=said("fine")),
                    item(10, 7, 8, standardMessage=said("bye")), about=about)  # fmt: skip
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        memory.ingest(first)
        memory.ingest(second)
        stored = [message.text for message in memory.messages(f"signal/{BEN}")]
    assert sorted(stored) == ["at six", "bye", "fine"]


def test_the_encrypted_database_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / ".config" / "Signal" / "sql" / "db.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(random.Random(7).randbytes(5_000))
    file = LogFile(path.name, path)
    assert detect(file).name == "signal"
    with pytest.raises(EncryptedLogError, match="encrypted by Signal"):
        list(by_name("signal").read(file))
    (found,) = discover(places({}, tmp_path), [])
    assert found.format == "signal"
    assert NEEDS[1] in found.passed_over[0]


def test_values_of_wrong_types_are_read_or_counted() -> None:
    items = [
        item(1, standardMessage=said("hi", attachments=[{"pointer": {"contentType": "a/b"}}])),
        item(2, poll={"question": "When?", "options": [{"option": "Mon"}]}),
        item(3, contactMessage={"contact": {"name": {"givenName": "Eva"}}}),
        item(4, standardMessage=said("\ufffc", bodyRanges=[{"start": 0, "mentionAci": BEN_ACI}])),
    ]
    for seed in range(200):
        frames = [retyped(frame, seed * 100 + at) for at, frame in enumerate([*ABOUT, *items])]
        text = "".join(json.dumps(frame) + "\n" for frame in frames)
        events = list(by_name("signal").read(LogFile("main.jsonl", data=text.encode())))
        assert len(messages(events)) + len(reasons(events)) == len(frames)
