"""Tests Discord channels exported by DiscordChatExporter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.reading import (
    assert_reads,
    events_of,
    messages_in,
    mutated,
    reasons_in,
    retyped,
)
from treemem import Memory
from treemem.types import Source

ANA = {"id": "11", "name": "ana_k", "nickname": "Ana the Brave", "isBot": False, "roles": []}
BOT = {"id": "12", "name": "build", "discriminator": "0007", "isBot": True}


def message(number: int, content: str, author: dict[str, Any] = ANA, **more: Any) -> dict[str, Any]:
    return {
        "id": str(900 + number), "type": "Default",
        "timestamp": f"2024-03-01T10:0{number}:00.123+01:00",
        "timestampEdited": None, "isPinned": False, "content": content, "author": author,
        "attachments": [], "embeds": [], "stickers": [], "reactions": [], "mentions": [], **more,
    }  # fmt: skip


def export(*messages: object, **channel: object) -> bytes:
    document = {
        "guild": {"id": "5", "name": "Farm", "iconUrl": "x"},
        "channel": {"id": "77", "type": "GuildTextChat", "categoryId": "6", "name": "ops",
                    **channel},
        "dateRange": {"after": None, "before": None}, "exportedAt": "2024-03-02T00:00:00+00:00",
        "messages": list(messages), "messageCount": len(messages),
    }  # fmt: skip
    return json.dumps(document, indent=2).encode()


DAY = (
    message(1, "deploy at 5?"),
    message(2, "yes", type="Reply", reference={"messageId": "901", "channelId": "77"},
            timestampEdited="2024-03-01T10:09:00+01:00"),
    message(3, "", attachments=[{"id": "1", "fileName": "a.png", "fileSizeBytes": 9, "url": "u"}],
            stickers=[{"id": "2", "name": "Wave", "format": "Png"}]),
    message(4, "", BOT, embeds=[{"title": "Build 7", "description": "passed",
                                 "fields": [{"name": "Took", "value": "3 m"}]}]),
    message(5, "Pinned a message.", type="ChannelPinnedMessage"),
    message(6, "", forwardedMessage={"content": "said elsewhere", "attachments": []}),
    message(7, ""),
    "no message",
)  # fmt: skip


def test_a_channel_word_for_word() -> None:
    events = events_of(export(*DAY), "ops.json", "discord")
    assert events[0] == Source("discord/5/77", "discord", "Farm #ops", "ops.json")
    imported = messages_in(events)
    assert [(item.author, item.text) for item in imported] == [
        ("ana_k", "deploy at 5?"),
        ("ana_k", "yes"),
        ("ana_k", "[attachment: a.png, 9 bytes]\n\n[sticker: Wave]"),
        ("build", "Build 7\npassed\nTook: 3 m"),
        ("ana_k", "said elsewhere"),
    ]
    assert imported[0].sent_at == "2024-03-01T10:01:00.123+01:00"
    assert (imported[0].external_id, imported[0].unique_id) == ("discord:901", True)
    assert [part.name for part in imported[4].parts] == ["forwarded"]
    assert reasons_in(events) == [
        "notice of the service", "empty message", "no message: not of the format's shape",
    ]  # fmt: skip


def test_a_thread_is_below_its_channel_and_direct_messages_have_no_guild() -> None:
    thread = events_of(export(DAY[0], type="GuildPublicThread", id="78"), "t.json", "discord")[0]
    assert isinstance(thread, Source)
    assert (thread.id, thread.parent_id) == ("discord/5/78", "discord/5/6")
    direct = export(DAY[0]).replace(b'"id": "5"', b'"id": "0"')
    events = events_of(direct, "d.json", "discord")[0]
    assert isinstance(events, Source)
    assert (events.id, events.title) == ("discord/0/77", "ops")


def test_a_later_export_adds_new_messages_and_new_versions_of_edited_ones(
    tmp_path: Path,
) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        path = tmp_path / "ops.json"
        path.write_bytes(export(*DAY[:2]))
        assert memory.ingest(path).added == 2
        other = tmp_path / "ops later.json"
        other.write_bytes(export(message(1, "deploy at 6?"), *DAY[1:3]))
        report = memory.ingest(other)
        assert (report.added, report.known) == (2, 1)
        texts = {item.text for item in memory.messages("discord/5/77")}
        assert "deploy at 6?" in texts
        assert "deploy at 5?" not in texts


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_a_damaged_export_never_breaks_the_import(seed: int) -> None:
    data = export(*DAY)
    assert_reads("discord", mutated(data, seed), "ops.json")
    assert_reads("discord", json.dumps(retyped(json.loads(data), seed)).encode(), "ops.json")
