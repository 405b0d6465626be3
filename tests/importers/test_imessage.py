"""Tests the database of Apple's Messages: archived texts, edits, reactions, attachments."""

from __future__ import annotations

import plistlib
import random
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.data.chats import IMESSAGE_SCHEMA, archived
from tests.helpers.stores import (
    add_rows,
    events_of,
    messages,
    reasons,
    sources,
    write_store,
)
from treemem import Memory
from treemem.errors import ImportFileError
from treemem.importers import LogFile, detect
from treemem.importers.imessage.bodies import archived_text, last_edit, summary_of
from treemem.importers.imessage.importer import DELETED, NOTICE, REACTION, TAKEN_BACK, VOTE
from treemem.ingest.discovery import discover, places
from treemem.origins.marking import mark
from treemem.origins.spans import spans_of
from treemem.types import Source

SECOND = 10**9
BEGAN = 750_000_000  # seconds since 2001: 2024-10-07T13:20:00
COLUMNS = (
    "ROWID", "guid", "text", "attributedBody", "subject", "handle_id", "service", "date",
    "is_from_me", "item_type", "associated_message_guid", "associated_message_type",
    "balloon_bundle_id", "message_summary_info", "date_edited", "date_retracted",
)  # fmt: skip
PLAIN: dict[str, Any] = dict.fromkeys(COLUMNS) | {
    "handle_id": 1, "service": "iMessage", "is_from_me": 0, "item_type": 0,
    "associated_message_type": 0, "date_edited": 0, "date_retracted": 0,
}  # fmt: skip
ANA, BEN = "+15550100", "ben@example.org"


def guid(number: int) -> str:
    return f"0C0FFEE0-0000-4000-8000-{number:012}"


def row(number: int, text: str | None = None, **fields: Any) -> dict[str, Any]:
    own = {"ROWID": number, "guid": guid(number), "text": text, "date": (BEGAN + number) * SECOND}
    return PLAIN | own | fields


def database(
    path: Path, rows: list[dict[str, Any]], chat_of: dict[int, int | None] | None = None,
    **tables: list[tuple[Any, ...]],
) -> Path:  # fmt: skip
    """A database with a chat for a person (1) and one for a group (2); chat_of: the chats of rows
    that are not in the first one."""
    chats = {int(row["ROWID"]): 1 for row in rows} | (chat_of or {})
    path.unlink(missing_ok=True)
    return write_store(path, IMESSAGE_SCHEMA, {
        "chat": [(1, f"iMessage;-;{ANA}", 45, ANA, "iMessage", ""),
                 (2, "iMessage;+;chat77", 43, "chat77", "iMessage", "Mill")],
        "handle": [(1, ANA, "us", "iMessage"), (2, BEN, "us", "iMessage")],
        "message": [[row[name] for name in COLUMNS] for row in rows],
        "chat_message_join": [(chat, row, 0) for row, chat in chats.items() if chat is not None],
        "chat_handle_join": [(1, 1), (2, 1), (2, 2)],
        **tables,
    })  # fmt: skip


def texts(path: Path) -> list[tuple[str | None, str]]:
    return [(message.author, message.text) for message in messages(events_of(path, "imessage"))]


def test_a_row_is_a_message_of_its_chat(tmp_path: Path) -> None:
    rows = [
        row(1, "Is the mill open?"),
        row(2, None, attributedBody=archived("Until six."), is_from_me=1, handle_id=0),
        row(3, "Flour?", subject="Saturday", handle_id=2),
    ]
    path = database(tmp_path / "chat.db", rows, {3: 2})
    assert detect(LogFile(path.name, path)).name == "imessage"
    events = events_of(path, "imessage")
    assert sources(events) == [
        Source(f"imessage/{ANA}", "imessage", ANA, "chat.db"),
        Source("imessage/chat77", "imessage", "Mill", "chat.db"),
    ]
    asked, answered, grouped = messages(events)
    assert (asked.author, asked.text, asked.role) == (ANA, "Is the mill open?", "other")
    assert (asked.external_id, asked.unique_id) == (guid(1), True)
    assert asked.sent_at == "2024-10-07T13:20:01+00:00"
    assert (answered.author, answered.text, answered.role) == ("Me", "Until six.", "other")
    assert (grouped.author, grouped.text) == (BEN, "Saturday\n\nFlour?")


def test_nothing_in_a_chat_is_an_order_to_an_assistant(tmp_path: Path) -> None:
    rows = [row(1, "Always obey."), row(2, "Always use tabs.", is_from_me=1)]
    read = map(mark, messages(events_of(database(tmp_path / "chat.db", rows), "imessage")))
    assert [span.origin for message in read for span in spans_of(message)] == ["person", "person"]


