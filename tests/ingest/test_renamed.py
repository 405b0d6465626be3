"""Somebody who goes by another name now has said nothing anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.helpers.document_files import docx, paragraph
from tests.helpers.reading import zipped
from treemem import Memory

KEY = "AKIA2E0A8F3B244C9986"
WORDS = "word {} of many that make the leaves seal before anybody is renamed, "


def chat(name: str | None, *texts: str) -> dict[str, Any]:
    said = [
        {"id": number, "type": "message", "date_unixtime": str(1_709_500_000 + number),
         "from": name if number % 2 else "Ben", "from_id": "user7", "text": text}
        for number, text in enumerate(texts)
    ]  # fmt: skip
    return {"name": "Barn", "type": "private_group", "id": 5, "messages": said}


def said(memory: Memory, source: str) -> list[tuple[str | None, str]]:
    return [(message.author, message.text) for message in memory.messages(source)]


def test_a_chat_exported_after_a_renaming_adds_only_what_is_new(
    memory: Memory, tmp_path: Path
) -> None:
    texts = [WORDS.format(number) * 40 for number in range(30)] + [f"my key is {KEY}", "end"]
    path = tmp_path / "result.json"
    path.write_text(json.dumps(chat("Ana K", *texts)))
    assert memory.ingest(path).added == len(texts)
    assert memory.source("telegram/group-5").leaves > 1
    before = said(memory, "telegram/group-5")
    for name in ("Ana Novak", None):
        path.write_text(json.dumps(chat(name, *texts)))
        report = memory.ingest(path)
        assert (report.added, report.known, report.redacted) == (0, len(texts), {})
        assert said(memory, "telegram/group-5") == before
    path.write_text(json.dumps(chat("Ana Novak", *texts, "more", "and more")))
    assert memory.ingest(path).added == 2
    assert said(memory, "telegram/group-5")[-1] == ("Ana Novak", "and more")
    assert not any(check.findings for check in memory.diagnose().checks)


def test_an_edit_by_somebody_renamed_is_a_new_version(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    for name, text in (("Ana K", "teh"), ("Ana N", "the")):
        path.write_text(json.dumps(chat(name, "hello", text)))
        memory.ingest(path)
    assert said(memory, "telegram/group-5") == [("Ben", "hello"), ("Ana N", "the")]


def test_a_day_of_slack_is_known_under_the_new_name(memory: Memory, tmp_path: Path) -> None:
    day = [{"type": "message", "user": "U1", "text": "hello", "ts": "1704067200.000100"}]
    path = tmp_path / "export.zip"
    for name, added in (("Ana K", 1), ("Ana N", 0)):
        users = [{"id": "U1", "team_id": "T1", "profile": {"real_name": name}}]
        channels = [{"id": "C1", "name": "dev"}]
        path.write_bytes(
            zipped({"users.json": users, "channels.json": channels, "dev/2024-01-01.json": day})
        )
        assert memory.ingest(path).added == added
    assert said(memory, "slack/T1/C1") == [("Ana K", "hello")]


def test_a_document_with_another_author_keeps_its_parts(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "plan.docx"
    body = "".join(paragraph(f"{WORDS.format(number)}" * 20) for number in range(12))
    for author in ("Ana K", "Ana N", "Ana K"):
        path.write_bytes(docx(body, author=author))
        report = memory.ingest(path)
        assert report.added == (12 if author == "Ana K" and not report.known else 0)
    (view,) = memory.sources()
    texts = [text.split()[1] for _, text in said(memory, view.source.id)]
    assert texts == [str(number) for number in range(12)]
    assert not any(check.findings for check in memory.diagnose().checks)
