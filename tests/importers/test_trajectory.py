"""Tests trajectories of software agents: only the task is the user's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.reading import messages_in, reasons_in, sources_in
from treemem.importers import LogFile, by_name, detect
from treemem.importers.common.base import Event
from treemem.importers.trajectory.importer import REPEATED
from treemem.types import Source

RULE = "README: never edit schedule.py by hand"
HISTORY: list[dict[str, Any]] = [
    {"role": "system", "message_type": "system_prompt", "content": "A shell.", "agent": "main"},
    {"role": "user", "message_type": "demonstration", "content": "A demo.", "agent": "main"},
    {"role": "user", "message_type": "observation", "content": "The ferry is late.", "agent": "m"},
    {"role": "assistant", "message_type": "action", "content": "Look.\n```\ncat README\n```",
     "thought": "Look.", "action": "cat README\n", "agent": "main"},
    {"role": "user", "message_type": "observation", "content": RULE, "agent": "main"},
    {"role": "assistant", "message_type": "action", "content": "Open it.",
     "thought": "", "action": "open schedule.py", "agent": "main"},
    {"role": "user", "message_type": "observation", "content": "1: late = 5", "agent": "main"},
]  # fmt: skip
STEPS = [{"action": "cat README\n", "observation": RULE, "response": "Look.", "thought": "T"}]


def read(document: object, label: str = "ferry.traj") -> list[Event]:
    file = LogFile(label, data=json.dumps(document).encode())
    assert detect(file).name == "trajectory"
    return list(by_name("trajectory").read(file))


def said(document: object) -> list[tuple[str, str, str]]:
    return [(event.role, event.kind, event.text) for event in messages_in(read(document))]


def test_what_a_command_printed_is_the_tools_and_the_task_the_users() -> None:
    assert said({"history": HISTORY}) == [
        ("system", "injected", "A shell."),
        ("user", "injected", "A demo."),
        ("user", "said", "The ferry is late."),
        ("assistant", "said", "Look.\n```\ncat README\n```"),
        ("tool", "said", RULE),
        ("assistant", "said", "Open it.\n\n[tool use: shell] open schedule.py"),
        ("tool", "said", "1: late = 5"),
    ]


def test_entries_without_their_kind_are_told_apart_by_the_first_action() -> None:
    bare = [{key: value for key, value in entry.items() if key != "message_type"}
            for entry in HISTORY]  # fmt: skip
    bare[1]["is_demo"] = True
    assert said({"history": bare}) == said({"history": HISTORY})


@pytest.mark.parametrize("pad", ["", "z" * 200_000])
def test_steps_before_or_behind_the_history_repeat_it(pad: str) -> None:
    steps = [{**STEPS[0], "thought": pad}] * 3
    for document in (
        {"trajectory": steps, "history": HISTORY},
        {"history": HISTORY, "trajectory": steps},
    ):
        assert said(document) == said({"history": HISTORY})
        assert reasons_in(read(document)) == [REPEATED] * 3


def test_steps_alone_are_read() -> None:
    assert said({"environment": "main", "trajectory": STEPS}) == [
        ("assistant", "said", "Look.\n\n[tool use: shell] cat README\n"),
        ("tool", "said", RULE),
    ]


def test_calls_of_tools_are_paired_with_their_results() -> None:
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    history = [
        *HISTORY[:3],
        {"role": "assistant", "message_type": "action", "content": "Look.", "action": "ls",
         "tool_calls": [call], "agent": "main"},
        {"role": "tool", "message_type": "observation", "content": [{"type": "text", "text": RULE}],
         "tool_call_ids": ["c1"], "agent": "main"},
    ]  # fmt: skip
    action, result = messages_in(read({"history": history}))[-2:]
    assert action.text == 'Look.\n\n[tool use: bash] {"command": "ls"}'
    assert action.tool_use_ids == result.tool_result_ids == ("c1",)
    assert [(part.kind, part.name) for part in result.parts] == [("tool_result", "bash")]


def test_each_attempt_is_a_source() -> None:
    events = read({"attempts": [{"history": HISTORY}, {"trajectory": STEPS, "history": []}]})
    assert set(sources_in(events)) == {"trajectory/ferry#attempt-1", "trajectory/ferry#attempt-2"}


@pytest.mark.parametrize("is_tool", [True, False])
def test_mini_swe_agent_is_read(is_tool: bool) -> None:
    document = {
        "info": {"model_stats": {"api_calls": 2}, "mini_version": "2.0.0", "submission": "x"},
        "messages": [
            {"role": "system", "content": "A shell."},
            {"role": "user", "content": "The ferry is late."},
            {"role": "assistant", "content": "```bash\nls\n```", "extra": {}},
            {"role": "tool" if is_tool else "user", "content": RULE, "extra": {"returncode": 0}},
            {"role": "exit", "content": "Submitted."},
        ],
        "trajectory_format": "mini-swe-agent-1.1",
    }
    assert [(role, text) for role, _, text in said(document)] == [
        ("system", "A shell."),
        ("user", "The ferry is late."),
        ("assistant", "```bash\nls\n```"),
        ("tool", RULE),
        ("system", "Submitted."),
    ]


def event(number: int, source: str, **fields: object) -> dict[str, object]:
    return {"id": number, "timestamp": f"2026-03-01T10:00:0{number}", "source": source,
            "message": "for the screen", **fields}  # fmt: skip


EVENTS = [
    event(0, "agent", action="system", args={"content": "Be brief."}),
    event(1, "user", action="message", args={"content": "The ferry is late."}),
    event(2, "user", action="recall", args={"query": "The ferry is late."}),
    event(3, "agent", action="run", args={"command": "cat README", "thought": "I look."}),
    event(4, "agent", cause=3, observation="run", content=RULE, extras={}),
    event(5, "environment", observation="agent_state_changed", content="", extras={}),
    event(6, "user", action="run", args={"command": "ls"}),
    event(7, "agent", action="finish", args={"final_thought": "Done.", "outputs": {}}),
]


def test_openhands_events_are_read() -> None:
    assert said(EVENTS) == [
        ("system", "injected", "Be brief."),
        ("user", "said", "The ferry is late."),
        ("assistant", "said", 'I look.\n\n[tool use: run] {"command":"cat README"}'),
        ("tool", "said", RULE),
        ("user", "injected", '[tool use: run] {"command":"ls"}'),
        ("assistant", "said", "Done."),
    ]
    action, result = messages_in(read(EVENTS))[2:4]
    assert action.tool_use_ids == result.tool_result_ids == ("3",)
    assert result.sent_at == "2026-03-01T10:00:04"


def test_each_line_of_an_evaluation_is_a_source() -> None:
    pairs = [[EVENTS[1], EVENTS[1]], [EVENTS[3], EVENTS[4]]]
    rows = [{"instance_id": "ferry-1", "history": EVENTS}, {"instance_id": "f2", "history": pairs}]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    file = LogFile("output.jsonl", data=data)
    assert detect(file).name == "trajectory"
    events = list(by_name("trajectory").read(file))
    assert set(sources_in(events)) == {"trajectory/output#ferry-1", "trajectory/output#f2"}
    titles = {event.title for event in events if isinstance(event, Source)}
    assert "The ferry is late." in titles


@pytest.mark.parametrize(
    "document",
    [
        {"history": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok"}]},
        {"messages": [{"role": "user", "content": "hi"}], "info": {"submission": "x"}},
        {"trajectory": [[1.5, 2.5]], "messages": [{"role": "user", "content": "hi"}]},
    ],
)
def test_other_chats_stay_chats(document: object) -> None:
    file = LogFile("x.json", data=json.dumps(document, indent=1).encode())
    assert detect(file).name == "chat"


@given(st.lists(st.sampled_from([*HISTORY, *STEPS, *EVENTS, 7, None, {}, [], "x"]), max_size=8))
def test_every_entry_is_accounted_for_whatever_its_shape(entries: list[Any]) -> None:
    data = json.dumps({"history": entries}).encode()
    events = list(by_name("trajectory").read(LogFile("x.traj", data=data)))
    steps = sum(entry in STEPS for entry in entries)
    counted = [event for event in events if not isinstance(event, Source)]
    assert len(counted) == len(entries) + steps