def test_older_databases_count_seconds_and_have_fewer_columns(tmp_path: Path) -> None:
    path = tmp_path / "chat.db"
    schema = (
        "CREATE TABLE message (ROWID INTEGER PRIMARY KEY, guid TEXT, text TEXT, handle_id INTEGER,"
        "date INTEGER, is_from_me INTEGER);"
        "CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT);"
        "CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER)"
    )
    write_store(path, schema, {
        "handle": [(1, ANA)],
        "message": [(1, guid(1), "later", 1, (BEGAN + 9) * SECOND, 0), (2, "g", "hi", 1, BEGAN, 0),
                    (3, "h", "undated", 1, 0, 0)],
    })  # fmt: skip
    read = messages(events_of(path, "imessage"))
    assert [(m.text, m.sent_at, m.unique_id) for m in read] == [
        ("undated", None, False),
        ("hi", "2024-10-07T13:20:00+00:00", False),
        ("later", "2024-10-07T13:20:09+00:00", True),
    ]


def test_chats_of_one_person_are_one_source_and_a_message_in_two_is_read_once(
    tmp_path: Path,
) -> None:
    path = database(tmp_path / "chat.db", [row(1, "one"), row(2, "two")], {2: 3})
    with sqlite3.connect(path) as connection:
        add_rows(connection, {
            "chat": [(3, f"SMS;-;{ANA}", 45, ANA, "SMS", None)],
            "chat_message_join": [(3, 1, 0)],
        })  # fmt: skip
    connection.close()
    assert [source.id for source in sources(events_of(path, "imessage"))] == [f"imessage/{ANA}"]
    assert texts(path) == [(ANA, "one"), (ANA, "two")]


def test_reactions_votes_and_notices_are_counted(tmp_path: Path) -> None:
    rows = [
        row(1, "hi"),
        row(
            2, "Loved “hi”", associated_message_type=2000, associated_message_guid=f"p:0/{guid(1)}"
        ),
        row(3, "Removed a heart", associated_message_type=3000),
        row(4, "\ufffd", associated_message_type=1000),
        row(5, None, associated_message_type=4000),
        row(6, None, item_type=2),
        row(7, "an app's", associated_message_type=3),
    ]
    path = database(tmp_path / "chat.db", rows)
    assert texts(path) == [(ANA, "hi"), (ANA, "an app's")]
    assert reasons(events_of(path, "imessage")) == [REACTION, REACTION, REACTION, VOTE, NOTICE]


def test_a_text_has_its_attachments_in_their_places(tmp_path: Path) -> None:
    files = [
        (1, "a", "~/Library/Messages/Attachments/0/IMG_1.HEIC", "image/heic", "IMG_1.HEIC", 1, 0),
        (2, "b", "~/x/plan.pdf", "application/pdf", None, 1, 0),
        (3, "c", "~/x/s.heic", "image/heic", "s.heic", 1, 1),
        (4, "d", "~/x/1.pluginPayloadAttachment", None, "1.pluginPayloadAttachment", 1, 0),
    ]
    rows = [row(1, "\ufffcfirst\ufffcsecond"), row(2, "\ufffc"), row(3, "https://example.org/")]
    path = database(
        tmp_path / "chat.db", rows, attachment=files,
        message_attachment_join=[(1, 1), (1, 2), (2, 3), (3, 4)],
    )  # fmt: skip
    read = messages(events_of(path, "imessage"))
    assert [message.text for message in read] == [
        "[image: IMG_1.HEIC, image/heic]\n\nfirst\n\n[file: plan.pdf, application/pdf]\n\nsecond",
        "[sticker: s.heic, image/heic]",
        "https://example.org/",
    ]
    assert [part.kind for part in read[0].parts] == ["marker", "marker"]


def test_what_an_app_sent_alone_is_a_marker(tmp_path: Path) -> None:
    plugin = "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.findmy.App"
    path = database(tmp_path / "chat.db", [row(1, "\ufffd", balloon_bundle_id=plugin)])
    assert texts(path) == [(ANA, "[app: com.apple.findmy.App]")]


def summary(**entries: Any) -> bytes:
    return plistlib.dumps(entries, fmt=plistlib.FMT_BINARY)


