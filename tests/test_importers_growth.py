"""A log that is read at several points of its growth ends as one that is read once, whole."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from benchmarks.export_logs import BUILDERS, Talk
from tests.conftest import FakeClock
from tests.fuzz.fuzz_importers import label_of
from treemem import Memory

TURNS = 50
# What grows at its end as its tool writes on; all others are exported anew.
APPENDED = ("claude-code", "codex", "copilot-cli", "gemini-cli", "pi", "chat", "aider", "specstory",
            "transcript", "markdown", "plain-text")  # fmt: skip

History = dict[str, list[tuple[str, str, str, str]]]


def cut_at_lines(data: bytes) -> Iterator[bytes]:
    """Ends between two lines; the first of them in the middle of what a turn is told by."""
    ends = [at + 1 for at, byte in enumerate(data) if byte == 0x0A]
    for number in (2, 3, len(ends) // 3, len(ends) // 2, len(ends) - 2):
        yield data[: ends[min(number, len(ends) - 1)]]


def cut_anywhere(data: bytes, seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    for at in sorted(chance.randrange(len(data) // 8, len(data)) for _ in range(5)):
        yield data[:at]


def read_in(folder: Path, name: str, states: Iterable[bytes]) -> tuple[History, int]:
    """What a memory holds when a file was read in these states, and how many messages are no
    earlier version of another."""
    log = folder / label_of(name)
    with Memory.open(folder / "memory.sqlite3", clock=FakeClock()) as memory:
        for state in states:
            log.write_bytes(state)
            (report,) = memory.ingest(log, format_name=None if name == "slack" else name).files[-1:]
            assert report.error is None
        found = {
            view.source.id: [
                (m.role, m.kind, m.author or "", m.text) for m in memory.messages(view.source.id)
            ]
            for view in memory.sources()
        }
        assert memory.diagnose().healthy
        kept = memory._database.value(
            "SELECT count(DISTINCT message_seq) FROM source_message WHERE state <> 'replaced'"
        )
        log.unlink()
        (folder / "memory.sqlite3").unlink()
        return {key: told for key, told in found.items() if told}, int(kept)


def assert_grows(folder: Path, name: str, states: Iterable[bytes], whole: bytes) -> None:
    grown = read_in(folder, name, [*states, whole])
    once = read_in(folder, name, [whole])
    assert grown == once


@pytest.mark.parametrize("name", APPENDED)
def test_a_log_that_is_read_between_its_records_ends_as_one_read_once(
    name: str, tmp_path: Path
) -> None:
    data = BUILDERS[name](Talk(1, TURNS))
    assert_grows(tmp_path, name, cut_at_lines(data), data)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", APPENDED)
def test_a_log_that_is_read_while_a_record_is_written_ends_as_one_read_once(
    name: str, seed: int, tmp_path: Path
) -> None:
    data = BUILDERS[name](Talk(1, TURNS))
    assert_grows(tmp_path, name, cut_anywhere(data, seed), data)


@pytest.mark.parametrize("name", BUILDERS)
def test_a_log_with_more_turns_in_it_ends_as_one_read_once(name: str, tmp_path: Path) -> None:
    states = [BUILDERS[name](Talk(1, turns)) for turns in (1, 2, 7, 41, TURNS)]
    assert_grows(tmp_path, name, states[:-1], states[-1])
