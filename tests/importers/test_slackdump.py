"""Tests that slackdump's database, chunk files and dumps yield the messages of Slack's export."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Sequence
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
from tests.helpers.stores import write_json, write_store
from treemem import Memory
from treemem.importers import LogFile, by_name, detect
from treemem.importers.common.base import Event
from treemem.types import Message, Source

USERS = [
    {"id": "U1ANA", "team_id": "T1", "name": "ana.k", "profile": {"real_name": "Ana Kovač"}},
    {"id": "U2BEN", "team_id": "T9", "name": "ben", "real_name": "Ben Ode", "profile": {}},
    {"id": "U3EXT", "team_id": "T9", "name": "guest", "profile": {"real_name": "Guest"}},
]
CHANNEL = {"id": "C1DEV", "name": "dev", "is_channel": True}
WORKSPACE = {"url": "https://dairy.slack.com/", "team": "dairy", "user": "ana.k", "team_id": "T1",
             "user_id": "U1ANA"}  # fmt: skip
THREAD = "1704067200.000100"
# As Slack's bot tells it in an export.
BOT = {"id": "USLACKBOT", "team_id": "T1", "name": "slackbot"}

SCHEMA = """
CREATE TABLE CHUNK (ID INTEGER PRIMARY KEY, UNIX_TS INTEGER, SESSION_ID INTEGER, TYPE_ID SMALLINT);
CREATE TABLE MESSAGE (ID INTEGER, CHUNK_ID INTEGER, CHANNEL_ID TEXT, TS TEXT, PARENT_ID INTEGER,
  THREAD_TS TEXT, TXT TEXT, DATA BLOB, PRIMARY KEY (ID, CHUNK_ID));
CREATE TABLE CHANNEL (ID TEXT, CHUNK_ID INTEGER, NAME TEXT, DATA BLOB, PRIMARY KEY (ID, CHUNK_ID));
CREATE TABLE WORKSPACE (ID INTEGER PRIMARY KEY, CHUNK_ID INTEGER, TEAM TEXT, TEAM_ID TEXT);
CREATE TABLE S_USER (ID TEXT, CHUNK_ID INTEGER, USERNAME TEXT, DATA BLOB,
  PRIMARY KEY (ID, CHUNK_ID));
CREATE TABLE CHANNEL_USER (CHANNEL_ID TEXT, USER_ID TEXT, CHUNK_ID INTEGER);
CREATE TABLE SEARCH_MESSAGE (ID INTEGER PRIMARY KEY, CHUNK_ID INTEGER, CHANNEL_ID TEXT, TS TEXT,
  DATA BLOB);
