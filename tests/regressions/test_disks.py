"""Faults of disks: full, limited and read-only ones."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.logs import ClaudeSession, prose
from tests.helpers.memories import assert_whole, run_child, texts
from treemem import DatabaseError, DiskFullError, Memory, Message

if TYPE_CHECKING:
    pass

LONG_LOG_TURNS = 100

LIMITED = """
import resource, sys
from treemem import DiskFullError, Memory, Message
path, log, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
with Memory.open(path) as memory:
    memory.append("s", [Message(text="stored before")])
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
    try:
        memory.ingest(log)
    except DiskFullError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert [m.text for m in memory.messages("s")] == ["stored before"]
    report = memory.ingest(log)
    assert report.added + report.known == report.records == 100, report
    assert memory.diagnose().healthy
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a small disk with the given options, or mounts it again with others."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = False

    def mount(options: str) -> Path:
        nonlocal mounted
        remount = "remount," if mounted else ""
        command = ["mount", "-t", "tmpfs", "-o", remount + options, "tmpfs", str(folder)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no disk can be mounted here")
        mounted = True
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def long_log(folder: Path) -> tuple[ClaudeSession, Path]:
    session = ClaudeSession("long")
    session.say(*(prose(n, 20) for n in range(LONG_LOG_TURNS)))
    return session, session.write(folder)


def test_a_full_disk_is_reported_and_the_next_run_goes_on(
    tmp_path: Path, small_disk: Callable[[str], Path]
) -> None:
    session, log = long_log(tmp_path)
    path = small_disk("size=1000k") / "memory.sqlite3"
    with Memory.open(path) as memory:
        memory.append("s", [Message(text="stored before")])
        with pytest.raises(DiskFullError, match="free some space"):
            memory.ingest(log)
        assert texts(memory, "s") == ["stored before"]
    small_disk("size=60m")
    with Memory.open(path) as memory:
        (report,) = memory.ingest(log).files
        assert report.added + report.known == LONG_LOG_TURNS
        assert texts(memory, session.source_id) == session.active_texts()
        assert texts(memory, "s") == ["stored before"]
        assert_whole(memory)


@pytest.mark.parametrize("sqlite", ["", "stdlib"])
def test_a_limit_on_the_file_size_is_reported_and_work_goes_on_in_the_same_process(
    tmp_path: Path, sqlite: str
) -> None:
    if not hasattr(resource, "RLIMIT_FSIZE"):
        pytest.skip("this system limits no file sizes")
    _, log = long_log(tmp_path)
    path = tmp_path / "memory.sqlite3"
    outcome = run_child(LIMITED, path, log, 350_000, TREEMEM_SQLITE=sqlite)
    assert outcome.returncode == 0, outcome.stderr
    assert "free some space" in outcome.stdout


def assert_cannot_be_written(path: Path) -> None:
    with pytest.raises(DatabaseError, match="cannot be") as caught, Memory.open(path) as memory:
        memory.append("s", [Message(text="in vain")])
    assert "permissions" in str(caught.value) or "another" in str(caught.value)


def test_a_disk_that_turned_read_only_is_reported_and_the_next_run_goes_on(
    small_disk: Callable[[str], Path],
) -> None:
    path = small_disk("size=8m") / "memory.sqlite3"
    with Memory.open(path) as memory:
        memory.append("s", [Message(text="stored before")])
    small_disk("ro")
    assert_cannot_be_written(path)
    small_disk("rw")
    with Memory.open(path) as memory:
        memory.append("s", [Message(text="stored after")])
        assert texts(memory, "s") == ["stored before", "stored after"]
        assert_whole(memory)


def test_a_new_memory_in_a_read_only_folder_is_refused_with_the_reason(
    tmp_path: Path, small_disk: Callable[[str], Path]
) -> None:
    folder = small_disk("ro") if os.geteuid() == 0 else tmp_path / "locked"
    if os.geteuid() != 0:
        folder.mkdir(mode=0o555)
    assert_cannot_be_written(folder / "memory.sqlite3")
    assert_cannot_be_written(folder / "new" / "memory.sqlite3")
    assert list(folder.iterdir()) == []
