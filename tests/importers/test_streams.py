"""Tests that compressed files and text in UTF-16 are read like any other."""

from __future__ import annotations

import bz2
import codecs
import gzip
import importlib
import io
import json
import lzma
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import codex_rows
from tests.helpers.document_files import docx, paragraph
from tests.helpers.logs import ClaudeSession
from tests.helpers.reading import messages_in
from treemem import Memory
from treemem.errors import ImportFileError, MissingPackageError
from treemem.importers import LogFile, by_name, detect
from treemem.importers.streams import compressed
from treemem.importers.streams.compressed import SUFFIXES, method_of, plain_name
from treemem.importers.streams.utf16 import encoding_of
from treemem.packages import extra_command


def zstd(data: bytes) -> bytes:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue
        return bytes(module.compress(data))
    pytest.skip("no Zstandard here")


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd,
}  # fmt: skip
CHAT = b'{"role": "user", "content": "The lock opens at nine."}\n' * 3


def chat_texts(data: bytes, label: str = "x.jsonl") -> list[str]:
    file = LogFile(label, data=data)
    assert detect(file).name == "chat"
    return [message.text for message in messages_in(list(by_name("chat").read(file)))]


def read_all(data: bytes) -> None:
    with LogFile("x", data=data).open_encoded() as stream:
        while stream.read(65_536):
            pass


def session(tmp_path: Path) -> Path:
    log = ClaudeSession("lock")
    log.say("The lock opens at nine.", "Noted.", "And closes at six.")
    return log.write(tmp_path)


# -- compressed files --------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_compressed_log_is_read(suffix: str) -> None:
    assert chat_texts(COMPRESS[suffix](CHAT), f"x.jsonl{suffix}") == ["The lock opens at nine."] * 3
    assert chat_texts(COMPRESS[suffix](CHAT), "without-a-suffix") == chat_texts(CHAT)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_log_read_before_adds_nothing_when_it_is_compressed(
    memory: Memory, tmp_path: Path, suffix: str
) -> None:
    chat = tmp_path / "chat.jsonl"
    chat.write_bytes(CHAT)
    rollout = tmp_path / f"rollout-2026-01-01T00-00-00-{codex_rows.SESSION}.jsonl"
    rows = (codex_rows.meta(), codex_rows.item("user", "Open the lock."))
    rollout.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for path in (session(tmp_path), chat, rollout):
        plain = memory.ingest(path).files[0]
        data = path.read_bytes()
        path.unlink()
        packed = path.with_name(path.name + suffix)
        packed.write_bytes(COMPRESS[suffix](data))
        again = memory.ingest(packed).files[0]
        assert (again.error, again.added, again.known) == (None, 0, plain.added)
        assert again.sources == plain.sources
        # A changed log has the same ids too.
        packed.write_bytes(COMPRESS[suffix](data + data[: data.index(b"\n") + 1]))
        assert memory.ingest(packed).files[0].sources == plain.sources


