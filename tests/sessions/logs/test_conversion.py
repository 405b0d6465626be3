"""Tests how messages of logs become messages of a provider."""

from __future__ import annotations

import json

from treemem.importers import by_name
from treemem.importers.common.base import LogFile
from treemem.sessions import shapes
from treemem.sessions.logs.conversion import Converter, speech
from treemem.types import Message, Part


def read(name: str, *rows: object) -> list[Message]:
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    events = by_name(name).read(LogFile("log.jsonl", data=data))
    return [event for event in events if isinstance(event, Message)]


CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path":"a b"}'}}


def test_a_call_and_its_result_keep_their_id_name_and_input() -> None:
    log = read(
        "chat", {"role": "user", "content": "What is here?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "a\nb"},
    )  # fmt: skip
    converter = Converter()
    made = [turn for message in log for turn in converter.convert(message)]
    assert made == [
        {"role": "user", "content": "What is here?"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "a b"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "a\nb"},
        ]},
    ]  # fmt: skip
    assert shapes.problems(made, "anthropic") == []


def test_a_result_without_an_id_answers_the_first_open_call() -> None:
    parts = (Part("tool_use", 0, len("[tool use: ls] {}"), "ls"),)
    call = Message(role="assistant", text="[tool use: ls] {}", parts=parts)
    result = Message(role="tool", text="a", parts=(Part("tool_result", 0, 1, "ls"),))
    converter = Converter()
    (used,), (answered,) = converter.convert(call), converter.convert(result)
    assert used["content"][0]["id"] == answered["content"][0]["tool_use_id"]


def test_an_answer_with_calls_and_results_in_one_record_becomes_two_turns() -> None:
    text = "[tool use: ls] {}\n\nfound"
    parts = (Part("tool_use", 0, 17, "ls"), Part("tool_result", 19, 24, "ls"))
    both = Message(role="assistant", text=text, parts=parts, tool_use_ids=("x",),
                   tool_result_ids=("x",))  # fmt: skip
    made = Converter().convert(both)
    assert [turn["role"] for turn in made] == ["assistant", "user"]
    assert made[1]["content"][0]["content"] == "found"


def test_several_texts_of_one_result_are_one() -> None:
    parts = (Part("tool_result", 0, 1), Part("tool_result", 3, 4))
    message = Message(role="tool", text="a\n\nb", parts=parts, tool_result_ids=("x",))
    (turn,) = Converter().convert(message)
    assert [block["content"] for block in turn["content"]] == ["a\n\nb"]


def test_words_of_another_person_say_whose_they_are() -> None:
    (turn,) = Converter().convert(Message(author="Ana", text="Nine sacks."))
    assert turn == {"role": "user", "content": "Ana: Nine sacks."}


def test_speech_is_what_is_no_call_result_or_thinking() -> None:
    text = "hm\n\nI look.\n\n[tool use: ls] {}\n\nDone."
    parts = (Part("thinking", 0, 2), Part("tool_use", 13, 30, "ls"))
    assert speech(Message(role="assistant", text=text, parts=parts)) == "I look.\n\nDone."
    assert speech(Message(role="user", text="  as typed\n")) == "  as typed\n"
