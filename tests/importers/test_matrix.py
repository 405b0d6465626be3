"""Tests that Element's exports of Matrix rooms yield messages, and that encrypted ones count."""

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
from treemem.importers.common.base import Event
from treemem.types import Source

ANA, BEN = "@ana:example.org", "@b3n:example.org"
ROOM = "!dairy:example.org"
AT = 1_704_067_200_000
ENCRYPTED = "encrypted message, which the export could not decrypt"


def event(number: int, sender: str, kind: str = "m.room.message", **more: Any) -> dict[str, Any]:
    return {"type": kind, "room_id": ROOM, "sender": sender, "event_id": f"${number}",
            "origin_server_ts": AT + 1000 * number, "unsigned": {"age": 1}, **more}  # fmt: skip


def said(number: int, sender: str, body: str, **more: Any) -> dict[str, Any]:
    return event(number, sender, content={"msgtype": "m.text", "body": body, **more})


def joined(number: int, user: str, name: str | None) -> dict[str, Any]:
    content = {"membership": "join", "displayname": name}
    return event(number, user, "m.room.member", state_key=user, content=content)


def edit(number: int, target: int, sender: str, body: str) -> dict[str, Any]:
    new = {"msgtype": "m.text", "body": body}
    relation = {"rel_type": "m.replace", "event_id": f"${target}"}
    return said(number, sender, f"* {body}", **{"m.new_content": new, "m.relates_to": relation})


def answer(number: int, sender: str, body: str, to: int) -> dict[str, Any]:
    relation = {"m.in_reply_to": {"event_id": f"${to}"}}
    return said(number, sender, body, **{"m.relates_to": relation})


def threaded(number: int, sender: str, body: str, root: int) -> dict[str, Any]:
    relation = {"rel_type": "m.thread", "event_id": f"${root}"}
    return said(number, sender, body, **{"m.relates_to": relation})


def exported(*events: object) -> bytes:
    return json.dumps({
        "room_name": "Dairy", "room_creator": "Ana", "topic": "milk", "export_date": "May 1, 2026",
        "exported_by": "Ana", "messages": events,
    }, indent=2).encode()  # fmt: skip


def read(*events: object) -> list[Event]:
    return events_of(exported(*events), "Element - Dairy - Chat Export.json", "matrix")


def texts(events: list[Event]) -> list[str]:
    return [message.text for message in messages_in(events)]


def test_people_have_their_names_and_nobody_is_the_user() -> None:
    events = read(joined(1, ANA, "Ana Kovač"), joined(2, BEN, None), said(3, ANA, "Ship today?"),
                  said(4, BEN, "yes"))  # fmt: skip
    first, second = messages_in(events)
    assert (first.author, first.role, first.text) == ("Ana Kovač", "other", "Ship today?")
    assert (second.author, second.role) == (BEN, "other")
    assert first.sent_at == "2024-01-01T00:00:03+00:00"
    assert (first.external_id, first.unique_id) == ("matrix:$3", True)
    (source,) = (each for each in events if isinstance(each, Source))
    assert (source.id, source.title) == (f"matrix/{ROOM}", "Dairy")
    assert reasons_in(events) == ["notice of the service"] * 2


def test_two_people_of_one_name_have_their_ids_too() -> None:
    events = read(joined(1, ANA, "Ana"), joined(2, BEN, "Ana"), said(3, BEN, "hello"))
    assert [message.author for message in messages_in(events)] == [f"Ana ({BEN})"]


def test_encrypted_and_deleted_messages_and_notices_are_counted() -> None:
    bad = {"msgtype": "m.bad.encrypted", "body": "** Unable to decrypt: DecryptionError **"}
    events = read(
        event(1, ANA, content=bad),
        event(2, ANA, "m.room.encrypted", content={"algorithm": "m.megolm.v1", "ciphertext": "x"}),
        event(3, ANA, content={}, unsigned={"redacted_because": {"type": "m.room.redaction"}}),
        event(4, ANA, "m.room.topic", state_key="", content={"topic": "milk"}),
        event(5, ANA, "m.call.invite", content={"offer": {}}),
        event(6, ANA, "m.reaction", content={"m.relates_to": {"rel_type": "m.annotation"}}),
        event(7, ANA, content={"msgtype": "m.key.verification.request", "body": "verify"}),
        said(8, ANA, ""),
        {"no": "event"},
    )
    assert texts(events) == []
    assert reasons_in(events) == [
        ENCRYPTED, ENCRYPTED, "deleted message", "notice of the service", "notice of the service",
        "no message: m.reaction", "notice of the service", "empty message",
        "no message: not of the format's shape",
    ]  # fmt: skip


def test_the_last_edit_by_the_same_sender_is_the_text() -> None:
    bundled = said(3, BEN, "two")
    bundled["unsigned"]["m.relations"] = {"m.replace": edit(9, 3, BEN, "three")}
    events = read(said(1, ANA, "teh"), edit(5, 1, ANA, "the cans"), edit(4, 1, ANA, "te"),
                  edit(6, 1, BEN, "forged"), bundled)  # fmt: skip
    assert texts(events) == ["the cans", "three"]
    assert reasons_in(events) == ["edit, applied to its message"] * 3


