"""Tests the transcripts of Windsurf, and what is said of its encrypted history."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.helpers.stores import events_of, messages, reasons, roles_and_texts, sources
from treemem import EncryptedLogError, Memory
from treemem.importers import LogFile, by_name, detect
from treemem.importers.windsurf.importer import UNFINISHED
from treemem.ingest.discovery import discover, places
from treemem_cli.main import cli

ID = "0c0ffee0-0000-4000-8000-0000000000aa"


def step(kind: str, status: str = "done", **fields: object) -> dict[str, Any]:
    return {"status": status, "type": kind, kind: fields}


STEPS = [
    step("user_input", user_response="Make it fast.", rules_applied={"always_on": ["a.md"]}),
    step("planner_response", thinking="Where?", response="I look at it."),
    step("run_command", command="make", cwd="/w/shop", exit_code=0, output="ok"),
    step("mcp_tool", tool_name="search", server_name="s", arguments='{"q":1}', result="2 hits"),
    step("run_command", command="ls", exit_code=2, output="none"),
    step("code_action", path="a.py", original_content="x = 0", new_content="x = 1"),
    step("planner_response", status="running", response="Do"),
]  # fmt: skip


def transcript(tmp_path: Path, steps: list[Any] = STEPS) -> Path:
    path = tmp_path / ".windsurf" / "transcripts" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in steps))
    return path


def history(tmp_path: Path) -> Path:
    path = tmp_path / ".codeium" / "windsurf" / "cascade" / f"{ID}.pb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(random.Random(7).randbytes(5_000))
    return path


def test_a_transcript_has_its_turns_calls_and_results(tmp_path: Path) -> None:
    path = transcript(tmp_path)
    assert detect(LogFile(path.name, path)).name == "windsurf"
    events = events_of(path, "windsurf")
    (source,) = sources(events)
    assert (source.id, source.project) == (f"windsurf/{ID}", "/w/shop")
    assert roles_and_texts(events) == [
        ("user", "Make it fast."),
        ("assistant", "Where?\n\nI look at it."),
        ("assistant", '[tool use: run_command] {"command":"make","cwd":"/w/shop"}'),
        ("tool", "ok"),
        ("assistant", '[tool use: search] {"q":1}'),
        ("tool", "2 hits"),
        ("assistant", '[tool use: run_command] {"command":"ls"}'),
        ("tool", '{"output":"none","exit_code":2}'),
        ("assistant", '[tool use: code_action] {"path":"a.py","new_content":"x = 1"}'),
    ]
    assert reasons(events) == [UNFINISHED]
    call, result = messages(events)[2:4]
    assert call.tool_use_ids == result.tool_result_ids


def test_a_transcript_that_grows_adds_its_tail(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        for end in (1, 3, 5, 7):
            memory.ingest(transcript(tmp_path, STEPS[:end]))
        path = transcript(tmp_path, [*STEPS[:6], step("planner_response", response="Done.")])
        assert memory.ingest(path).added == 1
        texts = [m.text for m in memory.messages(f"windsurf/{ID}")]
    assert texts == [m.text for m in messages(events_of(path, "windsurf"))]


def test_what_windsurf_encrypts_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = history(tmp_path)
    file = LogFile(str(path), path)
    assert detect(file).name == "windsurf"
    with pytest.raises(EncryptedLogError, match=r"encrypted by Windsurf\. Let Windsurf write"):
        list(by_name("windsurf").read(file))
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        (report,) = memory.ingest(path).files
    assert "post_cascade_response_with_transcript" in str(report.error)


def test_a_folder_of_encrypted_logs_is_passed_over_in_a_sentence(tmp_path: Path) -> None:
    history(tmp_path)
    transcript(tmp_path)
    database = str(tmp_path / "m.sqlite3")
    result = CliRunner().invoke(cli, ["--db", database, "ingest", str(tmp_path)])
    assert result.exit_code == 0
    assert "1 file encrypted by Windsurf is passed over. Let Windsurf write" in result.output
    assert "unknown format" not in result.output


def test_discover_counts_encrypted_logs_apart(tmp_path: Path) -> None:
    history(tmp_path)
    path = transcript(tmp_path)
    (logs,) = discover(places({}, tmp_path, [by_name("windsurf")]), [])
    assert (logs.files, logs.tokens) == (2, path.stat().st_size // 8)
    (sentence,) = logs.passed_over
    assert sentence.startswith("1 file encrypted by Windsurf is passed over. ")


def test_other_random_or_plain_files_are_not_windsurfs(tmp_path: Path) -> None:
    path = history(tmp_path)
    elsewhere = tmp_path / "x" / path.name
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(path.read_bytes())
    path.write_bytes(bytes(5_000))
    for each in (elsewhere, path):
        file = LogFile(each.name, each)
        assert by_name("windsurf").recognizes(file, file.head()) == 0.0
