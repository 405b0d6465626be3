"""A memory file is opened only where it can be one, and nothing of another file gets into it."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.memories import assert_whole, run_child, texts
from treemem import DatabaseError, Memory, Message
from treemem.store.file import opening
from treemem.store.file.open_marker import OpenMarker

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and pipes are POSIX's")

DIES = """
import os, sys
from treemem import Memory, Message
memory = Memory.open(sys.argv[1])
memory.append("chat", [Message(text="the last words")])
os._exit(9)
"""


def wal_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


@pytest.fixture
def died(tmp_path: Path) -> Path:
    """A memory file whose last message is in its -wal file, since its process died."""
    path = tmp_path / "own" / "memory.sqlite3"
    Memory.open(path).close()
    assert run_child(DIES, path).returncode == 9
    if not wal_of(path).exists():
        pytest.skip("this SQLite works without a -wal file")
    return path


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another memory file."""
    path = tmp_path / "other.sqlite3"
    with Memory.open(path) as memory:
        memory.append("other", [Message(text="another memory")])
    return path


# -- a -wal file of another file -----------------------------------------------------------


def test_the_wal_file_of_a_replaced_file_is_kept_and_not_merged(died: Path, other: Path) -> None:
    wal = wal_of(died).read_bytes()
    content = other.read_bytes()
    other.replace(died)
    with Memory.open(died) as memory:
        assert died.read_bytes() == content
        (notice,) = memory.notices
        assert [view.source.id for view in memory.sources()] == ["other"]
        assert_whole(memory)
    (kept,) = died.parent.glob("memory.sqlite3.rescued-*-wal")
    assert kept.name in notice
    assert kept.read_bytes() == wal
    with Memory.open(died) as memory:
        assert memory.notices == ()


def test_the_wal_file_that_was_kept_can_be_given_back_to_its_file(
    died: Path, other: Path, tmp_path: Path
) -> None:
    died.rename(tmp_path / "former.sqlite3")
    other.replace(died)
    Memory.open(died).close()
    (kept,) = died.parent.glob("memory.sqlite3.rescued-*-wal")
    kept.rename(tmp_path / "former.sqlite3-wal")
    with Memory.open(tmp_path / "former.sqlite3") as memory:
        assert texts(memory, "chat") == ["the last words"]


@pytest.mark.parametrize("left", ["nothing", "an empty file"])
def test_a_new_file_does_not_destroy_the_wal_file_of_a_deleted_one(died: Path, left: str) -> None:
    wal = wal_of(died).read_bytes()
    died.unlink()
    if left == "an empty file":
        died.touch(0o600)
    with Memory.open(died) as memory:
        assert memory.sources() == []
        assert len(memory.notices) == 1
    (kept,) = died.parent.glob("memory.sqlite3.rescued-*-wal")
    assert kept.read_bytes() == wal


@pytest.mark.parametrize("how", ["moved", "copied", "folder moved", "copied without the marker"])
def test_a_file_that_was_moved_or_copied_with_its_wal_file_keeps_its_content(
    died: Path, tmp_path: Path, how: str
) -> None:
    target = tmp_path / "there" / died.name
    if how == "folder moved":
        died.parent.rename(target.parent)
    else:
        target.parent.mkdir()
        for file in list(died.parent.iterdir()):
            if how == "copied without the marker" and file.name.endswith("-open"):
                continue
            put = shutil.move if how == "moved" else shutil.copy
            put(file, target.parent / file.name)
    with Memory.open(target) as memory:
        assert texts(memory, "chat") == ["the last words"]
        assert_whole(memory)
    assert list(target.parent.glob("*.rescued-*")) == []


def test_a_backup_put_back_together_with_its_wal_file_is_used_whole(
    died: Path, tmp_path: Path
) -> None:
    backup = tmp_path / "backup"
    backup.mkdir()
    for file in (died, wal_of(died)):
        shutil.copy(file, backup / file.name)
    for file in (died, wal_of(died)):
        (backup / file.name).replace(file)
    with Memory.open(died) as memory:
        assert texts(memory, "chat") == ["the last words"]
    assert list(died.parent.glob("*.rescued-*")) == []


# -- what is no file -----------------------------------------------------------------------


def make_socket(path: Path) -> None:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.close()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (Path.mkdir, "is a folder"),
        (os.mkfifo, "is a named pipe"),
        (make_socket, "is a socket"),
        (lambda path: path.symlink_to("/dev/null"), "is a device"),
        (lambda path: path.symlink_to(path), "leads back to itself"),
        (lambda path: path.symlink_to("/nowhere/at/all"), "in a folder that does not exist"),
    ],
    ids=["folder", "pipe", "socket", "device", "circle", "dangling link"],
)
def test_what_is_no_file_is_refused_with_what_it_is(
    tmp_path: Path, make: Callable[[Path], None], reason: str
) -> None:
    make(tmp_path / "m")
    with pytest.raises(DatabaseError, match=reason):
        Memory.open(tmp_path / "m")
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["link", "folder", "named pipe"])
def test_what_is_no_file_beside_the_memory_is_refused_and_never_followed(
    other: Path, tmp_path: Path, suffix: str, kind: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    beside = other.with_name(other.name + suffix)
    if kind == "link":
        beside.symlink_to(victim)
    elif kind == "folder":
        beside.mkdir()
    else:
        os.mkfifo(beside)
    with pytest.raises(DatabaseError, match=f"is a {kind}"):
        Memory.open(other)
    assert victim.read_text() == "precious"


def test_a_link_into_a_folder_that_exists_creates_the_file_there(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with Memory.open(tmp_path / "link") as memory:
        memory.append("chat", [Message(text="hello")])
    with Memory.open(tmp_path / "real") as memory:
        assert texts(memory, "chat") == ["hello"]


def test_a_memory_that_must_exist_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="does not exist; nothing is stored yet"):
        Memory.open(tmp_path / "new" / "memory.sqlite3", must_exist=True)
    assert list(tmp_path.iterdir()) == []


def test_a_memory_in_memory_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Memory.open(":memory:") as memory:
        memory.append("chat", [Message(text="gone in a moment")])
        assert texts(memory, "chat") == ["gone in a moment"]
    assert list(tmp_path.iterdir()) == []


# -- a connection that is just creating the file -------------------------------------------


def test_a_connection_waits_for_another_one_that_is_creating_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    journal = path.with_name(path.name + "-journal")
    journal.write_bytes(b"of a transaction that began")
    path.touch(mode=0o600)
    os.utime(journal, (1, 1))  # a file may seem older than one that was written after it
    notices: list[str] = []

    def open_memory() -> None:
        with Memory.open(path) as memory:
            notices.extend(memory.notices)

    with opening.one_creator(path, timeout_ms=0):
        other = threading.Thread(target=open_memory)
        other.start()
        other.join(timeout=0.3)
        assert other.is_alive()
        assert journal.exists()
        journal.unlink()  # as at the end of a transaction
    other.join()
    assert notices == []
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_creator_that_never_ends_is_waited_for_until_the_timeout(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    path.touch()
    with opening.one_creator(path, timeout_ms=0), opening.one_creator(path, timeout_ms=20):
        pass


def test_a_leftover_that_another_connection_has_set_aside_is_no_error(tmp_path: Path) -> None:
    class Late(OpenMarker):
        def leftovers(self) -> list[Path]:
            return [tmp_path / "memory.sqlite3-wal"]

    path = tmp_path / "memory.sqlite3"
    assert opening.set_aside_leftovers(path, Late(path)) == []
    assert list(tmp_path.iterdir()) == []
