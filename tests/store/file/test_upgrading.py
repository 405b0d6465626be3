"""A memory file of an earlier version is changed as a whole or not at all, after it was copied."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import closing
from pathlib import Path

import pytest

import treemem
from tests.helpers import released
from tests.helpers.damages import truth_of
from tests.helpers.memories import assert_whole, run_child
from tests.helpers.released import EARLIER, VERSIONS, facts_of, version_of
from treemem import DatabaseError, DiskFullError, Memory, Message
from treemem.store import migrations
from treemem.store.database import Database, driver
from treemem.store.file import upgrading
from treemem.store.migrations import SCHEMA_VERSION

# After how many statements of an upgrade a process is killed; more by `make test-damages`.
KILLS = range(0, 400, 400 // int(os.environ.get("TREEMEM_UPGRADE_KILLS", "4")))
UPGRADE_STATEMENTS_MIN = 250
OLDEST, MIDDLE = 1, 14


def copy_of(path: Path, version: int) -> Path:
    return path.with_name(f"{path.name}.schema-{version}")


def test_there_is_a_file_of_every_released_schema() -> None:
    way_out = "Run: python -m tests.helpers.released"
    assert list(range(1, SCHEMA_VERSION + 1)) == VERSIONS, way_out


@pytest.mark.parametrize("version", EARLIER)
def test_a_file_of_every_version_has_the_same_messages_after_the_upgrade(
    version: int, tmp_path: Path
) -> None:
    path = released.make(tmp_path / "a.sqlite3", version)
    before = facts_of(path)
    said, _, _ = truth_of(path)  # and so it has after a recovery
    assert {row[0] for row in said} == {row[4] for row in before}
    with Memory.open(path) as memory:
        (notice,) = [one for one in memory.notices if "was changed from schema" in one]
        assert str(copy_of(path, version)) in notice
    with closing(driver.connect(str(path))) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert (version_of(path), facts_of(path)) == (SCHEMA_VERSION, before)
    copy = copy_of(path, version)
    assert (version_of(copy), facts_of(copy)) == (version, before)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name, copy.name]
    with Memory.open(path) as memory:
        assert not [one for one in memory.notices if "schema" in one]
        if version % 6 == 1:
            memory.append("chat/1", [Message(text="Count the sacks.")])
            memory.work(max_calls=0)
            assert_whole(memory)


def test_an_exception_in_the_middle_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = released.make(tmp_path / "a.sqlite3", MIDDLE)
    before = facts_of(path)
    with monkeypatch.context() as patched:
        failing = (*migrations._LIVE_STEPS[:-1], ("m999_wrong", "SELECT 1 FROM nowhere;"))
        patched.setattr(migrations, "_LIVE_STEPS", failing)
        with pytest.raises(DatabaseError, match="nowhere"):
            Memory.open(path)
    assert (version_of(path), facts_of(path)) == (MIDDLE, before)
    assert not copy_of(path, MIDDLE).exists()
    with Memory.open(path) as memory:
        assert memory.status().messages == 9


@pytest.mark.parametrize(
    "change",
    ["UPDATE message SET text = 'never said' WHERE seq = 1",
     "DELETE FROM source_message WHERE position = 2",
     "UPDATE source SET id = 'chat/9' WHERE id = 'chat/2'"],
)  # fmt: skip
def test_an_upgrade_that_would_change_what_was_said_is_undone(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = released.make(tmp_path / "a.sqlite3", MIDDLE)
    before = facts_of(path)
    steps = (*migrations._LIVE_STEPS, ("m999_wrong", f"{change};"))
    monkeypatch.setattr(migrations, "_LIVE_STEPS", steps)
    with pytest.raises(DatabaseError, match=r"messages would differ\. It is as it was"):
        Memory.open(path)
    assert (version_of(path), facts_of(path)) == (MIDDLE, before)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


KILLED = """
import os, signal, sys
from pathlib import Path
from treemem.store import database
from treemem.store.access import drivers
left = int(sys.argv[2])
connect = drivers.plain.connect
def traced(*given, **named):
    connection = connect(*given, **named)
    def count(sql):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    connection.set_trace_callback(count)
    return connection
class Driver:
    def __getattr__(self, name):
        return traced if name == "connect" else getattr(real, name)
