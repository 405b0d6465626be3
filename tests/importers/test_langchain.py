"""Tests LangChain's messages in all shapes, and in states and runs, each imported once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers import langchain as module
from treemem.importers.common.base import Event
from treemem.types import Message, Source

RUN = "0c0ffee0-0000-4000-8000-000000000001"


def as_data(kind: str, content: object, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"content": content, "type": kind, "id": None, **fields}}


def as_dump(kind: str, content: object, **fields: Any) -> dict[str, Any]:
    name = {"human": "Human", "ai": "AI", "system": "System", "tool": "Tool"}[kind] + "Message"
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name],
            "kwargs": {"content": content, **fields}}  # fmt: skip


def as_flat(kind: str, content: object, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "content": content, "additional_kwargs": {}, **fields}


SHAPES = [as_data, as_dump, as_flat]


def read(document: object, *, lines: bool = False) -> list[Event]:
    rows = document if lines and isinstance(document, list) else [document]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    file = LogFile("thread.json", data=data)
    assert detect(file).name == "langchain"
    return list(by_name("langchain").read(file))


def texts(document: object, *, lines: bool = False) -> list[str]:
    return [event.text for event in read(document, lines=lines) if isinstance(event, Message)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_list_of_messages_is_read_in_each_shape(shape: Any) -> None:
    call = {"name": "search", "args": {"q": "é"}, "id": "c1", "type": "tool_call"}
    events = read([
        shape("system", "Be brief."),
        shape("human", "hi", name="Ana"),
        shape("ai", "I look.", tool_calls=[call], id=f"run-{RUN}-0"),
        shape("tool", "found", tool_call_id="c1", name="search"),
        shape("human", "hi", name="Ana"),
    ])  # fmt: skip
    imported = [event for event in events if isinstance(event, Message)]
    assert events[0] == Source("langchain/thread", "langchain", origin="thread.json")
    assert [(item.role, item.text) for item in imported] == [
        ("system", "Be brief."),
        ("user", "hi"),
        ("assistant", 'I look.\n\n[tool use: search] {"q":"é"}'),
        ("tool", "found"),
        ("user", "hi"),
    ]
    assert [item.author for item in imported] == [None, "Ana", None, None, "Ana"]
    assert (imported[2].tool_use_ids, imported[3].tool_result_ids) == (("c1",), ("c1",))
    assert (imported[2].external_id, imported[2].unique_id) == (f"run-{RUN}-0", True)
    assert [part.name for part in imported[3].parts] == ["search"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lines", [False, True])
def test_a_message_repeated_by_later_states_is_imported_once(shape: Any, lines: bool) -> None:
    turns = [shape("human", "ok"), shape("ai", "done"), shape("human", "ok"), shape("ai", "x")]
    config = {"configurable": {"thread_id": "t"}}
    states = [{"values": {"messages": turns[:count]}, "config": config} for count in (2, 4)]
    assert texts(states, lines=lines) == ["ok", "done", "ok", "x"]
    reasons = [event.reason for event in read(states, lines=lines) if isinstance(event, Skipped)]
    assert reasons == [module.REPEATED] * 2
    sources = {event.id for event in read(states, lines=lines) if isinstance(event, Source)}
    assert sources == {"langchain/t"}


def test_a_checkpoint_and_a_wrapped_list_are_read() -> None:
    turns = [as_dump("human", "a"), as_dump("ai", "b")]
    assert texts({"v": 1, "channel_values": {"messages": turns}}) == ["a", "b"]
    assert texts({"messages": turns}) == ["a", "b"]


def test_runs_yield_their_input_and_output() -> None:
    def run(count: int, answer: str) -> dict[str, Any]:
        before = [as_dump("human", "a"), as_dump("ai", "b"), as_dump("human", "c")]
        output = {"text": answer, "message": as_dump("ai", answer)}
        return {"id": str(count), "run_type": "llm", "trace_id": "tr",
                "inputs": {"messages": [before[:count]]},
                "outputs": {"generations": [[output]]}}  # fmt: skip

    assert texts([run(1, "b"), run(3, "d")]) == ["a", "b", "c", "d"]


def test_calls_in_two_places_are_one() -> None:
    blocks = [{"type": "text", "text": "x"},
              {"type": "tool_use", "id": "c1", "name": "f", "input": {}}]  # fmt: skip
    call = {"name": "f", "args": {}, "id": "c1"}
    provider = {"id": "c1", "function": {"name": "f", "arguments": "{}"}}
    both = as_data("ai", blocks, tool_calls=[call], additional_kwargs={"tool_calls": [provider]})
    assert texts([both]) == ["x\n\n[tool use: f] {}"]
    older = as_data("ai", "", additional_kwargs={"tool_calls": [provider]})
    assert texts([older]) == ["[tool use: f] {}"]


def test_reasoning_is_thinking_and_other_roles_keep_their_name() -> None:
    block = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    thought, other, removed, _ = read([
        as_data("ai", [block, {"type": "text", "text": "yes"}]),
        as_data("chat", "hello", role="critic"),
        {"type": "remove", "id": "m1", "content": ""},
        as_data("human", ""),
    ])[1:]  # fmt: skip
    assert isinstance(thought, Message)
    assert isinstance(other, Message)
    assert (thought.text, [part.kind for part in thought.parts]) == ("hm\n\nyes", ["thinking"])
    assert (other.role, other.author) == ("other", "critic")
    assert removed == Skipped("no message: removal of one")


def test_other_tools_objects_with_a_type_are_not_imported() -> None:
    gemini = json.dumps([{"type": "user", "content": "hi", "toolCalls": []}]).encode()
    chat = json.dumps([{"role": "user", "content": "hi"}]).encode()
    assert by_name("langchain").recognizes(LogFile("x"), gemini) == 0.0
    assert by_name("langchain").recognizes(LogFile("x"), chat) == 0.0


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
KEYS = ["content", "id", "name", "tool_calls", "additional_kwargs", "response_metadata",
        "invalid_tool_calls", "tool_call_id"]  # fmt: skip


@given(st.sampled_from(SHAPES), st.sampled_from(["human", "ai", "tool"]), st.data())
def test_every_message_is_counted_whatever_types_its_fields_have(
    shape: Any, kind: str, data: st.DataObject
) -> None:
    fields = data.draw(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3))
    odd = shape(kind, fields.pop("content", "a"), **fields)
    document = json.dumps([odd, shape("ai", "b")], indent=1).encode()
    events = list(by_name("langchain").read(LogFile("x.json", data=document)))
    assert sum(isinstance(event, Message | Skipped) for event in events) == 2
