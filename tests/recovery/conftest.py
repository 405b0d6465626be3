"""Gives the tests one memory with everything, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.damages import Whole, fill
from treemem import Memory


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    with Memory.open(folder / "whole.sqlite3") as memory:
        fill(memory, folder)
    return Whole.of(folder / "whole.sqlite3")


@pytest.fixture
def hurt(tmp_path: Path) -> Path:
    return tmp_path / "hurt.sqlite3"
