"""Tests Messenger and Instagram threads: repaired texts, and their order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.reading import (
    archive_events,
    assert_reads,
    events_of,
    messages_in,
    mutated,
    reasons_in,
    retyped,
    sources_in,
    zipped,
)
from treemem import Memory
from treemem.importers import LogFile, detect
from treemem.importers.common import archives
from treemem.importers.messenger import repaired


def spoilt(text: str) -> str:
    """The text as Meta writes it: every byte of the UTF-8 as a character."""
    return text.encode().decode("latin-1")


def message(second: int, content: str | None, name: str = "Zoë", **more: Any) -> dict[str, Any]:
    content_fields = {} if content is None else {"content": spoilt(content)}
    return {
        "sender_name": spoilt(name),
        "timestamp_ms": 1720829590000 + 1000 * second,
        **content_fields,
        **more,
    }


def thread(*messages: object, **more: object) -> dict[str, object]:
    return {
        "participants": [{"name": spoilt("Zoë")}, {"name": "Ben"}], "messages": list(messages),
        "title": spoilt("Zoë"), "is_still_participant": True, "thread_path": "inbox/zoe_17", **more,
    }  # fmt: skip


def test_texts_are_repaired_and_ordered_from_the_oldest() -> None:
    newest_first = [
        message(9, "no 😭 (edited)"),
        message(8, None, photos=[{"uri": "messages/inbox/zoe_17/photos/1.jpg"}]),
        message(7, "Look", "Ben", share={"link": "https://x.org", "share_text": "An old story"}),
        message(6, None, is_unsent=True),
        message(5, None, call_duration=3),
        message(4, "naïve"),
    ]
    events = events_of(json.dumps(thread(*newest_first)), "message_1.json", "messenger")
    assert sources_in(events) == ["messenger/zoe_17"]
    imported = messages_in(events)
    assert [(item.author, item.text) for item in imported] == [
        ("Zoë", "naïve"),
        ("Ben", "Look\n\nhttps://x.org\n\nAn old story"),
        ("Zoë", "[photo: 1.jpg]"),
        ("Zoë", "no 😭 (edited)"),
    ]
    assert imported[0].sent_at == "2024-07-13T00:13:14+00:00"
    assert reasons_in(events) == ["empty message", "message taken back"]


def test_a_thread_in_several_files_is_read_from_the_last_file_on() -> None:
    parts = {
        f"inbox/zoe_17/message_{part}.json": thread(
            message(100 - 2 * part, f"late in {part}"), message(99 - 2 * part, f"early in {part}")
        )
        for part in (1, 2, 10)
    }
    events = archive_events(zipped(parts))
    first = events["inbox/zoe_17/message_1.json"]
    assert [item.text for item in messages_in(first)] == [
        f"{when} in {part}" for part in (10, 2, 1) for when in ("early", "late")
    ]
    assert reasons_in(events["inbox/zoe_17/message_2.json"]) == ["read with message_1.json"]


@pytest.mark.parametrize("first", [{}, {"participants": [], "messages": []}, "cut off"])
def test_an_unusable_first_file_does_not_affect_the_others(first: object) -> None:
    second = thread(message(7, "kept"))
    data = zipped({"zoe_17/message_1.json": first, "zoe_17/message_2.json": second})
    with archives.open_archive(LogFile("export.zip", data=data)) as archive:
        assert archive is not None
        assert list(archive.survey()) == []
        member = archive.member("zoe_17/message_2.json")
        assert member is not None
        assert [item.text for item in messages_in(list(detect(member).read(member)))] == ["kept"]


def test_the_encrypted_threads_download_has_other_names_and_needs_no_repair() -> None:
    document = {
        "participants": ["Zoë", "Ben"], "threadName": "Zoë_3",
        "messages": [{"senderName": "Ben", "text": "Ã is a letter", "timestamp": 1720829590000,
                      "isUnsent": False, "media": [{"uri": "./media/a.mp4"}], "type": "text"}],
    }  # fmt: skip
    events = events_of(json.dumps(document), "Zoë_3.json", "messenger")
    assert sources_in(events) == ["messenger/Zoë_3"]
    assert [item.text for item in messages_in(events)] == ["Ã is a letter\n\n[media: a.mp4]"]


def test_a_later_archive_adds_only_new_messages(tmp_path: Path) -> None:
    texts = [message(second, f"word {second}") for second in range(4)]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        for name, count, added in (("old", 3, 3), ("new", 4, 1)):
            path = tmp_path / name / "inbox" / "zoe_17" / "message_1.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(thread(*reversed(texts[:count]))))
            assert memory.ingest(path).added == added
        assert [item.text for item in memory.messages("messenger/zoe_17")] == [
            f"word {second}" for second in range(4)
        ]


@given(st.text())
def test_misdecoded_texts_are_repaired(text: str) -> None:
    clean = text.encode("utf-8", "ignore").decode()
    assert repaired(spoilt(clean)) == clean


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_a_damaged_thread_never_breaks_the_import(seed: int) -> None:
    document = thread(
        message(2, "é", photos=[{"uri": "a/b"}]), message(1, "b", share={"link": "c"})
    )
    data = json.dumps(document).encode()
    assert_reads("messenger", mutated(data, seed), "message_1.json")
    assert_reads("messenger", json.dumps(retyped(document, seed)).encode(), "message_1.json")
