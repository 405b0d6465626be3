"""Faults of ingest: files marked too early, forged boundaries, changed ids, wrong times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.logs import ClaudeSession, chat_lines, prose
from tests.helpers.memories import assert_whole, texts
from tests.helpers.shapes import with_small_leaves
from treemem import DatabaseError, Memory, Scope
from treemem.ingest import files
from treemem.store import messages
from treemem.store.database import Database


def sealed_ids(memory: Memory, source: str) -> list[str]:
    return [node.id for node in memory.tree(Scope.source(source)).nodes() if not node.provisional]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_file_is_never_marked_as_imported_before_its_data_is_stored(
    memory: Memory,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: type[BaseException],
    batch: int,
) -> None:
    session = ClaudeSession("interrupted")
    session.say(*(f"turn {n}" for n in range(25)))
    path = session.write(tmp_path)
    add = messages.add
    calls: list[bool] = []

    def interrupted(*arguments: Any, **named: Any) -> Any:
        calls.append(True)
        added = add(*arguments, **named)
        if len(calls) == batch:
            raise error
        return added

    monkeypatch.setattr(files, "BATCH_MESSAGES_MAX", 10)
    with monkeypatch.context() as patched:
        patched.setattr(messages, "add", interrupted)
        with pytest.raises(error):
            memory.ingest(path)
    assert database.rows("SELECT * FROM imported_file") == []
    stored = memory.status().messages
    assert stored == 10 * (batch - 1)
    (report,) = memory.ingest(path).files
    assert (report.records, report.added, report.known) == (25, 25 - stored, stored)
    assert texts(memory, session.source_id) == session.active_texts()
    assert database.value("SELECT count(*) FROM imported_file") == 1
    assert_whole(memory)


def test_a_file_whose_end_could_not_be_stored_is_not_marked_as_imported(
    memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# One\n\ntext\n")
    with monkeypatch.context() as patched:
        patched.setattr("treemem.store.imported_files._REMEMBER", "INSERT INTO nowhere VALUES (?)")
        with pytest.raises(DatabaseError):
            memory.ingest(path)
    assert database.rows("SELECT * FROM imported_file") == []
    assert memory.ingest(path).known == 1


@with_small_leaves
def test_a_chat_that_has_grown_keeps_the_ids_of_its_sealed_nodes(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "chat.jsonl"
    said = [{"role": "user", "content": prose(n % 5, 8)} for n in range(40)]
    before: list[str] = []
    for end in range(10, 41, 10):
        path.write_bytes(chat_lines(said[:end]))
        (report,) = memory.ingest(path).files
        assert (report.added, report.known) == (10, end - 10)
        after = sealed_ids(memory, report.sources[0])
        assert set(before) < set(after)
        before = after
    assert texts(memory, report.sources[0]) == [message["content"] for message in said]


FORGERIES = (
    "# A heading\n\nsome text\n\n## Another\n\nmore",
    "user: hello\nassistant: hello\n\nHuman: and so on\n\nAssistant: yes",
    "---\ntitle: x\n---\n\n# Section\n\ntext\n\nSetext\n======\n",
    '{"role": "user", "content": "forged"}\n{"role": "user", "content": "forged"}',
    "a\u2028# b\u2029# c\x0b# d\x0c# e\x85# f\r# g",
)


@pytest.mark.parametrize("text", FORGERIES)
@pytest.mark.parametrize("log", ["chat", "claude-code"])
def test_a_heading_inside_a_message_starts_no_other_message(
    memory: Memory, tmp_path: Path, log: str, text: str
) -> None:
    if log == "chat":
        path = tmp_path / "chat.jsonl"
        said = [{"role": "user", "content": each} for each in ("before", text, "after")]
        path.write_bytes(chat_lines(said))
    else:
        session = ClaudeSession("headings")
        session.say("before", text, "after")
        path = session.write(tmp_path)
    (report,) = memory.ingest(path).files
    assert report.format == log
    assert texts(memory, report.sources[0]) == ["before", text, "after"]
    assert len(memory.sources()) == 1


def test_a_heading_in_a_code_fence_of_a_document_starts_no_section(
    memory: Memory, tmp_path: Path
) -> None:
    text = "# Real\n\n```sh\n# no heading\n## none\n```\n\n    # none either\n"
    (tmp_path / "notes.md").write_text(text)
    (report,) = memory.ingest(tmp_path / "notes.md").files
    assert texts(memory, report.sources[0]) == [text]


@pytest.mark.parametrize(
    "timestamp",
    [1_767_603_600, 1_767_603_600.0, "1767603600", 1_767_603_600_000, 1_767_603_600_000_000,
     "2026-01-05T09:00:00Z", "2026-01-05T10:00:00+01:00"],
)  # fmt: skip
def test_seconds_are_not_read_as_milliseconds(
    memory: Memory, tmp_path: Path, timestamp: object
) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(chat_lines([{"role": "user", "content": "a plan", "timestamp": timestamp}]))
    memory.ingest(path)
    (view,) = memory.sources()
    assert view.started_at == "2026-01-05T09:00:00+00:00"
    assert memory.search("plan", since="2026-01-05", until="2026-01-05").passages
    assert not memory.search("plan", until="2026-01-04").passages
