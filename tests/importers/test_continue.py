"""Tests the sessions of Continue, of its editors' extensions and of its command line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.reading import retyped
from tests.helpers.stores import events_of, messages, reasons, roles_and_texts, sources, write_json
from treemem import Memory
from treemem.importers import LogFile, detect
from treemem.importers.continue_dev.speech import Speech
from treemem.ingest.discovery import discover, places
from treemem.types import Message, Part, Source

SESSION = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"


def item(role: str, content: object, **fields: Any) -> dict[str, Any]:
    message = {"role": role, "content": content}
    message |= {key: fields.pop(key) for key in ("toolCalls", "toolCallId") if key in fields}
    return {"message": message, "contextItems": []} | fields


def call(use_id: str, name: str, **arguments: object) -> dict[str, Any]:
    return {"id": use_id, "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)}}  # fmt: skip


def state(made: dict[str, Any], *outputs: str) -> dict[str, Any]:
    items = [{"name": "Terminal", "description": "", "content": words} for words in outputs]
    return {"toolCallId": made["id"], "toolCall": made, "status": "done", "output": items}


def editor(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"type": "doc", "content": [{"type": "paragraph", "content": list(nodes)}]}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


CALL = call("c1", "run_terminal_command", command="make test")
DONE = state(CALL, "2 passed")
TALK = [
    item("user", "Why is the export empty?", editorState=editor(words("Why is the export empty?"))),
    item("assistant", "I run the tests.", toolCalls=[CALL], toolCallStates=[DONE],
         reasoning={"active": False, "text": "Look first.", "startAt": 1_760_000_005_000}),
    item("assistant", "It was the filter."),
]  # fmt: skip


def written(folder: Path, history: list[Any], **about: Any) -> Path:
    session = {"sessionId": SESSION, "title": "Empty export", "history": history,
               "workspaceDirectory": "file:///w/mill"} | about  # fmt: skip
    listed = [{"sessionId": SESSION, "title": "Empty export", "dateCreated": "1760000000000",
               "workspaceDirectory": "file:///w/mill"}]  # fmt: skip
    write_json(folder / "sessions.json", listed)
    return write_json(folder / f"{SESSION}.json", session)


def test_an_item_is_a_message_and_the_list_has_the_date(tmp_path: Path) -> None:
    path = written(tmp_path, TALK)
    assert detect(LogFile(path.name, path)).name == "continue"
    events = events_of(path, "continue")
    expected = Source(f"continue/{SESSION}", "continue", "Empty export", path.name, rewritten=True,
                      project="/w/mill")  # fmt: skip
    assert sources(events) == [expected]
    asked, ran, answered = messages(events)
    assert (asked.role, asked.kind, asked.text) == ("user", "said", "Why is the export empty?")
    assert ran.text == (
        "Look first.\n\nI run the tests.\n\n"
        '[tool use: run_terminal_command] {"command": "make test"}\n\n2 passed'
    )
    assert [part.kind for part in ran.parts] == ["thinking", "tool_use", "tool_result"]
    assert ran.tool_use_ids == ran.tool_result_ids == ("c1",)
    assert [message.sent_at for message in (asked, ran, answered)] == [
        "2025-10-09T08:53:20+00:00", "2025-10-09T08:53:25+00:00", "2025-10-09T08:53:25+00:00",
    ]  # fmt: skip


def test_sessions_of_kiro_which_was_made_of_continue_are_kiros(tmp_path: Path) -> None:
    kiros = item("assistant", "On it.", executionId="e")
    for history, folder in (([TALK[0], kiros], "x"), (TALK[:1], "kiro.kiroagent")):
        path = written(tmp_path / folder, history)
        assert detect(LogFile(path.name, path)).name == "kiro"


def test_what_is_attached_is_not_typed(tmp_path: Path) -> None:
    attached = [{"name": "a.py", "description": "/w/a.py", "content": "Always obey.\n",
                 "id": {"providerTitle": "file", "itemId": "1"}}]  # fmt: skip
    path = written(tmp_path, [item("user", "Mend it.", contextItems=attached)])
    (prompt,) = messages(events_of(path, "continue"))
    assert prompt.text == "Mend it.\n\nAlways obey.\n"
    assert prompt.parts == (Part("text", 10, len(prompt.text), "a.py"),)


def test_the_prompt_of_a_command_is_not_typed(tmp_path: Path) -> None:
    command = {"type": "slashcommand", "attrs": {"label": "test"}}
    mention = {"type": "mention", "attrs": {"label": "a.py", "renderInlineAs": "a.py"}}
    history = [
        item("user", "Always write tests.\n\nFor a.py only", editorState=editor(
            command, words("For "), mention, words(" only"))),
        item("user", "Always write tests.", editorState=editor(command)),
        item("user", "Changed by the tool.", editorState=editor(command, words("not in it"))),
        item("user", "From the command line.", editorState="From the command line."),
    ]  # fmt: skip
    typed, alone, unknown, plain = messages(events_of(written(tmp_path, history), "continue"))
    assert (typed.kind, typed.parts) == ("said", (Part("marker", 0, 21, "command"),))
    assert (alone.kind, unknown.kind, plain.kind) == ("injected", "injected", "said")


def test_results_in_messages_of_their_own_are_told_once(tmp_path: Path) -> None:
    other = call("c2", "read_file", filepath="a.py")
    history = [
        *TALK[:2], item("tool", "2 passed", toolCallId="c1"),
        item("assistant", "", toolCalls=[other]), item("tool", "x = 1", toolCallId="c2"),
    ]  # fmt: skip
    events = events_of(written(tmp_path, history), "continue")
    assert reasons(events) == ["result of a tool, told with its call"]
    assert roles_and_texts(events)[2:] == [
        ("assistant", '[tool use: read_file] {"filepath": "a.py"}'), ("tool", "x = 1"),
    ]  # fmt: skip
    assert messages(events)[-1].parts == (Part("tool_result", 0, 5, "read_file"),)


def test_older_items_have_one_state_and_thinking_of_their_own(tmp_path: Path) -> None:
    history = [
        item("thinking", [{"type": "text", "text": "Look first."}]),
        item("assistant", "Now.", toolCallState=state(CALL, "2 passed")),
        item("system", "You are Continue."),
        item("user", [{"type": "text", "text": "See."},
                      {"type": "imageUrl", "imageUrl": {"url": "data:image/png;base64,AAAA"}}]),
    ]  # fmt: skip
    thought, ran, system, seen = messages(events_of(written(tmp_path, history), "continue"))
    assert thought.parts == (Part("thinking", 0, 11),)
    assert ran.text.endswith("\n\n2 passed")
    assert (system.role, system.kind) == ("system", "injected")
    assert seen.text.startswith("See.\n\n[image: image/png, 3 bytes, sha256:")


def test_a_summary_of_the_conversation_is_one(tmp_path: Path) -> None:
    history = [*TALK[:2], TALK[2] | {"conversationSummary": "The export was empty."}]
    events = events_of(written(tmp_path, history), "continue")
    assert [message.kind for message in messages(events)] == ["said"] * 3 + ["summary"]
    assert messages(events)[-1].text == "The export was empty."


def test_a_session_that_grows_adds_its_tail_and_an_edit_abandons_turns(tmp_path: Path) -> None:
    edited = [TALK[0], TALK[1], item("user", "Is it the print?"), item("assistant", "Yes.")]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        longer = [*TALK, item("user", "And the import?"), item("assistant", "It works.")]
        for history, counts in ((TALK, (3, 0)), (longer, (2, 3)), (edited, (2, 2))):
            report = memory.ingest(written(tmp_path / "sessions", history))
            assert (report.added, report.known) == counts
        texts = [message.text for message in memory.messages(f"continue/{SESSION}")]
    assert texts[2:] == ["Is it the print?", "Yes."]


def test_the_list_of_sessions_has_no_messages(tmp_path: Path) -> None:
    written(tmp_path, TALK)
    path = tmp_path / "sessions.json"
    assert detect(LogFile(path.name, path)).name == "continue"
    events = events_of(path, "continue")
    assert reasons(events) == ["no message: a session in the list of sessions"]
    path.write_text("[{")
    (asked, *_) = messages(events_of(tmp_path / f"{SESSION}.json", "continue"))
    assert asked.sent_at is None


def test_a_title_that_continue_gives_is_none(tmp_path: Path) -> None:
    for title in ("New Session", "Untitled Session", "", None):
        path = written(tmp_path, TALK, title=title)
        write_json(tmp_path / "sessions.json", [])
        assert sources(events_of(path, "continue"))[0].title is None


def test_sessions_are_found_without_their_list(tmp_path: Path) -> None:
    written(tmp_path / ".continue" / "sessions", TALK)
    written(tmp_path / "elsewhere" / "sessions", TALK)
    (logs,) = discover(places({}, tmp_path))
    assert (logs.format, logs.files) == ("continue", 1)
    moved = {"CONTINUE_GLOBAL_DIR": str(tmp_path / "elsewhere")}
    (logs,) = discover(places(moved, tmp_path))
    assert logs.folders == (tmp_path / "elsewhere" / "sessions",)


@given(st.integers(0, 2**32))
def test_a_value_of_a_wrong_type_costs_at_most_its_message(seed: int) -> None:
    speech = Speech(random.Random(seed).choice([None, "2026-03-01T09:00:00Z"]))
    history = retyped(json.loads(json.dumps(TALK)), seed)
    for entry in history if isinstance(history, list) else ():
        if isinstance(entry, dict):
            for event in speech.read(entry):
                assert isinstance(event, Message) or event.reason
