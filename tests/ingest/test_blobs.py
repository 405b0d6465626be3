"""Attachments are written once, durably, for their owner only, and through no link."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest

from treemem import Memory
from treemem.ingest import blobs
from treemem.store.file import modes
from treemem.types import Blob, Message

CONTENT = b"the pixels of a picture"
posix = pytest.mark.skipif(os.name != "posix", reason="modes and links are POSIX's")


def message(content: bytes = CONTENT) -> Message:
    digest = hashlib.sha256(content).hexdigest()
    return Message(text="see this", blobs=(Blob("image/png", len(content), digest, content),))


def keep(folder: Path) -> Path:
    (blob,) = message().blobs
    (bare,) = blobs.without_content(message(), folder).blobs
    assert bare.content is None
    return blobs.path_of(blob, folder)


def test_the_bytes_are_kept_under_their_digest(tmp_path: Path) -> None:
    path = keep(tmp_path / "blobs")
    assert path.read_bytes() == CONTENT
    assert keep(tmp_path / "blobs") == path
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_and_folders_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        path = keep(tmp_path / "new" / "blobs")
    finally:
        os.umask(before)
    found = [stat.S_IMODE(p.stat().st_mode) for p in (path, *list(path.parents)[:3])]
    assert found == [0o600, 0o700, 0o700, 0o700]


def test_a_new_name_is_synced_after_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, list[str]]] = []

    def note(folder: Path) -> None:
        synced.append((folder.name, sorted(entry.name for entry in folder.iterdir())))

    monkeypatch.setattr(modes, "sync_folder", note)
    path = keep(tmp_path / "blobs")
    digits = path.parent.name
    assert synced == [(digits, [path.name]), ("blobs", [digits])]
    synced.clear()
    keep(tmp_path / "blobs")
    assert synced == []


@posix
@pytest.mark.parametrize("there", ["link", "dangling link", "partial file"])
def test_what_is_not_the_file_is_replaced_and_not_followed(tmp_path: Path, there: str) -> None:
    (blob,) = message().blobs
    path = blobs.path_of(blob, tmp_path / "blobs")
    path.parent.mkdir(parents=True)
    victim = tmp_path / "victim"
    if there == "link":
        victim.write_bytes(b"x" * len(CONTENT))
    if there == "partial file":
        path.write_bytes(CONTENT[:5])
    else:
        path.symlink_to(victim)
    keep(tmp_path / "blobs")
    assert path.read_bytes() == CONTENT
    assert not path.is_symlink()
    assert there != "link" or victim.read_bytes() == b"x" * len(CONTENT)


@posix
def test_a_folder_that_others_may_look_into_adds_one_notice(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "blobs"
    folder.mkdir()
    folder.chmod(0o755)
    (tmp_path / "log.txt").write_text("We ship on Friday.")
    for _ in range(2):
        memory.ingest(tmp_path / "log.txt", keep_blobs=folder)
    (notice,) = memory.notices
    assert "mode 0755" in notice
    assert f"chmod 700 {folder}" in notice
