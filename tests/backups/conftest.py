"""A memory with a log, and what a copy of it must contain."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backups.portable.conftest import fill
from tests.conftest import FakeClock
from tests.helpers.logs import prose
from treemem import Memory, Message

SOURCES = ("chat/1", "chat/2")


def say(memory: Memory, source: str, first: int, number: int) -> list[str]:
    """Appends messages and returns their ids."""
    return memory.append(
        source, [Message(text=prose(seed, 3), role="user") for seed in range(first, first + number)]
    )


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with such a memory and its export, which no test changes."""
    folder = tmp_path_factory.mktemp("whole")
    clock = FakeClock()
    with Memory.open(folder / "memory.sqlite3", clock=clock) as memory:
        fill(memory, clock)
        memory.export_to(folder / "memory.jsonl")
    return folder


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with two sources, sealed, which no test changes."""
    path = tmp_path_factory.mktemp("template") / "memory.sqlite3"
    with Memory.open(path, clock=FakeClock()) as memory:
        for number, source in enumerate(SOURCES):
            say(memory, source, 100 * number, 30)
        memory.work(max_calls=0)
    return path


@pytest.fixture
def filled(template: Path, tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    """A memory with the content of the template."""
    shutil.copyfile(template, tmp_path / "memory.sqlite3")
    (tmp_path / "memory.sqlite3").chmod(0o600)
    with Memory.open(tmp_path / "memory.sqlite3", clock=clock) as memory:
        yield memory


def message_ids(path: Path) -> set[str]:
    """The ids of all messages in a file that is intact."""
    with Memory.open(path, must_exist=True) as memory:
        assert memory.diagnose().healthy
        return {
            message.id or ""
            for view in memory.sources() for message in memory.messages(view.source.id)
        }  # fmt: skip


def debris(folder: Path) -> list[str]:
    """Files that were not completed."""
    return [path.name for path in folder.rglob("*") if ".part" in path.name]
