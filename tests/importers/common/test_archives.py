"""Tests ZIP archives, which are read like folders, and damaged or hostile ones."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import warnings
import zipfile
from pathlib import Path

import pytest

from tests.helpers.document_files import docx, paragraph
from treemem import Memory
from treemem.errors import ImportFileError
from treemem.importers import LogFile, detect
from treemem.importers.common import archives
from treemem.importers.common.archives import BOMB, ENCRYPTED, NO_PATH, SAME_NAME, TOO_LARGE

CHAT = b'{"role": "user", "content": "The pickup is at nine."}\n'


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def stored(tmp_path: Path, data: bytes, name: str = "export.zip") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_every_log_in_an_archive_is_read(memory: Memory, tmp_path: Path) -> None:
    path = stored(
        tmp_path,
        zipped({"b/two.jsonl": CHAT + CHAT, "a/one.jsonl": CHAT, "logo.png": b"\x89PNG\r\n\x1a\n"}),
    )
    report = memory.ingest(path)
    one, two, picture = report.files
    assert (one.path, one.added) == (f"{path}!a/one.jsonl", 1)
    assert (two.path, two.added) == (f"{path}!b/two.jsonl", 2)
    assert picture.error is not None
    assert all(file.found for file in report.files)
    assert one.sources != two.sources


def test_an_archive_read_again_adds_nothing(memory: Memory, tmp_path: Path) -> None:
    path = stored(tmp_path, zipped({"one.jsonl": CHAT}))
    assert memory.ingest(path).added == 1
    again = memory.ingest(path)
    assert (again.added, again.known) == (0, 1)


def test_a_member_with_the_name_of_a_later_one_is_reported(memory: Memory) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("one.jsonl", CHAT + CHAT)
        archive.writestr("one.jsonl", CHAT)
    first, second = memory.ingest_files([LogFile("stdin", data=buffer.getvalue())]).files
    assert (first.skipped, first.problem_count) == ({SAME_NAME: 1}, 1)
    assert (second.path, second.added) == ("stdin!one.jsonl", 1)


def test_many_small_members_that_form_a_bomb_are_refused(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "TOTAL_FREE_BYTES", 1_000_000)
    zeros = {f"{number:03}.txt": bytes(100_000) for number in range(500)}
    report = memory.ingest_files([LogFile("stdin", data=zipped(zeros))])
    read = len(report.files) - 1
    assert 0 < read < 250
    assert report.files[0].skipped == {BOMB: 500 - read}


def test_an_archive_can_be_piped_in(memory: Memory) -> None:
    (report,) = memory.ingest_files([LogFile("stdin", data=zipped({"one.jsonl": CHAT}))]).files
    assert (report.path, report.added) == ("stdin!one.jsonl", 1)


@pytest.mark.parametrize("name", ["../up.jsonl", "/etc/abs.jsonl", "a/../../up.jsonl"])
def test_a_path_out_of_the_archive_is_reported_and_not_followed(
    memory: Memory, tmp_path: Path, name: str
) -> None:
    path = stored(tmp_path, zipped({name: CHAT, "one.jsonl": CHAT}))
    passed_over, one = memory.ingest(path).files
    assert passed_over.skipped == {NO_PATH: 1}
    assert passed_over.records == 1
    assert name in passed_over.problems[0]
    assert one.added == 1
    assert sorted(tmp_path.iterdir()) == sorted([path, *tmp_path.glob("memory*")])


def test_a_bomb_is_not_opened(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "RATIO_FREE_BYTES", 1_000)
    path = stored(tmp_path, zipped({"bomb.jsonl": b"0" * 1_000_000, "one.jsonl": CHAT}))
    passed_over, one = memory.ingest(path).files
    assert passed_over.skipped == {BOMB: 1}
    assert one.added == 1


def test_a_member_over_the_limit_is_not_opened(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MEMBER_BYTES_MAX", 100)
    path = stored(tmp_path, zipped({"large.jsonl": CHAT * 100, "one.jsonl": CHAT}))
    passed_over, _ = memory.ingest(path).files
    assert passed_over.skipped == {TOO_LARGE: 1}


def test_an_encrypted_member_is_reported(memory: Memory, tmp_path: Path) -> None:
    data = bytearray(zipped({"one.jsonl": CHAT}))
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + at] |= 1
    (passed_over,) = memory.ingest(stored(tmp_path, bytes(data))).files
    assert passed_over.skipped == {ENCRYPTED: 1}


def test_damage_in_one_member_does_not_affect_the_others(memory: Memory, tmp_path: Path) -> None:
    data = bytearray(zipped({"a.jsonl": CHAT * 50, "b.jsonl": CHAT}))
    at = data.index(b"a.jsonl") + len(b"a.jsonl")
    data[at : at + 8] = b"\xff" * 8
    broken, whole = memory.ingest(stored(tmp_path, bytes(data))).files
    assert "a.jsonl is damaged" in str(broken.error)
    assert whole.added == 1


@pytest.mark.parametrize(
    "data", [b"PK\x03\x04", zipped({"a.jsonl": CHAT})[:60]], ids=["nothing", "cut off"]
)
def test_a_damaged_archive_is_reported(memory: Memory, tmp_path: Path, data: bytes) -> None:
    (report,) = memory.ingest(stored(tmp_path, data)).files
    assert "damaged ZIP archive" in str(report.error)


def test_an_archive_in_an_archive_is_reported_and_not_opened(
    memory: Memory, tmp_path: Path
) -> None:
    path = stored(tmp_path, zipped({"inner.zip": zipped({"one.jsonl": CHAT})}))
    (report,) = memory.ingest(path).files
    assert "binary data (ZIP)" in str(report.error)


def test_members_reach_their_neighbours_and_nothing_else(tmp_path: Path) -> None:
    path = stored(
        tmp_path, zipped({"users.json": b"[]", "general/day.json": b"[]", "general/b.json": b"{}"})
    )
    with archives.open_archive(LogFile(str(path), path)) as archive:
        assert archive is not None
        list(archive.survey())
        by_name = {file.name: file for file in archive.members()}
        day = by_name["day.json"]
        users = day.neighbour("..", "users.json")
        assert users is not None
        assert users.head() == b"[]"
        assert [file.name for file in day.neighbours()] == ["b.json", "day.json"]
        assert [file.name for file in day.neighbours("..")] == ["users.json"]
        for steps in (("..", "..", "users.json"), ("../users.json",), ("/etc", "passwd"), ("",)):
            assert day.neighbour(*steps) is None
        with day.on_disk() as copy:
            assert copy.read_bytes() == b"[]"
        assert not copy.exists()


def test_a_file_reaches_its_neighbours_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "general").mkdir()
    day = stored(tmp_path / "general", b"[]", "day.json")
    stored(tmp_path, b"{}", "users.json")
    file = LogFile("day.json", day)
    users = file.neighbour("..", "users.json")
    assert users is not None
    assert users.head() == b"{}"
    for name in ("../users.json", "/etc/passwd", "", ".", "a\\b", "a\0b"):
        assert file.neighbour(name) is None
        assert file.neighbours(name) == []
    assert LogFile("stdin", data=b"[]").neighbour("..", "users.json") is None


def test_an_office_document_is_no_archive(tmp_path: Path) -> None:
    path = stored(tmp_path, zipped({"[Content_Types].xml": b"<x/>", "word/document.xml": b"<x/>"}))
    with archives.open_archive(LogFile(str(path), path)) as archive:
        assert archive is None


def test_the_bytes_of_attachments_are_stored_on_request(memory: Memory, tmp_path: Path) -> None:
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
    }
    line = json.dumps({"role": "user", "content": [picture, picture]})
    log = stored(tmp_path, line.encode(), "chat.jsonl")
    folder = tmp_path / "blobs"
    memory.ingest(log, keep_blobs=folder)
    digest = hashlib.sha256(b"\0\0\0").hexdigest()
    (rest,) = (path for path in folder.rglob("*") if path.is_file())
    assert rest == folder / digest[:2] / f"{digest}.png"
    assert rest.read_bytes() == b"\0\0\0"


def test_open_fails_with_an_error_that_names_the_member(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.jsonl": CHAT}))
    data[8] = 0x63  # an unknown compression method
    data[data.index(b"PK\x01\x02") + 10] = 0x63
    path = stored(tmp_path, bytes(data))
    with archives.open_archive(LogFile(str(path), path)) as archive:
        assert archive is not None
        list(archive.survey())
        (member,) = archive.members()
        with pytest.raises(ImportFileError, match=r"!a\.jsonl cannot be read"):
            member.open()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damage_anywhere_in_an_archive_is_reported_and_never_breaks_the_import(method: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name in ("dév/é.jsonl", "one.jsonl"):
            archive.writestr(name, CHAT * 20)
        archive.writestr("plan.docx", docx(paragraph("The pickup is at nine.") * 9))
    whole = buffer.getvalue()
    failed = 0
    for at in range(4, len(whole)):
        data = bytearray(whole)
        data[at] ^= 0xFF
        try:
            with archives.open_archive(LogFile("x.zip", data=bytes(data))) as found:
                for member in _surveyed(found):
                    with contextlib.suppress(ImportFileError):
                        list(detect(member).read(member))
        except ImportFileError:
            failed += 1
    assert 0 < failed < len(whole) / 2


def _surveyed(archive: archives.Archive | None) -> list[LogFile]:
    if archive is None:
        return []
    list(archive.survey())
    return list(archive.members())