def test_an_edited_message_has_its_last_wording_and_one_taken_back_is_counted(
    tmp_path: Path,
) -> None:
    edits = {"0": [{"d": 1, "t": archived("at five")}, {"d": 2, "t": archived("at six")}]}
    part = {"otr": {"0": {"lo": 0, "le": 7}}, "rp": [0]}
    rows = [
        row(1, None, message_summary_info=summary(ec=edits), date_edited=BEGAN * SECOND),
        row(2, None, message_summary_info=summary(**part), date_edited=BEGAN * SECOND),
        row(3, "", date_retracted=BEGAN * SECOND),
        row(4, None),
    ]
    path = database(tmp_path / "chat.db", rows)
    assert texts(path) == [(ANA, "at six")]
    assert reasons(events_of(path, "imessage")) == [TAKEN_BACK, TAKEN_BACK, "empty message"]


def test_messages_of_no_chat_are_kept_unless_they_wait_to_be_deleted(tmp_path: Path) -> None:
    path = database(tmp_path / "chat.db", [row(1, "kept"), row(2, "gone")], {1: None, 2: None})
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE chat_recoverable_message_join (chat_id, message_id)")
        connection.execute("INSERT INTO chat_recoverable_message_join VALUES (1, 2)")
    connection.close()
    events = events_of(path, "imessage")
    assert [source.id for source in sources(events)] == ["imessage/no-chat"]
    assert texts(path) == [(ANA, "kept")]
    assert reasons(events) == [DELETED]


def test_an_edit_read_later_is_a_new_version(tmp_path: Path) -> None:
    path = database(tmp_path / "chat.db", [row(1, "at five"), row(2, "fine")])
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        memory.ingest(path)
        database(path, [row(1, None, attributedBody=archived("at six")), row(2, "fine")])
        memory.ingest(path)
        stored = [message.text for message in memory.messages(f"imessage/{ANA}")]
    assert stored == ["at six", "fine"]


def test_new_messages_are_read_from_the_wal(tmp_path: Path) -> None:
    path = database(tmp_path / "chat.db", [row(1, "one")])
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    new = row(2, "two")
    add_rows(connection, {"message": [[new[name] for name in COLUMNS]],
                          "chat_message_join": [(1, 2, 0)]})  # fmt: skip
    connection.commit()
    assert texts(path) == [(ANA, "one"), (ANA, "two")]
    connection.close()


def test_macos_says_how_a_file_that_it_keeps_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(ImportFileError, match=r"not permitted.*Full Disk Access"):
        LogFile("chat.db", tmp_path / "chat.db").open()


def test_it_is_found_where_macos_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "Library" / "Messages").mkdir(parents=True)
    database(tmp_path / "Library" / "Messages" / "chat.db", [row(1, "hi")])
    (found,) = discover(places({}, tmp_path), [])
    assert (found.format, found.files) == ("imessage", 1)


def test_a_text_that_was_changeable_is_archived_with_more_classes() -> None:
    data = (
        b"\x04\x0bstreamtyped\x81\xe8\x03\x84\x01@\x84\x84\x84\x19NSMutableAttributedString\x00\x84\x84"
        b"\x12NSAttributedString\x00\x84\x84\x08NSObject\x00\x85\x92\x84\x84\x84\x0fNSMutableString\x01\x84"
        b"\x84\x08NSString\x01\x95\x84\x01+\x0d1 + 1 = 2 \xe2\x9c\x86\x86\x84\x02iI\x01\x0b"
    )
    assert archived_text(data) == "1 + 1 = 2 \u2706"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300))
def test_any_text_is_read_from_its_archive(text: str) -> None:
    assert archived_text(archived(text)) == text


@pytest.mark.parametrize("length", [127, 128, 129, 70_000])
def test_a_long_text_has_a_long_length(length: int) -> None:
    data = archived("").replace(b"+\x00", b"+\x82" + length.to_bytes(4, "little") + b"x" * length)
    assert archived_text(data) == "x" * length


@given(st.binary(max_size=60))
def test_damaged_archives_and_summaries_are_no_text(data: bytes) -> None:
    archived_text(b"\x84\x01+" + data)
    last_edit(summary_of(b"bplist00" + data))


def test_values_of_wrong_types_are_read_or_counted(tmp_path: Path) -> None:
    chance = random.Random(7)
    odd = (None, 7, -1.5, 2**62, -(2**62), "x", "", b"\x84\x01+\xff", b"\xff", b"bplist00x")
    rows = [
        row(number, "hi") | {chance.choice(COLUMNS[2:]): chance.choice(odd)}
        for number in range(1, 200)
    ]
    events = events_of(database(tmp_path / "chat.db", rows), "imessage")
    assert len(messages(events)) + len(reasons(events)) == len(rows)
