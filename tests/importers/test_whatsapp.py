"""Tests WhatsApp chats exported by phones in many languages."""

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
from treemem.importers import LogFile, detect
from treemem.importers.whatsapp import importer as whatsapp
from treemem.importers.whatsapp.importer import chat_title
from treemem.importers.whatsapp.lines import head_of

LRM = "\u200e"
IPHONE = (
    f"[04.03.24, 09:05:11] Stall: {LRM}Nachrichten sind Ende-zu-Ende-verschlüsselt.\r\n"
    f"[04.03.24, 09:05:12] Stall: {LRM}Ana hat die Gruppe erstellt.\r\n"
    "[04.03.24, 09:06:00] Ana: Milk at 6:\nfarm 0417\n\nfarm 0288\r\n"
    f"{LRM}[04.03.24, 09:07:00] Ben: {LRM}Bild weggelassen\r\n"
    f"[04.03.24, 09:08:00] Ben: on it {LRM}<Diese Nachricht wurde bearbeitet.>\r\n"
    f"[14.03.24, 09:09:00] ~\u202fCy: {LRM}Diese Nachricht wurde gelöscht.\r\n"
    "[14.03.24, 09:10:00] ~\u202fCy: thanks\r\n"
)
ANDROID = (
    "3/4/24, 9:05 PM - Messages and calls are end-to-end encrypted.\n"
    '3/4/24, 9:05 PM - Ana changed the group name to "Barn: north"\n'
    "3/4/24, 9:06 PM - Ana: Milk at 6\n"
    "3/4/24, 9:06 PM - Ana: ok\n"
    "3/4/24, 9:06 PM - Ana: ok\n"
    "3/4/24, 9:07 PM - Ben: <Media omitted>\n"
    "3/4/24, 9:08 PM - Ben: IMG-1.jpg (file attached)\nthe new tank\n"
    "3/4/24, 9:09 PM - Ben: This message was deleted\n"
    "3/15/24, 12:01 AM - Ben: late: 0417 missing\n"
)


def test_an_iphones_chat_is_read() -> None:
    events = events_of(IPHONE, "WhatsApp Chat - Stall.txt", "whatsapp")
    assert sources_in(events) == ["whatsapp/Stall"]
    imported = messages_in(events)
    assert [(message.kind, message.author, message.text) for message in imported] == [
        ("injected", None, "Nachrichten sind Ende-zu-Ende-verschlüsselt."),
        ("injected", None, "Ana hat die Gruppe erstellt."),
        ("said", "Ana", "Milk at 6:\nfarm 0417\n\nfarm 0288"),
        ("said", "Ben", "Bild weggelassen"),
        ("said", "Ben", f"on it {LRM}<Diese Nachricht wurde bearbeitet.>"),
        ("said", "Cy", "thanks"),
    ]
    assert imported[2].sent_at == "2024-03-04T09:06:00"
    assert [(part.kind, part.start, part.end) for part in imported[3].parts] == [("marker", 0, 16)]
    assert imported[4].text[: imported[4].parts[0].start] == "on it "
    assert reasons_in(events) == ["deleted message"]


def test_an_android_phones_chat_is_read() -> None:
    events = events_of(ANDROID, "WhatsApp Chat with Barn (2).txt", "whatsapp")
    assert sources_in(events) == ["whatsapp/Barn"]
    imported = messages_in(events)
    assert [message.kind for message in imported[:3]] == ["injected", "injected", "said"]
    assert [message.text for message in imported if message.author == "Ben"] == [
        "<Media omitted>", "IMG-1.jpg (file attached)\nthe new tank", "late: 0417 missing",
    ]  # fmt: skip
    assert imported[2].sent_at == "2024-03-04T21:06"
    assert imported[-1].sent_at == "2024-03-15T00:01"
    assert [len(message.parts) for message in imported if message.author == "Ben"] == [1, 1, 0]


