"""A source has the working directory that its log names as its project."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

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


# -- formats that name it in other places ------------------------------------------------


def projects_of(file: LogFile) -> set[str | None]:
    return {event.project for event in detect(file).read(file) if isinstance(event, Source)}


def written(folder: Path, name: str, content: object) -> LogFile:
    """A file with a text, or with JSON, and the folders above it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return LogFile(str(path), path)


def codex_rows(*rows: dict[str, object]) -> bytes:
    meta = {"type": "session_meta", "payload": {"id": ID}}
    return lines(meta, *rows)


def codex_item(text: str) -> dict[str, object]:
    content = [{"type": "input_text", "text": text}]
    return {"type": "response_item",
            "payload": {"type": "message", "role": "user", "content": content}}  # fmt: skip


@pytest.mark.parametrize(
    "row",
    [
        {"type": "turn_context", "payload": {"cwd": "/w/mill"}},
        codex_item("<environment_context>\n  <cwd>/w/mill</cwd>\n</environment_context>"),
        codex_item(
            "<environment_context>\nCurrent working directory: /w/mill\n</environment_context>"
        ),
    ],
)
def test_older_codex_logs_name_it_in_their_first_turn(row: dict[str, object]) -> None:
    later = {"type": "turn_context", "payload": {"cwd": "/elsewhere"}}
    assert projects_of(LogFile("r.jsonl", data=codex_rows(row, later, codex_item("Hi.")))) == {
        "/w/mill"
    }


def test_gemini_cli_names_a_folder_or_a_hash_of_it(tmp_path: Path) -> None:
    session = {"sessionId": ID, "projectHash": "ab12", "startTime": "t",
               "messages": [{"id": "1", "type": "user", "content": "Hi."}]}  # fmt: skip
    file = written(tmp_path, "ab12/chats/session-1.json", session)
    assert projects_of(file) == {"ab12"}
    written(tmp_path, "ab12/.project_root", "/w/mill\n")
    assert projects_of(file) == {"/w/mill"}
    named = written(tmp_path, "ab12/chats/session-2.json", session | {"directories": ["/w", "/x"]})
    assert projects_of(named) == {"/w"}


def test_opencode_names_the_repository_of_a_session_without_a_directory(tmp_path: Path) -> None:
    session = {"id": "ses_1", "projectID": "p", "version": "1", "time": {"created": 1}}
    file = written(tmp_path, "session/p/ses_1.json", session)
    assert projects_of(file) == {None}
    written(tmp_path, "project/p.json", {"id": "p", "worktree": "/w/mill"})
    assert projects_of(file) == {"/w/mill"}


@pytest.mark.parametrize(
    ("details", "project"),
    [
        ("# Current Working Directory (/w/mill (old)) Files\na.py", "/w/mill (old)"),
        ("# Current Workspace Directory (/w/mill) Files\na.py", "/w/mill"),
        ("# Current Working Directory (Primary: /w/mill) Files\na.py", "/w/mill"),
        ("# Current Time\nnoon", None),
    ],
)
def test_cline_and_roo_code_name_it_in_the_environment(details: str, project: str | None) -> None:
    environment = f"<environment_details>\n{details}\n</environment_details>"
    blocks = [{"type": "text", "text": text} for text in ("<task>Grind.</task>", environment)]
    history = json.dumps([{"role": "user", "content": blocks, "ts": 1}]).encode()
    assert projects_of(LogFile("api_conversation_history.json", data=history)) == {project}


def test_roo_code_names_it_beside_the_history(tmp_path: Path) -> None:
    entry = {"role": "user", "content": [{"type": "text", "text": "<task>Grind.</task>"}]}
    written(tmp_path, "history_item.json", {"workspace": "/w/mill"})
    file = written(tmp_path, "api_conversation_history.json", [entry])
    assert projects_of(file) == {"/w/mill"}


def cursor_store(path: Path, head: dict[str, object]) -> LogFile:
    head |= {"fullConversationHeadersOnly": [{"bubbleId": "b", "type": 1}]}
    bubble = {"bubbleId": "b", "type": 1, "text": "Hi."}
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE cursorDiskKV (key TEXT, value TEXT)")
        rows = [("composerData:c", json.dumps(head)), ("bubbleId:c:b", json.dumps(bubble))]
        connection.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", rows)
        connection.commit()
    return LogFile(str(path), path)


def test_cursor_names_the_workspace_in_a_conversation_or_beside_its_store(tmp_path: Path) -> None:
    named = {"workspaceIdentifier": {"id": "1", "uri": {"fsPath": "/w/mill", "scheme": "file"}}}
    assert projects_of(cursor_store(tmp_path / "one.vscdb", named)) == {"/w/mill"}
    plain = cursor_store(tmp_path / "state.vscdb", {})
    assert projects_of(plain) == {None}
    written(tmp_path, "workspace.json", {"folder": "file:///w/old%20mill"})
    assert projects_of(plain) == {"/w/old mill"}


def test_cursors_transcripts_name_the_workspace_or_its_short_form(tmp_path: Path) -> None:
    name = f"projects/w-mill/agent-transcripts/{ID}/{ID}.jsonl"

    def row(text: str) -> str:
        content = [{"type": "text", "text": text}]
        return json.dumps({"role": "user", "message": {"content": content}}) + "\n"

    assert projects_of(written(tmp_path, name, row("<user_query>Hi.</user_query>"))) == {"w-mill"}
    told = row("<user_info>\nOS Version: 1\nWorkspace Path: /w/mill\n</user_info>")
    assert projects_of(written(tmp_path, name, told + row("Hi."))) == {"/w/mill"}


def test_aider_and_specstory_are_in_the_folder_of_their_files(tmp_path: Path) -> None:
    aider = "# aider chat started at 2026-03-01 09:00:00\n\n#### grind  \n\nDone.\n"
    file = written(tmp_path, "mill/.aider.chat.history.md", aider)
    assert projects_of(file) == {str(tmp_path.resolve() / "mill")}
    story = "<!-- Generated by SpecStory -->\n\n_**User**_\n\nGrind.\n\n---\n\n_**Agent**_\n\nOk.\n"
    for name in ("mill/.specstory/history/2026-03-01_09-00-00Z-grind.md", "mill/grind.md"):
        assert projects_of(written(tmp_path, name, story)) == {str(tmp_path.resolve() / "mill")}


@pytest.mark.parametrize(
    ("fields", "project"),
    [
        ({"replay_config": json.dumps({"env": {"repo": {"path": "/w/mill"}}})}, "/w/mill"),
        ({"replay_config": {"env": {"repo": {"github_url": "https://x.example/mill"}}}},
         "https://x.example/mill"),
        ({"info": {"config": {"environment": {"cwd": "/w/mill"}}}}, "/w/mill"),
        ({}, None),
    ],
)  # fmt: skip
def test_a_trajectory_names_its_repository(fields: dict[str, object], project: str | None) -> None:
    step = {"action": "ls", "observation": "a", "response": "Look.", "thought": ""}
    document = {"trajectory": [step], **fields}
    assert projects_of(LogFile("a.traj", data=json.dumps(document).encode())) == {project}
