"""Memories that read a log as it grows, from a mark near its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.growing_memory import Growing, log_lines
from treemem.importers.streams import marks
from treemem.ingest import growth


@pytest.fixture
def marks_near_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "_RECORDS_MIN", 2)
    monkeypatch.setattr(growth, "SIZE_BYTES_MIN", 0)
    monkeypatch.setattr(growth, "_GROWTH_MAX", 2.0)


@pytest.fixture
def pair(
    marks_near_the_end: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Growing, Growing]]:
    """A memory that reads logs on, and one that always reads them from their start."""
    one = Growing(tmp_path / "on", monkeypatch, is_read_on=True)
    other = Growing(tmp_path / "whole", monkeypatch, is_read_on=False)
    with one.memory, other.memory:
        yield one, other


@pytest.fixture
def on(
    marks_near_the_end: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Growing]:
    """A memory that has read a log with a mark."""
    growing = Growing(tmp_path / "on", monkeypatch, is_read_on=True)
    with growing.memory:
        growing.read(b"".join(log_lines()[:70]))
        growing.wholes = 0
        yield growing