@pytest.mark.parametrize(
    ("line", "author", "time"),
    [
        ("[2024/3/4 下午9:05:11] 安娜: 好", "安娜", (21, 5, 11)),
        ("2024/03/04 21:05 - アナ: はい", "アナ", (21, 5, None)),
        ("[2024-03-04, 9:05:11 p.m.] Ana: hi", "Ana", (21, 5, 11)),
        ("[4.3.2024 klo 21.05.11] Ana: moi", "Ana", (21, 5, 11)),
        ("[2024. 3. 4. 오후 9:05:11] Ana: 네", "Ana", (21, 5, 11)),
        ("04/03/2024, 09:05 - Ana: salut", "Ana", (9, 5, None)),
        ("4/3/24, 9:05\u202fpm - Ana: hi", "Ana", (21, 5, None)),
        ("4/3/2024, 12:05\u00a0a.\u00a0m. - Ana: hola", "Ana", (0, 5, None)),
        ("04-03-2024 21:05 - Ana: hoi", "Ana", (21, 5, None)),
        ("[٤\u200f/٣\u200f/٢٠٢٤، ٩:٠٥:١١ م] آنا: نعم", "آنا", (21, 5, 11)),
        ("[4/3/24, 9:05:11 PM] \u202a+1\u00a0555\u00a00100\u202c: ok", "+1 555 0100", (21, 5, 11)),
        ("[4/3/24, 21:05:11] Ana:", "Ana", (21, 5, 11)),
    ],
)
def test_heads_are_read_in_many_languages(
    line: str, author: str, time: tuple[int, int, int | None]
) -> None:
    result = head_of(line)
    assert result is not None
    assert (result[1].author, result[1].time) == (author, time)


@pytest.mark.parametrize(
    "line",
    [
        "[31/12/2023] no time", "[4/3/24, 25:05:11] Ana: hi", "on 4/3/24, 21:05 - Ana: hi",
        "[2024-03-04 21:05:11] production.ERROR: failed", "2024-03-04 21:05:11 - worker: started",
    ],
)  # fmt: skip
def test_other_lines_are_no_heads(line: str) -> None:
    assert head_of(line) is None


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (["3/4/24", "13/4/24"], "2024-04-03"),
        (["3/4/24", "3/14/24"], "2024-03-04"),
        (["3/4/24", "4/4/24", "1/5/24"], "2024-04-03"),
        (["4/3/24", "4/4/24", "5/1/24"], "2024-04-03"),
        (["3/4/2567", "13/4/2567"], "2024-04-03"),
        (["3/4/24", "4/4/24", "5/4/24"], "2024-04-03"),
        (["3/4/24", "3/5/24", "3/6/24"], "2024-03-04"),
    ],
)
def test_the_whole_file_decides_whether_the_day_comes_first(days: list[str], expected: str) -> None:
    chat = "".join(f"{day}, 21:05 - Ana: word\n" for day in days)
    first = messages_in(events_of(chat, "x.txt", "whatsapp"))[0]
    assert first.sent_at == f"{expected}T21:05"


def test_without_other_evidence_slashes_and_am_mean_the_month_first() -> None:
    for line, day in (
        ("3/4/24, 9:05 PM - Ana: hi\n", "2024-03-04"),
        ("03/04/2024, 21:05 - Ana: hi\n", "2024-04-03"),
        ("[03.04.24, 21:05:00] Ana: hi\n", "2024-04-03"),
    ):
        (message,) = messages_in(events_of(line, "x.txt", "whatsapp"))
        assert str(message.sent_at).startswith(day)


def test_an_impossible_day_is_unchanged() -> None:
    (message,) = messages_in(events_of("31/31/24, 21:05 - Ana: hi\n", "x.txt", "whatsapp"))
    assert message.sent_at == "31/31/24, 21:05"


