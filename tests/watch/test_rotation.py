"""A log that was moved away is recognized; a file that only starts like one is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.watchers import line
from treemem import Memory
from treemem.importers.common.base import LogFile
from treemem.watch import rotation
from treemem.watch.follower import Follower, Target
from treemem.watch.rotation import Moved, Rotation

HEAD = line("The rules of this house are as follows. " * 20)


def read(watched: Rotation, path: Path) -> LogFile:
    file = watched.file(path)
    watched.was_read(path, file)
    return file


def test_a_log_that_grew_and_was_moved_is_recognized(tmp_path: Path) -> None:
    watched, log, moved = Rotation(), tmp_path / "a.log", tmp_path / "a.log.1"
    log.write_text(HEAD + line("one"))
    read(watched, log)
    moved.write_text(HEAD + line("one") + line("two"))
    log.write_text(line("another " * 100))
    file = read(watched, moved)
    assert isinstance(file, Moved)
    assert file.place == str(log)
    read(watched, log)
    assert watched.file(moved).place == str(log)


@pytest.mark.parametrize("known", [True, False])
def test_logs_that_start_alike_are_distinguished(tmp_path: Path, known: bool) -> None:
    watched, one, two = Rotation(), tmp_path / "one.log", tmp_path / "two.log"
    one.write_text(HEAD + line("one"))
    read(watched, one)
    two.write_text(HEAD + line("two, which is longer"))
    if known:
        read(watched, two)
    one.write_text(line("another " * 100))
    read(watched, one)
    assert watched.file(two).place == str(two)


def test_only_the_latest_starts_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation, "STARTS_MAX", 5)
    watched, log = Rotation(), tmp_path / "a.log"
    for number in range(20):
        log.write_text(line(f"{number} " * 300))
        read(watched, log)
    assert len(watched.starts) == 5


def test_a_backup_of_a_document_does_not_take_its_place(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    note = folder / "note.md"
    old = "# Pump\n\n" + "The pump runs at night, when power is cheap. " * 15
    note.write_text(old)
    follower = Follower(memory, [Target.of(folder)], lambda _: None, poll=True)
    follower.run(once=True)
    source = memory.sources()[0].source.id
    note.write_text("# Pump\n\nThe pump is sold.\n")
    follower.run(once=True)
    (folder / "note.md~").write_text(old + "\n")  # an editor's backup
    follower.run(once=True)
    assert [message.text.split("\n")[-2] for message in memory.messages(source)] == [
        "The pump is sold."
    ]