def test_a_compressed_file_beside_another_with_its_name_is_a_file_of_its_own(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("# Now\n\nThe lock opens at nine.\n")
    (tmp_path / "notes.md.gz").write_bytes(gzip.compress(b"# Then\n\nThe lock opens at ten.\n"))
    memory.ingest(tmp_path)
    assert [view.messages for view in memory.sources()] == [1, 1]


def test_documents_that_need_a_seekable_file_are_read(memory: Memory, tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("inner/chat.jsonl.gz", gzip.compress(CHAT))
    (tmp_path / "export.zip.gz").write_bytes(gzip.compress(archive.getvalue()))
    (tmp_path / "plan.docx.xz").write_bytes(lzma.compress(docx(paragraph("It opens at nine."))))
    report = memory.ingest(tmp_path)
    assert [(file.format, file.error) for file in report.files] == [("chat", None), ("docx", None)]
    assert report.added == 4


def test_a_compressed_database_is_read(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE log (id INTEGER, provider TEXT, system TEXT, prompt TEXT, chat_id TEXT,"
            " response TEXT, model TEXT, timestamp TEXT)"
        )
        values = (1, "p", "", "When?", None, "At nine.", "m", "")
        connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        connection.commit()
    packed = tmp_path / "logs.db.bz2"
    packed.write_bytes(bz2.compress(path.read_bytes()))
    file = LogFile(str(packed), packed)
    assert detect(file).name == "llm"
    assert [m.text for m in messages_in(list(by_name("llm").read(file)))] == ["When?", "At nine."]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_parts_behind_each_other_and_padding_are_read(suffix: str) -> None:
    pack = COMPRESS[suffix]
    assert len(chat_texts(pack(CHAT) + pack(CHAT))) == 6
    assert len(chat_texts(pack(CHAT) + b"\0" * 100_000)) == 3


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_cut_off_or_damaged_file_is_an_error_that_says_so(suffix: str) -> None:
    data = COMPRESS[suffix](bytes(range(256)) * 2_000)
    for damaged, reason in ((data[:-5], "ends in the middle"), (data + b"trailing", "damaged")):
        with pytest.raises(ImportFileError, match=reason):
            read_all(damaged)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_bomb_is_refused_before_it_fills_the_memory(suffix: str) -> None:
    data = COMPRESS[suffix](b"\0" * 64 * 1024**2)
    with pytest.raises(ImportFileError, match="no log does"):
        read_all(data)


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(data=st.binary(max_size=2_000), moves=st.lists(st.integers(0, 2_500), max_size=4))
def test_seeking_in_a_compressed_file_is_like_seeking_in_its_content(
    suffix: str, data: bytes, moves: list[int]
) -> None:
    with LogFile("x", data=COMPRESS[suffix](data)).open_encoded() as stream:
        assert stream.seek(0, 2) == len(data)
        for at in moves:
            stream.seek(at)
            assert stream.read(7) == data[at : at + 7]


@given(st.binary(max_size=60), st.sampled_from(SUFFIXES))
def test_damaged_bytes_raise_import_errors_only(data: bytes, suffix: str) -> None:
    start = next(method for method in compressed.METHODS if method.suffix == suffix).starts[0]
    try:
        with LogFile("x", data=start + data).open() as stream:
            stream.read()
    except ImportFileError:
        pass


def test_text_that_begins_like_a_method_is_not_compressed() -> None:
    assert method_of(b"BZh9 is the name of a lock.") is None
    assert plain_name("a.jsonl.GZ") == "a.jsonl"
    assert LogFile("x.gz", data=b"text").name == "x.gz"


# -- without the package -----------------------------------------------------------------


@pytest.fixture
def without_zstd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "_ZSTD_MODULES", ("no_such_module.zstd",))


@pytest.mark.usefixtures("without_zstd")
def test_a_file_that_needs_a_package_names_the_command_that_installs_it(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "rollout.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 20)
    (file,) = memory.ingest(path).files
    assert file.needs == ("compressed with Zstandard", extra_command("zstd"))
    assert file.error is not None
    assert file.error.endswith(f"Reading it needs a package: {extra_command('zstd')}")
    with pytest.raises(MissingPackageError):
        LogFile("x", data=path.read_bytes()).open()


# -- UTF-16 ------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("has_bom", [True, False])
def test_json_lines_in_utf_16_are_read(encoding: str, has_bom: bool) -> None:
    bom = (codecs.BOM_UTF16_LE if encoding.endswith("le") else codecs.BOM_UTF16_BE) * has_bom
    rows = [{"role": "user", "content": f"Das Tor öffnet um {hour} 🕘"} for hour in range(3_000)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\r\n" for row in rows)
    assert chat_texts(bom + text.encode(encoding)) == [row["content"] for row in rows]
    packed = gzip.compress(bom + text.encode(encoding))
    assert chat_texts(packed) == [row["content"] for row in rows]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_text_in_utf_16_is_read_without_a_bom(encoding: str) -> None:
    text = "[10:05] <ann> the lock — is it open?\n[10:06] <ben> since nine\n"
    file = LogFile("#lock.log", data=text.encode(encoding))
    assert detect(file).name == "irc"
    assert [m.author for m in messages_in(list(by_name("irc").read(file)))] == ["ann", "ben"]


def test_half_a_character_at_the_end_is_left_out() -> None:
    data = codecs.BOM_UTF16_LE + CHAT.decode().encode("utf-16-le")
    assert len(chat_texts(data + b"{")) == 3
    assert len(chat_texts(data + b"\x3d\xd8")) == 3


@pytest.mark.parametrize(
    "start",
    [
        b"", b"a", b"plain text", b'{"a":1}\n\0\0\0\0\0\0\0\0', b"\0\0\0\0\0\0\0\0",
        b"\x7fELF\2\1\1\0", bytes(range(256)), b"SQLite format 3\0" + b"\x10\0\1\1\0@  \0\0\0",
        "Привет".encode("utf-16-le"),
    ],
)  # fmt: skip
def test_other_bytes_are_not_taken_for_utf_16(start: bytes) -> None:
    assert encoding_of(start) is None


@given(st.text(max_size=300), st.sampled_from(["utf-16-le", "utf-16-be"]))
def test_any_text_in_utf_16_is_recoded_without_loss(text: str, encoding: str) -> None:
    bom = codecs.BOM_UTF16_LE if encoding.endswith("le") else codecs.BOM_UTF16_BE
    with LogFile("x", data=bom + text.encode(encoding)).open() as stream:
        assert stream.read().decode() == text
