"""Each file goes to the importer that knows it, or to none with an error that says why."""

from __future__ import annotations

import codecs
import contextlib
import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.errors import ImportFileError, TreememError, UsageError
from treemem.importers import IMPORTERS, LogFile, Skipped, by_name, detect
from treemem.model import Message, Source

CC_ROW = {"type": "user", "uuid": "u", "parentUuid": None, "message": {"content": "a" * 50}}
NAMES = ", ".join(importer.name for importer in IMPORTERS)
CHAT_ROW = {"role": "user", "content": "a" * 50}
CODEX_ROW = {"type": "response_item", "payload": {"type": "message", "role": "user"}}
CODEX_HEADER = {"id": "s", "timestamp": "t", "instructions": None}
CODEX_BARE = {"type": "message", "role": "user", "content": "a" * 50}
GEMINI_HEADER = {"sessionId": "s", "projectHash": "h", "startTime": "t"}
GEMINI_ROW = {"id": "1", "type": "gemini", "content": "a" * 50}
PI_HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/"}
PI_ROW = {"type": "message", "id": "1", "parentId": None, "message": {"role": "user"}}
COPILOT_ROW = {"type": "user.message", "data": {"content": "a" * 50}, "id": "1"}
NAMES = ", ".join(importer.name for importer in IMPORTERS)


def found(data: bytes, label: str) -> str:
    return detect(LogFile(label, data=data)).name


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.mark.parametrize(
    ("data", "label", "name"),
    [
        (lines(CC_ROW), "x.jsonl", "claude-code"),
        (lines(CC_ROW), "x.txt", "claude-code"),
        (lines(CC_ROW), "stdin", "claude-code"),
        (lines({"type": "mode", "mode": "a", "sessionId": "s"}, CC_ROW), "x", "claude-code"),
        (lines({"type": "summary", "summary": "t", "leafUuid": "u"}), "x", "claude-code"),
        (b'{"parentUuid":null,"message":{"content":"' + b"a" * 99_999, "x", "claude-code"),
        (lines({"type": "session_meta", "payload": {"id": "s"}}), "x", "codex"),
        (lines({"type": "surprise"}, CODEX_ROW), "x.txt", "codex"),
        (b'{"type":"session_meta","payload":{"id":"' + b"a" * 99_999, "x", "codex"),
        (lines(CODEX_HEADER), "x", "codex"),
        (lines(CODEX_HEADER, {"record_type": "state"}, CODEX_BARE), "x", "codex"),
        (lines({"session": {"id": "s"}, "items": [CODEX_BARE]}), "x.json", "codex"),
        (lines(CODEX_BARE, CODEX_BARE), "x.jsonl", "chat"),
        (lines(GEMINI_HEADER), "x", "gemini-cli"),
        (lines({"$set": {"summary": "x"}}, GEMINI_ROW), "x.txt", "gemini-cli"),
        (lines({**GEMINI_HEADER, "messages": []}), "x.json", "gemini-cli"),
        (lines({"messages": [GEMINI_ROW] * 2_000}), "x.json", "gemini-cli"),
        (lines({"history": [{"role": "user", "parts": [{"text": "a"}]}]}), "x.json", "gemini-cli"),
        (lines(PI_HEADER), "x", "pi"),
        (lines(PI_ROW), "x.txt", "pi"),
        (lines(COPILOT_ROW), "x", "copilot-cli"),
        (lines({"type": "session.start", "data": {"sessionId": "s"}}), "x", "copilot-cli"),
        (b'{"type":"user.message","data":{"content":"' + b"a" * 99_999, "x", "copilot-cli"),
        (lines(CHAT_ROW), "x.jsonl", "chat"),
        (lines(CHAT_ROW), "x.md", "chat"),
        (lines({"meta": 1}, CHAT_ROW), "x", "chat"),
        (lines({"from": "Ann", "text": "hi"}, {"from": "Bob", "text": "hi"}), "x.jsonl", "chat"),
        (lines({"conversations": [{"from": "human", "value": "hi"}]}), "x.jsonl", "chat"),
        (lines({"messages": [CHAT_ROW] * 2_000}), "x.jsonl", "chat"),
        (b"# Title\n", "x.md", "markdown"),
        (b"no heading at all\n", "x.markdown", "markdown"),
        (b"# One\n\n## Two\n", "stdin", "markdown"),
        (b"# One\n\n## Two\n", "x.txt", "plain-text"),
        (b"#!/bin/sh\n# one\n# two\n", "script", "plain-text"),
        (b"[1/4/23, 7:02] Ann: hi\n", "x.txt", "plain-text"),
        (b"{curly} prose\n", "x.txt", "plain-text"),
        ("naïve".encode("latin-1"), "x.txt", "plain-text"),
        (codecs.BOM_UTF16_LE + "naïve".encode("utf-16-le"), "x.txt", "plain-text"),
        (b"\x1b[1mbold\x1b[0m\n", "x.log", "plain-text"),
        (b"1, 2, 3\n", "x.csv", "plain-text"),
        (b"", "x.jsonl", "chat"),
        (b"\n\r\n\n", "x.jsonl", "chat"),
        (b"", "x.md", "markdown"),
        (b"\n", "x.txt", "plain-text"),
        (b"", "stdin", "plain-text"),
    ],
)
def test_a_file_goes_to_the_importer_that_knows_it(data: bytes, label: str, name: str) -> None:
    assert found(data, label) == name


