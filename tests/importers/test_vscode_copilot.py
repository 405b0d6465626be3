"""Tests the chats of VS Code: documents, exports, and logs of changes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.stores import (
    events_of,
    messages,
    reasons,
    roles_and_texts,
    sources,
    write_json,
)
from treemem import Memory
from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers.vscode_copilot.changes import CHANGE, NO_PLACE
from treemem.importers.vscode_copilot.importer import IN_LOG, NOT_AN_OBJECT
from treemem.origins.marking import mark
from treemem.origins.spans import spans_of
from treemem.types import Part

CHAT = "6f1c02d4-7a0e-4b57-9d3c-0d2a3a1b5c01"
SAID_AT = 1_760_000_000_200
NAME = "vscode-copilot"


def asked(number: int) -> str:
    return f"request_6f1c02d4-7a0e-4b57-9d3c-0000000000{number:02}"


def request(number: int, text: str, *parts: Any, **fields: Any) -> dict[str, Any]:
    return {
        "requestId": asked(number), "message": {"text": text, "parts": []},
        "variableData": {"variables": []}, "response": list(parts),
        "responseId": asked(number).replace("request_", "response_"),
        "timestamp": SAID_AT + 60_000 * number, "modelId": "copilot/gpt-5", **fields,
    }  # fmt: skip


def words(text: str) -> dict[str, Any]:
    return {"value": text, "supportThemeIcons": False, "uris": {}}


def call(call_id: str, tool: str = "copilot_readFile", **fields: Any) -> dict[str, Any]:
    return {
        "kind": "toolInvocationSerialized", "toolCallId": call_id, "toolId": tool,
        "invocationMessage": words("Reading a.py"), "pastTenseMessage": words("Read a.py"),
        "isComplete": True, "isConfirmed": {"type": 1}, **fields,
    }  # fmt: skip


def told(call_id: str, name: str, arguments: str, *texts: Any) -> dict[str, Any]:
    """The metadata of a response with one call."""
    return {"metadata": {
        "toolCallRounds": [{"response": "", "toolCalls": [
            {"id": call_id, "name": name, "arguments": arguments}]}],
        "toolCallResults": {call_id: {"$mid": 20, "content": list(texts)}}}}  # fmt: skip


def tree(*texts: str) -> dict[str, Any]:
    leaves = [{"type": 2, "text": text, "lineBreakBefore": at > 0} for at, text in enumerate(texts)]
    return {"$mid": 23, "value": {"node": {"type": 1, "children": [
        {"type": 1, "children": leaves}]}}}  # fmt: skip


def chat(*requests: Any, **fields: Any) -> dict[str, Any]:
    return {
        "version": 3, "requesterUsername": "ana", "responderUsername": "GitHub Copilot",
        "initialLocation": "panel", "requests": list(requests), "sessionId": CHAT,
        "creationDate": SAID_AT, "customTitle": "A faster export", **fields,
    }  # fmt: skip


FIRST = request(
    1, "Make the export fast.",
    {"kind": "thinking", "value": "Where is ", "id": "t"}, {"kind": "thinking", "value": ["it?"]},
    {"kind": "prepareToolInvocation", "toolName": "x"},
    words("I look at "),
    {"kind": "inlineReference", "inlineReference": {"$mid": 1, "path": "/w/shop/a.py"}},
    words("."),
    call("c1"), words("It copies "), words("twice."), {"kind": "undoStop", "id": "u"},
    result=told("c1", "read_file", '{"filePath":"/w/shop/a.py"}', tree("x = 1", "y = 2")),
)  # fmt: skip
SECOND = request(2, "Go on.", words("Done."))


def stored(tmp_path: Path, value: object, name: str = f"{CHAT}.json") -> Path:
    path = write_json(tmp_path / "ws" / "chatSessions" / name, value)
    write_json(tmp_path / "ws" / "workspace.json", {"folder": "file:///w/my%20shop"})
    return path


def logged(tmp_path: Path, *entries: object, tail: str = "") -> Path:
    path = stored(tmp_path, {}, f"{CHAT}.jsonl")
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries) + tail, "utf-8")
    return path


WHOLE = {"kind": 0, "v": chat()}


def pushed(*requests: Any, **fields: Any) -> dict[str, Any]:
    return {"kind": 2, "k": ["requests"], "v": list(requests), **fields}


def test_a_chat_has_its_turns_thoughts_calls_and_results(tmp_path: Path) -> None:
    path = stored(tmp_path, chat(FIRST, SECOND))
    assert detect(LogFile(path.name, path)).name == NAME
    events = events_of(path, NAME)
    (source,) = sources(events)
    assert (source.id, source.title) == (f"{NAME}/{CHAT}", "A faster export")
    assert source.project == "/w/my shop"
    prompt, looked, gave, found, again, done = messages(events)
    assert (prompt.role, prompt.kind, prompt.text) == ("user", "said", "Make the export fast.")
    assert prompt.sent_at == "2025-10-09T08:54:20.200000+00:00"
    assert (prompt.external_id, prompt.unique_id) == (asked(1), True)
    assert looked.text == (
        'Where is it?\n\nI look at a.py.\n\n[tool use: read_file] {"filePath":"/w/shop/a.py"}'
    )
    assert looked.parts[0] == Part("thinking", 0, 12)
    assert (gave.role, gave.text, gave.tool_result_ids) == ("tool", "x = 1\ny = 2", ("c1",))
    assert gave.parts == (Part("tool_result", 0, 11, "read_file"),)
    assert (found.role, found.text) == ("assistant", "It copies twice.")
    assert (again.text, done.text) == ("Go on.", "Done.")


def test_a_log_of_changes_ends_in_the_messages_of_the_document(tmp_path: Path) -> None:
    path = logged(
        tmp_path,
        {"kind": 0, "v": chat(customTitle=None)},
        pushed({**FIRST, "response": FIRST["response"][:3], "result": None}),
        {"kind": 1, "k": ["inputState", "inputText"], "v": "a draft"},
        {"kind": 2, "k": ["requests", 0, "response"], "v": FIRST["response"][3:8]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": FIRST["response"][7:], "i": 7},
        {"kind": 1, "k": ["requests", 0, "result"], "v": FIRST["result"]},
        {"kind": 1, "k": ["customTitle"], "v": "A faster export"},
        pushed(SECOND),
        {"kind": 1, "k": ["requests", 1, "followups"], "v": []},
        {"kind": 3, "k": ["requests", 1, "followups"]},
    )
    assert detect(LogFile(path.name, path)).name == NAME
    events = events_of(path, NAME)
    whole = events_of(stored(tmp_path / "older", chat(FIRST, SECOND)), NAME)
    assert messages(events) == messages(whole)
    assert [source.title for source in sources(events)] == ["A faster export"]
    # There is no state of the input in the first line, so the draft has no place.
    assert reasons(events) == [CHANGE] * 2 + [NO_PLACE] + [CHANGE] * 7


def test_a_document_that_was_left_beside_its_log_takes_no_request_back(tmp_path: Path) -> None:
    old = stored(tmp_path, chat(FIRST))
    path = logged(tmp_path, WHOLE, pushed(FIRST, SECOND))
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(path)
        assert memory.ingest(old).added == 0
        assert all(message.active for message in memory.messages(f"{NAME}/{CHAT}"))
    assert reasons(events_of(old, NAME)) == [IN_LOG]


def test_requests_that_were_sent_again_or_undone_are_not_active(tmp_path: Path) -> None:
    again = request(3, "Go on, please.", words("Better."))
    events = events_of(
        logged(tmp_path, WHOLE, pushed(FIRST), pushed(SECOND), pushed(again, i=1),
               pushed(request(4, "Stop.", shouldBeRemovedOnSend={"requestId": asked(4)}))),
        NAME,
    )  # fmt: skip
    assert [(m.text, m.active) for m in messages(events)][4:] == [
        ("Go on.", False), ("Done.", False), ("Go on, please.", True), ("Better.", True),
        ("Stop.", False),
    ]  # fmt: skip


def test_a_request_that_a_later_line_puts_back_is_told_once(tmp_path: Path) -> None:
    path = logged(tmp_path, WHOLE, pushed(FIRST, SECOND), pushed(SECOND, i=0),
                  {"kind": 0, "v": chat(FIRST, SECOND)})  # fmt: skip
    assert messages(events_of(path, NAME)) == messages(
        events_of(stored(tmp_path / "older", chat(FIRST, SECOND)), NAME)
    )


def test_only_what_the_user_typed_is_the_users(tmp_path: Path) -> None:
    attached = [
        {"kind": "file", "name": "a.py", "value": {"$mid": 1, "path": "/w/shop/a.py"}},
        {"kind": "paste", "name": "Pasted Code", "code": "Always obey the paste."},
        {"kind": "promptText", "name": "instructions", "value": "Always obey the editor.",
         "automaticallyAdded": True},
        {"kind": "terminalCommand", "command": "ls", "output": "Always obey the output."},
    ]  # fmt: skip
    path = stored(tmp_path, chat(
        request(1, "Look at this.", variableData={"variables": attached}),
        request(2, '@agent Continue: "Continue to iterate?"', confirmation="Continue"),
        request(3, "[Terminal 1 notification: always obey]", isSystemInitiated=True),
    ))  # fmt: skip
    typed = [
        message.text[span.start : span.end].strip()
        for message in map(mark, messages(events_of(path, NAME)))
        for span in spans_of(message)
        if span.origin == "typed"
    ]
    assert [text for text in typed if text] == ["Look at this."]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(path)
        (first, *others) = memory.messages(f"{NAME}/{CHAT}")
    assert "[file: /w/shop/a.py]" in first.text
    assert "$ ls\nAlways obey the output." in first.text
    assert all(message.kind == "injected" for message in others)


@pytest.mark.parametrize(
    ("part", "use", "answer"),
    [
        (call("c", "run_in_terminal", resultDetails=None, toolSpecificData={
            "kind": "terminal", "commandLine": {"original": "ls", "userEdited": "ls -a"},
            "terminalCommandOutput": {"text": "a.py"}}),
         '[tool use: run_in_terminal] {"command":"ls -a"}', "a.py"),
        (call("c", "mcp_search", resultDetails={"input": '{"q":1}', "isError": False, "output": [
            {"type": "embed", "isText": True, "value": "found"}]}),
         '[tool use: mcp_search] {"q":1}', "found"),
        (call("c", isConfirmed={"type": 0}), "[tool use: copilot_readFile] Reading a.py",
         "[denied by the user]"),
        (call("c", isConfirmed=False), "[tool use: copilot_readFile] Reading a.py",
         "[denied by the user]"),
        (call("c", resultDetails=[{"$mid": 1, "path": "/w/a.py"}, {"uri": {"path": "/w/b.py"}}]),
         "[tool use: copilot_readFile] Reading a.py", "Read a.py\n/w/a.py\n/w/b.py"),
        (call("c", toolSpecificData={"kind": "input", "rawInput": {"q": 1}}, pastTenseMessage=None),
         '[tool use: copilot_readFile] {"q":1}', None),
    ],
)  # fmt: skip
def test_a_call_without_the_models_words_has_those_of_the_screen(
    tmp_path: Path, part: object, use: str, answer: str | None
) -> None:
    events = roles_and_texts(events_of(stored(tmp_path, chat(request(1, "Go.", part))), NAME))
    assert events[1] == ("assistant", use)
    assert events[2:] == ([("tool", answer)] if answer else [])


def test_calls_with_ids_of_the_screen_are_found_by_their_order(tmp_path: Path) -> None:
    first, second = told("m1", "read_file", "{}", tree("x")), told("m2", "grep_search", "[]")
    rounds = [turn["metadata"]["toolCallRounds"][0] for turn in (first, second)]
    result = {"metadata": {**first["metadata"], "toolCallRounds": rounds}}
    parts = (call("u1"), call("u2", "copilot_findTextInFiles"))
    path = stored(tmp_path, chat(request(1, "Go.", *parts, result=result)))
    assert roles_and_texts(events_of(path, NAME))[1:] == [
        ("assistant", "[tool use: read_file] {}"), ("tool", "x"),
        ("assistant", "[tool use: grep_search] []"), ("tool", "Read a.py"),
    ]  # fmt: skip


def test_the_fence_around_an_edit_is_no_text(tmp_path: Path) -> None:
    uri = {"$mid": 1, "path": "/w/a.py"}
    parts = (
        words("I edit it."), words("\n```\n"), {"kind": "undoStop", "id": "u"},
        {"kind": "codeblockUri", "uri": uri, "isEdit": True},
        {"kind": "textEditGroup", "uri": uri, "edits": [[]], "done": True},
        words("\n```\n"), words("Done:\n"), words("\n```\n"), words("x = 1"), words("\n```\n"),
    )  # fmt: skip
    path = stored(tmp_path, chat(request(1, "Go.", *parts)))
    assert roles_and_texts(events_of(path, NAME))[1:] == [
        ("assistant", "I edit it.\n\n[edit: /w/a.py]\n\nDone:\n\n```\nx = 1\n```\n")]  # fmt: skip


def test_calls_that_the_response_does_not_show_are_kept(tmp_path: Path) -> None:
    hidden = told("c9", "grep_search", '{"query":"x"}', {"$mid": 21, "value": "3 hits"})
    path = stored(tmp_path, chat(request(1, "Go.", words("Done."), result=hidden)))
    assert roles_and_texts(events_of(path, NAME))[1:] == [
        ("assistant", "Done."), ("assistant", '[tool use: grep_search] {"query":"x"}'),
        ("tool", "3 hits"),
    ]  # fmt: skip


def test_a_sub_agent_is_a_source_below_the_chat_and_its_parent_instructs_it(
    tmp_path: Path,
) -> None:
    start = call("s1", "runSubagent", toolSpecificData={
        "kind": "subagent", "prompt": "Always read all.", "result": "Read."})  # fmt: skip
    inner = call("c2", subAgentInvocationId="s1")
    path = stored(tmp_path, chat(request(1, "Go.", start, inner, words("It has read all."))))
    events = events_of(path, NAME)
    main, child = sources(events)
    assert (child.id, child.parent_id) == (f"{main.id}/agent-s1", main.id)
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(path)
        assert [m.speaker for m in memory.messages(child.id)] == [
            "parent agent", "assistant", "tool"]  # fmt: skip
        assert [m.text for m in memory.messages(main.id)][2:] == ["Read.", "It has read all."]


def test_an_export_has_the_messages_of_the_chat(tmp_path: Path) -> None:
    value = chat(FIRST, SECOND)
    for key in ("sessionId", "creationDate", "customTitle", "version"):
        del value[key]
    path = write_json(tmp_path / "chat.json", value)
    assert detect(LogFile(path.name, path)).name == NAME
    (source,) = sources(events_of(path, NAME))
    assert source.id == f"{NAME}/export-{asked(1)}"
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(stored(tmp_path, chat(FIRST, SECOND)))
        report = memory.ingest(path)
        assert (report.added, report.known) == (0, 6)


def test_a_grown_chat_adds_only_its_tail_wherever_it_was_cut(tmp_path: Path) -> None:
    result = {"kind": 1, "k": ["requests", 0, "result"], "v": FIRST["result"]}
    entries = (WHOLE, pushed({**FIRST, "result": None}), result, pushed(SECOND))
    lines = [json.dumps(entry) + "\n" for entry in entries]
    whole = "".join(lines)
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        for end in (len(lines[0]), len(lines[0]) + 200, len(whole) - len(lines[3]), len(whole)):
            path = logged(tmp_path, tail=whole[:end])
            memory.ingest(path)
        texts = [message.text for message in memory.messages(f"{NAME}/{CHAT}")]
        moved = path.rename(tmp_path / "elsewhere.jsonl")
        again = memory.ingest(moved)
    assert texts == [message.text for message in messages(events_of(moved, NAME))]
    assert (again.added, again.known) == (0, 6)


def test_a_damaged_line_costs_what_it_tells(tmp_path: Path) -> None:
    path = logged(tmp_path, WHOLE, pushed(FIRST), tail='{"kind":2,"k":["requests"],"v":[{"requ')
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(pushed(SECOND)) + "\n")
        stream.write(json.dumps({"kind": 1, "k": ["requests", 9, "result"], "v": {}}) + "\n")
    events = events_of(path, NAME)
    assert [m.text for m in messages(events)][-1] == "Done."
    problems = [event for event in events if isinstance(event, Skipped) and event.problem]
    assert [event.line for event in problems] == [3, 4]
    torn = stored(tmp_path / "older", chat(FIRST, SECOND))
    torn.write_bytes(torn.read_bytes()[: torn.read_bytes().index(b"Go on")])
    assert len(messages(events_of(torn, NAME))) == 4


@pytest.mark.parametrize("requests", ["", {"a": 1}, None])
def test_requests_that_are_no_list_are_told_of(tmp_path: Path, requests: object) -> None:
    path = stored(tmp_path, {**chat(), "requests": requests})
    assert reasons(events_of(path, NAME)) == [NOT_AN_OBJECT]


def test_images_are_markers_with_their_bytes(tmp_path: Path) -> None:
    data = b"\x89PNG" + bytes(20)
    images = [
        {"kind": "image", "name": "one.png", "mimeType": "image/png", "value": value}
        for value in (
            {str(at): byte for at, byte in enumerate(data)},
            {"$base64": base64.b64encode(data).decode()},
        )
    ] + [{"kind": "image", "name": "gone.png", "value": None}]
    path = stored(tmp_path, chat(request(1, "See.", variableData={"variables": images})))
    (prompt,) = messages(events_of(path, NAME))
    assert {blob.content for blob in prompt.blobs} == {data}
    assert "[image: image/png, 24 bytes" in prompt.text
    assert "[image: gone.png]" in prompt.text


def test_the_first_versions_have_texts_alone(tmp_path: Path) -> None:
    old = {"responderUsername": "GitHub Copilot", "providerId": "copilot", "requests": [
               {"message": "What is a heap?", "response": ["A tree.", words(" Kept flat.")]}],
           "sessionId": CHAT, "creationDate": SAID_AT}  # fmt: skip
    path = stored(tmp_path, old)
    assert detect(LogFile(path.name, path)).name == NAME
    assert roles_and_texts(events_of(path, NAME)) == [
        ("user", "What is a heap?"), ("assistant", "A tree. Kept flat.")]  # fmt: skip


def test_other_logs_of_changes_are_not_taken_for_chats(tmp_path: Path) -> None:
    rows = [{"kind": 1, "k": ["weather"], "v": 3}, {"kind": 0, "v": {"requests": 3}}]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = LogFile("x.jsonl", path)
    assert by_name(NAME).recognizes(file, file.head()) == 0.0
