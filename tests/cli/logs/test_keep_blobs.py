"""Tests that `--keep-blobs DIR` stores the bytes of attachments once, by their digest."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from tests.helpers.command_line import run
from tests.helpers.document_files import docx, paragraph

PICTURE = b"\x89PNG\r\n\x1a\n" + b"pixels" * 9


def write_log(path: Path) -> None:
    url = f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"
    block = {"type": "image_url", "image_url": {"url": url}}
    rows = [{"role": "user", "content": [block, {"type": "text", "text": f"{n}"}]} for n in "ab"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def stored_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_attachments_are_stored_once_by_their_digest(tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl")
    drawn = '<w:r><w:drawing><a:blip r:embed="rId1"/></w:drawing></w:r>'
    body = paragraph("See ", inner=drawn)
    word = docx(body, pictures=[("rId1", "media/../../../../evil.png", b""), ("rId1",
                "media/a.png", PICTURE)])  # fmt: skip
    (tmp_path / "word.docx").write_bytes(word)
    folder = tmp_path / "kept"
    result = run("ingest", str(tmp_path / "log.jsonl"), str(tmp_path / "word.docx"),
                 "--keep-blobs", str(folder))  # fmt: skip
    assert result.exit_code == 0, result.output
    digest = hashlib.sha256(PICTURE).hexdigest()
    (path,) = stored_files(folder)
    assert path == folder / digest[:2] / f"{digest}.png"
    assert path.read_bytes() == PICTURE


def test_attachments_of_a_log_that_was_read_before_are_stored(tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl")
    assert run("ingest", str(tmp_path / "log.jsonl")).exit_code == 0
    folder = tmp_path / "kept"
    result = run("ingest", str(tmp_path / "log.jsonl"), "--keep-blobs", str(folder), "--json")
    report = json.loads(result.stdout)
    assert (report["added"], report["known"]) == (0, 2)
    assert [path.read_bytes() for path in stored_files(folder)] == [PICTURE]


def test_no_bytes_are_stored_without_the_option(tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl")
    before = set(stored_files(tmp_path))
    assert run("ingest", str(tmp_path / "log.jsonl")).exit_code == 0
    new = {path.name for path in set(stored_files(tmp_path)) - before}
    assert new <= {"default.sqlite3", "servers.json"}


def test_a_file_instead_of_a_folder_is_an_error(tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl")
    (tmp_path / "kept").write_text("a file")
    result = run("ingest", str(tmp_path / "log.jsonl"), "--keep-blobs", str(tmp_path / "kept"))
    assert result.exit_code == 2
    assert "is a file" in result.output