def test_a_chat_exported_again_adds_only_new_messages(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        whole = ANDROID.splitlines(keepends=True)
        for count, name in ((5, "a"), (len(whole), "b")):
            path = tmp_path / name / "WhatsApp Chat with Barn.txt"
            path.parent.mkdir()
            path.write_text("".join(whole[:count]))
            report = memory.ingest(path)
            assert report.known == (0 if name == "a" else 5)
        texts = [message.text for message in memory.messages("whatsapp/Barn")]
        assert texts.count("ok") == 2
        assert texts[-1] == "late: 0417 missing"


def test_a_chat_that_grows_past_the_twelfth_adds_only_new_messages(tmp_path: Path) -> None:
    days = [f"{day}/4/24, 9:0{minute} PM - Ana: word {day}.{minute}\n"
            for day in range(1, 16) for minute in range(3)]  # fmt: skip
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        path = tmp_path / "WhatsApp Chat with Barn.txt"
        path.write_text("".join(days[:12]))
        assert memory.ingest(path).added == 12
        path.write_text("".join(days))
        report = memory.ingest(path)
        assert (report.known, report.added) == (12, len(days) - 12)


def test_the_chat_of_an_archive_is_named_after_it() -> None:
    data = zipped({"_chat.txt": IPHONE})
    events = archive_events(data, "WhatsApp Chat - Ana & Ben.zip")["_chat.txt"]
    assert sources_in(events) == ["whatsapp/Ana & Ben"]
    assert chat_title(LogFile("Chat de WhatsApp con Eva.txt")) == "Eva"
    assert chat_title(LogFile("WhatsApp-Chat mit Eva.txt")) == "Eva"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("WhatsApp Chat with Family.txt", "Family"),
        ("WhatsApp Chat with Family (1).txt", "Family"),
        ("WhatsApp Chat - Family/_chat.txt", "Family"),
        ("WhatsApp-Chat mit Müller & Söhne.txt", "Müller & Söhne"),
        ("Чат WhatsApp с Олей.txt", "Олей"),
        ("_chat.txt", "Ana and Ben, 4 – 15 Mar 2024"),
        ("Family.txt", "Ana and Ben, 4 – 15 Mar 2024"),
    ],
)
def test_a_chat_has_the_title_that_its_export_is_named_after(
    tmp_path: Path, name: str, title: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(ANDROID)
    archive = tmp_path / "WhatsApp Chat - Zipped.zip"
    archive.write_bytes(zipped({"_chat.txt": IPHONE}))
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest([path, archive])
        assert sorted(view.title for view in memory.sources()) == sorted((title, "Zipped"))


def test_lines_before_the_first_message_are_reported() -> None:
    events = events_of(f"exported by Ana\n{ANDROID}", "x.txt", "whatsapp")
    assert reasons_in(events)[0] == "line before the first message"


def test_a_message_over_the_limit_continues_as_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whatsapp, "TEXT_CHARS_MAX", 100)
    body = "".join(f"line {number}\n" for number in range(40))
    imported = messages_in(events_of(f"3/4/24, 21:05 - Ana: {body}", "x.txt", "whatsapp"))
    assert len(imported) > 1
    assert "\n".join(message.text for message in imported) == body.removesuffix("\n")
    assert {message.author for message in imported} == {"Ana"}


@pytest.mark.parametrize(
    "text",
    [
        "[4/3/24, 21:05:11] ERROR: no\n" * 3,
        "[2024-03-04 21:05:11] <ana> hi: there\n" * 3,
        "Minutes of 4/3/24\n\nAna: hi\n\n\n4/3/24, 21:05 - Ana: hi\n",
    ],
)
def test_other_logs_are_no_chats(text: str) -> None:
    assert detect(LogFile("x.txt", data=text.encode())).name != "whatsapp"


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=80)
def test_a_broken_chat_never_breaks_the_import(seed: int) -> None:
    for chat in (IPHONE, ANDROID):
        assert_reads("whatsapp", mutated(chat.encode(), seed), "x.txt")