"""


def message(ts: str, text: str, user: str = "U1ANA", **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": ts, **more}


PARENT = message(THREAD, "Ship <#C1DEV> today, <@U2BEN>?", thread_ts=THREAD, reply_count=2)
REPLY = message("1704153600.000200", "yes <!here>", "U2BEN", thread_ts=THREAD)
SHARED = message("1704153600.100000", "done", "U2BEN", thread_ts=THREAD,
                 subtype="thread_broadcast")  # fmt: skip
BUILD = message("1704153700.000100", "", None, subtype="bot_message", bot_id="B1", username="ci",
                attachments=[{"title": "Build 7", "text": "failed"}])  # type: ignore[arg-type] # fmt: skip
PLAN = message("1704153800.000100", "see", edited={"user": "U1ANA", "ts": "1704153801.000000"},
               files=[{"name": "plan.pdf", "mimetype": "application/pdf", "size": 12}])  # fmt: skip
JOINED = message("1704153900.000100", "<@U2BEN> has joined", subtype="channel_join")
TOLD = [PARENT, REPLY, SHARED, BUILD, PLAN, JOINED]


def chunk(kind: int, **more: Any) -> dict[str, Any]:
    return {"t": kind, "ts": 1_704_200_000_000_000_000, **more}


def lines(*chunks: object) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in chunks)


def page(*messages: object, kind: int = 0, **more: Any) -> dict[str, Any]:
    return chunk(kind, id="C1DEV", n=len(messages), m=messages, **more)


# As slackdump keeps them: the newest first, a thread's replies behind the channel's page.
HISTORY = [
    page(JOINED, PLAN, BUILD, SHARED, PARENT),
    page(REPLY, SHARED, kind=1, r=THREAD, p=PARENT, l=True),
]
LISTS = {
    "users.json.gz": lines(chunk(3, u=USERS)),
    "channels.json.gz": lines(chunk(4, ch=[CHANNEL])),
    "workspace.json.gz": lines(chunk(6, w=WORKSPACE)),
}


def chunks_in(folder: Path, **files: bytes) -> Path:
    """A folder of chunk files."""
    folder.mkdir(exist_ok=True)
    for name, data in {
        **LISTS,
        **{f"{name}.json.gz": data for name, data in files.items()},
    }.items():
        (folder / name).write_bytes(gzip.compress(data))
    return folder


def dump_in(folder: Path, *messages: object, **more: object) -> Path:
    for name, value in (("users", USERS), ("channels", [CHANNEL]), ("workspace", WORKSPACE)):
        write_json(folder / f"{name}.json", value)
    dumped = {"channel_id": "C1DEV", "name": "dev", **more, "messages": messages}
    return write_json(folder / "C1DEV.json", dumped)


def database(path: Path, *rows: tuple[int, dict[str, Any]], channel: str = "C1DEV") -> Path:
    """slackdump's database. rows: a chunk and a message in it."""
    known: dict[str, Sequence[Sequence[object]]] = {
        "CHUNK": [(number, 0, 1, 0) for number in sorted({row[0] for row in rows})],
        "MESSAGE": [
            (int(value["ts"].replace(".", "")), number, channel, value["ts"], None, None,
             value["text"], json.dumps(value).encode())
            for number, value in rows
        ],
        "CHANNEL": [("C1DEV", 1, "dev", json.dumps(CHANNEL).encode())],
        "WORKSPACE": [(1, 1, "dairy", "T1")],
        "S_USER": [(user["id"], 1, "x", json.dumps(user).encode()) for user in USERS],
        "CHANNEL_USER": [("D7", "U1ANA", 1), ("D7", "U2BEN", 1)],
        "SEARCH_MESSAGE": [(1, 1, "C1DEV", THREAD, b"{}")],
    }  # fmt: skip
    return write_store(path, SCHEMA, known)


def read(path: Path) -> list[Event]:
    file = LogFile(str(path), path)
    assert detect(file).name == "slackdump"
    return list(by_name("slackdump").read(file))


def exported() -> list[Message]:
    """What is read of Slack's own export of the same channel."""
    members = {"users.json": [*USERS, BOT], "channels.json": [CHANNEL],
               "dev/2024-01-01.json": TOLD}  # fmt: skip
    return messages_in(archive_events(zipped(members))["dev/2024-01-01.json"])


DUMPED = [{**PARENT, "slackdump_thread_replies": [REPLY, SHARED]}, SHARED, BUILD, PLAN, JOINED]


@pytest.mark.parametrize("form", ["chunks", "dump", "database"])
def test_each_form_has_the_messages_of_slacks_own_export(form: str, tmp_path: Path) -> None:
    if form == "chunks":
        path = chunks_in(tmp_path / "d", C1DEV=lines(*HISTORY)) / "C1DEV.json.gz"
    elif form == "dump":
        path = dump_in(tmp_path, *DUMPED)
    else:
        rows = [
            (1, PARENT),
            (1, SHARED),
            (1, BUILD),
            (1, PLAN),
            (1, JOINED),
            (2, REPLY),
            (2, SHARED),
        ]
        path = database(tmp_path / "slackdump.sqlite", *rows)
    events = read(path)
    assert messages_in(events) == exported()
    assert [(item.author, item.role) for item in messages_in(events)] == [
        ("Ana Kovač", "other"), ("Ben Ode", "other"), ("Ben Ode", "other"), ("ci", "other"),
        ("Ana Kovač", "other"),
    ]  # fmt: skip
    assert messages_in(events)[1].external_id == "slack:T1/C1DEV/1704153600.000200"
    (source,) = (event for event in events if isinstance(event, Source))
    assert (source.id, source.format, source.title) == ("slack/T1/C1DEV", "slack", "#dev")
    more = ["no message: result of a search"] if form == "database" else []
    assert sorted(reasons_in(events)) == sorted(
        ["copy of a message, fetched again", "notice of the service", *more]
    )


