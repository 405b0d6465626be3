"""Tests that a Codex rollout yields each message once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers.codex_rows import (
    NEXT_TURN,
    PARENT,
    SESSION,
    TURN,
    active_texts,
    event,
    item,
    messages,
    meta,
    read,
    reasons,
    record,
    source,
    started,
)
from tests.helpers.logs import CodexSession
from treemem.importers import LogFile, by_name, detect
from treemem.importers.codex import importer as module
from treemem.importers.common.coerce import digest_of
from treemem.types import Message, Part, Source

# -- what a message is made of -----------------------------------------------------------


def test_a_message_has_its_text_time_and_session() -> None:
    text = "  fix it,\r\n\tplease\n"
    (message,) = messages(meta(), item("user", text, second=7))
    assert (message.role, message.kind, message.text) == ("user", "said", text)
    assert message.sent_at == "2026-01-01T00:00:07.000Z"
    assert message.session == SESSION
    assert message.external_id == f"codex:{SESSION}:user:{digest_of(text)}:1"
    assert message.unique_id
    assert message.active
    assert source(meta(), item("user", text)) == Source(
        f"codex/{SESSION}", "codex", None, "rollout.jsonl", project="/p"
    )


def test_a_call_and_its_result_are_paired() -> None:
    call = record(
        "response_item", type="function_call", name="shell", call_id="c1", arguments='{"cmd": "ls"}'
    )
    answer = record(
        "response_item", type="function_call_output", call_id="c1", output="  a\r\nb\n\n"
    )
    prompt, answered = messages(meta(), call, answer)
    assert (prompt.role, prompt.text) == ("assistant", '[tool use: shell] {"cmd": "ls"}')
    assert (answered.role, answered.text) == ("tool", "  a\r\nb\n\n")
    assert prompt.tool_use_ids == answered.tool_result_ids == ("c1",)
    assert answered.parts == (Part("tool_result", 0, 8, "shell"),)


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (
            {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": "*** x"},
            "[tool use: apply_patch] *** x",
        ),
        (
            {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls", "é"]}},
            '[tool use: local_shell] {"command":["ls","é"]}',
        ),
        (
            {"type": "web_search_call", "id": "c", "action": {"query": "tide times"}},
            '[tool use: web_search] {"query":"tide times"}',
        ),
    ],
)
def test_every_kind_of_call_becomes_a_tool_use(payload: dict[str, Any], text: str) -> None:
    (call,) = messages(meta(), record("response_item", **payload))
    assert (call.role, call.text, call.tool_use_ids) == ("assistant", text, ("c",))


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("plain", "plain"),
        ({"content": "failed", "success": False}, "failed"),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\n\nb"),
    ],
)
def test_a_tool_result_is_read_in_all_its_shapes(output: object, text: str) -> None:
    row = record("response_item", type="custom_tool_call_output", call_id="c", output=output)
    (answer,) = messages(meta(), row)
    assert (answer.role, answer.text) == ("tool", text)


def test_no_byte_of_a_generated_picture_reaches_the_text() -> None:
    row = record(
        "response_item",
        type="image_generation_call",
        id="ig",
        status="completed",
        revised_prompt="a boat",
        result="A" * 4_000,
    )
    (call,) = messages(meta(), row)
    (blob,) = call.blobs
    assert blob.size_bytes == 3_000
    assert '"revised_prompt":"a boat"' in call.text
    assert len(call.text) < 200


def test_reasoning_is_thinking_and_encrypted_reasoning_is_no_message() -> None:
    shown = record(
        "response_item",
        type="reasoning",
        summary=[{"type": "summary_text", "text": "**Plan**"}],
        encrypted_content="gAAAA",
    )
    hidden = record("response_item", type="reasoning", summary=[], encrypted_content="gAAAA")
    (thought,) = messages(meta(), shown, event("agent_reasoning", "**Plan**"), hidden)
    assert thought.text == "**Plan**"
    assert thought.parts == (Part("thinking", 0, 8),)
    assert "no message: reasoning without words" in reasons(meta(), hidden)


def test_records_without_a_message_are_counted_by_type() -> None:
    rows = [
        meta(),
        record("turn_context", turn_id=TURN, model="gpt"),
        record("event_msg", type="token_count", info=None),
        record("response_item", type="ghost_snapshot"),
        record("world_state"),
        {"type": "event_msg", "payload": None},
        [1, 2],
    ]
    assert reasons(*rows) == [
        "no message: session_meta",
        "no message: turn_context",
        "no message: event_msg/token_count",
        "no message: response_item/ghost_snapshot",
        "no message: world_state",
        "no message: event_msg/no type",
        module.NOT_AN_OBJECT,
    ]


# -- compaction, rollbacks, titles -------------------------------------------------------


def test_a_compaction_is_a_summary_and_its_history_is_not_repeated() -> None:
    history = [{"type": "message", "role": "user", "content": [{"text": "one"}]}]
    rows = [
        meta(),
        item("user", "one"),
        record("compacted", message="They said one.", replacement_history=history),
        record("compacted", message="", replacement_history=history),
        item("user", "two"),
    ]
    assert active_texts(*rows) == [("user", "one"), ("user", "two")]
    (summary,) = [m for m in messages(*rows) if m.kind == "summary"]
    assert (summary.role, summary.text) == ("assistant", "They said one.")
    assert "no message: compacted" in reasons(*rows)


def turn(text: str) -> list[dict[str, Any]]:
    return [item("user", text), event("user_message", text), item("assistant", f"{text}!")]


def rolled_back(turns: object) -> dict[str, Any]:
    return record("event_msg", type="thread_rolled_back", num_turns=turns)


def test_rolled_back_turns_are_inactive() -> None:
    rows = [
        meta(),
        *turn("one"),
        *turn("two"),
        *turn("three"),
        rolled_back(2),
        *turn("four"),
        rolled_back(1),
        *turn("five"),
    ]
    assert [text for _, text in active_texts(*rows)] == ["one", "one!", "five", "five!"]
    assert len(messages(*rows)) == 10


@pytest.mark.parametrize("turns", [99, 2**40])
def test_a_rollback_beyond_the_beginning_removes_all_turns(turns: int) -> None:
    assert active_texts(meta(), *turn("one"), rolled_back(turns), *turn("two")) == [
        ("user", "two"),
        ("assistant", "two!"),
    ]


@pytest.mark.parametrize("turns", [0, -1, None, "two", 1.5])
def test_a_rollback_of_zero_turns_removes_none(turns: object) -> None:
    assert len(active_texts(meta(), *turn("one"), rolled_back(turns))) == 2


def test_the_last_name_of_the_thread_is_the_title() -> None:
    named = [record("event_msg", type="thread_name_updated", thread_name=n) for n in ("a", "b\nc")]
    assert source(meta(), *named, item("user", "x")).title == "b c"


def test_another_agents_message_has_its_name() -> None:
    row = record("inter_agent_communication", author="/root", recipient="/root/w", content="count")
    (message,) = messages(meta(), row)
    assert (message.role, message.author, message.text) == ("other", "/root", "count")


# -- identity: turns, forks, sub-agents --------------------------------------------------


def test_a_message_id_contains_the_turns_name() -> None:
    rows = [
        meta(),
        started(TURN),
        item("user", "go on"),
        started(NEXT_TURN),
        item("user", "go on"),
        started("2"),
        item("user", "go on"),
    ]
    scopes = [(message.external_id or "").split(":")[1] for message in messages(*rows)]
    assert scopes == [TURN, NEXT_TURN, SESSION]


def test_a_turn_context_without_a_name_belongs_to_the_current_turn() -> None:
    rows = [
        meta(),
        record("turn_context", turn_id=TURN),
        started(NEXT_TURN),
        record("turn_context", model="gpt"),
        item("user", "go on"),
    ]
    (message,) = messages(*rows)
    assert f":{NEXT_TURN}:" in (message.external_id or "")


def test_a_sub_agent_shares_the_part_of_its_parents_turn_that_it_repeats() -> None:
    """It gets prompts and answers of the parent's history, but no calls and contexts."""
    prompt, answered = item("user", "count the files"), item("assistant", "Three.")
    call = record("response_item", type="function_call", name="ls", arguments="{}", call_id="c")
    parent = [
        record("session_meta", id=PARENT),
        started(TURN),
        record("turn_context", model="gpt"),
        prompt,
        call,
        answered,
    ]
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}
    child = [meta(source=spawned), parent[0], started(TURN), prompt, answered]
    child += [started(NEXT_TURN), item("user", "count the lines")]
    ids = [[m.external_id for m in messages(*rows)] for rows in (parent, child)]
    assert ids[1][:2] == [ids[0][0], ids[0][2]]
    assert ids[1][2] not in ids[0]


