"""Nothing below a path is passed over in silence; nothing is read before all paths are known."""

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


def test_what_may_not_be_looked_at_is_found_all_the_same(closed: Path) -> None:
    assert names(closed) == ["a", "b/two.md", "c.md"]


def test_a_closed_folder_is_told_and_costs_the_others_nothing(closed: Path, memory: Memory) -> None:
    report = memory.ingest(closed)
    told = {Path(file.path).name: file.error for file in report.files if file.error}
    assert list(told) == ["a"]
    assert "cannot be read" in (told["a"] or "")
    assert not report.files[0].unknown
    assert report.added == 2


def test_a_closed_folder_does_not_end_a_watcher(closed: Path, memory: Memory) -> None:
    told: list[str] = []
    targets = [Target.of(closed), Target.of(closed / "b" / "two.md")]
    Follower(memory, targets, lambda each: told.append(each.what)).run(once=True)
    assert told.count("error") == 1  # of the folder: here the file can be read all the same
    assert len(memory.sources()) == 2


def test_a_file_that_may_not_be_looked_at_hides_no_other_of_its_place(closed: Path) -> None:
    found = Place("x", closed, "**/*.md").files()
    assert [path.name for path in found if "node" not in path.parts[-2]][-2:] == ["two.md", "c.md"]


def test_nothing_is_read_where_one_of_the_paths_is_wrong(logs: Path, memory: Memory) -> None:
    with pytest.raises(UsageError, match="nowhere does not exist"):
        memory.ingest([logs, logs / "nowhere"])
    assert memory.sources() == []
