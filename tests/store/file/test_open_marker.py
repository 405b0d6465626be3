"""Whatever is found under the name of the marker: it is not followed, and nothing hangs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.memories import texts
from treemem import Memory, Message
from treemem.store.file.open_marker import OpenMarker

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and pipes are POSIX's")

HOSTILE = {
    "deep lists": "[" * 100_000,
    "deep lists, short": "[" * 4_000,
    "deep objects": '{"pid":' * 500,
    "a huge id": json.dumps({"pid": 10**400, "wal": True}),
    "a huge number": '{"pid": ' + "9" * 3_000 + ', "wal": true}',
    "an infinite id": '{"pid": Infinity, "wal": true}',
    "every process": json.dumps({"pid": -1, "wal": True}),
    "process 0": json.dumps({"pid": 0, "wal": True}),
    "a boolean": json.dumps({"pid": True, "wal": True}),
    "a list": json.dumps([1, 2]),
    "odd identities": json.dumps({"pid": 1, "wal": True, "memory": {}, "wal_file": [[]]}),
    "no text": "\x00\x01\x02",
    "large": "x" * 2_000_000,
    "empty": "",
}


def marker_of(path: Path) -> Path:
    return path.with_name(path.name + "-open")


def use(path: Path, notices: int = 0) -> None:
    with Memory.open(path) as memory:
        memory.append("chat", [Message(text="hello")])
    with Memory.open(path) as memory:
        assert texts(memory, "chat")[-1] == "hello"
        assert len(memory.notices) == notices


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_marker_with_any_content_is_read_safely(tmp_path: Path, content: str) -> None:
    path = tmp_path / "memory.sqlite3"
    Memory.open(path).close()
    marker_of(path).write_text(content)
    marker = OpenMarker(path)
    assert (marker.pid(), marker.holder(), marker.leftovers()) in [(None, "", []), (1, "", []), (
        1, " (process 1 has it open)", [])]  # fmt: skip
    assert not marker.is_stale()
    use(path)
    assert not marker_of(path).exists()


@pytest.mark.parametrize(
    "make",
    [os.mkfifo, Path.mkdir, lambda path: path.symlink_to(path)],
    ids=["pipe", "folder", "circle"],
)
def test_a_marker_that_is_no_file_hinders_nothing(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "memory.sqlite3"
    Memory.open(path).close()
    make(marker_of(path))
    before = marker_of(path).lstat()
    use(path, notices=1)
    assert marker_of(path).lstat().st_ino == before.st_ino
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name, marker_of(path).name}
    with Memory.open(path) as memory:
        assert f"{marker_of(path)} is not a file" in memory.notices[0]


@pytest.mark.parametrize("how", ["link", "hard link", "link to nothing"])
def test_a_link_under_the_name_of_the_marker_is_never_written_through(
    tmp_path: Path, how: str
) -> None:
    path, victim = tmp_path / "memory.sqlite3", tmp_path / "victim"
    Memory.open(path).close()
    if how != "link to nothing":
        victim.write_text("precious")
        victim.chmod(0o600)
    if how == "hard link":
        os.link(victim, marker_of(path))
    else:
        marker_of(path).symlink_to(victim)
    with Memory.open(path) as memory:
        assert len(memory.notices) == (how != "hard link")
        assert marker_of(path).is_symlink() == (how != "hard link")
    assert victim.exists() == (how != "link to nothing")
    assert not victim.exists() or victim.read_text() == "precious"


def test_a_marker_names_the_process_and_the_files_that_it_has_open(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    with Memory.open(path):
        content = json.loads(marker_of(path).read_text())
        status = path.stat()
        assert content["pid"] == os.getpid()
        assert content["memory"] == [status.st_dev, status.st_ino]
        assert marker_of(path).stat().st_mode & 0o777 == 0o600
    assert not marker_of(path).exists()


def test_a_journal_is_a_leftover_only_beside_the_marker_that_was_written_there(
    tmp_path: Path,
) -> None:
    path, journal = tmp_path / "m", tmp_path / "m-journal"
    path.write_bytes(b"one")
    status = path.stat()
    marker = OpenMarker(path)
    marker.put(wal=False, memory=(status.st_dev, status.st_ino))
    journal.write_bytes(b"half a transaction")
    assert marker.leftovers() == []
    (tmp_path / "new").write_bytes(b"two")
    (tmp_path / "new").replace(path)
    assert marker.leftovers() == [journal]
    copied = marker_of(path).read_bytes()
    (tmp_path / "copy").write_bytes(copied)
    (tmp_path / "copy").replace(marker_of(path))
    assert marker.leftovers() == []


def test_the_journal_of_a_database_that_is_being_created_is_not_a_leftover(tmp_path: Path) -> None:
    path, journal = tmp_path / "m.db", tmp_path / "m.db-journal"
    journal.write_bytes(b"rows of a file that is gone")
    os.utime(journal, ns=(1, 1))
    path.touch()
    assert OpenMarker(path).leftovers() == [journal]
    journal.write_bytes(b"the first transaction of another connection")
    os.utime(journal, ns=(path.stat().st_ctime_ns + 1,) * 2)
    assert OpenMarker(path).leftovers() == []