@pytest.mark.parametrize(
    ("data", "label", "held"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"abc" * 99, "x.md", "binary data (PNG)"),
        (b"%PDF-1.7\nplain enough", "x.txt", "binary data (PDF)"),
        (bytes(range(256)) * 4, "x.txt", "binary data"),
        ("no BOM".encode("utf-16-le"), "x.txt", "binary data"),
        (b"[1, 2, 3]", "x.json", "a JSON array of numbers"),
        (b'["a", {}]', "x.json", "a JSON array of objects and strings"),
        (b"[" + b"1, " * 99_999, "x.json", "a JSON array"),
        (b"[\n" + b'"a",\n' * 99_999, "x.json", "a JSON array"),
        (b'{"a": 1, "b": 2}', "x.json", "a JSON object with the keys 'a', 'b'"),
        (lines({"a": 1}, {"b": 2}), "x.jsonl", "JSON Lines, the first line a JSON object with the"),
        (lines(*[{"a": "b" * 90}] * 999), "x.jsonl", "JSON Lines, the first line a JSON object"),
        (lines({"sha": "1f", "author": "Ann", "message": "fix"}), "x.jsonl", "a JSON object with"),
        (lines({"messages": [{"from": "Ann", "text": "hi"}, {"id": 2}]}), "x", "a JSON object"),
        (lines({"history": [{"role": "user", "parts": [{"type": "text"}]}]}), "x", "a JSON object"),
        (lines({"session": {"id": "s"}, "items": [{"sku": 1}]}), "x", "a JSON object"),
        (codecs.BOM_UTF16_LE + '{"a": 1}'.encode("utf-16-le"), "x.json", "'a', in UTF-16"),
        (b"[" * 60_000, "x.json", "a JSON array"),
        (b"", "x.json", "nothing, the file is empty"),
        (b"\n\n", "x.png", "nothing but blank lines"),
    ],
)
def test_a_file_that_nobody_knows_is_an_error_that_says_what_it_holds(
    data: bytes, label: str, held: str
) -> None:
    pattern = rf"^{re.escape(label)} is in no format .*{re.escape(held)}"
    with pytest.raises(ImportFileError, match=pattern) as caught:
        found(data, label)
    assert f"Tried: {NAMES}." in str(caught.value)


def test_a_file_that_cannot_be_opened_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ImportFileError, match=r"^gone cannot be read: No such file"):
        detect(LogFile("gone", tmp_path / "gone"))
    with pytest.raises(ImportFileError, match=r"^folder cannot be read: "):
        detect(LogFile("folder", tmp_path))


def test_an_unknown_format_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UsageError, match=re.escape(f"The formats are: {NAMES}.")):
    with pytest.raises(UsageError, match=NAMES):
        by_name("carrier-pigeon")
    assert [by_name(importer.name) for importer in IMPORTERS] == list(IMPORTERS)


SEEDS = [
    lines(CC_ROW, CC_ROW),
    lines(CHAT_ROW),
    lines(CODEX_ROW),
    lines(CODEX_HEADER, CODEX_BARE),
    lines(GEMINI_HEADER, GEMINI_ROW),
    lines({**GEMINI_HEADER, "messages": [GEMINI_ROW]}),
    lines(PI_HEADER, PI_ROW),
    lines(COPILOT_ROW),
    b"# a\n\ntext\n\x00",
    b"[" * 3_000,
    b"\xff\xfea",
]


@given(st.binary(max_size=200) | st.sampled_from(SEEDS), st.integers(0, 2**32), st.data())
def test_whatever_the_bytes_are_only_our_own_errors_are_raised(
    data: bytes, seed: int, draw: st.DataObject
) -> None:
    chance = random.Random(seed)
    broken = bytearray(data)
    for _ in range(draw.draw(st.integers(0, 3))):
        broken.insert(chance.randrange(len(broken) + 1), chance.randrange(256))
    label = draw.draw(st.sampled_from(["x.jsonl", "x.md", "x.txt", "stdin", "x.bin"]))
    file = LogFile(label, data=bytes(broken))
    for importer in IMPORTERS:
        for event in importer.read(file):
            assert isinstance(event, Source | Message | Skipped)
    with contextlib.suppress(TreememError):
        assert detect(file) in IMPORTERS
