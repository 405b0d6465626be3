"""Writes a generated conversation in the formats of messengers and of rooms with several people.

See export_logs.py, which lists these functions with all others.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.data.agent_stores import database

if TYPE_CHECKING:
    from benchmarks.data.export_logs import Talk

IMESSAGE_SCHEMA = """
CREATE TABLE chat (ROWID INTEGER PRIMARY KEY, guid TEXT, style INTEGER, chat_identifier TEXT,
  service_name TEXT, display_name TEXT);
CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT, country TEXT, service TEXT);
CREATE TABLE message (ROWID INTEGER PRIMARY KEY, guid TEXT UNIQUE, text TEXT, attributedBody BLOB,
  subject TEXT, handle_id INTEGER, service TEXT, date INTEGER, is_from_me INTEGER,
  item_type INTEGER, associated_message_guid TEXT, associated_message_type INTEGER,
  balloon_bundle_id TEXT, message_summary_info BLOB, date_edited INTEGER, date_retracted INTEGER);
CREATE TABLE attachment (ROWID INTEGER PRIMARY KEY, guid TEXT, filename TEXT, mime_type TEXT,
  transfer_name TEXT, total_bytes INTEGER, is_sticker INTEGER);
CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER, message_date INTEGER,
  PRIMARY KEY (chat_id, message_id));
CREATE TABLE chat_handle_join (chat_id INTEGER, handle_id INTEGER, UNIQUE (chat_id, handle_id));
CREATE TABLE message_attachment_join (message_id INTEGER, attachment_id INTEGER,
  UNIQUE (message_id, attachment_id));
"""

_2001_S = 978_307_200
_PAGE_TURNS = 20


def archived(text: str) -> bytes:
    """A text as Messages archives it, without its layout."""
    data = text.encode("utf-8", "surrogatepass")
    length = bytes([len(data)]) if len(data) < 0x80 else b"\x81" + len(data).to_bytes(2, "little")
    return (
        b"\x04\x0bstreamtyped\x81\xe8\x03\x84\x01@\x84\x84\x84\x12NSAttributedString\x00"
        b"\x84\x84\x08NSObject\x00\x85\x92\x84\x84\x84\x08NSString\x01\x94\x84\x01+"
        + length + data + b"\x86\x84\x02iI\x01\x05\x92\x84\x84\x84\x0cNSDictionary\x00\x94\x84\x01i"
    )  # fmt: skip


def imessage(talk: Talk) -> bytes:
    """The chat.db of Messages; every other text is archived only."""
    messages, joins = [], []
    for number, turn in enumerate(talk, 1):
        date = (int(turn.at.timestamp()) - _2001_S) * 10**9
        is_plain = number % 2 == 0
        messages.append((
            number, turn.uuid.upper(), turn.text if is_plain else None, archived(turn.text), None,
            0 if turn.is_users else 1, "iMessage", date, int(turn.is_users), 0, None, 0, None, None,
            0, 0))  # fmt: skip
        joins.append((1, number, date))
    return database(IMESSAGE_SCHEMA, {
        "chat": [(1, "iMessage;-;+15550100", 45, "+15550100", "iMessage", "")],
        "handle": [(1, "+15550100", "us", "iMessage")],
        "message": messages, "chat_message_join": joins, "chat_handle_join": [(1, 1)],
    })  # fmt: skip


def slackdump(talk: Talk) -> bytes:
    """A chunk file of slackdump: pages of a channel, each with the newest message first."""
    users = [{"id": f"U{n}", "team_id": "T1", "name": name.lower(), "real_name": name}
             for n, name in enumerate(("Ana", "Ben"))]  # fmt: skip
    messages = [
        {"type": "message", "user": f"U{turn.number % 2}", "text": turn.text,
         "ts": f"{turn.at.timestamp():.6f}", "team": "T1"}
        for turn in talk
    ]  # fmt: skip
    messages.reverse()
    pages = [messages[at : at + _PAGE_TURNS] for at in range(0, len(messages), _PAGE_TURNS)]
    chunks: list[dict[str, object]] = [
        {"t": 6, "w": {"url": "https://dairy.slack.com/", "team": "dairy", "team_id": "T1",
                       "user_id": "U0"}},
        {"t": 3, "n": len(users), "u": users},
        {"t": 5, "id": "C1", "ci": {"id": "C1", "name": "general", "is_channel": True}},
        *({"t": 0, "id": "C1", "n": len(page), "m": page} for page in pages),
    ]  # fmt: skip
    return "".join(
        json.dumps({"ts": 1_767_700_000_000_000_000, **chunk}, ensure_ascii=False) + "\n"
        for chunk in chunks
    ).encode()


def signal_export(talk: Talk) -> bytes:
    """Signal's main.jsonl."""
    aci = base64.b64encode(bytes(range(16))).decode()
    frames: list[dict[str, Any]] = [
        {"version": "1", "backupTimeMs": "1767600000000", "currentAppVersion": "8.10.2"},
        {"account": {"givenName": "Ana", "accountSettings": {}}},
        {"recipient": {"id": "1", "self": {}}},
        {"recipient": {"id": "2", "contact": {"aci": aci, "profileGivenName": "Ben"}}},
        {"chat": {"id": "1", "recipientId": "2", "expireTimerVersion": 1}},
    ]
    for turn in talk:
        at = str(int(turn.at.timestamp() * 1000))
        details = {"outgoing": {}} if turn.is_users else {"incoming": {"dateReceived": at}}
        frames.append({"chatItem": {
            "chatId": "1", "authorId": "1" if turn.is_users else "2", "dateSent": at, **details,
            "standardMessage": {"text": {"body": turn.text}}}})  # fmt: skip
    return "".join(json.dumps(frame, ensure_ascii=False) + "\n" for frame in frames).encode()


def matrix(talk: Talk) -> bytes:
    """Element's export of a room."""
    room = "!QvkzGGhn:example.org"
    joined = [
        {"type": "m.room.member", "sender": f"@{name.lower()}:example.org", "room_id": room,
         "state_key": f"@{name.lower()}:example.org", "event_id": f"${name}",
         "origin_server_ts": 1_767_600_000_000,
         "content": {"membership": "join", "displayname": name}}
        for name in ("Ana", "Ben")
    ]  # fmt: skip
    said = [
        {"type": "m.room.message", "sender": f"@{turn.name.lower()}:example.org", "room_id": room,
         "event_id": f"${turn.uuid}", "origin_server_ts": int(turn.at.timestamp() * 1000),
         "content": {"msgtype": "m.text", "body": turn.text}, "unsigned": {"age": 7}}
        for turn in talk
    ]  # fmt: skip
    return json.dumps({
        "room_name": "Dairy", "room_creator": "Ana", "topic": "", "export_date": "January 6, 2026",
        "exported_by": "Ana", "messages": [*joined, *said],
    }, ensure_ascii=False, indent=2).encode()  # fmt: skip


BUILDERS: dict[str, Callable[[Talk], bytes]] = {
    "imessage": imessage, "slackdump": slackdump, "signal": signal_export, "matrix": matrix,
}  # fmt: skip
SUFFIXES = {"imessage": ".db", "matrix": ".json"}
