"""A file that looks as it did when it was read is not opened again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from treemem import Memory
from treemem.importers import by_name
from treemem.importers.common.base import LogFile
from treemem.ingest import looks
from treemem.reports import FileReport


def line(text: str) -> str:
    return json.dumps({"role": "user", "content": text}) + "\n"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(looks, "SETTLED_NS", -1)
    path = tmp_path / "log.jsonl"
    path.write_text(line("The pump leaks."))
    return path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened."""
    labels: list[str] = []
    really = LogFile.open_encoded

    def noting(self: LogFile) -> object:
        labels.append(self.label)
        return really(self)

    monkeypatch.setattr(LogFile, "open_encoded", noting)
    return labels


def test_an_unchanged_file_is_not_opened_and_has_the_same_report(
    memory: Memory, log: Path, opened: list[str]
) -> None:
    (first,) = memory.ingest(log).files
    opened.clear()
    (second,) = memory.ingest(log).files
    assert opened == []
    expected = FileReport(first.path, first.format, first.sources, records=1, known=1)
    assert second == expected


@pytest.mark.parametrize("read", [
    lambda memory, log: memory.ingest(log, as_mine=True),
    lambda memory, log: memory.ingest(log, redact="pii"),
    lambda memory, log: memory.ingest(log, format_name="chat"),
    lambda memory, log: memory.ingest(log, importer=by_name("chat")),
    lambda memory, log: memory.ingest(log, keep_blobs=log.parent / "blobs"),
])  # fmt: skip
def test_a_file_that_is_read_otherwise_is_opened(
    memory: Memory, log: Path, opened: list[str], read: Callable[[Memory, Path], object]
) -> None:
    memory.ingest(log)
    opened.clear()
    read(memory, log)
    assert opened


def test_a_file_with_the_same_size_and_date_but_other_words_is_read(
    memory: Memory, log: Path
) -> None:
    memory.ingest(log)
    before = log.stat()
    log.write_text(line("The gate leaks."))
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert log.stat().st_size == before.st_size
    assert memory.ingest(log).added == 1


def test_a_file_that_was_changed_a_moment_ago_is_hashed(
    memory: Memory, log: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looks, "SETTLED_NS", 60_000_000_000)
    memory.ingest(log)
    opened.clear()
    assert memory.ingest(log).known == 1
    assert opened


def test_a_document_that_returns_to_an_earlier_state_is_read(memory: Memory, log: Path) -> None:
    page, other = log.with_name("page.md"), log.with_name("other.md")
    page.write_text("# One\n\nThe pump leaks.\n")
    memory.ingest(page)
    page.rename(other)
    page.write_text("# One\n\nThe pump is mended.\n")
    memory.ingest(page)
    other.replace(page)
    memory.ingest(page)
    (view,) = memory.sources()
    texts = [message.text for message in memory.messages(view.source.id)]
    assert "The pump leaks." in " ".join(texts)
    assert "mended" not in " ".join(texts)


def test_a_file_is_read_again_when_another_has_its_place(memory: Memory, log: Path) -> None:
    memory.ingest(log)
    new = log.with_name("new")
    new.write_text(line("The gate creaks."))
    new.replace(log)
    assert memory.ingest(log).added == 1
