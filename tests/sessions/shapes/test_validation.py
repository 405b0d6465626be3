"""Each rule of a provider refuses what it names, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from treemem.sessions.shapes import problems

USER = {"role": "user", "content": "What does it do?"}
LAST = {"role": "user", "content": "And now?"}
TEXT = {"type": "text", "text": "Let me look."}
USE = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
TOOL = {"role": "tool", "tool_call_id": "call_1", "content": "a.py"}


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def asked(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def called(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)} | fields


ANTHROPIC_TAKES: list[list[dict[str, Any]]] = [
    [USER],
    [USER, LAST, said(TEXT), LAST],
    [USER, said(THOUGHT, TEXT, USE), asked(RESULT, TEXT), said(TEXT), LAST],
    [USER, said(USE), asked({**RESULT, "content": [TEXT]})],
    [USER, said(USE), asked({"type": "tool_result", "tool_use_id": "toolu_1"})],
    [asked({"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}})],
    [USER, said({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                TEXT)],
]  # fmt: skip
ANTHROPIC_REFUSES: list[tuple[list[dict[str, Any]], str]] = [
    ([], "at least one message"),
    ([said(TEXT)], 'first message must use the "user" role'),
    ([{"role": "system", "content": "Hi."}, USER], "neither user nor assistant"),
    ([{"role": "user", "content": None}], "neither a text nor a list"),
    ([{"role": "user", "content": " "}], "non-empty content"),
    ([asked()], "non-empty content"),
    ([asked({"type": "text", "text": "\n"})], "non-whitespace text"),
    ([asked({"text": "Hi."})], "an object with a type"),
    ([{**USER, "id": "msg_1"}], "messages.0.id: extra inputs"),
    ([USER, said({**USE, "text": ""}), asked(RESULT)], "messages.1.content.0.text: extra inputs"),
    ([USER, said({**THOUGHT, "cache_control": {}}, TEXT)], "cache_control: extra inputs"),
    ([USER, {"role": "assistant", "content": "Hi. "}], "trailing whitespace"),
    ([USER, said({"type": "text", "text": "Hi.\n"})], "trailing whitespace"),
    ([USER, said(USE)], "no tool_result in the next message"),
    ([USER, said(USE), LAST], "no tool_result in the next message"),
    ([USER, said(USE), LAST, asked(RESULT)], "no tool_use in the previous message"),
    ([asked(RESULT)], "no tool_use in the previous message"),
    ([USER, said(USE), asked(RESULT, RESULT)], "several results"),
    ([USER, said(USE), asked(TEXT, RESULT)], "must come first"),
    ([USER, said(USE, TEXT), asked(RESULT)], "must come last"),
    ([USER, said(USE), asked(RESULT), said(USE), asked(RESULT)], "used twice"),
    ([USER, said({**USE, "id": "a.b"}), LAST], "should match"),
    ([USER, said({**USE, "name": "my tool"}), asked(RESULT)], "should match"),
    ([USER, said({**USE, "input": "ls"}), asked(RESULT)], "valid dictionary"),
    ([asked(USE)], "tool_use cannot be in a message of the user"),
    ([USER, said(RESULT), LAST], "tool_result cannot be in a message of the assistant"),
    ([USER, said({"type": "thinking", "thinking": "hm"}, TEXT)], "its signature"),
    ([USER, said({"type": "redacted_thinking"}, TEXT)], "field required"),
    ([USER, said(TEXT, THOUGHT), LAST], "cannot be thinking"),
    ([USER, said(USE), asked({**RESULT, "is_error": True, "content": ""})], "is_error is true"),
    ([USER, said(USE), asked({**RESULT, "content": [USE]})], "cannot be in a tool_result"),
    ([USER, said(USE), asked({**RESULT, "content": 3})], "neither a text nor a list"),
    ([USER, said(USE), asked({**RESULT, "content": " "})], "non-whitespace text"),
    ([asked({"type": "image", "source": {"type": "base64", "media_type": "image/tiff"}})], "tiff"),
    ([asked({"type": "image"})], "base64, url or file"),
    ([asked(*[TEXT | {"cache_control": {"type": "ephemeral"}}] * 5)], "at most 4 blocks"),
]
OPENAI_TAKES: list[list[dict[str, Any]]] = [
    [USER],
    [{"role": "developer", "content": "Be brief."}, USER, {"role": "assistant", "content": "Hi."}],
    [USER, called(CALL), TOOL, LAST],
    [USER, called(CALL, {**CALL, "id": "call_2"}), {**TOOL, "tool_call_id": "call_2"}, TOOL],
    [USER, called(CALL), TOOL, called(CALL), TOOL],
    [asked({"type": "image_url", "image_url": {"url": "https://a.b/c.png"}})],
    [USER, {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}],
]
OPENAI_REFUSES: list[tuple[list[dict[str, Any]], str]] = [
    ([], "too short"),
    ([{"role": "human", "content": "Hi."}], "is none of"),
    ([{"role": "user", "content": None}], "got null"),
    ([{"role": "user", "content": []}], "too short"),
    ([{"role": "user", "content": 3}], "neither a text nor a list"),
    ([{**USER, "name": "Ann Lee"}], "does not match"),
    ([asked({"type": "image", "source": {}})], "'image' is not allowed"),
    ([asked({"type": "text"})], "expected a string"),
    ([asked({"type": "image_url", "image_url": "https://a.b"})], "an object with a url"),
    ([USER, {"role": "assistant", "content": None}], "without tool_calls"),
    ([USER, {"role": "assistant", "content": "Hi.", "tool_calls": []}], "too short"),
    ([USER, called(CALL)], "no tool message responds to the call 'call_1'"),
    ([USER, called(CALL), LAST, TOOL], "no tool message responds"),
    ([USER, TOOL], "responds to no call"),
    ([USER, called(CALL), TOOL, TOOL], "responds to no call"),
    ([USER, called(CALL), {"role": "tool", "content": "a"}], "must have a tool_call_id"),
    ([USER, called(CALL), {**TOOL, "content": [
        {"type": "image_url", "image_url": {"url": "https://a.b"}}]}], "role tool"),
    ([USER, called(CALL, CALL), TOOL, TOOL], "two calls have one id"),
    ([USER, called({**CALL, "id": "x" * 41}), {**TOOL, "tool_call_id": "x" * 41}], "1 to 40"),
    ([USER, called({**CALL, "type": None}), TOOL], "expected 'function'"),
    ([USER, called({**CALL, "function": {"name": "a b", "arguments": "{}"}}), TOOL], "a b"),
    ([USER, called({**CALL, "function": {"name": "a", "arguments": {}}}), TOOL], "a string"),
    ([USER, called({**CALL, "function": {"name": "a", "arguments": '{"p'}}), TOOL], "JSON"),
]  # fmt: skip


@pytest.mark.parametrize("messages", ANTHROPIC_TAKES)
def test_anthropic_takes(messages: list[dict[str, Any]]) -> None:
    assert problems(messages, "anthropic", system="Be brief.") == []


@pytest.mark.parametrize(("messages", "reason"), ANTHROPIC_REFUSES)
def test_anthropic_refuses(messages: list[dict[str, Any]], reason: str) -> None:
    found = problems(messages, "anthropic")
    assert [one for one in found if reason in one], found


@pytest.mark.parametrize("messages", OPENAI_TAKES)
def test_openai_takes(messages: list[dict[str, Any]]) -> None:
    assert problems(messages, "openai") == []


@pytest.mark.parametrize(("messages", "reason"), OPENAI_REFUSES)
def test_openai_refuses(messages: list[dict[str, Any]], reason: str) -> None:
    found = problems(messages, "openai")
    assert [one for one in found if reason in one], found


def test_an_empty_system_prompt_is_refused() -> None:
    assert problems([USER], "anthropic", system=" ") == ["system: the text is empty"]


def test_with_thinking_enabled_the_running_loop_begins_with_thinking() -> None:
    running = [USER, said(USE), asked(RESULT)]
    assert problems(running, "anthropic") == []
    assert "expected thinking" in problems(running, "anthropic", thinking=True)[0]
    past = [*running, LAST, said(THOUGHT, {**USE, "id": "toolu_2"})]
    past += [asked({**RESULT, "tool_use_id": "toolu_2"})]
    assert problems(past, "anthropic", thinking=True) == []