@pytest.mark.parametrize("with_turn_ids", [True, False])
def test_messages_repeated_by_a_fork_have_their_parents_ids(with_turn_ids: bool) -> None:
    first = CodexSession("first", with_turn_ids=with_turn_ids)
    first.say("one", "two")
    second = first.resumed_as("second")
    second.say("three", "four")
    third = second.resumed_as("third")
    third.say("five", "six")
    ids = [
        [message.external_id for message in messages(*session.records())]
        for session in (first, second, third)
    ]
    assert ids[1][:2] == ids[0]
    assert ids[2][:4] == ids[1]
    assert len(set(ids[2])) == 6
    assert source(*third.records()).id == third.source_id


def test_a_fork_without_its_parents_header_has_its_parents_ids() -> None:
    (message,) = messages(meta(forked_from_id=PARENT), item("user", "one"))
    assert f":{PARENT}:" in (message.external_id or "")


def test_a_repeated_header_changes_nothing() -> None:
    again = record("session_meta", id=PARENT)
    rows = [meta(), item("user", "one"), again, item("user", "two")]
    assert source(*rows).id == f"codex/{SESSION}"
    assert all(f":{SESSION}:" in (m.external_id or "") for m in messages(*rows))


@pytest.mark.parametrize(
    "fields",
    [
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}}},
        {"parent_thread_id": PARENT},
    ],
)
def test_a_sub_agent_names_the_session_that_started_it(fields: dict[str, Any]) -> None:
    assert source(meta(**fields), item("user", "count")).parent_id == f"codex/{PARENT}"


