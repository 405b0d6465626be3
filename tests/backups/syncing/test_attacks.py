"""Who can write into a shared folder without its code can give no order, and keep nothing."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.backups.syncing.test_syncing import (
    holding,
    joined,
    own_folder,
    said,
    say,
    segments_in,
)
from tests.conftest import FakeClock
from tests.helpers import new_files
from tests.helpers.machines import START, picture
from treemem import BackupError, Memory, Message
from treemem.backups.syncing.folder import SharedFolder
from treemem.store.access import encryption
from treemem.store.database import Database


def test_a_true_segment_under_another_name_changes_nothing(tmp_path: Path) -> None:
    with joined(tmp_path) as (folder, (here, there)):
        say(here, "chat/1", "We must paint the barn.")
        first = here.sync(folder)
        (real,) = segments_in(folder)
        digest = real.name[:64]
        for name in (
            f"{digest}-1.segment",
            f"{real.stem}.head",
            f"{digest}-0{real.stem[65:]}.head",
        ):
            shutil.copy(real, real.with_name(name))
        again = here.sync(folder)
        assert (again.machine, again.is_new_machine) == (first.machine, False)
        assert len(again.refused) == 2
        assert len(there.sync(folder).refused) == 2
        assert said(there) == said(here)


@pytest.mark.skipif(os.name != "posix", reason="needs links and pipes")
def test_links_and_pipes_in_the_folder_lead_nowhere(tmp_path: Path) -> None:
    with joined(tmp_path) as (folder, (here, there)):
        say(here, "chat/1", "We must paint the barn.")
        here.sync(folder)
        own = own_folder(folder, here)
        os.mkfifo(own / f"{'a' * 64}-1.segment")
        (own / f"{'b' * 64}-9.segment").symlink_to("/etc/passwd")
        report = there.sync(folder)
        assert (len(report.refused), said(there)) == (2, said(here))
        other = tmp_path / "mine"
        other.mkdir()
        (other / "letter.tmp").write_text("unsaved")
        (other / f"{'0' * 16}.tmp").write_text("unsaved")
        shutil.rmtree(own_folder(folder, there), ignore_errors=True)
        own_folder(folder, there).symlink_to(other)
        say(there, "chat/2", "We must sell the mill.")
        with pytest.raises(BackupError, match="is a link"):
            there.sync(folder)
        assert sorted(path.name for path in other.iterdir()) == [f"{'0' * 16}.tmp", "letter.tmp"]


def test_a_folder_of_a_machine_that_cannot_be_read_keeps_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with joined(tmp_path) as (folder, (here, there)):
        say(here, "chat/1", "We must paint the barn.")
        here.sync(folder)
        closed = folder / ("0" * 16)
        closed.mkdir()
        listed = Path.iterdir

        def refusing(path: Path) -> object:
            if path == closed:
                raise PermissionError(13, "Permission denied", str(path))
            return listed(path)

        monkeypatch.setattr(Path, "iterdir", refusing)
        report = there.sync(folder)
        assert "Permission denied" in report.waiting[0]
        assert said(there) == said(here)


def test_a_drive_that_is_not_connected_is_not_set_up_anew(tmp_path: Path) -> None:
    with joined(tmp_path) as (folder, (here, _)):
        folder.rename(tmp_path / "drive")
        folder.mkdir()
        with pytest.raises(BackupError, match="is empty, although"):
            here.sync(folder)
        assert list(folder.iterdir()) == []
        folder.rmdir()
        (tmp_path / "drive").rename(folder)
        assert not here.sync(folder).is_new_machine


def test_a_head_that_somebody_kept_forgets_nothing_again(tmp_path: Path) -> None:
    with joined(tmp_path) as (folder, (here, there)):
        told = [Message(text="The pump costs 40 dollars.", role="user", sent_at=START)]
        here.append("chat/1", told)
        here.sync(folder)
        there.sync(folder)
        here.forget(text="pump costs")
        here.sync(folder)
        there.sync(folder)
        here.sync(folder)
        kept = {path: path.read_bytes() for path in folder.glob("*/*.head")}
        assert kept
        for memory in (here, there):
            for one in memory.forget.list():
                memory.forget.undo(one.id)
        for path in kept:
            path.unlink()
        here.sync(folder)
        there.sync(folder)
        there.append("chat/1", told)
        there.sync(folder)
        here.sync(folder)
        for path, data in kept.items():
            path.write_bytes(data)
        for memory in (there, here, there):
            memory.sync(folder)
            assert "The pump costs 40 dollars." in said(memory)


def test_segments_follow_the_encryption_of_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sqlcipher3")
    monkeypatch.setattr(Database, "_migrate", new_files._MIGRATE)
    with joined(tmp_path, 1) as (folder, (here,)):
        say(here, "chat/1", "We must call the boat Zanzibarrossa.")
        here.pin_rule("Never sell the boat Zanzibarrossa.")
        here.sync(folder)
        assert holding(folder, b"Zanzib")
        path, code = here.path, here.sync_code(folder)
    old = None
    for key in ("a key of this test", "another key of this test"):
        encryption.encrypt_file(path, key, old_key=old)
        monkeypatch.setenv("TREEMEM_KEY", key)
        old = key
        with Memory.open(path, clock=FakeClock()) as here:
            assert here.sync(folder).segments == 2
            assert here.sync(folder).segments == 0
        assert not holding(folder, b"Zanzib")
        with Memory.open(tmp_path / f"{key}.sqlite3", clock=FakeClock()) as new:
            assert new.sync(folder, code=code).waiting == ()
            assert said(new) == ["We must call the boat Zanzibarrossa."]
            assert len(new.rules()) == 1


@pytest.mark.parametrize("is_mount_point", [True, False])
def test_nothing_is_written_where_a_folder_was_that_has_gone_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_mount_point: bool
) -> None:
    with joined(tmp_path) as (folder, (here, there)):
        say(here, "chat/1", "We must paint the barn.")
        say(there, "chat/2", "We must sell the mill.")
        here.sync(folder)
        fetch = SharedFolder.fetch

        def going(self: SharedFolder, *how: Any) -> None:
            folder.rename(tmp_path / "drive")
            if is_mount_point:
                folder.mkdir()
            fetch(self, *how)

        with monkeypatch.context() as patch:
            patch.setattr(SharedFolder, "fetch", going)
            with pytest.raises(BackupError, match="is gone"):
                there.sync(folder)
        assert list(folder.rglob("*")) == []
        shutil.rmtree(folder, ignore_errors=True)
        (tmp_path / "drive").rename(folder)
        assert not there.sync(folder).is_new_machine
        here.sync(folder)
        assert said(here, "chat/2") == said(there, "chat/2") == ["We must sell the mill."]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))]
)
def test_old_files_that_come_back_bring_nothing_back(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    kept: dict[Path, bytes] = {}
    told: dict[str, Memory] = {}
    forgotten: set[str] = set()
    with joined(tmp_path, 3) as (folder, memories):
        for _ in range(40):
            memory, chance = draw.choice(memories), draw.random()
            if chance < 0.4:
                word = f"Canary{len(told):03d}x"
                told[word] = memory
                say(memory, f"chat/{draw.randrange(3)}", f"We must feed the {word} today.")
            elif chance < 0.55 and told:
                word = draw.choice(list(told))
                told[word].forget(text=word)
                forgotten.add(word)
            elif chance < 0.85:
                memory.sync(folder)
            else:
                kept |= {path: path.read_bytes() for path in folder.glob("*/*")}
                for path, data in kept.items():
                    if draw.random() < 0.4:
                        path.write_bytes(data)
                for path in list(folder.glob("*/*")):
                    if draw.random() < 0.2:
                        path.unlink()
        for _ in range(4):
            for memory in memories:
                report = memory.sync(folder)
                assert (report.refused, report.waiting) == ((), ())
        pictures = [picture(memory) for memory in memories]
        assert pictures[0] == pictures[1] == pictures[2]
        here = memories[0]
        words = [text for one in here.sources() for text in said(here, one.source.id)]
        assert forgotten
        for word in told:
            assert sum(word in text for text in words) == (word not in forgotten)
            assert bool(holding(folder, word.encode())) == (word not in forgotten)
