"""When how much was said by tool, and what was said on one day."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.conftest import SESSION
from treemem import Memory, Message, UsageError
from treemem.browsing import on_day


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(SESSION)
        said = [
            Message(text=f"We sail at {hour}.", sent_at=f"2025-11-05T{hour:02}:30:00")
            for hour in range(6, 9)
        ]
        memory.append("chat/1", [*said, Message(text="Not today.", sent_at="2025-12-24T10:00:00")])
        memory.append("chat/2", [Message(text="No time at all.")])
        memory.work(max_calls=0)
        yield memory


def test_days_are_counted_by_tool(memory: Memory) -> None:
    found = memory.days_by_tool()
    assert found.tools == ("claude-code", "api")
    assert found.days["2025-12-24"] == (0, 1)
    assert found.days["2025-11-05"][1] == 3
    assert sum(numbers[0] for numbers in found.days.values()) == 247
    assert list(found.days) == sorted(found.days)
    for day in memory.days():
        assert sum(found.days[day.day]) == day.messages


def test_rare_tools_are_counted_together(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_day, "TOOLS_MAX", 1)
    found = memory.days_by_tool()
    assert found.tools == ("other",)
    assert sum(sum(numbers) for numbers in found.days.values()) == 251


def test_counts_are_of_the_file_as_it_is(memory: Memory) -> None:
    before = memory.days_by_tool().days["2025-12-24"]
    memory.append("chat/3", [Message(text="Perhaps.", sent_at="2025-12-24T11:00:00")])
    assert memory.days_by_tool().days["2025-12-24"] == (before[0], before[1] + 1)


def test_a_day_has_its_sources_and_their_leaves(memory: Memory) -> None:
    said = memory.said_on("2025-11-05")
    assert (said.total, said.is_whole) == (2, True)
    chat = next(source for source in said.sources if source.id == "chat/1")
    assert (chat.format, chat.messages) == ("api", 3)
    assert chat.started_at is not None
    assert chat.started_at.endswith("06:30:00+00:00") or "T" in chat.started_at
    session = next(source for source in said.sources if source.id != "chat/1")
    sent = [message for message in memory.messages(session.id)
            if str(message.sent_at).startswith("2025-11-05")]  # fmt: skip
    assert session.messages == len(sent)
    for node_id in session.node_ids:
        node = memory.node(node_id)
        assert str(node.started_at) <= "2025-11-06"
        assert str(node.ended_at) >= "2025-11-05"


def test_a_day_without_messages_is_empty(memory: Memory) -> None:
    assert memory.said_on("1999-01-01").sources == ()
    with pytest.raises(UsageError):
        memory.said_on("no day")


def test_a_very_long_day_is_read_in_part(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_day, "LEAVES_MAX", 1)
    said = memory.said_on("2025-11-05")
    assert not said.is_whole
    assert len(said.sources) == 1
    monkeypatch.setattr(on_day, "LEAVES_MAX", 600)
    monkeypatch.setattr(on_day, "SOURCES_MAX", 1)
    cut = memory.said_on("2025-11-05")
    assert (len(cut.sources), cut.total, cut.is_whole) == (1, 2, True)
