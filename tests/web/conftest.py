"""Fixtures for the page: a memory with a real session, served at a socket, and a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.browser import chromium
from treemem import Memory

if TYPE_CHECKING:
    import httpx
    from playwright.sync_api import Browser

    from tests.helpers.web_server import Served

SESSION = Path(__file__).parents[2] / "treemem" / "demo" / "session.jsonl"


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory file with the session of the demo; tests that change something copy it."""
    path = tmp_path_factory.mktemp("web") / "filled.sqlite3"
    with Memory.open(path) as memory:
        memory.ingest(SESSION)
    return path


@pytest.fixture(scope="session")
def shared(filled: Path) -> Iterator[Served]:
    """The filled memory, served; for tests that only read."""
    from tests.helpers.web_server import serving

    with serving(filled) as served:
        yield served


@pytest.fixture
def served(filled: Path, tmp_path: Path) -> Iterator[Served]:
    """A copy of the filled memory, served; for tests that change something."""
    from tests.helpers.web_server import serving

    copy = tmp_path / "served.sqlite3"
    shutil.copy(filled, copy)
    with serving(copy) as served:
        yield served


@pytest.fixture
def client(shared: Served) -> Iterator[httpx.Client]:
    """A client of the shared server that has been let in."""
    with shared.client() as client:
        yield client


_browsers: list[Browser] = []
_closing = ExitStack()


@pytest.fixture
def browser() -> Browser:
    """A real browser; without one the test is skipped. It stays open for the tests after this one,
    since to start it takes longer than most of them."""
    if not _browsers:
        _browsers.append(_closing.enter_context(chromium()))
    return _browsers[0]


@pytest.fixture
def own_loop() -> None:
    """For a test that runs an event loop, which an open browser has in this thread."""
    close_browser()


def close_browser() -> None:
    _browsers.clear()
    _closing.close()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    if nextitem is None or not nextitem.path.is_relative_to(Path(__file__).parent):
        close_browser()