def test_a_channel_that_was_exported_and_fetched_is_stored_once(tmp_path: Path) -> None:
    members = {"users.json": [*USERS, BOT], "channels.json": [CHANNEL],
               "dev/2024-01-01.json": TOLD[:3]}  # fmt: skip
    (tmp_path / "export.zip").write_bytes(zipped(members))
    rows = [(1, each) for each in TOLD]
    path = database(tmp_path / "slackdump.sqlite", *rows)
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert memory.ingest(tmp_path / "export.zip").added == 3
        report = memory.ingest(path)
        assert (report.added, report.known) == (2, 3)
        folder = chunks_in(tmp_path / "d", C1DEV=lines(*HISTORY))
        assert memory.ingest(folder).added == 0
        assert memory.ingest(dump_in(tmp_path / "dump", *DUMPED)).added == 0
        assert [view.source.id for view in memory.sources()] == ["slack/T1/C1DEV"]
        words = [item.text.split()[0] for item in memory.messages("slack/T1/C1DEV")]
        assert words == ["Ship", "yes", "done", "Build", "see"]


def test_a_resumed_archive_adds_its_new_files_and_an_edit_is_a_new_version(tmp_path: Path) -> None:
    teh = message("1704153950.000100", "teh cans")
    the = message("1704153950.000100", "the cans", edited={"ts": "1704153960.000100"})
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        folder = chunks_in(tmp_path / "d", C1DEV=lines(page(teh), *HISTORY))
        assert memory.ingest(folder).added == 6
        later = message("1704153999.000100", "later")
        chunks_in(folder, C1DEV_1704300000=lines(page(later, the)))
        report = memory.ingest(folder)
        assert report.added == 2
        texts = [item.text for item in memory.messages("slack/T1/C1DEV")]
        assert texts[-2:] == ["the cans", "later"]


def test_a_file_has_the_lists_of_its_run_or_else_the_newest_ones(tmp_path: Path) -> None:
    def named(name: str) -> bytes:
        return lines(chunk(3, u=[{"id": "U1ANA", "team_id": "T1", "real_name": name}]))

    lists = {"users_1": "Ana A", "users_2": "Ana B", "users_10": "Ana C"}
    for name, real_name in lists.items():
        (tmp_path / f"{name}.json.gz").write_bytes(gzip.compress(named(real_name)))
    for run, author in (("1", "Ana A"), ("2", "Ana B"), ("7", "Ana C")):
        path = tmp_path / f"C1DEV_{run}.json.gz"
        path.write_bytes(gzip.compress(lines(page(PARENT))))
        assert [item.author for item in messages_in(read(path))] == [author]


def test_the_lists_are_found_in_an_archive() -> None:
    files = {f"d/{name}": gzip.compress(data) for name, data in LISTS.items()}
    files["d/C1DEV.json.gz"] = gzip.compress(lines(*HISTORY))
    events = archive_events(zipped(files))["d/C1DEV.json.gz"]
    assert messages_in(events) == exported()


