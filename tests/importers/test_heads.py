"""Tests that a log is recognized wherever its first telling record is, and read as a whole."""

from __future__ import annotations

import io
import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.reading import messages_in
from treemem.errors import UnknownFormatError
from treemem.importers import LogFile, by_name, detect
from treemem.importers.common.base import Event
from treemem.importers.common.sniffing import head_value
from treemem.importers.streams.heads import HEAD_BYTES, read_head

LONG = "The ferry leaves at nine. " * 5_000
PICTURE = "iVBORw0KGgo" + "A" * 200_000
SESSION = "0c0ffee0-0000-4000-8000-000000000001"


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read(text: str, label: str, name: str) -> list[Event]:
    file = LogFile(label, data=text.encode())
    assert detect(file).name == name
    return list(by_name(name).read(file))


def claude(content: object, **fields: object) -> dict[str, object]:
    return {"message": {"role": "user", "content": content}, "type": "user", "uuid": "u",
            "parentUuid": None, "sessionId": SESSION, "isSidechain": False, **fields}  # fmt: skip


# -- first records longer than a head ----------------------------------------------------

PARTS = [{"type": "text", "text": f"Berth {number}."} for number in range(4_000)]


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ([claude(LONG)], "claude-code"),
        ([claude([{"type": "image", "source": {"data": PICTURE}}, PARTS[0]])], "claude-code"),
        ([claude(PARTS)], "claude-code"),
        ([{"role": "user", "content": LONG}, {"role": "assistant", "content": "ok"}], "chat"),
        ([{"role": "user", "content": PARTS}, {"role": "assistant", "content": "ok"}], "chat"),
        ([{"role": "system", "content": LONG}, {"role": "user", "content": "hi"}], "chat"),
        ([{"type": "human", "data": {"content": LONG}}, {"type": "ai", "data": {"content": "ok"}}],
         "langchain"),
    ],
)  # fmt: skip
def test_json_lines_with_a_long_first_record_are_read(rows: list[object], name: str) -> None:
    messages = messages_in(read(lines(*rows), "x.jsonl", name))
    assert len(messages) == len(rows)
    assert len(messages[0].text) > HEAD_BYTES or "Berth 0." in messages[0].text


@pytest.mark.parametrize(
    ("document", "label", "name"),
    [
        ({"messages": [{"role": "user", "content": LONG}, {"role": "assistant", "content": "ok"}]},
         "x.json", "chat"),
        ([{"type": "message", "user": "U1", "text": LONG, "ts": "1772359200.000100"},
          {"type": "message", "user": "U2", "text": "ok", "ts": "1772359201.000100"}],
         "2026-03-01.json", "slack"),
        ({"messages": [{"type": "human", "data": {"content": LONG}},
                       {"type": "ai", "data": {"content": "ok"}}]}, "x.json", "langchain"),
    ],
)  # fmt: skip
def test_a_document_with_a_long_first_message_is_read(
    document: object, label: str, name: str
) -> None:
    messages = messages_in(read(json.dumps(document), label, name))
    assert [len(message.text) for message in messages] == [len(LONG), 2]


def test_a_conversation_longer_than_a_head_does_not_hide_the_next_line() -> None:
    turns = [{"role": "user", "content": f"Berth {number} is free."} for number in range(3_000)]
    for name, rows in (
        ("chat", [{"messages": turns}, {"messages": [{"role": "user", "content": "last"}]}]),
        ("langchain", [[{"type": "human", "data": {"content": turn["content"]}} for turn in turns],
                       [{"type": "human", "data": {"content": "last"}}]]),
    ):  # fmt: skip
        messages = messages_in(read(lines(*rows), "x.jsonl", name))
        assert len(messages) == 3_001
        assert messages[-1].text == "last"


@pytest.mark.parametrize(
    ("text", "label", "name", "messages"),
    [
        (f"1/3/26, 10:00 - Ana: {LONG}\n1/3/26, 10:01 - Ben: ok\n", "Ana.txt", "whatsapp", 2),
        ("1/3/26, 10:00 - Ana: so\n" + "and\n" * 50_000 + "1/3/26, 10:01 - Ben: ok\n", "a.txt",
         "whatsapp", 2),
        ("Received: by a relay\n" * 9_000 + "From: a@b.example\nDate: Sun, 1 Mar 2026 10:00:00 "
         "+0000\nMessage-ID: <1@b.example>\n\nhello\n", "m.eml", "mail", 1),
        (f"<!--{LONG}-->\n<html><body>hello</body></html>", "a.txt", "html", 1),
        (f"<!--{LONG}--><p>hello", "a.html", "html", 1),
        ("[10:05] *** ana sets mode: +o ben\n" * 9_000 + "[10:06] <ana> hi\n", "#a.log", "irc", 1),
    ],
)  # fmt: skip
def test_text_with_a_long_beginning_is_not_taken_for_a_document(
    text: str, label: str, name: str, messages: int
) -> None:
    assert len(messages_in(read(text, label, name))) == messages