real, drivers.plain = drivers.plain, Driver()
database.Database(Path(sys.argv[1])).close()
"""


@pytest.mark.parametrize("number", KILLS)
def test_a_process_killed_at_any_step_leaves_the_file_of_one_version(
    number: int, tmp_path: Path
) -> None:
    path = released.make(tmp_path / "a.sqlite3", OLDEST)
    before = facts_of(path)
    done = run_child(KILLED, path, number)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert done.returncode or number > UPGRADE_STATEMENTS_MIN
    copied = tmp_path / "b.sqlite3"
    shutil.copy(path, copied)  # as the earlier version would find it
    wal = Path(f"{path}-wal")
    if wal.exists():
        shutil.copy(wal, f"{copied}-wal")
    version = OLDEST if done.returncode else SCHEMA_VERSION
    assert version_of(copied) in (version, SCHEMA_VERSION)
    assert facts_of(copied) == before
    with Memory.open(path) as memory:
        assert memory.status().messages == 9
    assert (version_of(path), facts_of(path)) == (SCHEMA_VERSION, before)
    assert not list(tmp_path.glob("*.part"))


def test_without_room_for_the_copy_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = released.make(tmp_path / "a.sqlite3", MIDDLE)
    before = path.read_bytes()
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=5_000))
    with pytest.raises(DiskFullError, match=r"takes 0.\d MB, but 0.0 MB are free. It was not") as e:
        Memory.open(path)
    assert f"{upgrading.VARIABLE}=no" in str(e.value)
    assert facts_of(path)
    assert version_of(path) == MIDDLE
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert len(before) == path.stat().st_size
    monkeypatch.setenv(upgrading.VARIABLE, "no")
    with Memory.open(path) as memory:
        assert memory.status().messages == 9
        assert not [one for one in memory.notices if ".schema-" in one]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


LIMITED = """
import resource, signal, sys, treemem
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
size = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try: treemem.Memory.open(sys.argv[1])
except treemem.DatabaseError as error: print(type(error).__name__, error)
"""


@pytest.mark.parametrize(("share", "copy"), [(0.5, ""), (0.02, "no"), (0.6, "no")])
def test_a_disk_that_is_full_in_the_middle_leaves_the_file_as_it_was(
    share: float, copy: str, tmp_path: Path
) -> None:
    path = released.make(tmp_path / "a.sqlite3", OLDEST)
    before = facts_of(path)
    size = int(path.stat().st_size * share)
    done = run_child(LIMITED, path, size, **{upgrading.VARIABLE: copy})
    assert "Error" in done.stdout, done.stderr
    assert not done.stderr
    assert (version_of(path), facts_of(path)) == (OLDEST, before)
    assert not list(tmp_path.glob("*.schema-*"))
    with Memory.open(path) as memory:
        assert memory.status().messages == 9


def test_the_copy_is_removed_after_its_time_and_by_what_removes_words(tmp_path: Path) -> None:
    path = released.make(tmp_path / "a.sqlite3", MIDDLE)
    copy = copy_of(path, MIDDLE)
    days = 86_400
    with Memory.open(path):
        assert copy.exists()
    for age, is_there in ((upgrading.KEPT_DAYS - 1, True), (upgrading.KEPT_DAYS + 1, False)):
        moment = time.time() - age * days
        os.utime(copy, (moment, moment))
        Memory.open(path).close()
        assert copy.exists() is is_there
    earlier = released.make(tmp_path / "b.sqlite3", MIDDLE)
    shutil.copy(earlier, copy)
    with closing(Database(path)) as database:
        database.compact()
    assert not copy.exists()
    shutil.copy(earlier, copy)
    with Memory.open(path) as memory:
        memory.forget(text="goats")
    assert not copy.exists()


def test_another_process_waits_and_upgrades_nothing_again(tmp_path: Path) -> None:
    path = released.make(tmp_path / "a.sqlite3", MIDDLE)
    with Memory.open(path) as one, Memory.open(path) as two:
        assert len(one.notices) == len(two.notices) + 1
        two.append("chat/3", [Message(text="From the second.")])
        assert one.status().messages == 10


def test_the_earlier_version_goes_on_with_the_copy(tmp_path: Path) -> None:
    path = released.make(tmp_path / "a.sqlite3", MIDDLE)
    Memory.open(path).close()
    copy_of(path, MIDDLE).replace(path)
    with closing(driver.connect(str(path))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with Memory.open(path) as memory:  # and that again with this one
        assert memory.status().messages == 9
    assert treemem.recover(path, tmp_path / "new.sqlite3").messages == 9