def test_of_a_message_that_was_fetched_twice_the_newest_state_counts(tmp_path: Path) -> None:
    edited = {**PARENT, "text": "Shipped", "edited": {"ts": "1704153960.000100"}}
    path = database(tmp_path / "slackdump.sqlite", (7, edited), (1, PARENT))
    assert [item.text for item in messages_in(read(path))] == ["Shipped"]
    events = events_of(lines(page(PARENT), page(edited)), "C1DEV.json", "slackdump")
    assert [item.text for item in messages_in(events)] == ["Shipped"]
    assert reasons_in(events) == ["copy of a message, fetched again"]


def test_a_thread_alone_has_its_first_message_from_beside_its_replies() -> None:
    events = events_of(lines(page(REPLY, kind=1, p=PARENT)), "C1DEV.json", "slackdump")
    assert [item.text[:4] for item in messages_in(events)] == ["Ship", "yes "]
    assert {item.session for item in messages_in(events)} == {f"slack/C1DEV/{THREAD}"}


def test_without_the_workspace_ids_are_those_of_the_channel_alone() -> None:
    dumped = {"channel_id": "C1DEV", "name": "dev", "messages": [PARENT]}
    events = events_of(json.dumps(dumped), "C1DEV.json", "slackdump")
    (first,) = messages_in(events)
    assert (first.external_id, first.unique_id, first.author) == (THREAD, False, "U1ANA")
    assert sources_in(events) == ["slack/C1DEV"]


def test_a_direct_message_is_named_after_its_members(tmp_path: Path) -> None:
    path = database(tmp_path / "slackdump.sqlite", (1, PARENT), channel="D7")
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO CHANNEL VALUES ('D7', 1, '', '{\"id\": \"D7\"}')")
    (source,) = (event for event in read(path) if isinstance(event, Source))
    assert (source.id, source.title) == ("slack/T1/D7", "Ana Kovač, Ben Ode")


def test_a_recording_has_the_lists_and_several_channels_in_one_file() -> None:
    told = lines(chunk(6, w=WORKSPACE), chunk(3, u=USERS), chunk(5, id="C1DEV", ci=CHANNEL),
                 page(PARENT), chunk(0, id="C2", m=[REPLY]), chunk(2, id="C1DEV", f=[{}]),
                 chunk(10, sq="x", sm=[{}]))  # fmt: skip
    events = events_of(told, "record.jsonl", "slackdump")
    assert sources_in(events) == ["slack/T1/C1DEV", "slack/T1/C2"]
    assert reasons_in(events) == [
        *["read with the messages"] * 3, "no message: page of no messages",
        "no message: result of a search",
    ]  # fmt: skip


def test_the_files_beside_the_messages_are_counted(tmp_path: Path) -> None:
    dump_in(tmp_path)
    assert reasons_in(read(tmp_path / "workspace.json")) == ["read with the messages"]
    assert reasons_in(read(tmp_path / "C1DEV.json")) == ["no message: page of no messages"]
    folder = chunks_in(tmp_path / "d")
    assert reasons_in(read(folder / "users.json.gz")) == ["read with the messages"]


def test_a_damaged_row_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    path = database(tmp_path / "slackdump.sqlite", (1, PARENT), (1, REPLY))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE MESSAGE SET DATA = '{' WHERE TS = ?", (THREAD,))
        connection.execute("UPDATE S_USER SET DATA = '[' WHERE ID = 'U2BEN'")
    events = read(path)
    assert [item.author for item in messages_in(events)] == ["U2BEN"]
    assert "damaged record" in reasons_in(events)


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_damage_never_breaks_the_import(seed: int) -> None:
    whole = lines(chunk(3, u=USERS), chunk(5, id="C1DEV", ci=CHANNEL), *HISTORY)
    assert_reads("slackdump", mutated(whole, seed), "C1DEV.jsonl")
    odd = [retyped(each, seed) for each in HISTORY]
    assert_reads("slackdump", lines(*odd), "C1DEV.jsonl")
    dumped = {"channel_id": "C1DEV", "name": "dev", "messages": DUMPED}
    assert_reads("slackdump", json.dumps(retyped(dumped, seed)).encode(), "C1DEV.json")
