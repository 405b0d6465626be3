"""Only the owner of a memory may read its files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from treemem import Memory, Message
from treemem.store.file import modes

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_all_files_and_folders_of_a_new_memory_are_private_whatever_the_umask(
    tmp_path: Path, umask: int
) -> None:
    path = tmp_path / "new" / "deep" / "memory.sqlite3"
    with Memory.open(path) as memory:
        memory.append("chat", [Message(text="The key is under the mat.")])
        assert umask == os.umask(umask)
        files = {entry.name: mode_of(entry) for entry in path.parent.iterdir()}
        assert path.name + "-open" in files
        assert set(files.values()) == {0o600}
        assert memory.notices == ()
    assert mode_of(path.parent) == mode_of(path.parent.parent) == 0o700


def test_the_mode_of_a_folder_that_exists_is_not_changed(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    modes.create_folder(folder / "new")
    assert (mode_of(folder), mode_of(folder / "new")) == (0o755, 0o700)


def test_a_file_is_never_created_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        modes.create_file(tmp_path / "link")
    assert not (tmp_path / "victim").exists()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606, 0o666])
def test_a_memory_that_others_may_read_adds_a_notice_with_the_command_that_ends_it(
    tmp_path: Path, mode: int
) -> None:
    path = tmp_path / "my memory.sqlite3"
    Memory.open(path).close()
    path.chmod(mode)
    with Memory.open(path) as memory:
        (notice,) = memory.notices
    assert f"mode {mode:04o}" in notice
    command = notice.partition("yourself: ")[2]
    assert command == f"chmod 600 '{path}'"
    assert os.system(command) == 0
    with Memory.open(path) as memory:
        assert memory.notices == ()


def test_a_file_beside_the_memory_that_others_may_read_adds_a_notice(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    with Memory.open(path):
        wal = path.with_name(path.name + "-wal")
        if not wal.exists():
            pytest.skip("this SQLite works without a -wal file")
        wal.chmod(0o644)
        with Memory.open(path) as again:
            assert [str(wal) in notice for notice in again.notices] == [True]


def test_a_folder_of_its_own_that_others_may_look_into_adds_a_notice(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    Memory.open(folder / "memory.sqlite3").close()
    folder.chmod(0o755)
    with Memory.open(folder / "memory.sqlite3") as memory:
        assert memory.notices == (
            f"{folder} can be read by other users (mode 0755). "
            f"Keep it to yourself: chmod 700 {folder}",
        )
    folder.chmod(0o700)
    with Memory.open(folder / "memory.sqlite3") as memory:
        assert memory.notices == ()


@pytest.mark.parametrize(("mode", "noticed"), [(0o755, False), (0o777, True), (0o1777, False)])
def test_a_folder_with_other_files_concerns_the_memory_only_if_others_may_replace_it(
    tmp_path: Path, mode: int, noticed: bool
) -> None:
    folder = tmp_path / "project"
    Memory.open(folder / "memory.sqlite3").close()
    (folder / "notes.txt").write_text("mine")
    folder.chmod(mode)
    with Memory.open(folder / "memory.sqlite3") as memory:
        assert bool(memory.notices) == noticed
    folder.chmod(0o700)
