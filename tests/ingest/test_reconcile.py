"""Messages that a log no longer contains are abandoned, or replaced in a document."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.importers.test_opencode import session, text, turn, write_database, write_folder
from treemem import Memory
from treemem.digest import scopes
from treemem.store.database import Database

BEGAN = 1_760_000_000_000
SESSION = "0c0ffee0-0000-4000-8000-000000000001"
Turns = Sequence[tuple[int, str]]


def role(number: int) -> str:
    return "user" if number % 2 else "assistant"


def cline(folder: Path, turns: Turns) -> Path:
    path = folder / "1760000000100" / "api_conversation_history.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = [
        {"role": role(number), "ts": BEGAN + number, "content": [{"type": "text", "text": words}]}
        for number, words in turns
    ]
    path.write_text(json.dumps(entries))
    return path


def gemini(folder: Path, turns: Turns) -> Path:
    path = folder / "session-1.json"
    messages = [
        {"id": f"m{number}", "type": "user" if number % 2 else "gemini", "content": words,
         "timestamp": f"2026-01-05T08:00:{number:02}Z"}
        for number, words in turns
    ]  # fmt: skip
    path.write_text(json.dumps({"sessionId": SESSION, "projectHash": "1f", "messages": messages}))
    return path


def copilot(folder: Path, turns: Turns) -> Path:
    path = folder / f"{SESSION}.jsonl"
    rows: list[dict[str, Any]] = [{"type": "session.start", "data": {"sessionId": SESSION}}]
    rows += [
        {"type": f"{role(number)}.message", "id": f"e{number}", "data": {"content": words},
         "timestamp": f"2026-01-05T08:00:{number:02}Z"}
        for number, words in turns
    ]  # fmt: skip
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def opencode_folder(folder: Path, turns: Turns) -> Path:
    for old in (*folder.rglob("msg_*.json"), *folder.rglob("prt_*.json")):
        old.unlink()
    return write_folder(folder, session(), [turn(n, role(n), text(words)) for n, words in turns])


def opencode_database(folder: Path, turns: Turns) -> Path:
    path = folder / "opencode.db"
    path.unlink(missing_ok=True)
    return write_database(path, session(), [turn(n, role(n), text(words)) for n, words in turns])


FIRST = [(number, f"first {number}") for number in range(1, 7)]
SECOND = [*FIRST[:3], *((number, f"second {number}") for number in range(7, 10))]
WRITERS = [cline, gemini, copilot, opencode_folder, opencode_database]


def words(turns: Turns) -> list[str]:
    return [text for _, text in turns]


def states(database: Database, source: str) -> dict[str, str]:
    seq = scopes.source(database, source).seq
    sql = (
        "SELECT m.text, sm.state FROM source_message sm "
        "JOIN message m ON m.seq = sm.message_seq WHERE sm.source_seq = ?"
    )
    return dict(database.rows(sql, (seq,)))


@pytest.mark.parametrize("write", WRITERS)
def test_turns_taken_back_by_the_user_are_abandoned(
    write: Callable[[Path, Turns], Path], memory: Memory, database: Database, tmp_path: Path
) -> None:
    (source,) = memory.ingest(write(tmp_path, FIRST)).files[0].sources
    # Without anything new it may be an older copy: nothing changes.
    memory.ingest(write(tmp_path, FIRST[:3]))
    assert [m.text for m in memory.messages(source)] == words(FIRST)
    memory.ingest(write(tmp_path, SECOND))
    assert [m.text for m in memory.messages(source)] == words(SECOND)
    assert [
        state for text, state in states(database, source).items() if text in words(FIRST[3:])
    ] == ["abandoned"] * 3
    # The first state again is known; gone on with, it is the history once more.
    memory.ingest(write(tmp_path, FIRST))
    assert [m.text for m in memory.messages(source)] == words(SECOND)
    third = [*FIRST, (11, "third 11")]
    memory.ingest(write(tmp_path, third))
    assert [m.text for m in memory.messages(source)] == words(third)
    assert memory.diagnose().healthy


@pytest.mark.parametrize("write", WRITERS)
def test_turns_left_out_by_a_compaction_stay(
    write: Callable[[Path, Turns], Path], memory: Memory, tmp_path: Path
) -> None:
    (source,) = memory.ingest(write(tmp_path, FIRST)).files[0].sources
    memory.ingest(write(tmp_path, [FIRST[0], *FIRST[4:], (8, "and on")]))
    assert [m.text for m in memory.messages(source)] == [*words(FIRST), "and on"]
    # Nor does a history that holds nothing of the old one tell that it was taken back.
    memory.ingest(write(tmp_path, [(20, "all anew")]))
    assert [m.text for m in memory.messages(source)] == [*words(FIRST), "and on", "all anew"]


def test_a_last_message_without_an_id_that_has_grown_is_stored_once(
    memory: Memory, database: Database, tmp_path: Path
) -> None:
    (source,) = memory.ingest(cline(tmp_path, FIRST)).files[0].sources
    memory.ingest(cline(tmp_path, [*FIRST[:5], (6, "first 6 and more")]))
    assert [m.text for m in memory.messages(source)] == [*words(FIRST[:5]), "first 6 and more"]
    # What was half written is no other branch.
    assert states(database, source)["first 6"] == "replaced"


def test_a_document_that_was_empty_is_empty_again_once_it_is_emptied(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "notes.md"
    counts = []
    for content in ("", "# Section 0\n\nThe export runs at 02:15.\n", ""):
        path.write_text(content)
        memory.ingest(path)
        counts.append(sum(len(memory.messages(view.source.id)) for view in memory.sources()))
    assert counts[0] == counts[2] == 0 < counts[1]
