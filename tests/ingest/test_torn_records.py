"""A record that was half written when its log was read is one message all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.logs import chat_lines
from treemem import Memory

IRC = [
    "2026-01-05 12:00:00 <bob> hello there",
    "2026-01-05 12:00:10 <ann> hi bob",
    "2026-01-05 12:00:20 <bob> how are the cows and the calves",
    "2026-01-05 12:00:20 <bob> fine I hear",
]


def texts(memory: Memory) -> list[str]:
    (view,) = memory.sources()
    return [message.text for message in memory.messages(view.source.id)]


@pytest.mark.parametrize("whole_lines", [2, 3])
def test_a_line_that_was_cut_off_is_replaced_by_the_whole_one(
    memory: Memory, tmp_path: Path, whole_lines: int
) -> None:
    log = tmp_path / "farm.log"
    expected = [line.partition("> ")[2] for line in IRC]
    whole = "\n".join(IRC[:whole_lines]) + "\n"
    for cut in (31, 35, len(IRC[whole_lines])):
        log.write_text(whole + IRC[whole_lines][:cut])
        memory.ingest(log)
    assert texts(memory) == expected[: whole_lines + 1]
    log.write_text("\n".join(IRC) + "\n")
    memory.ingest(log)
    assert texts(memory) == expected
    assert memory.ingest(log).added == 0
    assert memory.diagnose().healthy


def test_a_longer_message_at_the_same_time_is_another_message(
    memory: Memory, tmp_path: Path
) -> None:
    log = tmp_path / "farm.log"
    log.write_text("\n".join([*IRC, "2026-01-05 12:00:30 <ann> yes"]) + "\n")
    memory.ingest(log)
    with log.open("a") as stream:
        stream.write("2026-01-05 12:00:30 <ann> yes indeed\n")
    memory.ingest(log)
    assert texts(memory)[-2:] == ["yes", "yes indeed"]


def test_a_log_without_times_that_begins_anew_replaces_nothing(
    memory: Memory, tmp_path: Path
) -> None:
    log = tmp_path / "chat.jsonl"
    for texts_of_log in (["hi"], ["hi there", "what now"]):
        log.write_bytes(chat_lines([{"role": "user", "content": text} for text in texts_of_log]))
        memory.ingest(log)
    assert sorted(texts(memory)) == ["hi", "hi there", "what now"]