def test_a_session_id_that_is_no_uuid_is_unique_within_its_source_only() -> None:
    (message,) = messages(record("session_meta", id="s1"), item("user", "one"))
    assert not message.unique_id


def test_a_file_without_a_header_takes_its_id_from_its_name() -> None:
    label = f"rollout-2026-01-01T00-00-00-{SESSION}.jsonl"
    own_source = next(e for e in read([item("user", "one")], label) if isinstance(e, Source))
    assert own_source.id == f"codex/{SESSION}"


# -- older generations -------------------------------------------------------------------

HEADER = {"id": SESSION, "timestamp": "2025-06-01T00:00:00Z", "instructions": None}
BARE = [
    {"record_type": "state"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "ls"}]},
    {"type": "function_call", "name": "shell", "call_id": "c", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": '{"output":"a\\n"}'},
]


def test_the_first_generation_had_no_envelopes() -> None:
    rows = [HEADER, *BARE]
    assert active_texts(*rows) == [
        ("user", "ls"),
        ("assistant", "[tool use: shell] {}"),
        ("tool", '{"output":"a\\n"}'),
    ]
    assert source(*rows).id == f"codex/{SESSION}"
    assert reasons(*rows) == ["no message: session_meta", "no message: record_type state"]
    assert {message.sent_at for message in messages(*rows)} == {None}


@pytest.mark.parametrize("indent", [None, 2])
def test_before_that_a_session_was_one_document(indent: int | None) -> None:
    data = json.dumps({"session": HEADER, "items": BARE[1:]}, indent=indent).encode()
    file = LogFile("rollout.json", data=data)
    assert detect(file).name == "codex"
    events = list(by_name("codex").read(file))
    assert [e.text for e in events if isinstance(e, Message)] == [
        "ls",
        "[tool use: shell] {}",
        '{"output":"a\\n"}',
    ]
    assert next(e for e in events if isinstance(e, Source)).id == f"codex/{SESSION}"


def test_a_header_longer_than_the_head_is_recognized() -> None:
    assert len(messages(meta(base_instructions="x" * 99_999), item("user", "one"))) == 1
