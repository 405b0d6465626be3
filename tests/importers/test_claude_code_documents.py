"""Tests that Claude Code's records in one JSON document are read like those on lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.reading import events_of, messages_in, reasons_in, sources_in
from treemem import Memory
from treemem.importers import LogFile, by_name
from treemem.importers.common.base import HEAD_BYTES

SESSION = "0c0ffee0-0000-4000-8000-000000000001"
ASKED = {
    "type": "user", "sessionId": SESSION, "uuid": "u1", "parentUuid": None, "isSidechain": False,
    "timestamp": "2026-01-01T00:00:01.000Z", "message": {"role": "user", "content": "Which port?"},
}  # fmt: skip
ANSWERED = {
    **ASKED, "type": "assistant", "uuid": "u2", "parentUuid": "u1",
    "message": {"role": "assistant", "id": "m1", "content": [{"type": "text", "text": "8080."}]},
}  # fmt: skip


def role_and_text(data: str, label: str = "log.json") -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in messages_in(events_of(data, label, "claude-code"))]


@pytest.mark.parametrize("indent", [None, 2])
def test_the_records_of_a_document_are_read_like_lines(indent: int | None) -> None:
    document = json.dumps({"loglines": [ASKED, ANSWERED]}, indent=indent)
    lines = "".join(f"{json.dumps(row)}\n" for row in (ASKED, ANSWERED))
    assert events_of(document, "a.json", "claude-code") == events_of(lines, "a.json", "claude-code")


@pytest.mark.parametrize("start", ["", "\ufeff", "\n\n"])
def test_a_single_record_over_several_lines_is_a_document(start: str) -> None:
    events = events_of(start + json.dumps(ANSWERED, indent=2), "one.json", "claude-code")
    assert sources_in(events) == [f"claude-code/{SESSION}"]
    assert [(m.role, m.text, m.external_id) for m in messages_in(events)] == [
        ("assistant", "8080.", "u2")
    ]


def test_a_record_longer_than_the_head_is_read_whole() -> None:
    long = {**ASKED, "message": {"role": "user", "content": "word " * HEAD_BYTES}}
    for data in (json.dumps(long, indent=1), json.dumps({"loglines": [long, ANSWERED]})):
        assert role_and_text(data)[0] == ("user", "word " * HEAD_BYTES)


def test_a_truncated_document_yields_the_records_before_its_end() -> None:
    data = json.dumps({"loglines": [{**ASKED, "pad": "x" * HEAD_BYTES}, ANSWERED, ASKED]})[:-40]
    events = events_of(data, "a.json", "claude-code")
    assert [m.text for m in messages_in(events)] == ["Which port?", "8080."]
    assert any("cut off" in reason for reason in reasons_in(events))


def test_documents_without_records_are_not_recognized() -> None:
    data = json.dumps({"type": "user", "message": {"text": "hi"}}, indent=2)
    assert by_name("claude-code").recognizes(LogFile("a.json"), data.encode()) == 0.0


def test_two_files_of_one_name_without_a_session_are_two_sources(
    memory: Memory, tmp_path: Path
) -> None:
    for number, folder in enumerate(("a", "b")):
        (tmp_path / folder).mkdir()
        row = {"type": "user", "uuid": f"u{number}", "message": {"content": f"question {number}"}}
        (tmp_path / folder / "log.json").write_text(json.dumps({"loglines": [row]}))
    report = memory.ingest(tmp_path)
    sources = [source for file in report.files for source in file.sources]
    assert [[m.text for m in memory.messages(source)] for source in sources] == [
        ["question 0"],
        ["question 1"],
    ]
