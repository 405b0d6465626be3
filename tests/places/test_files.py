"""Of a source of several files, a message is in the one that has it, or in none."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from treemem import Memory, NotFoundError, Place
from treemem.importers import IMPORTERS
from treemem.importers.common.base import Importer
from treemem.places import files

UUID = "0199a213-81c0-7800-8aa1-bbab2a035a53"


def written(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False))
    return path


def place(memory: Memory, words: str) -> Place:
    passages = memory.places.with_lines(memory.search(words)).passages
    passage = max(passages, key=lambda passage: passage.score)
    assert passage.place is not None
    return passage.place


def at(line: Place) -> str:
    """The words of the line that a place leads to."""
    assert line.path is not None
    assert line.line is not None
    return Path(line.path).read_text().split("\n")[line.line - 1]


def test_the_formats_of_several_files_are_those_whose_importers_name_them() -> None:
    several = {
        importer.name for importer in IMPORTERS
        if type(importer).companions is not Importer.companions or importer.spans_files
    }  # fmt: skip
    assert several == files.COMPANION_FORMATS


def said(ts: str, text: str) -> dict[str, Any]:
    return {"type": "message", "user": "U1", "text": text, "ts": ts}


def test_a_message_of_a_channel_is_in_the_file_of_its_day(memory: Memory, tmp_path: Path) -> None:
    root = tmp_path / "export"
    written(root / "users.json", [{"id": "U1", "team_id": "T1", "name": "ana", "profile": {}}])
    written(root / "channels.json", [{"id": "C1", "name": "dev", "created": 1, "members": ["U1"]}])
    for day, words in enumerate(("The walrus sleeps.", "The heron stands.", "The otter dives."), 1):
        ts = f"{1_704_067_200 + 86_400 * day}.000100"
        written(root / "dev" / f"2024-01-0{day + 1}.json", [said(ts, words)])
    memory.ingest([root])
    for day, word in enumerate(("walrus", "heron", "otter"), 2):
        found = place(memory, word)
        assert found.path == str(root / "dev" / f"2024-01-0{day}.json")
        assert word in at(found)


def test_a_message_of_opencode_is_in_its_own_file(memory: Memory, tmp_path: Path) -> None:
    root = tmp_path / "storage"
    times = {"created": 1_760_000_000_000, "updated": 1_760_000_000_009}
    session = {"id": "ses_a", "version": "1.0", "projectID": "p1", "directory": "/w",
               "title": "Fix", "time": times}  # fmt: skip
    written(root / "session" / "p1" / "ses_a.json", session)
    for number, words in enumerate(("Is the walrus awake?", "The heron is awake."), 1):
        name = f"msg_{number}"
        head = {"id": name, "sessionID": "ses_a", "role": "user", "time": times}
        written(root / "message" / "ses_a" / f"{name}.json", head)
        part = {"type": "text", "text": words, "id": f"prt_{number}", "messageID": name}
        written(root / "part" / name / f"prt_{number}.json", part)
    memory.ingest([root / "session" / "p1" / "ses_a.json"])
    for number, word in enumerate(("walrus", "heron"), 1):
        assert place(memory, word).path == str(
            root / "part" / f"msg_{number}" / f"prt_{number}.json"
        )


def turn(role: str, text: str, number: int = 0) -> dict[str, Any]:
    time = 1_760_000_000_000 + 1_000 * number
    return {"role": role, "content": [{"type": "text", "text": text}], "ts": time}


def test_a_message_of_two_files_of_a_task_is_in_the_right_one_or_in_none(
    memory: Memory, tmp_path: Path
) -> None:
    task = tmp_path / "tasks" / "1760000000000"
    summary = {"ts": 1_760_000_000_001, "type": "say", "say": "text", "text": "x"}
    history = [turn("user", "<task>Feed the walrus in the pool.</task>"),
               turn("assistant", "The walrus is fed.")]  # fmt: skip
    window = written(task / "ui_messages.json", [summary])
    path = written(task / "api_conversation_history.json", history)
    memory.ingest([window, path])
    assert place(memory, "walrus pool").path == str(path)
    path.write_text("[]")
    assert place(memory, "walrus pool").line is None


def test_a_task_that_has_grown_is_opened_in_its_history_not_in_the_copy_of_the_window(
    memory: Memory, tmp_path: Path
) -> None:
    task = tmp_path / "1760000000000"
    texts = ["<task>Feed the walrus in the pool.</task>", "hello", "thanks", "hello", "The end."]
    for stored in (3, 5):
        told = list(enumerate(texts[:stored]))
        history = [turn("user", text, number) for number, text in told]
        window = [{"ts": 1_760_000_000_000 + number, "type": "say", "say": "text", "text": text}
                  for number, text in told]  # fmt: skip
        path = written(task / "api_conversation_history.json", history)
        written(task / "ui_messages.json", window)
        memory.ingest([task])
    for word in ("walrus", "thanks", "end"):
        found = place(memory, word)
        assert (found.path, word in at(found)) == (str(path), True)
    # Two messages have the same word. The file is known, and the line if there is only one.
    location = memory.places.find(messages_with(memory, "hello")[0])
    assert (location.place.path, location.place.line) == (str(path), None)
    path.write_text(json.dumps(json.loads(path.read_text())))
    assert memory.places.find(location.message_id or "").place.line == 1


def messages_with(memory: Memory, text: str) -> list[str]:
    (view,) = memory.sources()
    return [one.id or "" for one in memory.messages(view.source.id) if one.text == text]


def test_a_message_of_an_archived_channel_is_in_no_member_rather_than_in_that_of_another_day(
    memory: Memory, tmp_path: Path
) -> None:
    export = tmp_path / "export.zip"
    with zipfile.ZipFile(export, "w") as archive:
        users = [{"id": "U1", "team_id": "T1", "name": "ana", "profile": {}}]
        channels = [{"id": "C1", "name": "dev", "created": 1, "members": ["U1"]}]
        archive.writestr("users.json", json.dumps(users))
        archive.writestr("channels.json", json.dumps(channels))
        for day, words in enumerate(("The walrus sleeps.", "The heron stands."), 1):
            ts = f"{1_704_067_200 + 86_400 * day}.000100"
            archive.writestr(f"dev/2024-01-0{day + 1}.json", json.dumps([said(ts, words)]))
    memory.ingest([export])
    found = place(memory, "heron")
    assert (found.path, found.line) == (None, None)
    (view,) = memory.sources()
    location = memory.places.find(messages_with(memory, "The heron stands.")[0])
    with pytest.raises(NotFoundError) as error:
        memory.places.log_path(location)
    assert view.source.origin == f"{export}!dev/2024-01-02.json"
    assert f"One of them is {view.source.origin}." in str(error.value)
    assert "has no log file" not in str(error.value)
    # The source itself still has the first file that it was read from.
    assert memory.places.find(view.source.id).place.path == view.source.origin


def chat(*texts: str) -> str:
    rows: list[dict[str, object]] = [
        {"type": "session", "id": UUID, "cwd": "/w", "version": 3, "timestamp": "2026-01-01"}
    ]
    for number, text in enumerate(texts):
        rows.append({
            "type": "message", "id": str(number), "parentId": str(number - 1) if number else None,
            "timestamp": f"2026-01-01T10:00:0{number}Z",
            "message": {"role": "user", "content": text},
        })  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_session_in_two_files_of_a_folder_has_the_path_of_the_right_one(
    memory: Memory, tmp_path: Path
) -> None:
    first, second = tmp_path / f"1_{UUID}.jsonl", tmp_path / f"2_{UUID}.jsonl"
    first.write_text(chat("The walrus swims in the water.", "Both files have this sentence."))
    second.write_text(chat("The heron stands in the water.", "Both files have this sentence."))
    memory.ingest([first, second])
    assert place(memory, "walrus").path == str(first)
    assert place(memory, "heron").path == str(second)
    assert place(memory, "heron").line == 2
    both = place(memory, "sentence")
    assert (both.path, both.line) == (None, None)
    shutil.move(second, tmp_path / "gone")
    assert place(memory, "heron").path is None


def test_a_search_reads_no_more_than_its_limit(memory: Memory, tmp_path: Path) -> None:
    for word in ("walrus", "heron"):
        text = f"The {word} stands in the water.\n" + "The road is dry.\n" * 400
        (tmp_path / f"{word}.md").write_text(text)
    memory.ingest([tmp_path])
    result = memory.search("walrus heron")
    assert len(result.passages) == 2
    limited = memory.places.with_lines(result, bytes_max=8_000).passages
    assert [one.place.line for one in limited if one.place] == [1, None]
    assert [one.place.path is None for one in limited if one.place] == [False, False]
    assert memory.places.with_lines(result, bytes_max=0).passages == result.passages
