"""Tests IRC logs of six programs: messages, and their days."""

from __future__ import annotations

from pathlib import Path

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
    sources_in,
    zipped,
)
from treemem import Memory
from treemem.importers import LogFile, by_name, detect

IRSSI = """\
--- Log opened Sun Dec 31 23:50:00 2023
23:50 -!- ana [~ana@farm.example] has joined #ops
23:50 -!- Irssi: #ops: Total of 3 nicks [1 ops, 0 halfops, 0 voices, 2 normal]
23:58 <@ana> the tank: is it full?
23:59  * ben looks
--- Day changed Mon Jan 01 2024
00:01 < ben> it is  \n00:02 -cy- call me
00:03 -!- mode/#ops [+o ben] by ana
--- Log closed Mon Jan 01 00:10:00 2024
"""
WEECHAT = (
    "2024-01-01 10:00:00\t-->\tana (~ana@farm.example) has joined #ops\n"
    "2024-01-01 10:00:05\t@ana\tthe tank:\tfull?\n"
    "2024-01-01 10:00:06\t *\tben looks\n"
    "2024-01-01 10:00:07\t--\tMode #ops [+o ben] by ana\n"
    "2024-01-01 10:00:08\t<--\tana has quit\n"
)
ZNC = (
    "[23:58:01] *** Joins: ana (~ana@farm.example)\n"
    "[23:58:02] <ana> \x02the\x02 tank \x0304,01full\x03?\n"
    "[23:58:03] * ben looks\n[23:58:04] -cy- call me\n[23:58:05] *** ana sets mode: +o ben\n"
)
HEXCHAT = (
    "**** BEGIN LOGGING AT Sun Dec 31 23:50:00 2023\n\n"
    "Dec 31 23:50:00 *\tNow talking on #ops\n"
    "Dec 31 23:50:01 *\tana (~ana@farm.example) has joined\n"
    "Dec 31 23:59:00 <ana>\tthe tank?\nJan 01 00:01:00 *\tben looks\nJan 01 00:02:00 <ben>\tfull\n"
    "**** ENDING LOGGING AT Mon Jan  1 00:10:00 2024\n"
)
MIRC = (
    "Session Start: Mon Jan 01 10:00:00 2024\nSession Ident: #ops\n[10:00] * ana has joined #ops\n"
    "[10:01] <ana> the tank?\n[10:02] * ben looks\nSession Close: Mon Jan 01 10:10:00 2024\n"
)


def author_text_time(text: str, label: str) -> list[tuple[str | None, str, object]]:
    return [(message.author, message.text, message.sent_at)
            for message in messages_in(events_of(text, label, "irc"))]  # fmt: skip


def test_irssi_is_read() -> None:
    assert author_text_time(IRSSI, "#ops.log") == [
        ("ana", "the tank: is it full?", "2023-12-31T23:58"),
        ("ben", "ben looks", "2023-12-31T23:59"),
        ("ben", "it is  ", "2024-01-01T00:01"),
        ("cy", "call me", "2024-01-01T00:02"),
    ]
    events = events_of(IRSSI, "#ops.log", "irc")
    assert reasons_in(events).count("notice of the service") == 3
    assert reasons_in(events).count("line that tells the day") == 3
    assert sources_in(events) == ["irc/#ops"]
    assert len(events) - 1 == IRSSI.count("\n")


def test_weechat_is_read() -> None:
    assert author_text_time(WEECHAT, "irc.libera.#ops.weechatlog") == [
        ("ana", "the tank:\tfull?", "2024-01-01T10:00:05"),
        ("ben", "ben looks", "2024-01-01T10:00:06"),
    ]


def test_znc_has_the_day_in_the_files_name() -> None:
    expected = [
        ("ana", "the tank full?", "2024-01-02T23:58:02"),
        ("ben", "ben looks", "2024-01-02T23:58:03"),
        ("cy", "call me", "2024-01-02T23:58:04"),
    ]
    assert author_text_time(ZNC, "2024-01-02.log") == expected
    assert author_text_time(ZNC, "user_libera_#ops_20240102.log") == expected
    assert [when for _, _, when in author_text_time(ZNC, "#ops.log")] == [None] * 3


def test_hexchat_changes_the_year_when_the_month_decreases() -> None:
    assert author_text_time(HEXCHAT, "#ops.log") == [
        ("ana", "the tank?", "2023-12-31T23:59:00"),
        ("ben", "ben looks", "2024-01-01T00:01:00"),
        ("ben", "full", "2024-01-01T00:02:00"),
    ]


