"""Tests that a log read at several points of its growth ends like one read once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from benchmarks.data.export_logs import BUILDERS, Talk
from tests.conftest import FakeClock
from tests.fuzz.fuzz_importers import label_of
from tests.importers.test_cursor import BUBBLES, CHAT, conversation, editor
from tests.importers.test_llm import Log, ulid
from tests.importers.test_opencode import TURNS, session, write_database
from treemem import Memory, importers
from treemem.importers.streams import marks
from treemem.importers.streams.marks import GrowingImporter
from treemem.ingest import growth
from treemem.store.database import Database

TALK_TURNS = 50


# Formats that their tool appends to; all others are exported anew.
APPENDED = ("claude-code", "codex", "copilot-cli", "vscode-copilot", "kiro", "windsurf",
            "antigravity", "gemini-cli", "pi", "grok-build",
            "chat", "aider", "specstory", "transcript", "irc", "whatsapp", "markdown",
            "plain-text")  # fmt: skip


def in_each_way(names: Iterable[str]) -> pytest.MarkDecorator:
    """Names of formats, and whether their logs are read on from marks, if they can be, or from
    their start, as such short ones are."""
    return pytest.mark.parametrize(
        ("name", "is_read_on"),
        [
            pytest.param(name, is_on, id=f"{'on' if is_on else 'whole'}-{name}")
            for name in names
            for is_on in (False, True)
            if not is_on or isinstance(importers.by_name(name), GrowingImporter)
        ],
    )


@pytest.fixture(autouse=True)
def _reading_on(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "is_read_on" in request.fixturenames and request.getfixturevalue("is_read_on"):
        monkeypatch.setattr(growth, "SIZE_BYTES_MIN", 0)
        monkeypatch.setattr(marks, "_RECORDS_MIN", 3)


History = dict[str, list[tuple[str, str, str, str]]]


def cut_at_lines(data: bytes) -> Iterator[bytes]:
    """Yields cuts between two lines; the first one is inside the records of a turn."""
    ends = [at + 1 for at, byte in enumerate(data) if byte == 0x0A]
    for number in (2, 3, len(ends) // 3, len(ends) // 2, len(ends) - 2):
        yield data[: ends[min(number, len(ends) - 1)]]


def cut_anywhere(data: bytes, seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    for at in sorted(chance.randrange(len(data) // 8, len(data)) for _ in range(5)):
        yield data[:at]


def read_in(folder: Path, name: str, states: Iterable[bytes]) -> tuple[History, int]:
    """The history in a memory after reading a file in these states, and the number of messages that
    are no earlier version of another."""
    log = folder / label_of(name)
    database = Database(folder / "memory.sqlite3")
    with Memory(database, FakeClock()) as memory:
        for state in states:
            log.write_bytes(state)
            (report,) = memory.ingest(log, format_name=None if name == "slack" else name).files[-1:]
            assert report.error is None
        imported = {
            view.source.id: [
                (m.role, m.kind, m.author or "", m.text) for m in memory.messages(view.source.id)
            ]
            for view in memory.sources()
        }
        assert memory.diagnose().healthy
        stored = database.value(
            "SELECT count(DISTINCT message_seq) FROM source_message WHERE state <> 'replaced'"
        )
    log.unlink()
    (folder / "memory.sqlite3").unlink()
    return {key: messages for key, messages in imported.items() if messages}, int(stored)


def assert_grows(folder: Path, name: str, states: Iterable[bytes], whole: bytes) -> None:
    assert read_in(folder, name, [*states, whole]) == read_once(folder, name, whole)


@cache
def read_once(folder: Path, name: str, whole: bytes) -> tuple[History, int]:
    return read_in(folder, name, [whole])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where logs are, on which the ids of some sources depend."""
    return tmp_path_factory.mktemp("logs")


@in_each_way(APPENDED)
def test_a_log_read_between_records_ends_like_one_read_once(
    name: str, is_read_on: bool, folder: Path
) -> None:
    data = BUILDERS[name](Talk(1, TALK_TURNS))
    assert_grows(folder, name, cut_at_lines(data), data)


@pytest.mark.parametrize("seed", range(2))
@in_each_way(APPENDED)
def test_a_log_read_during_a_write_ends_like_one_read_once(
    name: str, is_read_on: bool, seed: int, folder: Path
) -> None:
    data = BUILDERS[name](Talk(1, TALK_TURNS))
    assert_grows(folder, name, cut_anywhere(data, seed), data)


@in_each_way(BUILDERS)
def test_a_log_with_inserted_turns_ends_like_one_read_once(
    name: str, is_read_on: bool, folder: Path
) -> None:
    states = [BUILDERS[name](Talk(1, turns)) for turns in (1, 2, 7, 41, TALK_TURNS)]
    assert_grows(folder, name, states[:-1], states[-1])


def llm_states(folder: Path) -> Iterator[bytes]:
    """Yields one thread after the other; the second is a continued fork of the first."""
    log = Log()
    chain: list[tuple[str, object]] = []
    for number in range(4):
        chain += [("user", f"question {number}"), ("assistant", f"answer {number}")]
        log.say(ulid("c", 7), chain)
        yield log.write(folder / "logs.db").read_bytes()
    for end in ("once", "twice"):
        log.say(ulid("c", 8), [*chain[:4], ("user", end), ("assistant", f"said {end}")])
        yield log.write(folder / "logs.db").read_bytes()


def cursor_states(folder: Path) -> Iterator[bytes]:
    for count in range(1, len(BUBBLES) + 1):
        listed = conversation(CHAT, list(range(1, count + 1)))
        yield editor(folder, listed, *BUBBLES[:count]).read_bytes()


def opencode_states(folder: Path) -> Iterator[bytes]:
    for count in range(1, len(TURNS) + 1):
        path = folder / f"{count}.db"
        yield write_database(path, session(), TURNS[:count]).read_bytes()


@pytest.mark.parametrize(
    ("name", "states_of"),
    [("llm", llm_states), ("cursor", cursor_states), ("opencode", opencode_states)],
)
def test_a_database_with_added_rows_ends_like_one_read_once(
    name: str, states_of: Callable[[Path], Iterator[bytes]], tmp_path: Path
) -> None:
    (tmp_path / "stores").mkdir()
    states = list(states_of(tmp_path / "stores"))
    assert_grows(tmp_path, name, states[:-1], states[-1])
