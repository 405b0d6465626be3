"""A source has the working directory that its log names as its project."""

from __future__ import annotations

import json

import pytest

from tests.importers.test_origins import ID, claude_code, codex, lines, opencode, pi
from treemem.importers import LogFile, detect
from treemem.types import Source

MOVED = claude_code("Hello.", cwd="/w/mill") + claude_code("And now?", cwd="/w/mill/src")
AGENT = claude_code("Hello.", cwd="/w/mill") + claude_code(
    "Count.", cwd="/w/mill/src", isSidechain=True, agentId="a1"
)
CODEX = codex("Hello.").replace(b'"source"', b'"cwd": "/w/mill", "source"')
COPILOT = lines(
    {"type": "session.start", "id": "e", "data": {"sessionId": ID, "context": {"cwd": "/w/mill"}}},
    {"type": "user.message", "id": "f", "data": {"content": "Hello."}},
)


@pytest.mark.parametrize(
    ("name", "log", "project"),
    [
        ("a.jsonl", MOVED, "/w/mill"), ("a.jsonl", AGENT, "/w/mill"),
        ("a.jsonl", claude_code("Hello."), None), ("a.jsonl", claude_code("Hi.", cwd=7), None),
        ("rollout.jsonl", CODEX, "/w/mill"), ("rollout.jsonl", codex("Hello."), None),
        ("a.json", opencode("Hello."), "/w"), ("a.jsonl", pi("Hello."), "/w"),
        ("events.jsonl", COPILOT, "/w/mill"),
        ("a.json", json.dumps([{"role": "user", "content": "Hello."}]).encode(), None),
    ],
)  # fmt: skip
def test_a_project_is_the_first_working_directory(
    name: str, log: bytes, project: str | None
) -> None:
    file = LogFile(name, data=log)
    sources = [event for event in detect(file).read(file) if isinstance(event, Source)]
    assert sources
    assert {source.project for source in sources} == {project}
