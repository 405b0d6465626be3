"""An encrypted memory: nothing of it is readable without its key, wherever it is written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.memories import assert_whole, run_child, texts
from treemem import (
    DatabaseKeyError,
    DatabaseLockedError,
    DatabaseReplacedError,
    Memory,
    Message,
    UsageError,
    decrypt_file,
    encrypt_file,
    is_encrypted,
    restore,
)
from treemem.packages import child_environment
from treemem.store.access import drivers, keys
from treemem.store.database import Database
from treemem.store.file.sidecars import BEFORE

RAW = "0f" * 32
CANARIES = ("zebrafish", "Wilhelmina", "quokkas")
WORDS = (
    "We decided that the zebrafish tank is moved on Friday, said Wilhelmina. Never feed quokkas."
)

needs_extra = pytest.mark.skipif(
    not pytest.importorskip("importlib.util").find_spec("sqlcipher3"), reason="needs encrypted"
)
pytestmark = needs_extra


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TREEMEM_KEY", "TREEMEM_KEY_FILE", "TREEMEM_KEY_COMMAND"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "memory.sqlite3"
    with Memory.open(path) as memory:
        fill(memory)
    return path


@pytest.fixture
def plain(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


def fill(memory: Memory) -> None:
    memory.use_model("embedder", "hashing")
    for number in range(4):
        memory.append(
            f"chat/{number % 2}", [Message(text=f"{number}: {WORDS} " * 20, author="Wilhelmina")]
        )
    memory.work(max_calls=0)
    memory.embed()


def leaks(folder: Path) -> list[tuple[str, str]]:
    """The files below a folder that contain a canary, and the canary."""
    return [
        (path.name, word)
        for path in folder.rglob("*")
        if path.is_file()
        for word in CANARIES
        if word[:6].lower().encode() in path.read_bytes().lower()
    ]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """What deleted temporary files contain while VACUUM runs: SQLite unlinks them at once."""
    found: list[tuple[str, str]] = []
    if not Path("/proc/self/fd").is_dir():
        yield found
        return

    def look() -> int:
        for entry in Path("/proc/self/fd").iterdir():
            try:
                name = str(entry.readlink())
                if "etilqs" in name:
                    data = entry.read_bytes()
                    found.extend((name, word) for word in CANARIES if word.encode() in data)
                    found.append((name, f"{len(data)} bytes"))
            except OSError:
                pass
        return 0

    restrain = drivers.restrain

    def watched(driver: object, connection: object, **options: object) -> None:
        restrain(driver, connection, **options)
        connection.set_progress_handler(look, 2_000)

    monkeypatch.setattr(drivers, "restrain", watched)
    yield found


def test_no_word_is_readable_in_any_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: list[tuple[str, str]]
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    for variable in ("TMPDIR", "SQLITE_TMPDIR"):
        monkeypatch.setenv(variable, str(temporary))
    with Memory.open(tmp_path / "memory.sqlite3", key="a passphrase") as memory:
        fill(memory)
        assert (tmp_path / "memory.sqlite3-wal").stat().st_size > 100_000
        assert leaks(tmp_path) == []  # while it is open, in the -wal file
        assert memory.search("zebrafish").passages
        memory.redactions.deny("Wilhelmina")
        memory.scrub()
        assert_whole(memory)
    assert leaks(tmp_path) == []
    assert [where for where in written if not where[1].endswith("bytes")] == []
    with Memory.open(tmp_path / "memory.sqlite3", key="a passphrase") as memory:
        assert "zebrafish" in texts(memory, "chat/0")[0]


def test_a_memory_left_by_a_killed_process_has_no_readable_word(tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.path[:0] = sys.argv[2:]\n"
        "from tests.store.test_encryption import fill\n"
        "from treemem import Memory\n"
        "memory = Memory.open(sys.argv[1]); fill(memory); os._exit(9)"
    )
    path = tmp_path / "memory.sqlite3"
    root = Path(__file__).parents[2]
    assert run_child(code, path, root, root / "cli", TREEMEM_KEY=RAW).returncode == 9
    assert leaks(tmp_path) == []
    with Memory.open(path, key=RAW) as memory:
        assert len(texts(memory, "chat/0")) == 2
        assert_whole(memory)


@pytest.mark.parametrize("key", ["a passphrase", RAW])
def test_a_file_is_the_same_after_it_was_encrypted_and_decrypted(plain: Path, key: str) -> None:
    with Memory.open(plain) as memory:
        before = [message.id for message in memory.messages("chat/0")]
        found = memory.search("when is the zebrafish tank moved?").text
    assert encrypt_file(plain, key)
    assert is_encrypted(plain)
    assert leaks(plain.parent) == []
    with Memory.open(plain, key=key) as memory:
        assert [message.id for message in memory.messages("chat/0")] == before
        assert memory.search("when is the zebrafish tank moved?").text == found
        assert_whole(memory)
    decrypt_file(plain, key)
    with Memory.open(plain) as memory:
        assert memory.search("when is the zebrafish tank moved?").text == found
        assert_whole(memory)
    assert [path.name for path in plain.parent.iterdir()] == [plain.name]


@pytest.mark.skipif(os.name != "posix", reason="an open file has its name")
def test_the_pages_of_the_plain_file_are_overwritten(plain: Path) -> None:
    with plain.open("rb") as old:
        assert encrypt_file(plain, RAW)
        assert set(old.read()) == {0}


def test_a_plain_file_with_another_name_is_not_overwritten(plain: Path) -> None:
    other = plain.with_name("other.sqlite3")
    other.hardlink_to(plain)
    assert not encrypt_file(plain, RAW)
    with Memory.open(other) as memory:
        assert_whole(memory)


def test_a_key_is_changed(plain: Path) -> None:
    encrypt_file(plain, "first")
    encrypt_file(plain, RAW, old_key="first")
    with pytest.raises(DatabaseKeyError, match="wrong"):
        Memory.open(plain, key="first")
    with Memory.open(plain, key=RAW) as memory:
        assert_whole(memory)


def test_a_wrong_key_and_none_are_said_in_a_sentence_and_change_nothing(plain: Path) -> None:
    encrypt_file(plain, RAW)
    before = plain.read_bytes()
    with pytest.raises(DatabaseKeyError, match=r"^The key of \S+ is wrong, or .* Pass it as key"):
        Memory.open(plain, key="wrong")
    with pytest.raises(DatabaseKeyError, match="Its key is missing"):
        Memory.open(plain)
    with pytest.raises(DatabaseKeyError, match="wrong"):
        decrypt_file(plain, "wrong")
    assert plain.read_bytes() == before
    assert [path.name for path in plain.parent.iterdir()] == [plain.name]


def test_without_the_extra_the_file_is_recognized_and_the_extra_named(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encrypt_file(plain, RAW)
    monkeypatch.setitem(sys.modules, "sqlcipher3", None)
    with pytest.raises(DatabaseKeyError, match=r"needs a package: .*encrypted"):
        Memory.open(plain, key=RAW)
    with pytest.raises(DatabaseKeyError, match=r"needs a package: .*encrypted"):
        Memory.open(plain.with_name("new.sqlite3"), key=RAW)  # never a plain one in its place
    assert plain.with_name("new.sqlite3").stat().st_size == 0


def test_a_file_that_is_in_use_is_left_as_it_is(plain: Path) -> None:
    with Memory.open(plain) as memory:
        with pytest.raises(DatabaseLockedError, match=r"has \S+ open"):
            encrypt_file(plain, RAW)
        assert_whole(memory)
    assert not is_encrypted(plain)


def test_a_plain_file_is_not_opened_with_a_key_in_silence(plain: Path) -> None:
    with Memory.open(plain, key="a passphrase") as memory:
        assert any("is not encrypted" in notice for notice in memory.notices)
        assert texts(memory, "chat/0")
    with pytest.raises(UsageError, match="is not encrypted"):
        decrypt_file(plain, "a passphrase")


def test_what_is_rescued_is_encrypted_too(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    memory = Memory.open(path, key=RAW)
    fill(memory)
    path.rename(tmp_path / "moved.sqlite3")
    Memory.open(path, key=RAW).close()
    with pytest.raises(DatabaseReplacedError, match="copied to"):
        memory.append("chat/0", [Message(text=WORDS)])
    memory.close()
    (rescued,) = tmp_path.glob("*.rescued-*[0-9Z]")
    assert leaks(tmp_path) == []
    with Memory.open(rescued, key=RAW) as saved:
        assert len(texts(saved, "chat/0")) == 2


def test_the_key_comes_from_a_variable_a_file_or_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, file = tmp_path / "memory.sqlite3", tmp_path / "key"
    Memory.open(path, key="a key\\with 'quotes'").close()
    file.write_text("a key\\with 'quotes'\n")
    program = f"print(open({str(file)!r}).read(), end='')"
    command = subprocess.list2cmdline([sys.executable, "-c", program])
    for name, value in (("TREEMEM_KEY", "a key\\with 'quotes'"), ("TREEMEM_KEY_FILE", str(file)),
                        ("TREEMEM_KEY_COMMAND", command)):  # fmt: skip
        with monkeypatch.context() as patched:
            patched.setenv(name, value)
            Memory.open(path).close()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TREEMEM_KEY_FILE", "/nowhere/key", "cannot be read"),
        ("TREEMEM_KEY_FILE", os.devnull, "gives no key"),
        ("TREEMEM_KEY_COMMAND", "/nowhere/program", "cannot be run"),
        ("TREEMEM_KEY_COMMAND", f"'{sys.executable}' -c 'raise SystemExit(3)'", "exit code 3"),
        ("TREEMEM_KEY_COMMAND", f"'{sys.executable}' -c 'print(1); print(2)'", "one line"),
    ],
)
def test_what_gives_no_key_is_named(
    plain: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    encrypt_file(plain, RAW)
    monkeypatch.setenv(name, value)
    with pytest.raises(DatabaseKeyError, match=said):
        Memory.open(plain)


def test_no_representation_and_no_child_shows_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "secret word" not in repr(keys.Key("secret word")) + str(keys.Key("secret word"))
    monkeypatch.setenv("TREEMEM_KEY", "secret word")
    assert "secret word" not in child_environment().values()


def test_backups_and_trials_of_an_encrypted_memory_are_encrypted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("TMPDIR", "SQLITE_TMPDIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    log = tmp_path / "logs" / "chat.md"
    with Memory.open(tmp_path / "memory.sqlite3", key=RAW) as memory:
        fill(memory)
        memory.backup(tmp_path / "copy.sqlite3")
        memory.backup(tmp_path / "snapshots")
        memory.backup(tmp_path / "snapshots")
        log.parent.mkdir()
        log.write_text(f"# Log\n\n{WORDS}\n")
        seen: list[tuple[str, str]] = []
        close = Database.close
        monkeypatch.setattr(
            Database, "close", lambda db: seen.extend(leaks_beside(db)) or close(db)
        )
        memory.plan(log)
        monkeypatch.undo()
        assert seen == []
    log.unlink()
    assert leaks(tmp_path) == []
    restore(tmp_path / "snapshots", tmp_path / "back.sqlite3")
    for name in ("copy.sqlite3", "back.sqlite3"):
        with Memory.open(tmp_path / name, key=RAW) as memory:
            assert len(texts(memory, "chat/0")) == 2
            assert_whole(memory)


def leaks_beside(database: Database) -> list[tuple[str, str]]:
    return leaks(database.path.parent) if "plan" in str(database.path) else []


def test_copies_of_earlier_versions_do_not_outlive_the_plain_file(plain: Path) -> None:
    copy = Path(shutil.copy(plain, plain.with_name(f"{plain.name}{BEFORE}7")))
    encrypt_file(plain, RAW)
    assert not copy.exists()
