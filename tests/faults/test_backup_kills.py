"""A backup or a restore killed with SIGKILL at any step leaves what was there, whole.

Each child process (backup_driver.py) is killed at one access to the file system. Then the memory is
intact, the former backup is there or the new one, never half of one, a restored memory is whole or
not there, and the next run ends without debris. `make test-kills` takes many steps.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from treemem import BackupError, Memory, Message, check_backups, restore
from treemem.backups import copying
from treemem.times import now_ms

DRIVER = Path(__file__).with_name("backup_driver.py")
FEW = 1
MANY = int(os.environ.get("TREEMEM_KILLS", "200")) // 4
SEED = 20261130
pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
KINDS = ("file", "folder", "restore", "overwrite")


def drive(
    step: int, kind: str, memory: Path, target: Path | str
) -> subprocess.CompletedProcess[str]:
    # Without -B a module that was changed would be compiled and stored by one run, in more steps.
    command = [sys.executable, "-B", str(DRIVER), str(step), kind, str(memory), str(target)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def say(memory: Path, first: int, number: int) -> None:
    with Memory.open(memory) as opened:
        opened.append(
            "chat/1", [Message(text=f"Line {n} of the chat.") for n in range(first, first + number)]
        )
        opened.work(max_calls=0)


def messages_in(path: Path) -> int:
    """The messages in a memory that is intact."""
    with Memory.open(path, must_exist=True) as memory:
        assert memory.diagnose().healthy
        return sum(view.messages for view in memory.sources())


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a memory of 60 messages, whose backups have 40, and one of 7."""
    folder = tmp_path_factory.mktemp("template")
    memory = folder / "memory.sqlite3"
    say(memory, 0, 40)
    with Memory.open(memory) as opened:
        opened.backup(folder / "copy.sqlite3")
        opened.backup(f"{folder}/backups/")
    say(memory, 40, 20)
    say(folder / "new.sqlite3", 0, 7)
    return folder


def prepared(kind: str, template: Path, folder: Path) -> tuple[Path, str]:
    """Copies the template; returns what the driver reads and writes."""
    shutil.copytree(template, folder)
    memory = folder / "memory.sqlite3"
    if kind != "overwrite":
        (folder / "new.sqlite3").unlink()
    if kind in ("file", "folder"):
        return memory, f"{folder}/copy.sqlite3" if kind == "file" else f"{folder}/backups/"
    return folder / "backups", f"{folder}/new.sqlite3"


def assert_unharmed(kind: str, folder: Path) -> None:
    assert messages_in(folder / "memory.sqlite3") == 60
    assert copying.checked(folder / "copy.sqlite3").messages in (40, 60)
    views = check_backups(folder / "backups")
    assert views
    assert all(not view.damage for view in views), views
    new = folder / "new.sqlite3"
    if kind == "restore":
        assert not new.exists() or messages_in(new) == 40
    elif kind == "overwrite":
        former = [
            path for path in folder.glob("new.sqlite3.before-restore-*") if "-wal" not in path.name
        ]
        assert messages_in(new) in (7, 40)
        if messages_in(new) == 40:
            assert {messages_in(path) for path in former} == {7}


def kill(kind: str, step: int, template: Path, folder: Path) -> bool:
    """Kills one run at a step; returns whether it was killed before its end."""
    source, target = prepared(kind, template, folder)
    killed = drive(step, kind if kind in ("file", "folder") else "restore", source, target)
    assert killed.returncode in (0, -signal.SIGKILL), killed.stderr
    assert_unharmed(kind, folder)
    if kind in ("file", "folder"):
        again = drive(0, kind, source, target)
        assert again.returncode == 0, again.stderr
    else:
        target_path = Path(target)
        if target_path.exists() and messages_in(target_path) == 40:
            with pytest.raises(BackupError, match="exists already"):
                restore(source, target)
        else:
            restore(source, target, overwrite=True)
            assert messages_in(target_path) == 40
    assert_unharmed(kind, folder)
    unfinished = [path for path in folder.rglob("*") if ".part" in path.name]
    # Killed between giving a file its name and taking the former one, it has two.
    assert all(path.samefile(path.with_suffix("")) for path in unfinished), unfinished
    return killed.returncode != 0


def run_kills(kind: str, number: int, seed: int, template: Path, tmp_path: Path) -> int:
    folder = tmp_path / "undisturbed"
    source, target = prepared(kind, template, folder)
    result = drive(0, kind if kind in ("file", "folder") else "restore", source, target)
    steps = int(result.stdout)
    assert steps > 4, result.stderr
    chosen = random.Random(seed)
    killed = 0
    for index in range(number):
        folder = tmp_path / f"kill{index}"
        # Half of the kills are among the last steps, where names are changed.
        step = chosen.randint(1 if index % 2 else max(1, steps - 12), steps)
        while not (is_killed := kill(kind, step, template, folder)) and step > 1:
            shutil.rmtree(folder)  # it took fewer steps than the one before
            step = step * 3 // 4
        killed += is_killed
        shutil.rmtree(folder)
    return killed


@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_a_few_steps_nothing_is_lost(kind: str, template: Path, tmp_path: Path) -> None:
    assert run_kills(kind, FEW, SEED, template, tmp_path) > 0


def imports_killed(number: int, template: Path, tmp_path: Path) -> None:
    """Kills imports after random times; each leaves all of the messages or none, and goes on."""
    with Memory.open(template / "memory.sqlite3") as memory:
        memory.export_to(tmp_path / "memory.jsonl")
        entries = {entry.id for entry in memory.ledger()}
    started = time.monotonic()
    assert drive(0, "import", tmp_path / "memory.jsonl", tmp_path / "whole").returncode == 0
    seconds = time.monotonic() - started
    chosen = random.Random(SEED)
    killed = 0
    for index in range(number):
        target = tmp_path / f"kill{index}.sqlite3"
        command = [sys.executable, str(DRIVER), "0", "import", str(tmp_path / "memory.jsonl")]
        child = subprocess.Popen([*command, str(target)], stdout=subprocess.DEVNULL)
        time.sleep(seconds * chosen.uniform(0.2, 0.95))
        child.kill()
        is_killed = child.wait() == -signal.SIGKILL
        killed += is_killed
        seconds *= 1.1 if is_killed else 0.7  # other work makes it slower and faster
        if target.exists() and target.stat().st_size:
            assert messages_in(target) in (0, 60)
        assert drive(0, "import", tmp_path / "memory.jsonl", target).returncode == 0
        assert messages_in(target) == 60
        with Memory.open(target, clock=lambda: now_ms() + 600_000) as memory:  # leases have ended
            report = memory.import_from(tmp_path / "memory.jsonl")
            assert not report.is_unfinished
            assert {entry.id for entry in memory.ledger()} == entries
    assert killed >= number // 2


def test_an_import_that_is_killed_stores_all_or_nothing(template: Path, tmp_path: Path) -> None:
    imports_killed(FEW, template, tmp_path)


@pytest.mark.slow
def test_imports_killed_at_many_times_store_all_or_nothing(template: Path, tmp_path: Path) -> None:
    imports_killed(MANY, template, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_many_steps_nothing_is_lost(kind: str, template: Path, tmp_path: Path) -> None:
    assert run_kills(kind, MANY, SEED + 1, template, tmp_path) > MANY // 2