def test_an_edit_whose_message_cannot_be_read_is_its_newer_version() -> None:
    bad = event(2, BEN, content={"msgtype": "m.bad.encrypted", "body": "** Unable **"})
    events = read(bad, edit(5, 1, ANA, "the cans"), edit(6, 2, BEN, "now readable"))
    assert [(each.external_id, each.text) for each in messages_in(events)] == [
        ("matrix:$1", "the cans"), ("matrix:$2", "now readable")
    ]  # fmt: skip
    assert reasons_in(events) == [ENCRYPTED]


def test_a_thread_is_a_session_with_its_first_message() -> None:
    events = read(said(1, ANA, "root"), said(2, BEN, "else"), threaded(3, BEN, "inside", 1))
    assert [message.session for message in messages_in(events)] == ["matrix:$1", None, "matrix:$1"]


def test_a_quote_above_an_answer_is_marked() -> None:
    body = f"> <{ANA}> Ship today?\n> Or not?\n\nyes\n\nsoon"
    events = read(answer(2, BEN, body, 1), said(3, BEN, body), answer(4, BEN, "plain", 1))
    first, second, third = messages_in(events)
    assert first.text == second.text == body
    assert [(part.name, body[part.start : part.end]) for part in first.parts] == [
        ("quote", f"> <{ANA}> Ship today?\n> Or not?")
    ]
    assert (second.parts, third.text) == ((), "plain")


def test_files_places_stickers_and_polls_become_markers() -> None:
    info = {"mimetype": "application/pdf", "size": 12}
    poll = {"question": {"org.matrix.msc1767.text": "Lunch?"},
            "answers": [{"id": "a", "org.matrix.msc1767.text": "Soup"},
                        {"id": "b", "m.text": [{"body": "Bread"}]}]}  # fmt: skip
    events = read(
        event(1, ANA, content={"msgtype": "m.file", "body": "plan.pdf", "info": info}),
        event(2, ANA, content={"msgtype": "m.image", "body": "see this", "filename": "a.png"}),
        event(3, ANA, content={"msgtype": "m.location", "body": "Bled", "geo_uri": "geo:46,14"}),
        event(4, ANA, "m.sticker", content={"body": "wave", "info": {}}),
        event(5, ANA, "m.poll.start", content={"org.matrix.msc3381.poll.start": poll}),
    )
    assert texts(events) == [
        "[file: plan.pdf, application/pdf, 12 bytes]", "see this\n\n[image: a.png]",
        "[place: Bled, geo:46,14]", "[sticker: wave]", "Lunch?\nSoup\nBread",
    ]  # fmt: skip


def test_a_later_export_adds_what_is_new_and_what_became_readable(tmp_path: Path) -> None:
    bad = event(2, BEN, content={"msgtype": "m.bad.encrypted", "body": "** Unable **"})
    path = tmp_path / "export.json"
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        path.write_bytes(
            exported(joined(1, ANA, "Ana"), bad, said(3, ANA, "Ship?"), said(4, ANA, "teh cans"))
        )
        assert memory.ingest(path).added == 2
        later = [said(2, BEN, "hello"), said(3, ANA, "Ship?"), said(4, ANA, "teh cans"),
                 edit(5, 4, ANA, "the cans"), said(6, BEN, "good")]  # fmt: skip
        path.write_bytes(exported(*later))
        report = memory.ingest(path)
        assert (report.added, report.known) == (3, 1)
        stored = {item.text for item in memory.messages(f"matrix/{ROOM}")}
        assert stored == {"hello", "Ship?", "the cans", "good"}


def test_an_export_with_attachments_is_read_in_its_archive() -> None:
    name = "Element - Dairy - Chat Export/export.json"
    members = archive_events(zipped({name: exported(said(1, ANA, "hello"))}))
    assert sources_in(members[name]) == [f"matrix/{ROOM}"]


@pytest.mark.parametrize("room", [None, 7, "a\nb"])
def test_a_room_without_a_plain_id_still_has_a_name(room: object) -> None:
    events = read({**said(1, ANA, "hello"), "room_id": room})
    (name,) = sources_in(events)
    assert name.isprintable()
    assert name.startswith("matrix/")


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_damage_never_breaks_the_import(seed: int) -> None:
    events = [joined(1, ANA, "Ana"), said(2, ANA, "a"), edit(3, 2, ANA, "b"),
              threaded(4, BEN, "c", 2), answer(5, BEN, "> <x> a\n\nd", 2)]  # fmt: skip
    whole = exported(*events)
    assert_reads("matrix", mutated(whole, seed), "export.json")
    assert_reads("matrix", json.dumps(retyped(json.loads(whole), seed)).encode(), "export.json")
