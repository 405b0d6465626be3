"""Files that cannot be read are reported, and none is read before all paths are checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from treemem import Memory, UsageError
from treemem.ingest.discovery import Place
from treemem.ingest.walk import find_files
from treemem.watch.follower import Follower, Target


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    for name in ("a/one.md", "b/two.md", "node_modules/not.md", "c.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n")
    (folder / "gone").symlink_to(folder / "nowhere")
    return folder


@pytest.fixture
def closed(logs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that may not be listed, and a file that may not be looked at."""
    scandir, stat = os.scandir, Path.stat

    def refusing_scandir(path: Any) -> Any:
        if Path(path) == logs / "a":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    def refusing_stat(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if self == logs / "b" / "two.md":
            raise PermissionError(13, "Permission denied", str(self))
        return stat(self, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(os, "scandir", refusing_scandir)
    monkeypatch.setattr(Path, "stat", refusing_stat)
    return logs


def names(folder: Path) -> list[str]:
    return [Path(file.label).relative_to(folder).as_posix() for file in find_files([folder])]


def test_the_files_of_a_folder_come_in_the_order_of_their_names(logs: Path) -> None:
    assert names(logs) == ["a/one.md", "b/two.md", "c.md"]


def test_files_and_folders_that_may_not_be_read_are_found(closed: Path) -> None:
    assert names(closed) == ["a", "b/two.md", "c.md"]


def test_an_unreadable_folder_is_reported_and_the_others_are_read(
    closed: Path, memory: Memory
) -> None:
    report = memory.ingest(closed)
    errors = {Path(file.path).name: file.error for file in report.files if file.error}
    assert list(errors) == ["a"]
    assert "cannot be read" in (errors["a"] or "")
    assert not report.files[0].unknown
    assert report.added == 2


def test_an_unreadable_folder_does_not_end_a_watcher(closed: Path, memory: Memory) -> None:
    kinds: list[str] = []
    targets = [Target.of(closed), Target.of(closed / "b" / "two.md")]
    Follower(memory, targets, lambda event: kinds.append(event.kind)).run(once=True)
    assert kinds.count("error") == 1  # of the folder; the file can be read here
    assert len(memory.sources()) == 2


def test_an_unreadable_file_hides_no_other_of_its_place(closed: Path) -> None:
    files = Place("x", closed, "**/*.md").files()
    assert [path.name for path in files if "node" not in path.parts[-2]][-2:] == ["two.md", "c.md"]


def test_nothing_is_read_if_one_of_the_paths_is_wrong(logs: Path, memory: Memory) -> None:
    with pytest.raises(UsageError, match="nowhere does not exist"):
        memory.ingest([logs, logs / "nowhere"])
    assert memory.sources() == []
