"""Tests transcripts of meetings and subtitles: speakers, and cues that belong together."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.reading import assert_reads, events_of, messages_in, mutated, reasons_in
from treemem import Memory
from treemem.importers import LogFile, detect
from treemem.importers.transcript import MESSAGE_CHARS, is_times
from treemem.types import Source

TEAMS = (
    "\ufeffWEBVTT\r\n\r\nNOTE made by a tool\r\nover two lines\r\n\r\nSTYLE\r\n::cue(v) {}\r\n\r\n"
    "a1/12-0\r\n00:00:03.120 --> 00:00:05.000\r\n"
    "<v Ana Kovač>Shall we\r\nstart &amp; end</v>\r\n\r\n"
    "a1/12-1\r\n00:05.000 --> 00:06.000 align:left\r\n<v Ana Kovač>in time?</v>\r\n\r\n"
    "00:00:06.500 --> 00:00:07.000\r\n<v.loud Ben>Yes</v> <v Ana Kovač>good\r\n\r\n"
    "00:00:08.000 --> 00:00:09.000\r\n\r\n"
    "01:00:10.000 --> 01:00:11.000\r\n<c.yellow>no <b>voice</b></c>\r\n"
)
ZOOM = (
    "WEBVTT\n\n1\n00:00:16.239 --> 00:00:27.079\nAna Kovač: Note the tank.\n\n"
    "2\n00:00:27.080 --> 00:00:29.000\nAna Kovač: Warning: it leaks.\n\n"
    "3\n00:00:30.000 --> 00:00:31.000\nBen de Vries: We repair it: today.\n"
)
SRT = (
    "1\n00:00:01,000 --> 00:00:02,000\n<i>First line</i>\nsecond line\n\n"
    "2\n00:00:03,000 --> 00:00:04,000\n{\\an8}>> JOE: third\n\nbehind a blank line\n\n"
    "3\n00:00:05,000 --> 00:00:06,000\n>> fourth\n"
)
SBV = "0:00:00.378,0:00:11.378\nCaption one\n\n0:00:11.378,0:00:12.305\nCaption two\n"


def author_text_id(
    text: str, label: str = "Weekly.vtt"
) -> list[tuple[str | None, str, str | None]]:
    imported = messages_in(events_of(text, label, "transcript"))
    return [(message.author, message.text, message.external_id) for message in imported]


def test_the_cues_of_one_speaker_are_merged() -> None:
    events = events_of(TEAMS, "Weekly.vtt", "transcript")
    assert events[0] == Source(
        "transcript/Weekly", "transcript", "Weekly", "Weekly.vtt", snapshot=True
    )
    assert author_text_id(TEAMS) == [
        ("Ana Kovač", "Shall we\nstart & end in time?", "00:00:03.120"),
        ("Ben", "Yes", "00:00:06.500"),
        ("Ana Kovač", "good", "00:00:06.500#2"),
        (None, "no voice", "01:00:10.000"),
    ]
    assert [message.role for message in messages_in(events)] == [
        "other",
        "other",
        "other",
        "document",
    ]
    assert {message.sent_at for message in messages_in(events)} == {None}
    assert sorted(reasons_in(events)) == [
        "cue without words", "fragment of a message, merged", "header, note or style",
        "header, note or style", "header, note or style",
    ]  # fmt: skip


def test_a_name_before_a_colon_is_a_speaker_and_other_words_are_not() -> None:
    assert author_text_id(ZOOM) == [
        ("Ana Kovač", "Note the tank. Warning: it leaks.", "00:00:16.239"),
        ("Ben de Vries", "We repair it: today.", "00:00:30.000"),
    ]
    for line in ("Note: it leaks.", "the answer: yes", "At 10:30 we go", "See https://x.org"):
        assert author_text_id(f"WEBVTT\n\n00:01.000 --> 00:02.000\n{line}\n")[0][:2] == (None, line)


def test_a_mark_in_subtitles_changes_the_speaker() -> None:
    assert author_text_id(SRT, "film.srt") == [
        (None, "First line\nsecond line", "00:00:01.000"),
        ("JOE", "third\nbehind a blank line", "00:00:03.000"),
        (None, "fourth", "00:00:05.000"),
    ]
    assert author_text_id(SBV, "talk.sbv") == [(None, "Caption one Caption two", "00:00:00.378")]


def test_a_long_speech_ends_with_a_sentence() -> None:
    cues = "".join(
        f"00:{n // 60:02}:{n % 60:02}.000 --> 00:{n // 60:02}:{n % 60:02}.900\nwords of cue {n}"
        f"{'.' if n % 7 == 0 else ''}\n\n"
        for n in range(300)
    )
    texts = [text for _, text, _ in author_text_id(f"WEBVTT\n\n{cues}")]
    assert " ".join(texts).split() == " ".join(
        f"words of cue {n}{'.' if n % 7 == 0 else ''}" for n in range(300)
    ).split()  # fmt: skip
    assert all(text.endswith(".") for text in texts[:-1])
    assert all(MESSAGE_CHARS <= len(text) + 1 < 2 * MESSAGE_CHARS for text in texts[:-1])


def test_lines_repeated_by_live_captions_are_imported_once() -> None:
    live = (
        "WEBVTT\nKind: captions\n\n00:00:00.000 --> 00:00:02.000\n \nso<00:00:00.300><c> we</c>\n\n"
        "00:00:02.000 --> 00:00:02.010\nso we\n \n\n"
        "00:00:02.010 --> 00:00:04.000\nso we\nship<00:00:03.000><c> it</c>\n\n"
        "00:00:04.000 --> 00:00:04.010\nship it\n \n"
    )
    assert author_text_id(live) == [(None, "so we ship it", "00:00:00.000")]


def test_the_start_is_in_the_name_of_a_recording() -> None:
    name = "GMT20240115-235950_Recording.transcript.vtt"
    imported = messages_in(events_of(ZOOM, name, "transcript"))
    assert [message.sent_at for message in imported] == [
        "2024-01-16T00:00:06.239000+00:00", "2024-01-16T00:00:20+00:00",
    ]  # fmt: skip
    assert messages_in(events_of(ZOOM, "GMT20249915-235950.vtt", "transcript"))[0].sent_at is None


def test_a_corrected_transcript_replaces_what_it_corrects(tmp_path: Path) -> None:
    path = tmp_path / "Weekly.vtt"
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        path.write_text(ZOOM)
        (source,) = memory.ingest(path).files[0].sources
        path.write_text(ZOOM.replace("leaks", "drips"))
        assert memory.ingest(path).added == 1
        assert sorted(message.text for message in memory.messages(source)) == [
            "Note the tank. Warning: it drips.", "We repair it: today.",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("00:01.000 --> 00:02.000", True),
        ("100:00:01,5-->100:00:02,5", True),
        ("0:00:01.000,0:00:02.000", True),
        ("A --> B", False),
        ("00:01 --> 00:02", False),
        ("00:01.000 -> 00:02.000", False),
    ],
)
def test_the_times_of_a_cue_are_recognized(line: str, expected: bool) -> None:
    assert is_times(line) is expected


@pytest.mark.parametrize("text", ["WEBVTTX\n\nhi\n", "1\n2\n3\n", "a --> b\n", "12:00 lunch\n"])
def test_other_texts_are_not_recognized(text: str) -> None:
    assert detect(LogFile("x.txt", data=text.encode())).name == "plain-text"


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=80)
def test_a_damaged_transcript_never_breaks_the_import(seed: int) -> None:
    for text in (TEAMS, SRT, SBV):
        assert_reads("transcript", mutated(text.encode(), seed), "x.vtt")
