"""Tests the tool calls that newer versions of Codex log as completed items only."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.codex_rows import event, item, messages, meta, reasons, record
from treemem.importers.codex.completed import items_of
from treemem.importers.codex.importer import LOGGED_TWICE

RUN = {"type": "CommandExecution", "id": "c1", "command": ["wc", "-l", "hens.csv"], "cwd": "/p",
       "status": "completed", "exit_code": 0, "aggregated_output": "31 hens.csv\n"}  # fmt: skip
CHANGE = {"type": "FileChange", "id": "f1", "status": "completed",
          "changes": {"/p/hens.txt": {"type": "add", "content": "31\n"}}}  # fmt: skip
LOOKUP = {"type": "McpToolCall", "id": "m1", "server": "coop", "tool": "find",
          "arguments": {"n": 7}, "status": "completed",
          "result": {"content": [{"type": "text", "text": "in the loft"}]}}  # fmt: skip


def done(completed: dict[str, Any]) -> dict[str, Any]:
    return record("event_msg", type="item_completed", item=completed)


def tool_texts(*rows: object) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in messages(*rows) if m.tool_use_ids or m.tool_result_ids]


def test_calls_and_results_of_completed_items_are_kept() -> None:
    assert tool_texts(meta(), done(RUN), done(CHANGE), done(LOOKUP)) == [
        ("assistant", '[tool use: shell] {"command":["wc","-l","hens.csv"]}'),
        ("tool", "31 hens.csv\n"),
        (
            "assistant",
            '[tool use: apply_patch] {"changes":{"/p/hens.txt":{"type":"add","content":"31\\n"}}}',
        ),
        ("assistant", '[tool use: coop__find] {"n":7}'),
        ("tool", "in the loft"),
    ]


def test_a_call_and_its_result_have_the_same_id() -> None:
    call, result = messages(meta(), done(RUN))
    assert call.tool_use_ids == result.tool_result_ids == ("c1",)


@pytest.mark.parametrize("is_first", [True, False])
def test_what_items_contain_too_is_imported_once_in_either_order(is_first: bool) -> None:
    call = record("response_item", type="function_call", name="shell", call_id="c1", arguments="{}")
    result = record("response_item", type="function_call_output", call_id="c1", output="31")
    rows = [done(RUN), call, result] if is_first else [call, result, done(RUN)]
    assert tool_texts(meta(), *rows) == [("assistant", "[tool use: shell] {}"), ("tool", "31")]
    assert LOGGED_TWICE in reasons(meta(), *rows)


def test_a_result_that_only_the_completed_item_has_is_added_to_the_call() -> None:
    call = record("response_item", type="function_call", name="shell", call_id="c1", arguments="{}")
    assert tool_texts(meta(), call, done(RUN)) == [
        ("assistant", "[tool use: shell] {}"),
        ("tool", "31 hens.csv\n"),
    ]


def test_an_item_that_is_completed_twice_is_imported_once() -> None:
    assert len(tool_texts(meta(), done(RUN), done(RUN))) == 2
    assert len(tool_texts(meta(), done(RUN), done(RUN | {"id": "c2"}))) == 4


def test_every_record_is_accounted_for_beside_other_layers() -> None:
    rows = [meta(), item("user", "count"), event("user_message", "count"), done(RUN), done(CHANGE)]
    assert len(messages(*rows)) == 4
    assert len(reasons(*rows)) == 2


@pytest.mark.parametrize(
    ("fields", "output"),
    [
        ({"aggregatedOutput": "a"}, "a"),
        ({"stdout": "a", "stderr": "b"}, "ab"),
        ({"status": "failed", "error": {"message": "no such file"}}, "no such file"),
        ({"status": "declined"}, "declined"),
        ({"status": "inProgress"}, None),
        (
            {"contentItems": [{"type": "inputText", "text": "a"}]},
            [{"type": "inputText", "text": "a"}],
        ),
    ],
)
def test_the_result_is_the_output_or_the_reason_for_none(
    fields: dict[str, Any], output: object
) -> None:
    items = items_of({"type": "dynamicToolCall", "id": "d", "tool": "look", **fields})
    assert [entry["output"] for entry in items[1:]] == ([] if output is None else [output])


@pytest.mark.parametrize("kind", ["UserMessage", "agentMessage", "Reasoning", "", None, 7])
def test_items_that_are_no_calls_have_none(kind: object) -> None:
    assert items_of({"type": kind, "id": "x"}) == []


def test_a_thought_of_a_completed_item_is_kept_in_either_form() -> None:
    for fields in ({"summary_text": ["Counting"]}, {"summary": ["Counting"], "content": []}):
        (thought,) = messages(meta(), done({"type": "Reasoning", "id": "r", **fields}))
        assert thought.text == "Counting"
        assert [part.kind for part in thought.parts] == ["thinking"]
