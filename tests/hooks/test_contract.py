"""Events are read as they come, and refused unless they are what Claude Code sends."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from treemem import UsageError
from treemem.hooks import contract
from treemem.hooks.contract import Event

# As in the reference of hooks.
START = {
    "session_id": "abc123",
    "transcript_path": "/home/ana/.claude/projects/shop/00893aaf.jsonl",
    "cwd": "/home/ana/shop",
    "hook_event_name": "SessionStart",
    "source": "startup",
    "model": "claude-sonnet-5",
}


@pytest.fixture(autouse=True)
def _no_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)


def sent(data: bytes, *, closed: bool) -> Event:
    ours, theirs = os.pipe()
    os.write(theirs, data)
    if closed:
        os.close(theirs)
    try:
        return contract.read_event(ours, 0.2)
    finally:
        os.close(ours)
        if not closed:
            os.close(theirs)


@pytest.mark.parametrize("closed", [True, False])
def test_an_event_is_read_whether_or_not_the_input_is_closed(closed: bool) -> None:
    event = sent(json.dumps(START).encode(), closed=closed)
    assert event == Event(
        "SessionStart", "abc123", Path("/home/ana/shop"),
        Path("/home/ana/.claude/projects/shop/00893aaf.jsonl"), "startup",
    )  # fmt: skip


def test_nobody_waits_for_an_event_that_does_not_come() -> None:
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"within 0\.2 s"):
        sent(b'{"hook_event_name":', closed=False)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"3", b"\xff", b'{"hook_event_name": "Stop"}', b"{}", b"[" * 99_999]
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError):
        sent(data[:60_000], closed=True)


def test_the_folder_where_the_program_was_started_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/ana")
    assert contract.event_of(START).folder == Path("/home/ana")


@pytest.mark.parametrize("path", [None, 3, "", "relative.jsonl", "/a\0b", "/x" * 4_000, {}])
def test_a_path_that_is_none_is_no_transcript(path: object) -> None:
    assert contract.event_of({**START, "transcript_path": path}).transcript is None


def test_an_answer_has_the_context_as_the_reference_says() -> None:
    assert json.loads(contract.answer_of("a\n</b>")) == {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "a\n</b>"}
    }
