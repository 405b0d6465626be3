"""A log does not bring back what was forgotten, however it is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.logs import prose
from tests.helpers.secret_samples import ALNUM
from treemem import Memory, Message

TOKEN = "ghp_" + ALNUM


def write(path: Path, *texts: str) -> Path:
    lines = [json.dumps({"role": "user", "content": text}) for text in texts]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.parametrize(("first", "then"), [(True, False), (False, True), ("pii", False)])
def test_the_redactions_of_another_reading_change_nothing(
    memory: Memory, tmp_path: Path, first: bool, then: bool
) -> None:
    log = write(tmp_path / "chat.jsonl", "Hello there.", f"The key is {TOKEN}, mail a@b.example.")
    memory.ingest(log, redact=first)
    memory.forget(text="The key is")
    report = memory.ingest(log, redact=then)
    assert (report.added, report.known) == (0, 1)
    assert TOKEN.encode() not in memory.path.read_bytes()


def test_the_second_of_equal_messages_is_told_from_the_first(
    memory: Memory, tmp_path: Path
) -> None:
    log = write(tmp_path / "chat.jsonl", "Yes.", "Shall we go?", "Yes.")
    memory.ingest(log)
    source = memory.sources()[0].source.id
    memory.forget(messages=memory.messages(source)[2].id)
    write(log, "Yes.", "Shall we go?", "Yes.", "Yes.")
    assert memory.ingest(log).added == 1
    assert [message.text for message in memory.messages(source)] == ["Yes.", "Shall we go?", "Yes."]


def test_a_later_version_of_a_forgotten_message_is_forgotten_too(memory: Memory) -> None:
    memory.append("chat", [Message(text="first", external_id="m1"), Message(text="other")])
    memory.forget(text="first")
    memory.append("chat", [Message(text="changed", external_id="m1")])
    assert [message.text for message in memory.messages("chat")] == ["other"]


def test_a_title_does_not_come_back(memory: Memory, tmp_path: Path) -> None:
    note = tmp_path / "plan.md"
    note.write_text(f"# The Zanzibarrossa plan\n\n{prose(1, 40)}\n\n## Zanzibarrossa\n\nGo.\n")
    memory.ingest(note)
    source = memory.sources()[0].source
    memory.forget(text="Zanzibarrossa")
    note.write_text(note.read_text() + f"\n## More\n\n{prose(2, 40)}\n")
    memory.ingest(note)
    titles = [view.source.title for view in memory.sources() if view.source.id == source.id]
    assert titles in ([None], [])
    assert b"zanzibarross" not in memory.path.read_bytes().lower()
