"""Attachments that were kept are in a folder of backups, each once, and come back."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from tests.backups.conftest import say
from tests.conftest import FakeClock
from treemem import BackupError, Memory, check_backups, restore
from treemem.ingest import blobs
from treemem.store.database import Database

CONTENTS = (b"the pixels of a picture", b"a page of a paper")


def keep(database: Database, folder: Path) -> list[str]:
    """Writes attachments as ingest does, and returns their names."""
    names = []
    for content in CONTENTS:
        digest = hashlib.sha256(content).hexdigest()
        path = folder / digest[:2] / f"{digest}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        names.append(path.relative_to(folder).as_posix())
    blobs.remember(database, folder)
    return sorted(names)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*") if path.is_file()
    }  # fmt: skip


def test_kept_attachments_are_backed_up_once_and_restored(
    filled: Memory, database: Database, tmp_path: Path, clock: FakeClock
) -> None:
    kept = tmp_path / "kept"
    names = keep(database, kept)
    (kept / "notes.txt").write_text("not ours")
    assert filled.backup(f"{tmp_path}/backups/").attachments == 2
    clock.advance(60)
    say(filled, "chat/3", 0, 1)
    assert filled.backup(f"{tmp_path}/backups/", attachments=kept).attachments == 2
    shutil.rmtree(kept)
    report = restore(tmp_path / "backups", tmp_path / "new.sqlite3", attachments=tmp_path / "back")
    assert report.attachments == 2
    assert sorted(files(tmp_path / "back")) == names
    assert sorted(files(tmp_path / "back").values()) == sorted(CONTENTS)


def test_what_is_missing_or_damaged_is_said(
    filled: Memory, database: Database, tmp_path: Path, clock: FakeClock
) -> None:
    kept = tmp_path / "kept"
    first, second = keep(database, kept)
    filled.backup(f"{tmp_path}/backups/")
    stored = tmp_path / "backups" / "attachments"
    (stored / first).write_bytes(b"other")
    (stored / second).unlink()
    (view,) = check_backups(tmp_path / "backups")
    assert len(view.damage) == 2
    with pytest.raises(BackupError, match="Restore without attachments to have the memory"):
        restore(tmp_path / "backups", tmp_path / "new.sqlite3", attachments=tmp_path / "back")
    (kept / first).write_bytes(b"other bytes than the name says")
    clock.advance(60)
    report = filled.backup(f"{tmp_path}/backups/")
    assert report.attachments == 1
    assert any("1 attachment could not be backed up" in notice for notice in report.notices)
    shutil.rmtree(kept)
    say(filled, "chat/3", 0, 1)
    notices = filled.backup(f"{tmp_path}/backups/").notices
    assert notices == (
        f"The folder of attachments {kept} is missing; those that only it had are not in the "
        "backup.",
    )


def test_a_file_says_that_it_has_no_attachments(
    filled: Memory, database: Database, tmp_path: Path
) -> None:
    keep(database, tmp_path / "kept")
    (notice,) = filled.backup(tmp_path / "copy.sqlite3").notices
    assert notice.startswith(f"Attachments in {tmp_path / 'kept'} are not in this file")
    with pytest.raises(BackupError, match="takes no attachments"):
        filled.backup(tmp_path / "copy.sqlite3", attachments=tmp_path / "kept")