# -- records that nobody knows, first ----------------------------------------------------


def test_a_log_that_begins_with_unknown_bookkeeping_is_recognized_by_what_follows() -> None:
    rows: list[object] = [{"type": "tide-table", "pad": "y" * 300}] * 4_000
    messages = messages_in(read(lines(*rows, claude("hi")), "x.jsonl", "claude-code"))
    assert [message.text for message in messages] == ["hi"]


def test_bookkeeping_alone_is_recognized_by_the_session_in_the_name() -> None:
    row = {"type": "tide-table", "sessionId": SESSION}
    assert messages_in(read(lines(row), f"{SESSION}.jsonl", "claude-code")) == []
    with pytest.raises(UnknownFormatError):
        detect(LogFile("other.jsonl", data=lines(row).encode()))


def test_a_file_that_stays_unknown_is_looked_at_within_bounds() -> None:
    row = lines({"type": "tide-table", "pad": "y" * 300})
    large = LogFile("x.jsonl", data=(row * 200_000).encode())
    began = time.process_time()
    with pytest.raises(UnknownFormatError):
        detect(large)
    assert time.process_time() - began < 10


def test_pictures_and_large_documents_are_refused_after_a_short_look() -> None:
    picture = LogFile("x.png", data=b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40_000)
    map_data = json.dumps({"features": [{"at": [1.5, 2.5]}] * 400_000})
    began = time.process_time()
    for _ in range(20):
        with pytest.raises(UnknownFormatError, match="PNG"):
            detect(picture)
    assert time.process_time() - began < 1
    began = time.process_time()
    with pytest.raises(UnknownFormatError, match="a JSON object"):
        detect(LogFile("x.json", data=map_data.encode()))
    assert time.process_time() - began < 2


def test_padding_before_the_first_record_hides_nothing() -> None:
    data = b"\0" * 200_000 + lines(claude("hi")).encode()
    assert detect(LogFile("x.jsonl", data=data)).name == "claude-code"


# -- heads -------------------------------------------------------------------------------

VALUES = st.recursive(
    st.text(max_size=40) | st.integers() | st.none() | st.sampled_from(["é" * 2_000, '\\"' * 900]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


def shortened(value: object) -> object:
    """Compares strings by their beginnings."""
    if isinstance(value, str):
        return value[:100]
    if isinstance(value, list):
        return [shortened(item) for item in value]
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    return value


@given(st.lists(VALUES, min_size=1, max_size=5), st.booleans())
def test_a_head_is_json_with_the_same_keys_and_beginnings(value: list[object], raw: bool) -> None:
    document = {"pad": "x" * HEAD_BYTES, "value": value}
    data = json.dumps(document, ensure_ascii=not raw).encode()
    head = read_head(io.BytesIO(data))
    assert head.is_whole
    assert len(head) < HEAD_BYTES + 8_000
    assert shortened(json.loads(head)) == shortened(document)


@given(st.binary(max_size=300), st.integers(0, 5))
def test_any_bytes_have_a_head(data: bytes, copies: int) -> None:
    text = b'[{"a' + data * (copies * 200)
    head = read_head(io.BytesIO(text))
    assert head[:4] == text[:4]
    assert len(head) <= max(len(text), HEAD_BYTES * 2)


def test_quotation_marks_in_text_hide_no_lines() -> None:
    text = '["5 inches, said Ana.\n' + "A line.\n" * 20_000
    head = read_head(io.BytesIO(text.encode()))
    assert head.count(b"\n") > 7_000


def test_reading_stops_within_bounds_even_inside_a_string() -> None:
    class Endless(io.RawIOBase):
        read_bytes = 0

        def read(self, size: int = -1) -> bytes:
            start = b'{"a":"' if self.read_bytes == 0 else b""
            self.read_bytes += size
            return start + b"z" * (size - len(start))

    endless = Endless()
    head = read_head(endless)  # type: ignore[arg-type]
    assert not head.is_whole
    assert len(head) < HEAD_BYTES
    assert endless.read_bytes < 80 * 1024**2


def test_a_head_that_is_cut_off_is_closed_after_its_last_whole_value() -> None:
    rows = [{"role": "user", "content": f"{number} " + "pier " * 60} for number in range(2_000)]
    head = read_head(io.BytesIO(json.dumps(rows).encode()))
    assert not head.is_whole
    value = head_value(head)
    assert isinstance(value, list)
    assert value[:3] == rows[:3]


def test_the_time_of_a_head_grows_with_the_bytes_read_at_most() -> None:
    def seconds(size_bytes: int) -> float:
        data = b'{"a":"' + b'\\"' * (size_bytes // 2) + b'"}'
        began = time.process_time()
        head = read_head(io.BytesIO(data))
        assert re.fullmatch(rb'\{"a":"(?:\\")+"\}', head)
        return time.process_time() - began

    seconds(1_000_000)
    assert seconds(16_000_000) < 40 * max(seconds(1_000_000), 0.02)
