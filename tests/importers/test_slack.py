"""Tests Slack exports: channels of days, threads over days, names from the lists."""

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
from treemem.importers.slack.people import directory

USERS = [
    {"id": "U1ANA", "team_id": "T1", "name": "ana.k", "profile": {"real_name": "Ana Kovač"}},
    {"id": "U2BEN", "team_id": "T1", "name": "ben", "real_name": "Ben Ode", "profile": {}},
    {"id": "U3EXT", "team_id": "T9", "name": "guest", "profile": {"real_name": ""}},
]
CHANNELS = [{"id": "C1DEV", "name": "dev", "created": 1, "members": ["U1ANA", "U2BEN"]}]
DMS = [{"id": "D1", "created": 1, "members": ["U1ANA", "U2BEN"]}]


def message(ts: str, text: str, user: str = "U1ANA", **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": ts, **more}


PARENT = message("1704067200.000100", "Ship <#C1DEV> today, <@U2BEN>? 1 &lt; 2 &amp;&amp; <@U9>",
                 thread_ts="1704067200.000100")  # fmt: skip
REPLY = message("1704153600.000200", "yes <!here>", "U2BEN", thread_ts="1704067200.000100")


def export(**days: list[object]) -> dict[str, object]:
    named = {
        f"dev/{day.removeprefix('d').replace('_', '-')}.json": value for day, value in days.items()
    }
    return {"users.json": USERS, "channels.json": CHANNELS, "dms.json": DMS, **named}


def test_a_channel_is_a_source_and_a_thread_spans_days() -> None:
    members = archive_events(zipped(export(d2024_01_01=[PARENT], d2024_01_02=[REPLY])))
    (first,) = messages_in(members["dev/2024-01-01.json"])
    (second,) = messages_in(members["dev/2024-01-02.json"])
    assert sources_in(members["dev/2024-01-01.json"]) == ["slack/T1/C1DEV"]
    assert sources_in(members["dev/2024-01-02.json"]) == ["slack/T1/C1DEV"]
    assert first.text == "Ship #dev today, @Ben Ode? 1 < 2 && <@U9>"
    assert (first.author, first.role) == ("Ana Kovač", "other")
    assert first.sent_at == "2024-01-01T00:00:00.000100+00:00"
    assert (first.external_id, first.unique_id) == ("slack:T1/C1DEV/1704067200.000100", True)
    assert (second.text, second.author) == ("yes @here", "Ben Ode")
    assert first.session == second.session == "slack:T1/C1DEV/1704067200.000100"
    assert reasons_in(members["users.json"]) == ["read with the days"] * 3


def test_a_direct_message_is_named_after_its_members() -> None:
    members = archive_events(zipped({**export(), "D1/2024-01-01.json": [PARENT]}))
    source = members["D1/2024-01-01.json"][0]
    assert (source.id, source.title) == ("slack/T1/D1", "Ana Kovač, Ben Ode")  # type: ignore[union-attr]


def test_bots_notices_files_and_deleted_messages_are_handled() -> None:
    day = [
        message("1704067201.000100", "", subtype="bot_message", user=None, username="ci",
                attachments=[{"title": "Build 7", "text": "failed",
                              "fields": [{"title": "Branch", "value": "main"}]}]),
        message("1704067202.000100", "<@U1ANA> has joined", subtype="channel_join"),
        message("1704067203.000100", "see", files=[{"name": "plan.pdf",
                "mimetype": "application/pdf",
                                                  "size": 12}, {"mode": "tombstone"}]),
        message("1704067204.000100", "This message was deleted.", subtype="tombstone"),
        message("1704067205.000100", "hello", "USLACKBOT"),
        message("1704067206.000100", "who", "U8GONE", user_profile={"real_name": "Gus"}),
        message("1704067207.000100", "look", attachments=[{"title": "A page", "from_url": "u"}]),
        message("1704067208.000100", "", blocks=[{"type": "rich_text", "elements": [
            {"type": "rich_text_section", "elements": [
                {"type": "text", "text": "ask "}, {"type": "user", "user_id": "U2BEN"}]}]}]),
        message("1704067209.000100", "", files="none"),
        message("1704067210.000100", "old", subtype="message_changed",
                message=message("1704067203.000100", "see this")),
        {"no": "message"},
    ]  # fmt: skip
    events = archive_events(zipped(export(d2024_01_01=day)))["dev/2024-01-01.json"]
    assert [(item.author, item.text) for item in messages_in(events)] == [
        ("ci", "Build 7\nfailed\nBranch: main"),
        ("Ana Kovač", "see\n\n[file: plan.pdf, application/pdf, 12 bytes]\n\n[file: deleted]"),
        ("Slackbot", "hello"),
        ("Gus", "who"),
        ("Ana Kovač", "look\n\nA page"),
        ("Ana Kovač", "ask @Ben Ode"),
        ("Ana Kovač", "see this"),
    ]
    assert reasons_in(events) == [
        "notice of the service", "deleted message", "empty message",
        "no message: not of the format's shape",
    ]  # fmt: skip
    preview = messages_in(events)[4]
    assert [(part.kind, preview.text[part.start : part.end]) for part in preview.parts] == [
        ("marker", "A page")
    ]


def test_the_workspace_is_its_bots_or_else_that_of_most_people() -> None:
    guests = [{"id": f"U{n}", "team_id": "T9", "name": "guest"} for n in range(9)]
    own = {"id": "USLACKBOT", "team_id": "T1", "name": "slackbot"}
    for users, team in ((USERS, "T1"), ([*USERS, *guests], "T9"), ([*guests, own], "T1")):
        members = {**export(d2024_01_01=[PARENT]), "users.json": users}
        events = archive_events(zipped(members))["dev/2024-01-01.json"]
        assert sources_in(events) == [f"slack/{team}/C1DEV"]


def test_a_day_alone_is_read_without_names() -> None:
    events = events_of(json.dumps([PARENT, REPLY]), "2024-01-01.json", "slack")
    assert [item.author for item in messages_in(events)] == ["U1ANA", "U2BEN"]
    assert [item.unique_id for item in messages_in(events)] == [False, False]


def test_a_grown_export_adds_its_new_days_and_an_edit_is_a_new_version(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        path = tmp_path / "export.zip"
        path.write_bytes(zipped(export(d2024_01_01=[PARENT, message("1704067201.0001", "teh")])))
        assert memory.ingest(path).added == 2
        path.write_bytes(
            zipped(export(d2024_01_01=[PARENT, message("1704067201.0001", "the", edited={})],
                          d2024_01_02=[REPLY]))
        )  # fmt: skip
        report = memory.ingest(path)
        assert (report.added, report.known) == (2, 1)
        words = [item.text.split()[0] for item in memory.messages("slack/T1/C1DEV")]
        assert words == ["Ship", "the", "yes"]


def test_a_folder_is_read_like_its_archive(tmp_path: Path) -> None:
    members = export(d2024_01_01=[PARENT], d2024_01_02=[REPLY])
    for name, value in members.items():
        (tmp_path / "unpacked" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "unpacked" / name).write_text(json.dumps(value))
    (tmp_path / "export.zip").write_bytes(zipped(members))
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert memory.ingest(tmp_path / "export.zip").added == 2
        report = memory.ingest(tmp_path / "unpacked")
        assert (report.added, report.known) == (0, 2)


@pytest.mark.parametrize("users", [b"[1, null]", b"{", b'[{"id": 7}]', b"", b"[" * 9_000])
def test_damaged_lists_cost_only_the_names(users: bytes) -> None:
    assert directory((users,), (users,)).people == {}
    members = archive_events(zipped({"channels.json": CHANNELS, "dev/2024-01-01.json": [PARENT]}))
    (first,) = messages_in(members["dev/2024-01-01.json"])
    assert first.author == "U1ANA"


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_a_damaged_day_never_breaks_the_import(seed: int) -> None:
    day = [PARENT, REPLY, message("1704067202.000100", "x", files=[{"name": "a"}], blocks=[{}],
                                  attachments=[{"text": "b"}])]  # fmt: skip
    assert_reads("slack", mutated(json.dumps(day).encode(), seed), "1.json")
    assert_reads("slack", json.dumps(retyped(day, seed)).encode(), "1.json")
