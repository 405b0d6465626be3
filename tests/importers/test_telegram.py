"""Tests Telegram Desktop's exports: one chat, or all of an account."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.reading import (
    assert_reads,
    events_of,
    messages_in,
    mutated,
    reasons_in,
    retyped,
    sources_in,
)
from treemem import Memory
from treemem.importers import LogFile, Skipped, by_name
from treemem.importers.common import json_members
from treemem.types import Source


def message(number: int, text: object, name: str | None = "Ana", **more: Any) -> dict[str, Any]:
    return {
        "id": number, "type": "message", "date": f"2024-01-01T1{number}:00:00",
        "date_unixtime": str(1704099600 + 3600 * number), "from": name, "from_id": "user5",
        "text": text, "text_entities": [], **more,
    }  # fmt: skip


CHAT: dict[str, Any] = {
    "name": "Ana",
    "type": "personal_chat",
    "id": 4815,
    "messages": [
        {"id": 0, "type": "service", "date": "2024-01-01T09:00:00", "action": "phone_call",
         "text": ""},
        message(1, "see you at six"),
        message(2, ["at the ", {"type": "bold", "text": "old"}, " mill ",
                    {"type": "link", "text": "x.org"}],
                edited="2024-01-01T12:30:00"),
        message(3, "", None, photo="(File not included. Change data exporting settings)"),
        message(4, "with a title", file="files/plan.pdf", file_name="plan.pdf",
                mime_type="application/pdf"),
        message(5, "the mill burnt down", forwarded_from="News"),
        message(6, "", poll={"question": "Where?",
                             "answers": [{"text": "Mill"}, {"text": "Home"}]}),
        message(7, "", place_name="Mill",
                location_information={"latitude": 46.05, "longitude": 14.5}),
        message(8, "", contact_information={"first_name": "Ben", "phone_number": "+1 555 0100"}),
        message(9, "", media_type="voice_message", file="v.ogg", mime_type="audio/ogg"),
        {"id": 10, "type": "unsupported"},
        {**message(1, ""), "id": 11},
    ],
}  # fmt: skip


def test_one_chat_is_read_completely() -> None:
    events = events_of(json.dumps(CHAT), "result.json", "telegram")
    assert [event for event in events if isinstance(event, Source)] == [
        Source("telegram/user-4815", "telegram", "Ana", "result.json")
    ]
    imported = messages_in(events)
    assert [item.text for item in imported] == [
        "see you at six",
        "at the old mill x.org",
        "[photo]",
        "with a title\n\n[file: plan.pdf, application/pdf]",
        "[forwarded: News]\n\nthe mill burnt down",
        "Where?\nMill\nHome",
        "[location: Mill, 46.05, 14.5]",
        "[contact: Ben, +1 555 0100]",
        "[voice message: audio/ogg]",
    ]
    assert [item.author for item in imported[:3]] == ["Ana", "Ana", "user5"]
    assert imported[0].sent_at == "2024-01-01T10:00:00+00:00"
    assert (imported[0].external_id, imported[0].unique_id) == ("1", False)
    assert reasons_in(events) == [
        "notice of the service", "no message: not of the format's shape", "empty message",
    ]  # fmt: skip


def test_a_forwarded_text_is_not_the_senders() -> None:
    forwarded = messages_in(events_of(json.dumps(CHAT), "result.json", "telegram"))[4]
    assert {part.kind for part in forwarded.parts} == {"marker"}
    assert (
        forwarded.text[forwarded.parts[1].start : forwarded.parts[1].end] == "the mill burnt down"
    )


def test_a_date_without_a_number_has_no_zone() -> None:
    old = {key: value for key, value in message(1, "hi").items() if key != "date_unixtime"}
    (first,) = messages_in(events_of(json.dumps({**CHAT, "messages": [old]}), "r.json", "telegram"))
    assert first.sent_at == "2024-01-01T11:00:00"


def account(*chats: object) -> dict[str, object]:
    return {
        "about": "Here is the data you requested from Telegram.",
        "personal_information": {"user_id": 1},
        "contacts": {"about": "", "list": [{"first_name": "Ben"}]},
        "chats": {"about": "This page lists all chats.", "list": list(chats)},
        "left_chats": {"about": "", "list": [{"name": "Old", "type": "private_group", "id": 3,
                                              "messages": [message(1, "bye")]}]},
    }  # fmt: skip


GROUP = {"name": "Mill", "type": "public_supergroup", "id": 4815, "messages": [message(1, "open")]}
SAVED = {"type": "saved_messages", "id": 1, "messages": [message(2, "buy oil")]}


@pytest.mark.parametrize("chunk_bytes", [7, 1024**2])
def test_an_account_is_a_source_for_every_chat(
    chunk_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_members, "_CHUNK_BYTES", chunk_bytes)
    events = events_of(json.dumps(account(CHAT, GROUP, SAVED), indent=1), "result.json", "telegram")
    assert sources_in(events) == [
        "telegram/user-4815", "telegram/channel-4815", "telegram/saved-1", "telegram/group-3",
    ]  # fmt: skip
    assert [item.text for item in messages_in(events)][-3:] == ["open", "buy oil", "bye"]
    assert reasons_in(events)[:2] == ["no message: other data of the account"] * 2


def test_a_truncated_account_is_read_up_to_its_end() -> None:
    data = json.dumps(account(CHAT, GROUP))
    cut = data[: data.index('"open"') + 3]
    events = list(by_name("telegram").read(LogFile("result.json", data=cut.encode())))
    assert len(messages_in(events)) == 9
    problems = [event.reason for event in events if isinstance(event, Skipped) and event.problem]
    assert problems == ["record cut off at the end of the file"] * 2


def test_a_chat_exported_again_in_an_account_adds_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        (tmp_path / "chat.json").write_text(json.dumps(CHAT))
        (tmp_path / "account.json").write_text(json.dumps(account(CHAT)))
        assert memory.ingest(tmp_path / "chat.json").added == 9
        report = memory.ingest(tmp_path / "account.json")
        assert (report.added, report.known) == (1, 9)


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_a_damaged_export_never_breaks_the_import(seed: int) -> None:
    for document in (CHAT, account(CHAT, GROUP)):
        data = json.dumps(document).encode()
        assert_reads("telegram", mutated(data, seed), "result.json")
        assert_reads("telegram", json.dumps(retyped(document, seed)).encode(), "result.json")
