"""Pages of an encrypted memory are read one by one, with the key and without SQLCipher."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from treemem import (
    DatabaseCorruptError,
    DatabaseError,
    DatabaseKeyError,
    Memory,
    Message,
    encrypt_file,
    is_encrypted,
    recover,
)
from treemem.store.access import keys
from treemem.store.access.keys import Key
from treemem.store.access.page_cipher import PAGE_BYTES, PageCipher

RAW, PASSPHRASE = "0f" * 32, "correct horse battery staple"
pytestmark = pytest.mark.skipif(
    not all(map(pytest.importorskip("importlib.util").find_spec, ("sqlcipher3", "cryptography"))),
    reason="needs encrypted",
)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TREEMEM_KEY", "TREEMEM_KEY_FILE", "TREEMEM_KEY_COMMAND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(keys, "_used", [])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "memory.sqlite3"
    with Memory.open(path) as memory:
        for number in range(120):
            memory.append(f"chat/{number % 3}", [Message(text=f"Stone {number} of the wall. " * 9)])
        memory.pin_rule("Never feed quokkas.")
        memory.work(max_calls=0)
    return path


@pytest.fixture
def plain(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


def encrypted(path: Path, secret: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    encrypt_file(path, secret)
    keys._used.clear()
    monkeypatch.setenv("TREEMEM_KEY", secret)
    return path


def destroy(path: Path, *numbers: int) -> None:
    with path.open("r+b") as stream:
        for number in numbers:
            stream.seek((number - 1) * PAGE_BYTES)
            stream.write(bytes(PAGE_BYTES))


@pytest.mark.parametrize("secret", [RAW, PASSPHRASE])
def test_pages_are_those_of_the_file_and_a_changed_one_is_noticed(
    plain: Path, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    path = encrypted(plain, secret, monkeypatch)
    data = path.read_bytes()
    cipher = PageCipher(Key(secret), data[:16])
    pages = [data[at : at + PAGE_BYTES] for at in range(0, len(data), PAGE_BYTES)]
    assert all(cipher.is_right(number, page) for number, page in enumerate(pages, 1))
    assert not PageCipher(Key(secret + "0"), data[:16]).is_right(1, pages[0])
    first = cipher.page(1, pages[0])
    assert first.startswith(b"SQLite format 3\0")
    whole = [cipher.page(number, page) for number, page in enumerate(pages, 1)]
    assert any(b"CREATE TABLE setting" in page for page in whole)
    changed = bytearray(pages[4])
    changed[100] ^= 1
    assert not cipher.is_right(5, bytes(changed))
    was, now = cipher.page(5, pages[4]), cipher.page(5, bytes(changed))
    assert sum(one != other for one, other in zip(was[:4016], now[:4016], strict=True)) <= 17


@pytest.mark.parametrize("secret", [RAW, PASSPHRASE])
def test_what_a_damaged_encrypted_memory_has_is_recovered_into_an_encrypted_one(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    path = encrypted(plain, secret, monkeypatch)
    last = path.stat().st_size // PAGE_BYTES
    destroy(path, *range(last // 2, last // 2 + 3))
    report = recover(path, tmp_path / "new.sqlite3")
    assert report.messages >= 100
    assert is_encrypted(report.new)
    with Memory.open(report.new) as memory:
        assert [rule.text for rule in memory.rules()] == ["Never feed quokkas."]
        assert memory.diagnose().healthy


def test_without_its_first_page_a_memory_with_a_key_is_read(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = encrypted(plain, RAW, monkeypatch)
    destroy(path, 1)
    assert recover(path, tmp_path / "new.sqlite3").messages == 120


def test_without_its_first_page_a_passphrase_is_worth_nothing_and_that_is_said(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = encrypted(plain, PASSPHRASE, monkeypatch)
    destroy(path, 1)
    with pytest.raises(DatabaseKeyError, match=r"beginning of the file.*backup"):
        recover(path, tmp_path / "new.sqlite3")
    assert not (tmp_path / "new.sqlite3").exists()


@pytest.mark.parametrize("key", ["wrong", None])
def test_another_key_and_none_are_told_apart(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    path = encrypted(plain, RAW, monkeypatch)
    monkeypatch.delenv("TREEMEM_KEY")
    if key is not None:
        monkeypatch.setenv("TREEMEM_KEY", key)
    with pytest.raises(DatabaseKeyError, match="it is another one" if key else "there is no key"):
        recover(path, tmp_path / "new.sqlite3")


def test_random_bytes_are_no_memory_whatever_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREEMEM_KEY", RAW)
    (tmp_path / "noise").write_bytes(os.urandom(20 * PAGE_BYTES))
    with pytest.raises((DatabaseKeyError, DatabaseCorruptError)):
        recover(tmp_path / "noise", tmp_path / "new.sqlite3")


def test_the_bytes_of_tables_are_counted_as_in_a_plain_file(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(plain) as memory:
        before = memory.status(space=True).space
    path = encrypted(plain, RAW, monkeypatch)
    with Memory.open(path) as memory:
        memory.append("chat/4", [Message(text="What is only in the -wal file. " * 400)])
        after = memory.status(space=True).space
    assert before is not None
    assert after is not None
    assert {one.name for one in after.tables} == {one.name for one in before.tables}
    assert (
        abs(sum(one.size_bytes for one in after.tables) + after.free_bytes - after.size_bytes)
        <= 4 * PAGE_BYTES
    )
    assert after.text_bytes == before.text_bytes + 400 * 31


def test_without_the_package_its_name_is_said(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = encrypted(plain, RAW, monkeypatch)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    with Memory.open(path) as memory, pytest.raises(DatabaseError, match="package cryptography"):
        memory.status(space=True)
