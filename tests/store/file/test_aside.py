"""A file that is written aside has its name when it is whole, and is private."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from treemem.store.file import aside


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_has_its_name_only_once_it_is_written(tmp_path: Path) -> None:
    target = tmp_path / "new"
    with aside.written(target) as part:
        part.write_bytes(b"whole")
        assert names(tmp_path) == ["new.part"]
    assert (names(tmp_path), target.read_bytes()) == (["new"], b"whole")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "new"
    target.write_bytes(b"before")
    (tmp_path / "new.part-wal").write_bytes(b"of a process that was killed")
    with pytest.raises(ZeroDivisionError), aside.written(target) as part:
        part.write_bytes(bytes(1 // 0))
    with pytest.raises(FileExistsError), aside.written(target, replacing=False) as part:
        part.write_bytes(b"other")
    assert (names(tmp_path), target.read_bytes()) == (["new"], b"before")


@pytest.mark.skipif(os.name != "posix", reason="links are POSIX's")
def test_a_link_in_place_of_the_file_aside_is_never_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (tmp_path / "new.part").symlink_to(victim)
    (tmp_path / "new").symlink_to(victim)
    with aside.written(tmp_path / "new") as part:
        part.write_bytes(b"whole")
    assert victim.read_bytes() == b"mine"
    assert not (tmp_path / "new").is_symlink()


def test_bytes_replace_a_file_and_have_the_mode_that_is_given(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for mode in (0o600, 0o644):
        aside.write(path, f"{mode}".encode(), mode=mode)
        assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (f"{mode}", mode)
    assert names(tmp_path) == ["file"]


def test_file_and_folder_are_synced_before_and_after_the_name_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, link = os.fsync, os.link

    def fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        steps.append("folder" if is_folder else "file")
        sync(descriptor)

    def linked(*paths: Path) -> None:
        steps.append("name")
        link(*paths)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "link", linked)
    with aside.written(tmp_path / "new", replacing=False) as part:
        part.write_bytes(b"whole")
    assert steps == ["file", "name", "folder"]
    aside.write(tmp_path / "other", b"whole")
    assert steps == ["file", "name", "folder", "file"]
