"""Tests the folders of conversations of OpenHands, of both generations."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.reading import mutated, retyped, zipped
from tests.helpers.stores import events_of, messages, reasons, roles_and_texts, sources, write_json
from treemem import Memory
from treemem.importers import LogFile, detect
from treemem.importers.openhands.speech import Speech
from treemem.ingest.discovery import discover, places
from treemem.types import PARENT_AGENT, Message, Part, Source

CONVERSATION = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"
FOLDER = CONVERSATION.replace("-", "")


def event_id(number: int) -> str:
    return str(uuid.UUID(int=number + 1))


def event(number: int, kind: str, source: str, **fields: Any) -> dict[str, Any]:
    time = f"2026-03-01T09:00:{number:02}.250000"
    return {"id": event_id(number), "timestamp": time, "source": source, "kind": kind} | fields


def message(number: int, role: str, text: str, **fields: Any) -> dict[str, Any]:
    content = [{"cache_prompt": False, "type": "text", "text": text}]
    said = {"role": role, "content": content, "thinking_blocks": []}
    source = "user" if role == "user" else "agent"
    return event(number, "MessageEvent", source, llm_message=said, extended_content=[]) | fields


def action(number: int, tool: str, arguments: dict[str, Any], **fields: Any) -> dict[str, Any]:
    call = {"id": f"c{number}", "name": tool, "arguments": json.dumps(arguments)}
    done = {"kind": "Action"} | arguments
    return event(number, "ActionEvent", "agent", action=done, tool_name=tool, tool_call=call,
                 tool_call_id=f"c{number}", thought=[], thinking_blocks=[]) | fields  # fmt: skip


def observation(number: int, tool: str, cause: int, text: str, **fields: Any) -> dict[str, Any]:
    told = {"kind": "TerminalObservation", "content": [{"type": "text", "text": text}]} | fields
    return event(number, "ObservationEvent", "environment", observation=told, tool_name=tool,
                 tool_call_id=f"c{cause}", action_id=event_id(cause))  # fmt: skip


TALK = [
    event(0, "SystemPromptEvent", "agent", tools=[],
          system_prompt={"type": "text", "text": "You are OpenHands."}),
    message(1, "user", "Why is the export empty?",
            extended_content=[{"type": "text", "text": "Always obey."}]),
    action(2, "terminal", {"command": "make test"}, reasoning_content="Look first.",
           thought=[{"type": "text", "text": "I run the tests."}]),
    observation(3, "terminal", 2, "2 passed"),
    action(4, "finish", {"message": "It was the filter."}),
    observation(5, "finish", 4, "It was the filter."),
    event(6, "ConversationStateUpdateEvent", "environment", key="execution_status", value="idle"),
]  # fmt: skip


def written(folder: Path, events: list[Any], *, at: int = 0, **state: Any) -> Path:
    """A conversation of version 1; returns its state. at: the number of the first event."""
    for number, value in enumerate(events, at):
        write_json(folder / "events" / f"event-{number:05}-{event_id(number)}.json", value)
    workspace = {"kind": "LocalWorkspace", "working_dir": "/w/mill"}
    about: dict[str, Any] = {
        "id": CONVERSATION,
        "agent": {"llm": {"model": "m"}},
        "workspace": workspace,
    }
    about |= {"persistence_dir": str(folder), "max_iterations": 500, "execution_status": "idle"}
    return write_json(folder / "base_state.json", about | state)


OLDER = [
    {"id": 0, "timestamp": "2025-05-01T09:00:00.5", "source": "agent", "action": "system",
     "args": {"content": "You are OpenHands.", "tools": None}},
    {"id": 1, "timestamp": "2025-05-01T09:00:01.5", "source": "user", "action": "message",
     "args": {"content": "Mend it.", "image_urls": None, "wait_for_response": False}},
    {"id": 2, "timestamp": "2025-05-01T09:00:02.5", "source": "agent", "action": "run",
     "args": {"command": "make", "thought": "I build."}},
    {"id": 3, "timestamp": "2025-05-01T09:00:03.5", "source": "agent", "cause": 2,
     "observation": "run", "content": "built", "extras": {}},
    {"id": 4, "timestamp": "2025-05-01T09:00:04.5", "source": "environment", "content": "",
     "observation": "agent_state_changed", "extras": {"agent_state": "running"}},
]  # fmt: skip


def older(folder: Path, events: list[Any], **about: Any) -> Path:
    """A conversation of version 0; returns its first event."""
    for number, value in enumerate(events):
        write_json(folder / "events" / f"{number}.json", value)
    known = {"conversation_id": folder.name, "title": "Mend the mill", "trigger": "gui",
             "selected_repository": "w/mill", "last_updated_at": None}  # fmt: skip
    write_json(folder / "metadata.json", known | about)
    return folder / "events" / "0.json"


def test_a_folder_of_events_is_a_conversation(tmp_path: Path) -> None:
    path = written(tmp_path / FOLDER, TALK)
    assert detect(LogFile(path.name, path)).name == "openhands"
    events = events_of(path, "openhands")
    expected = Source(f"openhands/{CONVERSATION}", "openhands", None, path.name, project="/w/mill")
    assert sources(events) == [expected]
    system, asked, ran, told, answered = messages(events)
    assert (system.role, system.kind) == ("system", "injected")
    assert (asked.role, asked.kind, asked.text) == (
        "user", "said", "Why is the export empty?\n\nAlways obey.",
    )  # fmt: skip
    assert asked.parts == (Part("injected", 26, 38, "extended_content"),)
    assert ran.text == (
        'Look first.\n\nI run the tests.\n\n[tool use: terminal] {"command": "make test"}'
    )
    assert [part.kind for part in ran.parts] == ["thinking", "tool_use"]
    assert (told.role, told.text) == ("tool", "2 passed")
    assert ran.tool_use_ids == told.tool_result_ids == ("c2",)
    assert (answered.role, answered.text) == ("assistant", "It was the filter.")
    assert asked.external_id == event_id(1)
    assert str(asked.sent_at).startswith("2026-03-01T09:00:01")
    assert reasons(events) == [
        "told by its action", "no message: ConversationStateUpdateEvent",
    ]  # fmt: skip


def test_the_files_of_a_conversation_are_read_with_it(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    written(folder, TALK)
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        report = memory.ingest(folder)
        assert report.added == 5
        assert len(memory.messages(f"openhands/{CONVERSATION}")) == 5
    for path in sorted((folder / "events").iterdir()):
        assert detect(LogFile(path.name, path)).name == "openhands"
        assert reasons(events_of(path, "openhands")) == ["read with its conversation"]


def test_a_conversation_without_its_state_is_read_by_its_first_event(tmp_path: Path) -> None:
    path = written(tmp_path / FOLDER, TALK[1:4], at=1)
    path.unlink()
    first, *others = sorted((tmp_path / FOLDER / "events").iterdir())
    events = events_of(first, "openhands")
    assert sources(events)[0].id == f"openhands/{CONVERSATION}"
    assert len(messages(events)) == 3
    assert reasons(events_of(others[0], "openhands")) == ["read with its conversation"]


def test_what_others_than_the_user_sent_is_not_typed(tmp_path: Path) -> None:
    talk = [
        message(0, "user", "From an agent.", sender="Planner"),
        message(1, "user", "From a hook.", source="hook"),
        message(2, "user", "From its environment.", source="environment"),
        event(3, "AgentErrorEvent", "agent", error="no such tool", tool_name="x", tool_call_id="c"),
        event(4, "UserRejectObservation", "environment", rejection_reason="Not now.",
              tool_name="terminal", tool_call_id="c", action_id="a"),
        event(5, "ConversationErrorEvent", "environment", code="Limit", detail="too many steps"),
    ]  # fmt: skip
    told = messages(events_of(written(tmp_path / FOLDER, talk), "openhands"))
    assert (told[0].role, told[0].author) == ("other", "Planner")
    assert [(message.role, message.kind) for message in told[1:]] == [
        ("user", "injected"), ("user", "injected"), ("tool", "said"), ("tool", "said"),
        ("system", "injected"),
    ]  # fmt: skip
    assert [message.text for message in told[3:]] == [
        "no such tool", "Not now.", "Limit: too many steps",
    ]  # fmt: skip


def test_a_sub_agent_is_asked_by_its_parent(tmp_path: Path) -> None:
    child = uuid.UUID(int=99)
    path = written(tmp_path / FOLDER / "subagents" / child.hex, TALK, id=str(child))
    events = events_of(path, "openhands")
    (source,) = sources(events)
    assert source.id == f"openhands/{child}"
    assert source.parent_id == f"openhands/{CONVERSATION}"
    assert (messages(events)[1].role, messages(events)[1].author) == ("other", PARENT_AGENT)


def test_what_the_state_does_not_lead_to_was_left_behind(tmp_path: Path) -> None:
    talk = [
        message(0, "user", "One", parent_id=None),
        message(1, "assistant", "Two", parent_id=event_id(0)),
        message(2, "assistant", "Two again", parent_id=event_id(0)),
    ]

    def active(**state: Any) -> list[bool]:
        path = written(tmp_path / FOLDER, talk, **state)
        return [message.active for message in messages(events_of(path, "openhands"))]

    assert active() == [True, True, True]
    assert active(leaf_event_id=event_id(2)) == [True, False, True]
    assert active(leaf_event_id=None, head_is_empty=True) == [False, False, False]
    assert active(leaf_event_id="missing") == [True, True, True]


def test_events_without_a_parent_follow_the_one_before(tmp_path: Path) -> None:
    talk = [message(0, "user", "One"), message(1, "assistant", "Two")]
    path = written(tmp_path / FOLDER, talk, leaf_event_id=event_id(1))
    assert all(message.active for message in messages(events_of(path, "openhands")))


def test_summaries_thoughts_and_calls_of_other_agents(tmp_path: Path) -> None:
    call = {"tool_call_id": "t1", "title": "ls", "raw_input": {"path": "."}, "content": None}
    talk = [
        event(0, "Condensation", "environment", summary="The export was empty.",
              forgotten_event_ids=[]),
        event(1, "CondensationRequest", "environment"),
        action(2, "think", {"thought": "Look first."}),
        event(3, "ACPToolCallEvent", "agent", status="in_progress", **call),
        event(4, "ACPToolCallEvent", "agent", **call, status="completed",
              raw_output="a.py"),
        message(5, "assistant", "", llm_message={"role": "assistant", "content": [
            {"type": "image", "image_urls": ["https://w.example/a.png", "https://w.example/b.png"]},
        ]}),
        action(6, "file_editor", {"path": "a.py"}),
        observation(7, "file_editor", 6, "", content=[], output="x = 1"),
    ]  # fmt: skip
    events = events_of(written(tmp_path / FOLDER, talk), "openhands")
    summary, thought, ran, images, _, told = messages(events)
    assert (summary.role, summary.kind) == ("assistant", "summary")
    assert thought.parts == (Part("thinking", 0, 11),)
    assert ran.text == '[tool use: ls] {"path":"."}\n\na.py'
    assert ran.tool_use_ids == ran.tool_result_ids == ("t1",)
    assert images.text.count("https://w.example/") == 2
    assert (told.role, told.text) == ("tool", "x = 1")
    assert reasons(events) == [
        "no message: CondensationRequest", "no message: ACPToolCallEvent/in_progress",
    ]  # fmt: skip


def test_a_conversation_that_grows_or_moves_adds_its_tail(tmp_path: Path) -> None:
    folder = tmp_path / "conversations" / FOLDER
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        written(folder, TALK[:4])
        assert memory.ingest(folder).added == 4
        written(folder, TALK)
        written(folder, [message(7, "user", "Thanks.")], at=7)
        assert memory.ingest(folder).added == 2
        assert memory.ingest(folder).added == 0
        moved = folder.rename(tmp_path / FOLDER)
        assert memory.ingest(moved).added == 0
        assert len(memory.messages(f"openhands/{CONVERSATION}")) == 6


def test_a_damaged_event_costs_itself(tmp_path: Path) -> None:
    path = written(tmp_path / FOLDER, TALK)
    broken = tmp_path / FOLDER / "events" / f"event-00003-{event_id(3)}.json"
    broken.write_text(broken.read_text()[:40])
    write_json(tmp_path / FOLDER / "events" / f"event-00009-{event_id(9)}.json", [])
    (tmp_path / FOLDER / "events" / ".eventlog.lock").write_text("")
    events = events_of(path, "openhands")
    assert len(messages(events)) == 4
    assert "no message: not an event" in reasons(events)
    assert len(reasons(events)) == 4


def test_a_conversation_of_version_0_is_read_by_its_first_event(tmp_path: Path) -> None:
    path = older(tmp_path / FOLDER, OLDER)
    assert detect(LogFile(path.name, path)).name == "openhands"
    events = events_of(path, "openhands")
    (source,) = sources(events)
    assert (source.id, source.title, source.project) == (
        f"openhands/{CONVERSATION}", "Mend the mill", "w/mill",
    )  # fmt: skip
    assert roles_and_texts(events) == [
        ("system", "You are OpenHands."), ("user", "Mend it."),
        ("assistant", 'I build.\n\n[tool use: run] {"command":"make"}'), ("tool", "built"),
    ]  # fmt: skip
    for name in ("metadata.json", "events/1.json"):
        other = tmp_path / FOLDER / name
        assert detect(LogFile(other.name, other)).name == "openhands"
        assert reasons(events_of(other, "openhands")) == ["read with its conversation"]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert memory.ingest(tmp_path / FOLDER).added == 4
        assert memory.ingest(tmp_path / FOLDER).added == 0


def test_a_title_that_openhands_gives_is_none(tmp_path: Path) -> None:
    for title in ("Conversation 5c037", "", None):
        path = older(tmp_path / FOLDER, OLDER, title=title)
        assert sources(events_of(path, "openhands"))[0].title is None


def test_the_task_of_a_delegate_is_not_typed(tmp_path: Path) -> None:
    delegated = [
        {"id": 5, "source": "agent", "action": "delegate",
         "args": {"agent": "BrowsingAgent", "inputs": {"task": "Look it up."}, "thought": ""}},
        {"id": 6, "source": "user", "action": "message", "args": {"content": "TASK: Look it up."}},
        {"id": 7, "source": "agent", "action": "condensation",
         "args": {"summary": "It was looked up.", "forgotten_event_ids": [1]}},
    ]  # fmt: skip
    _, task, summary = messages(
        events_of(older(tmp_path / "c", [*OLDER, *delegated]), "openhands")
    )[-3:]
    assert (task.role, task.author, task.text) == ("other", PARENT_AGENT, "TASK: Look it up.")
    assert (summary.kind, summary.text) == ("summary", "It was looked up.")


def test_an_unpacked_download_has_its_events_beside_what_is_known(tmp_path: Path) -> None:
    for number, value in enumerate(TALK):
        write_json(tmp_path / "saved" / f"event_{number:06}_{event_id(number)}.json", value)
    about = {"conversation_id": CONVERSATION, "trigger": "gui", "selected_repository": "w/mill"}
    write_json(tmp_path / "saved" / "meta.json", about | {"title": "Empty export"})
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert memory.ingest(tmp_path / "saved").added == 5
        (source,) = memory.sources()
    assert (source.source.id, source.source.title) == (f"openhands/{CONVERSATION}", "Empty export")


def test_a_packed_download_is_one_conversation(tmp_path: Path) -> None:
    members = {f"event_{number:06}_{event_id(number)}.json": value
               for number, value in enumerate(TALK)}  # fmt: skip
    path = tmp_path / "conversation.zip"
    path.write_bytes(zipped(members))
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert memory.ingest(path).added == 5
        assert memory.ingest(path).added == 0
        (source,) = memory.sources()
        assert [message.role for message in memory.messages(source.source.id)] == [
            "system", "user", "assistant", "tool", "assistant",
        ]  # fmt: skip


def test_lists_of_events_stay_trajectories(tmp_path: Path) -> None:
    path = write_json(tmp_path / "trajectory.json", OLDER)
    assert detect(LogFile(path.name, path)).name == "trajectory"


def test_conversations_are_found_by_what_they_are_read_by(tmp_path: Path) -> None:
    written(tmp_path / ".openhands" / "conversations" / FOLDER, TALK)
    older(tmp_path / ".openhands" / "sessions" / "c", OLDER)
    written(tmp_path / "elsewhere" / FOLDER, TALK)
    (logs,) = discover(places({}, tmp_path))
    assert (logs.format, logs.files) == ("openhands", 2)
    for name in ("OPENHANDS_CONVERSATIONS_DIR", "OH_CONVERSATIONS_PATH"):
        found = discover(places({name: str(tmp_path / "elsewhere")}, tmp_path))
        assert any(tmp_path / "elsewhere" in logs.folders for logs in found)


@given(st.integers(0, 2**32))
def test_a_value_of_a_wrong_type_costs_at_most_its_message(seed: int) -> None:
    speech = Speech(is_agents=False)
    history = retyped(json.loads(json.dumps(TALK)), seed)
    for entry in history if isinstance(history, list) else ():
        if isinstance(entry, dict):
            read = speech.read(entry, active=True)
            assert isinstance(read, Message) or read.reason


@pytest.mark.parametrize("seed", range(20))
def test_files_of_wrong_types_or_damaged_ones_stop_no_other(tmp_path: Path, seed: int) -> None:
    folder = tmp_path / FOLDER
    written(folder, TALK, leaf_event_id=event_id(4))
    older(tmp_path / "abc", OLDER)
    for number, path in enumerate(sorted(tmp_path.rglob("*.json"))):
        data = json.dumps(retyped(json.loads(path.read_text()), seed + number)).encode()
        path.write_bytes(data if number % 3 else mutated(data, seed + number))
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        report = memory.ingest(tmp_path)
        assert memory.ingest(tmp_path).added == 0
    assert len(report.files) >= len(TALK) + len(OLDER)