def test_mirc_is_read() -> None:
    assert author_text_time(MIRC, "#ops.log") == [
        ("ana", "the tank?", "2024-01-01T10:01"),
        ("ben", "ben looks", "2024-01-01T10:02"),
    ]


def test_the_days_of_a_channel_are_one_source() -> None:
    days = {
        "libera/#ops/2024-01-01.log": ZNC,
        "libera/#ops/2024-01-02.log": ZNC,
        "oftc/#ops/2024-01-01.log": ZNC,
    }
    source_ids = [sources_in(events)[0] for events in archive_events(zipped(days)).values()]
    assert source_ids[0] == source_ids[1] != source_ids[2]
    assert source_ids[0].startswith("irc/#ops-")


def test_a_grown_log_adds_its_new_lines_and_repeated_lines_count(tmp_path: Path) -> None:
    path = tmp_path / "#ops.log"
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        path.write_text(IRSSI + "00:11 <ben> ok\n00:11 <ben> ok\n")
        assert memory.ingest(path).added == 6
        path.write_text(IRSSI + "00:11 <ben> ok\n" * 3)
        report = memory.ingest(path)
        assert (report.added, report.known) == (1, 6)


def test_two_days_with_the_same_lines_are_two_days(tmp_path: Path) -> None:
    folder = tmp_path / "#ops"
    folder.mkdir()
    for day in ("2024-01-01", "2024-01-02"):
        (folder / f"{day}.log").write_text(ZNC)
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert memory.ingest(folder).added == 6
        report = memory.ingest(folder)
        assert (report.added, report.known) == (0, 6)


def test_lines_of_no_known_form_are_counted() -> None:
    events = list(by_name("irc").read(LogFile("x.log", data=(IRSSI + "what is this\n").encode())))
    assert reasons_in(events)[-1] == "line of no known form"


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-01 10:00:00\tana\t17\n" * 5,
        "10:05 lunch\n10:30 back to work\n",
        "2024-01-01 10:00:00 INFO started\n" * 5,
        "[10:00:00] compiling\n[10:00:01] done\n",
        "<ana> no time\n<ben> at all\n",
    ],
)
def test_other_logs_are_not_recognized(text: str) -> None:
    assert detect(LogFile("x.log", data=text.encode())).name == "plain-text"


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=80)
def test_a_damaged_log_never_breaks_the_import(seed: int) -> None:
    for text in (IRSSI, WEECHAT, ZNC, HEXCHAT, MIRC):
        assert_reads("irc", mutated(text.encode(), seed), "#ops.2024-01-01.log")


@pytest.mark.parametrize(
    "line",
    [
        "[04:10:00] *** Quits: ana (~ana@farm.example) (Ping timeout)",
        "[04:10:00] *** Parts: ana (~ana@farm.example)",
        "[04:10:00] *** ana is now known as ana_away",
        "04:10 -!- ana [~ana@farm.example] has quit [Quit: bye]",
        "04:10 -!- mode/#ops [+o ben] by ana",
        "2024-01-02 04:10:00\t<--\tana (~ana@farm.example) has left #ops",
        "2024-01-02 04:10:00\t--\tMode #ops [+o ben] by ana",
        "Jan 02 04:10:00 *\tana (~ana@farm.example) has joined",
        "[04:10] * ana was kicked by ben (enough)",
    ],
)
def test_a_day_on_which_people_only_come_and_go_is_a_log_without_messages(line: str) -> None:
    text = f"{line}\n" * 3
    assert detect(LogFile("#ops_20240102.log", data=text.encode())).name == "irc"
    events = events_of(text, "#ops_20240102.log", "irc")
    assert messages_in(events) == []
    assert sources_in(events) == []
    assert reasons_in(events) == ["notice of the service"] * 3


@pytest.mark.parametrize(
    "line",
    [
        "[04:10:00] *** Starting the backup of /srv",
        "04:10 -- done, 14 files",
        "2024-01-02 04:10:00 --> opening the valve",
    ],
)
def test_a_programs_log_with_stars_and_dashes_stays_text(line: str) -> None:
    data = (f"{line}\n" * 3).encode()
    assert detect(LogFile("backup_20240102.log", data=data)).name == "plain-text"
