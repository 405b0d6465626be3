"""Gives the tests of the command line a log and a fake model."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.helpers.fake_model import FakeClient, use
from tests.helpers.logs import ClaudeSession, prose
from treemem import Memory


@pytest.fixture
def log(tmp_path: Path) -> str:
    session = ClaudeSession("one")
    session.say(*(prose(number, 8) for number in range(60)))
    return str(session.write(tmp_path))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    """Sets a fake summarizer for the default memory."""
    client = FakeClient()
    with Memory.open() as memory:
        use(monkeypatch, memory, client)
    return client


@pytest.fixture
def empty_memory() -> None:
    """Creates the default memory, which commands that only read do not."""
    Memory.open().close()


@pytest.fixture
def demo_at_home(demo_file: Path) -> None:
    """The default memory with the session of the demo."""
    shutil.copy(demo_file, os.environ["TREEMEM_DB"])
