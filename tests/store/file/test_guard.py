"""No transaction is acknowledged that is not in the file at the path, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.memories import assert_whole, texts
from treemem import DatabaseReplacedError, Memory, Message
from treemem.store.database import Database, driver
from treemem.store.file.guard import FileGuard
from treemem.store.file.wal_index import Checkpoints

if TYPE_CHECKING:
    from tests.conftest import FakeClock

pytestmark = pytest.mark.skipif(os.name != "posix", reason="an open file can be replaced on POSIX")

LIMIT = 4_000_000  # instead of CHECKPOINT_BYTES, to write less
BEFORE = [f"stored before {n}" for n in range(20)]
Harm = Callable[[Path, Path], None]  # the memory file, and an older copy of it


def remove(path: Path, older: Path) -> None:
    path.unlink()


def remove_all(path: Path, older: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def remove_folder(path: Path, older: Path) -> None:
    shutil.rmtree(path.parent)


def move(path: Path, older: Path) -> None:
    path.rename(path.with_name("moved.sqlite3"))


def replace(path: Path, older: Path) -> None:
    older.replace(path)


def overwrite(path: Path, older: Path) -> None:
    shutil.copyfile(older, path)


def empty(path: Path, older: Path) -> None:
    os.truncate(path, 0)


def cut(path: Path, older: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


MOVED: list[Harm] = [remove, remove_all, remove_folder, move, replace]
OVERWRITTEN: list[Harm] = [overwrite, empty, cut]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "own" / "memory.sqlite3"


@pytest.fixture
def older(tmp_path: Path, path: Path) -> Path:
    """A copy of the file with an older content."""
    with Memory.open(path) as memory:
        memory.append("old", [Message(text="from the beginning")])
    copy = tmp_path / "older.sqlite3"
    shutil.copy(path, copy)
    return copy


@pytest.fixture
def busy(path: Path, older: Path, clock: FakeClock) -> Iterator[Memory]:
    """An open memory with messages that are in its -wal file only."""
    memory = Memory.open(path, clock=clock)
    for text in BEFORE:
        memory.append("chat", [Message(text=text)])
    yield memory
    memory.close()


def append(memory: Memory, text: str = "too late") -> None:
    memory.append("chat", [Message(text=text)])


def rescued(path: Path) -> list[Path]:
    names = f"{path.name}.rescued-*"
    return [file for file in path.parent.glob(names) if not file.name.endswith("-wal")]


def needs_wal(path: Path) -> None:
    if not path.with_name(path.name + "-wal").exists():
        pytest.skip("this SQLite works without a -wal file")


@pytest.mark.parametrize("harm", MOVED)
def test_what_was_acknowledged_before_the_file_was_replaced_is_rescued_whole(
    busy: Memory, path: Path, older: Path, harm: Harm
) -> None:
    harm(path, older)
    with pytest.raises(DatabaseReplacedError, match="while it was open") as caught:
        append(busy)
    (target,) = rescued(path)
    assert str(target) in str(caught.value)
    assert target.stat().st_mode & 0o777 == 0o600
    with pytest.raises(DatabaseReplacedError, match=target.name):
        append(busy)
    busy.close()
    assert rescued(path) == [target]
    with Memory.open(target) as saved:
        assert texts(saved, "chat") == BEFORE
        assert texts(saved, "old") == ["from the beginning"]
        assert_whole(saved)


def test_the_file_put_in_its_place_keeps_its_own_content(
    busy: Memory, path: Path, older: Path
) -> None:
    content = older.read_bytes()
    older.replace(path)
    with pytest.raises(DatabaseReplacedError):
        append(busy)
    busy.close()
    assert path.read_bytes() == content
    assert not path.with_name(path.name + "-wal").exists()
    with Memory.open(path) as memory:
        assert [view.source.id for view in memory.sources()] == ["old"]
        append(memory, "in time")
        assert_whole(memory)


@pytest.mark.parametrize("harm", OVERWRITTEN)
def test_nothing_is_acknowledged_after_the_file_was_overwritten_in_place(
    busy: Memory, path: Path, older: Path, harm: Harm
) -> None:
    needs_wal(path)
    harm(path, older)
    content = path.read_bytes()
    with pytest.raises(DatabaseReplacedError, match=r"emptied|another program"):
        append(busy)
    busy.close()
    assert path.read_bytes() == content
    (target,) = rescued(path)
    with Memory.open(target) as saved:
        assert texts(saved, "chat") == BEFORE
        append(saved, "it goes on")
        assert saved.search("stored before").passages


def test_a_search_on_a_replaced_file_says_so_and_leaves_no_rescued_file(
    path: Path, older: Path
) -> None:
    reader = Memory.open(path)
    assert reader.sources() != []
    older.replace(path)
    with pytest.raises(DatabaseReplacedError, match="Nothing was stored by this process"):
        reader.search("the beginning")
    with pytest.raises(DatabaseReplacedError):
        reader.setting("summarizer")
    reader.close()
    assert rescued(path) == []


def test_a_replacement_between_the_last_step_and_the_end_is_told_when_closing(
    busy: Memory, path: Path, older: Path
) -> None:
    older.replace(path)
    with pytest.raises(DatabaseReplacedError):
        busy.close()
    (target,) = rescued(path)
    with Memory.open(target) as saved:
        assert texts(saved, "chat") == BEFORE


def test_a_file_replaced_during_a_transaction_does_not_acknowledge_it(
    database: Database, tmp_path: Path
) -> None:
    shutil.copy(database.path, tmp_path / "other.sqlite3")
    with pytest.raises(DatabaseReplacedError), database.transaction():  # noqa: PT012
        database.execute("INSERT INTO setting (name, value) VALUES ('a', '1')")
        (tmp_path / "other.sqlite3").replace(database.path)
    (target,) = rescued(database.path)
    saved = Database(target)
    assert saved.value("SELECT count(*) FROM setting WHERE name = 'a'") == 1
    saved.close()


def test_a_file_that_was_away_for_a_moment_is_still_the_same(
    database: Database, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    database.path.rename(away)
    threading.Timer(0.1, lambda: away.rename(database.path)).start()
    with database.transaction():
        database.execute("INSERT INTO setting (name, value) VALUES ('a', '1')")
    assert database.value("SELECT count(*) FROM setting WHERE name = 'a'") == 1
    assert rescued(database.path) == []


def test_a_statement_outside_a_transaction_is_not_acknowledged_either(
    database: Database, tmp_path: Path
) -> None:
    database.path.unlink()
    with pytest.raises(DatabaseReplacedError, match="moved or deleted"):
        database.execute("INSERT INTO setting (name, value) VALUES ('a', '1')")


def test_a_failed_rescue_is_not_called_one(
    busy: Memory, path: Path, older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("treemem.store.file.rescue.copy_memory", fail)
    has_wal = path.with_name(path.name + "-wal").exists()
    older.replace(path)
    with pytest.raises(DatabaseReplacedError, match="could not be saved") as caught:
        append(busy)
    assert "No space left" in str(caught.value)
    assert "copied to" not in str(caught.value)
    if has_wal:
        (kept,) = path.parent.glob("*.rescued-*-wal")
        assert str(kept) in str(caught.value)
        assert BEFORE[-1].encode() in kept.read_bytes()


def test_a_deleted_shm_file_is_told_and_loses_nothing(busy: Memory, path: Path) -> None:
    needs_wal(path)
    path.with_name(path.name + "-shm").unlink()
    with pytest.raises(DatabaseReplacedError, match="-shm was deleted"):
        append(busy)
    busy.close()
    with Memory.open(path) as memory:
        assert texts(memory, "chat") == BEFORE
        assert_whole(memory)


def test_a_folder_deleted_step_by_step_is_rescued_in_the_end(busy: Memory, path: Path) -> None:
    needs_wal(path)
    path.with_name(path.name + "-shm").unlink()
    with pytest.raises(DatabaseReplacedError, match="-shm was deleted"):
        append(busy)
    shutil.rmtree(path.parent)
    with pytest.raises(DatabaseReplacedError, match="moved or deleted"):
        append(busy)
    (target,) = rescued(path)
    with Memory.open(target) as saved:
        assert texts(saved, "chat") == BEFORE


# -- links -------------------------------------------------------------------------------


def test_a_link_can_be_used_like_the_file_it_leads_to(tmp_path: Path) -> None:
    real, link = tmp_path / "disk" / "real.sqlite3", tmp_path / "link.sqlite3"
    Memory.open(real).close()
    link.symlink_to(real)
    for number in range(2):
        with Memory.open(link) as memory:
            append(memory, f"message {number}")
            beside = {file.name for file in tmp_path.iterdir() if file.is_file()}
            assert beside == {link.name}
    with Memory.open(real) as memory:
        assert texts(memory, "chat") == ["message 0", "message 1"]
        assert_whole(memory)


def test_a_link_that_leads_elsewhere_now_names_the_file_with_the_data(tmp_path: Path) -> None:
    for name in ("one", "two"):
        Memory.open(tmp_path / name).close()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "one")
    memory = Memory.open(link)
    append(memory, "in one")
    link.unlink()
    link.symlink_to(tmp_path / "two")
    with pytest.raises(DatabaseReplacedError, match="no longer leads to") as caught:
        append(memory)
    assert str(tmp_path / "one") in str(caught.value)
    memory.close()
    with Memory.open(tmp_path / "one") as one:
        assert texts(one, "chat") == ["in one"]


def test_a_relative_path_stays_the_same_file_after_the_folder_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with Memory.open("memory.sqlite3") as memory:
        monkeypatch.chdir(tmp_path / "elsewhere")
        append(memory, "still there")
        assert texts(memory, "chat") == ["still there"]


# -- changes that are allowed --------------------------------------------------------------


def test_checkpoints_and_compaction_by_any_process_are_no_replacement(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    one, other = Memory.open(path), Memory.open(path)
    program = "import sys; from treemem.store.database import Database; from pathlib import Path; "
    for number in range(6):
        append(one, f"one {number}")
        append(other, f"other {number}")
        if number == 2:
            plain = driver.connect(str(path))
            plain.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            plain.close()
        if number == 4:
            code = program + "Database(Path(sys.argv[1])).compact()"
            subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    one.close()
    append(other, "the last")
    assert len(texts(other, "chat")) == 13
    assert_whole(other)
    other.close()


def test_the_wal_file_is_merged_before_it_grows_large(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_wal(memory.path)
    wal = memory.path.with_name(memory.path.name + "-wal")
    monkeypatch.setattr("treemem.store.database.CHECKPOINT_BYTES", LIMIT)
    for number in range(24):
        append(memory, f"{number} " + "many words " * 40_000)
    assert wal.stat().st_size < 3 * LIMIT
    assert memory.path.stat().st_size > LIMIT


def test_after_a_large_transaction_small_ones_are_merged_together(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_wal(memory.path)
    monkeypatch.setattr("treemem.store.database.CHECKPOINT_BYTES", LIMIT)
    append(memory, "many words " * 1_000_000)
    merged = memory.path.stat().st_mtime_ns, memory.path.stat().st_size
    assert merged[1] > LIMIT
    for number in range(5):
        append(memory, f"few words {number}")
    assert (memory.path.stat().st_mtime_ns, memory.path.stat().st_size) == merged
    for number in range(20):
        append(memory, f"{number} " + "more words " * 40_000)
    assert memory.path.stat().st_size > merged[1]


@pytest.mark.parametrize(
    ("earlier", "later", "explained"),
    [
        (Checkpoints(b"a", 5, 5), Checkpoints(b"a", 5, 5), False),
        (Checkpoints(b"a", 5, 5), Checkpoints(b"a", 5, 9), True),
        (Checkpoints(b"a", 5, 5), Checkpoints(b"b", 0, 0), True),
        (Checkpoints(b"a", 5, 9), Checkpoints(b"a", 5, 9), True),
    ],
    ids=["none ran", "one began", "the -wal file began anew", "one was running"],
)
def test_only_a_checkpoint_explains_a_change(
    earlier: Checkpoints, later: Checkpoints, explained: bool
) -> None:
    assert earlier.explain_change(later) == explained


def test_the_check_of_a_transaction_costs_one_stat_for_each_file(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = FileGuard(memory.path, memory.path, wal=True)
    paths: list[str] = []
    stat = os.stat

    def counted(path: str, **options: bool) -> os.stat_result:
        paths.append(path)
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", counted)
    assert guard.loss() is None
    monkeypatch.undo()
    guard.close()
    assert len(paths) == len(set(paths)) <= 3
