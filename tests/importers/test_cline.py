"""Tests tasks of Cline and Roo Code, and the sessions of Cline's SDK."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.stores import (
    ODD,
    events_of,
    messages,
    reasons,
    roles_and_texts,
    sources,
    write_json,
)
from treemem import Memory
from treemem.errors import ImportFileError
from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.types import Message, Part, Source

TASK = "1760000000123"
DETAILS = "<environment_details>\n# Visible files\na.py\n</environment_details>"
HISTORY: list[dict[str, Any]] = [
    {"role": "user", "ts": 1760000000200, "content": [
        {"type": "text", "text": "<task>\nMake the export fast.\n</task>"},
        {"type": "text", "text": DETAILS}]},
    {"role": "assistant", "ts": 1760000001000, "content": [
        {"type": "thinking", "thinking": "Where is it slow?", "signature": "s"},
        {"type": "text", "text": "I look at it."},
        {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.py"}}]},
    {"role": "user", "ts": 1760000002000, "content": [
        {"type": "tool_result", "tool_use_id": "t1",
         "content": [{"type": "text", "text": "x = 1"}]},
        {"type": "text", "text": DETAILS}]},
    {"role": "assistant", "ts": 1760000003000, "content": [{"type": "text", "text": "Done."}]},
    {"role": "user", "ts": 1760000004000, "content": [
        {"type": "text", "text": "[attempt_completion] Result:"},
        {"type": "text", "text": "<feedback>\nNot yet.\n</feedback>"}]},
]  # fmt: skip


def history(tmp_path: Path, entries: object = HISTORY, folder: str = TASK) -> Path:
    return write_json(tmp_path / folder / "api_conversation_history.json", entries)


def test_a_task_separates_typed_text_from_injected_text(tmp_path: Path) -> None:
    path = history(tmp_path)
    assert detect(LogFile(path.name, path)).name == "cline"
    events = events_of(path, "cline")
    (source,) = sources(events)
    assert (source.id, source.title) == (f"cline/{TASK}", "Make the export fast.")
    prompt, looked, gave, done, wanted = messages(events)
    assert (prompt.role, prompt.kind) == ("user", "said")
    assert prompt.text == f"Make the export fast.\n\n{DETAILS}"
    assert prompt.parts == (Part("marker", 23, len(prompt.text), "environment_details"),)
    assert prompt.sent_at == "2025-10-09T08:53:20.200000+00:00"
    assert looked.text == (
        'Where is it slow?\n\nI look at it.\n\n[tool use: read_file] {"path":"a.py"}'
    )
    assert (gave.role, gave.tool_result_ids, gave.parts[0]) == (
        "tool", ("t1",), Part("tool_result", 0, 5, "read_file"))  # fmt: skip
    assert (done.role, wanted.role) == ("assistant", "user")
    assert wanted.text == "[attempt_completion] Result:\n\nNot yet."


@pytest.mark.parametrize(
    ("blocks", "role", "kind", "text"),
    [
        (["[read_file for 'a.py'] Result:", "x = 1"], "tool", "said",
         "[read_file for 'a.py'] Result:\n\nx = 1"),
        (["[TASK RESUMPTION] This task was interrupted"], "user", "injected", None),
        ([DETAILS], "user", "injected", None),
        (["[ERROR] You did not use a tool", DETAILS], "user", "injected", None),
        (["<user_input mode=\"act\">go on</user_input>"], "user", "said", "go on"),
        (["I wrote <task> in a tag"], "user", "said", "I wrote <task> in a tag"),
        (["[x] Result of the vote"], "user", "said", "[x] Result of the vote"),
        (["This session is being continued from a previous conversation that ran out of context. "
          "We read a.py."], "user", "summary", None),
    ],
)  # fmt: skip
def test_texts_in_the_users_name_are_classified(
    tmp_path: Path, blocks: list[str], role: str, kind: str, text: str | None
) -> None:
    entries = [{"role": "user", "content": [{"type": "text", "text": words} for words in blocks]}]
    (message,) = messages(events_of(history(tmp_path, entries), "cline"))
    assert (message.role, message.kind) == (role, kind)
    assert message.text == (text or "\n\n".join(blocks))


def test_a_subtask_of_roo_code_is_said_by_the_task_that_started_it(tmp_path: Path) -> None:
    path = history(tmp_path)
    write_json(path.with_name("history_item.json"), {"id": TASK, "parentTaskId": "1760000000001"})
    (source,) = sources(events_of(path, "cline"))
    assert source.parent_id == "cline/1760000000001"
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(path)
        spoken = [(m.speaker, m.origin) for m in memory.messages(source.id) if m.role != "tool"]
    assert ("user", "typed") not in spoken
    assert spoken[0] == ("parent agent", "agent")


def test_a_grown_task_adds_only_its_tail(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(history(tmp_path, HISTORY[:3]))
        grown = memory.ingest(history(tmp_path))
        assert (grown.added, grown.known) == (2, 3)


WINDOW: list[dict[str, Any]] = [
    {"ts": 1760000000200, "type": "say", "say": "text", "text": "Make it fast.", "images": []},
    {"ts": 1760000000300, "type": "say", "say": "api_req_started", "text": "{}"},
    {"ts": 1760000000400, "type": "say", "say": "reasoning", "text": "Hm."},
    {"ts": 1760000000500, "type": "say", "say": "text", "text": "I look at it."},
    {"ts": 1760000000600, "type": "ask", "ask": "tool",
     "text": '{"tool":"readFile","path":"a.py"}'},
    {"ts": 1760000000700, "type": "ask", "ask": "command", "text": "make"},
    {"ts": 1760000000800, "type": "say", "say": "command_output", "text": "ok\n"},
    {"ts": 1760000000900, "type": "ask", "ask": "followup",
     "text": '{"question":"Which?","options":["A","B"]}'},
    {"ts": 1760000001000, "type": "say", "say": "user_feedback", "text": "A",
     "images": ["data:image/png;base64,AAAA"]},
]  # fmt: skip


def test_the_window_is_read_only_without_a_history(tmp_path: Path) -> None:
    path = write_json(tmp_path / TASK / "ui_messages.json", WINDOW)
    assert detect(LogFile(path.name, path)).name == "cline"
    events = events_of(path, "cline")
    assert roles_and_texts(events)[:-1] == [
        ("user", "Make it fast."),
        ("assistant", "Hm."),
        ("assistant", "I look at it."),
        ("assistant", '[tool use: readFile] {"tool":"readFile","path":"a.py"}'),
        ("assistant", "[tool use: command] make"),
        ("tool", "ok\n"),
        ("assistant", "Which?\n- A\n- B"),
    ]
    answer = messages(events)[-1]
    assert (answer.role, answer.text[:17], len(answer.blobs)) == ("user", "A\n\n[image: image/", 1)
    assert reasons(events) == ["no message: api_req_started"]
    history(tmp_path)
    assert reasons(events_of(path, "cline")) == ["told by the model's history"] * len(WINDOW)


def test_newer_histories_of_roo_have_the_ai_sdks_blocks(tmp_path: Path) -> None:
    entries = [
        {"role": "user", "ts": 1, "content": "Find it."},
        {"type": "reasoning", "encrypted_content": "x", "summary": [
            {"type": "summary_text", "text": "A grep will do."}]},
        {"role": "assistant", "content": [
            {"type": "reasoning", "text": "Yes."},
            {"type": "tool-call", "toolCallId": "c1", "toolName": "grep", "input": {"q": "x"}}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1",
                                      "toolName": "grep",
                                      "output": {"type": "text", "value": "3 hits"}}]},
        {"role": "user", "isSummary": True, "condenseId": "k", "content": "We look for x."},
        {"role": "assistant", "condenseParent": "k", "content": "Found."},
        {"role": "user", "isTruncationMarker": True, "content": "[Sliding window]"},
    ]  # fmt: skip
    path = history(tmp_path, {"version": 2, "messages": entries})
    assert detect(LogFile(path.name, path)).name == "cline"
    imported = messages(events_of(path, "cline"))
    assert [(message.role, message.kind, message.text) for message in imported] == [
        ("user", "said", "Find it."),
        ("assistant", "said", "A grep will do."),
        ("assistant", "said", 'Yes.\n\n[tool use: grep] {"q":"x"}'),
        ("tool", "said", "3 hits"),
        ("user", "summary", "We look for x."),
        ("assistant", "said", "Found."),
        ("user", "injected", "[Sliding window]"),
    ]
    assert imported[3].tool_result_ids == ("c1",)
    assert all(message.active for message in imported)


SESSION: dict[str, Any] = {
    "version": 1, "updated_at": "2026-01-01T00:00:00Z", "agent": "lead", "sessionId": "1760_ab",
    "messages": [
        {"id": "msg_a1", "role": "user", "ts": 1760000000000, "content": [
            {"type": "text", "text": "Read it."},
            {"type": "file", "path": "/w/a.py", "content": "x = 1\n"}]},
        {"id": "msg_b2", "role": "assistant", "ts": 1760000001000, "content": [
            {"type": "tool_use", "id": "t9", "name": "read_files", "input": {}}]},
        {"id": "msg_c3_tool_t9_tool_t9", "role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t9", "name": "read_files",
             "content": [{"query": "/w/a.py", "result": "1 | x", "success": True}]}]},
    ],
}  # fmt: skip


def test_a_session_of_the_sdk_has_ids_and_its_settings_have_the_title(tmp_path: Path) -> None:
    path = write_json(tmp_path / "1760_ab.messages.json", SESSION)
    about = {"session_id": "1760_ab", "source": "cli", "started_at": "2026", "messages_path": "x",
             "metadata": {"title": "Read it"}}  # fmt: skip
    settings = write_json(tmp_path / "1760_ab.json", about)
    for file in (path, settings):
        assert detect(LogFile(file.name, file)).name == "cline"
    assert reasons(events_of(settings, "cline")) == ["no messages: the session's settings"]
    events = events_of(path, "cline")
    (source,) = sources(events)
    assert (source.id, source.title, source.parent_id) == ("cline/1760_ab", "Read it", None)
    prompt, _, gave = messages(events)
    assert prompt.parts == (Part("marker", 10, 16, "/w/a.py"),)
    assert (gave.role, gave.text, gave.external_id) == (
        "tool", "/w/a.py\n\n1 | x", "cline:msg_c3_tool_t9")  # fmt: skip
    assert prompt.unique_id
    mate = SESSION | {"sessionId": "1760_ab__teamtask__mate", "agent": "mate"}
    (source,) = sources(events_of(write_json(tmp_path / "mate.messages.json", mate), "cline"))
    assert source.parent_id == "cline/1760_ab"


def test_messages_kept_by_a_compaction_are_not_read_again(tmp_path: Path) -> None:
    summary = {
        "id": "msg_s",
        "role": "user",
        "content": [{"type": "text", "text": "We read it."}],
        "metadata": {"kind": "compaction_summary", "generatedAt": 1760000002000},
    }
    changed = copy.deepcopy(SESSION)
    changed["messages"][0]["content"][1] = {"type": "text", "text": "<SYSTEM_NOTICE>\n…"}
    changed["messages"].insert(0, summary)
    path = write_json(tmp_path / "1760_ab.compaction.json", changed)
    assert len(messages(events_of(path, "cline"))) == 4
    write_json(tmp_path / "1760_ab.messages.json", SESSION)
    events = events_of(path, "cline")
    assert [(m.kind, m.text, m.sent_at) for m in messages(events)] == [
        ("summary", "We read it.", "2025-10-09T08:53:22+00:00")
    ]
    assert reasons(events) == ["message repeated by a compaction"] * 3


@pytest.mark.parametrize(
    "value",
    [[{"role": "user", "content": "hi"}], [{"role": "user", "ts": 1}], [1, 2], {"messages": []},
     [{"type": "say", "text": "x"}], {"version": 2, "messages": [{"role": "user", "content": "x"}]},
     []],
)  # fmt: skip
def test_other_tools_documents_are_not_recognized(tmp_path: Path, value: object) -> None:
    path = write_json(tmp_path / "chat.json", value)
    file = LogFile(path.name, path)
    assert by_name("cline").recognizes(file, file.head()) == 0


@given(st.data())
def test_damage_costs_at_most_one_entry(draw: st.DataObject) -> None:
    value = draw.draw(st.sampled_from([HISTORY, SESSION, WINDOW]))
    value = copy.deepcopy(value)
    entries = value["messages"] if isinstance(value, dict) else value
    entry = draw.draw(st.sampled_from(entries))
    entry[draw.draw(st.sampled_from(sorted(entry)))] = copy.deepcopy(
        draw.draw(st.sampled_from(ODD))
    )
    if isinstance(entry.get("content"), list) and entry["content"]:
        entry["content"][0] = draw.draw(st.sampled_from(ODD))
    file = LogFile("x.json", data=json.dumps(value).encode())
    events = list(by_name("cline").read(file))
    assert sum(isinstance(event, Message | Skipped) for event in events) == len(entries)
    cut = json.dumps(value).encode()[: draw.draw(st.integers(0, 400))]
    with contextlib.suppress(ImportFileError):
        list(by_name("cline").read(LogFile("x.json", data=cut)))


@pytest.mark.parametrize("words", [3, 2_000, 40_000])
def test_a_task_of_any_length_gives_the_title(words: int) -> None:
    task = "Count the hens. " + "And then again. " * words
    blocks = [{"type": "text", "text": f"<task>\n{task}\n</task>"}]
    rows = [{"role": "user", "content": blocks, "ts": 1}, *[
        {"role": "assistant", "content": [{"type": "text", "text": f"Hen {at}."}], "ts": at}
        for at in range(2_000)
    ]]  # fmt: skip
    file = LogFile("api_conversation_history.json", data=json.dumps(rows).encode())
    source = next(event for event in by_name("cline").read(file) if isinstance(event, Source))
    assert source.title is not None
    assert source.title.startswith("Count the hens. And then again.")
