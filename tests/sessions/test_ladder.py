"""The rungs that need no summary: what is cut, what is left out, and how it is got back."""

from __future__ import annotations

import json
from typing import Any

from treemem.sessions.compacting import ladder
from treemem.sessions.compacting.ladder import Window
from treemem.sessions.counting import tokens_of
from treemem.sessions.shapes import parse
from treemem.sessions.window import Attachment, ShownTurn
from treemem.text.tokens import count_tokens

LONG = "\n".join(f"line {number} of the file" for number in range(400))


def call(use_id: str, name: str, arguments: str = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    calls = [{"id": use_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(use_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": use_id, "content": text}


def shown(*messages: dict[str, Any]) -> list[ShownTurn]:
    turns = [parse(message, "openai") for message in messages]
    return [
        ShownTurn(at, turn, turn.role == "user", None, tokens_of(turn, count_tokens))
        for at, turn in enumerate(turns)
    ]


def words(turn: ShownTurn) -> str:
    return str(turn.shown.raw["content"])


def test_a_long_result_keeps_its_beginning_and_its_end() -> None:
    turns = shown(call("c1", "cat"), result("c1", LONG), result("c1", LONG))
    changed = ladder.trimmed(turns, 2, 300, count_tokens)
    assert list(changed) == [1]
    text = words(changed[1])
    assert text.startswith("line 0 of the file\n")
    assert text.endswith("line 399 of the file")
    assert "read('h1.0')" in text
    assert changed[1].tokens < 340
    assert changed[1].turn == turns[1].turn


def test_an_image_becomes_a_marker() -> None:
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    turns = shown({"role": "user", "content": [{"type": "text", "text": "See:"}, url]})
    changed = ladder.trimmed(turns, 1, 300, count_tokens)
    assert "[image left out" in words(changed[0])
    assert "base64" not in words(changed[0])
    assert changed[0].tokens < turns[0].tokens // 10


def test_of_two_equal_results_the_later_one_stays() -> None:
    turns = shown(call("c1", "bash"), result("c1", LONG), call("c2", "bash"), result("c2", LONG))
    changed = ladder.without_repeated_results(Window(turns, 4, 0, count_tokens))
    assert list(changed) == [1]
    assert "a later result is the same" in words(changed[1])


def test_of_two_reads_of_a_file_the_later_one_stays_but_runs_of_a_command_both_do() -> None:
    for tool, expected in (("read_file", [1]), ("bash", [])):
        turns = shown(
            call("c1", tool, '{"path": "a"}'), result("c1", "old " + LONG),
            call("c2", tool, '{"path": "a"}'), result("c2", "new " + LONG),
        )  # fmt: skip
        window = Window(turns, 4, 0, count_tokens)
        assert list(ladder.without_repeated_results(window)) == expected


def test_only_the_last_plan_stays() -> None:
    plan = json.dumps({"todos": [f"step {number} of the plan" for number in range(40)]})
    turns = shown(
        call("c1", "TodoWrite", plan), result("c1", "ok"), call("c2", "TodoWrite", plan),
        result("c2", "ok"),
    )  # fmt: skip
    changed = ladder.without_old_plans(Window(turns, 4, 0, count_tokens))
    assert list(changed) == [0]
    arguments = changed[0].shown.raw["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"left_out": "a later plan replaced this one"}


def test_long_texts_in_old_calls_are_cut_and_the_rest_stays() -> None:
    arguments = json.dumps({"file_path": "src/parser.py", "edits": [{"old": "x", "new": LONG}]})
    turns = shown(call("c1", "Edit", arguments), result("c1", "ok"), call("c2", "Edit", arguments))
    changed = ladder.without_long_arguments(Window(turns, 2, 0, count_tokens))
    assert list(changed) == [0]
    cut = json.loads(changed[0].shown.raw["tool_calls"][0]["function"]["arguments"])
    assert cut["file_path"] == "src/parser.py"
    assert cut["edits"][0]["old"] == "x"
    assert cut["edits"][0]["new"].startswith("line 0 of the file\n")
    assert "read('h0.0')" in cut["edits"][0]["new"]
    assert changed[0].tokens < turns[0].tokens // 5
    for odd in ("[1]", "{", json.dumps(["x" * 999]), json.dumps({"x": 3})):
        assert ladder.shortened_arguments(odd, "h0.0") is None


def test_old_results_of_tools_that_look_are_left_out() -> None:
    turns = shown(
        call("c1", "Grep"), result("c1", LONG), call("c2", "write_file"), result("c2", LONG + "w"),
        call("c3", "mcp__docs__search"), result("c3", LONG + "x"), call("c4", "Read"),
        result("c4", LONG + "y"),
    )  # fmt: skip
    changed = ladder.without_old_looks(Window(turns, 8, 6, count_tokens))
    assert list(changed) == [1, 5]
    assert "result of Grep left out" in words(changed[1])


def test_what_was_found_for_earlier_requests_is_left_out_and_pins_stay() -> None:
    turns = shown({"role": "user", "content": "One?"}, {"role": "user", "content": "Two?"})
    attached = [Attachment("memory", "found", 2, ("x",)), Attachment("pins", "Goal: x", 3)]
    turns = [turn.showing(attached) for turn in turns]
    changed = ladder.without_attachments(Window(turns, 1, 0, count_tokens))
    assert words(changed[0]) == "One?\n\nGoal: x"
    assert list(changed) == [0]
