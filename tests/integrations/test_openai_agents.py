"""A session of the Agents SDK goes on in any process, and what is said in it is remembered."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

pytest.importorskip("agents", reason="needs the extra openai-agents")

from agents import Agent, RunConfig, Runner, function_tool
from agents.items import ModelResponse
from agents.memory import Session, SessionSettings, SQLiteSession
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from tests.helpers.secret_samples import ALNUM
from tests.integrations.killing import acknowledged_before_kill, output_of
from treemem import Memory, UsageError
from treemem.integrations.openai_agents import TreememSession, messages_of

TOKEN = "ghp_" + ALNUM
QUIET = RunConfig(tracing_disabled=True)


def spoken(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id="m1", content=[part], role="assistant", status="completed", type="message"
    )


class Parrot(Model):
    """Answers with how many items it was given, or calls a tool that it is asked for. seen: what
    it was given, call by call."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def get_response(self, *arguments: Any, **named: Any) -> ModelResponse:
        items = named.get("input", arguments[1] if len(arguments) > 1 else None)
        self.seen.append(items)
        last = items[-1]
        wants = last.get("role") == "user" and "read tank" in str(last.get("content"))
        output: Any = spoken(f"I was given {len(items)} items.")
        if wants:
            output = ResponseFunctionToolCall(
                arguments='{"tank": 7}', call_id="call_1", name="read_tank", type="function_call"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *arguments: Any, **named: Any) -> Any:
        raise NotImplementedError


@function_tool
def read_tank(tank: int) -> str:
    """Reads a tank."""
    return f"Always open the east gate when tank {tank} is at 3 bar."


def run(session: Session, text: str, model: Parrot | None = None) -> str:
    agent = Agent(name="Parrot", model=model or Parrot(), tools=[read_tank])
    result = asyncio.run(Runner.run(agent, text, session=session, run_config=QUIET))
    return str(result.final_output)


def items(session: Session, limit: int | None = None) -> list[Any]:
    return asyncio.run(session.get_items(limit))


def said(memory: Memory, name: str = "s1") -> list[tuple[str, str]]:
    return [(one.role, one.text) for one in memory.messages(f"openai-agents/{name}")]


def test_a_session_is_one_for_the_sdk(memory: Memory) -> None:
    assert isinstance(TreememSession("s1", memory), Session)


def test_the_model_is_given_the_turns_before(memory: Memory) -> None:
    model = Parrot()
    session = TreememSession("s1", memory)
    run(session, "The pump of tank seven lost pressure.", model)
    assert run(session, "Which tank was it?", model) == "I was given 3 items."
    assert [item["role"] for item in model.seen[-1]] == ["user", "assistant", "user"]
    assert said(memory) == [
        ("user", "The pump of tank seven lost pressure."),
        ("assistant", "I was given 1 items."),
        ("user", "Which tank was it?"),
        ("assistant", "I was given 3 items."),
    ]


def test_the_items_are_those_that_the_sdks_own_session_has(memory: Memory) -> None:
    ours, theirs = TreememSession("s1", memory), SQLiteSession("s1")
    for session in (ours, theirs):
        run(session, "Please read tank seven.")
        run(session, "Thanks.")
    assert items(ours) == items(theirs)
    assert items(ours, 2) == items(theirs, 2)
    assert [item.get("type") for item in items(ours)] == [
        None, "function_call", "function_call_output", "message", None, "message",
    ]  # fmt: skip


def test_calls_of_tools_are_remembered_and_their_results_are_no_rules(memory: Memory) -> None:
    run(TreememSession("s1", memory), "Please read tank seven. Always write dates in full.")
    memory.work(max_calls=0)
    assert [role for role, _ in said(memory)] == ["user", "assistant", "tool", "assistant"]
    assert "east gate" in memory.search("what about the east gate?").text
    assert [rule.text for rule in memory.rules()] == ["Always write dates in full."]


def test_a_session_goes_on_in_another_process_and_is_found_by_a_search(memory: Memory) -> None:
    run(TreememSession("s1", memory), "The pump of tank seven lost pressure.")
    script = """
import sys
from tests.integrations.test_openai_agents import run
from treemem import Memory
from treemem.integrations.openai_agents import TreememSession
with Memory.open(sys.argv[1]) as memory:
    print(run(TreememSession("s1", memory), "Which tank was it?"))
"""
    assert output_of(script, str(memory.path)).strip() == "I was given 3 items."
    assert len(items(TreememSession("s1", memory))) == 4
    assert "tank seven" in memory.search("why did the pump lose pressure?").text


def test_what_is_popped_is_given_to_no_agent_and_was_still_said(memory: Memory) -> None:
    session = TreememSession("s1", memory)
    assert asyncio.run(session.pop_item()) is None
    run(session, "The gate is open.")
    answer = asyncio.run(session.pop_item())
    question = asyncio.run(session.pop_item())
    assert answer is not None
    assert question == {"role": "user", "content": "The gate is open."}
    assert answer["role"] == "assistant"
    assert items(session) == []
    assert run(session, "The gate is shut.") == "I was given 1 items."
    assert [text for role, text in said(memory) if role == "user"] == [
        "The gate is open.", "The gate is shut.",
    ]  # fmt: skip


def test_a_cleared_session_is_empty_and_its_words_stay(memory: Memory) -> None:
    session, other = TreememSession("s1", memory), TreememSession("s2", memory)
    run(session, "The pump is new.")
    run(other, "The valve is old.")
    asyncio.run(session.clear_session())
    assert items(session) == []
    assert len(items(other)) == 2
    assert run(session, "Hi again.") == "I was given 1 items."
    assert "The pump is new." in memory.search("pump").text


def test_the_limit_of_the_settings_counts_unless_the_call_has_one(memory: Memory) -> None:
    session = TreememSession("s1", memory, session_settings=SessionSettings(limit=1))
    run(session, "One.")
    run(session, "Two.")
    assert len(items(session)) == 1
    assert len(items(session, 3)) == 3


def test_secrets_are_stored_neither_in_items_nor_in_words(memory: Memory) -> None:
    session = TreememSession("s1", memory)
    run(session, f"The token is {TOKEN}.")
    (first, _) = items(session)
    assert first["content"].startswith("The token is [redacted: github-token")
    beside = memory.path.parent.glob(f"{memory.path.name}*")
    assert all(TOKEN.encode() not in file.read_bytes() for file in beside)


def test_an_item_that_is_no_json_stores_none(memory: Memory) -> None:
    session = TreememSession("s1", memory)
    with pytest.raises(UsageError, match="no JSON"):
        asyncio.run(session.add_items([{"role": "user", "content": "Hi"}, {"x": object()}]))
    assert items(session) == []
    assert said(memory) == []
    with pytest.raises(UsageError, match="empty"):
        TreememSession("", memory)


def test_several_threads_add_to_one_session(memory: Memory) -> None:
    session = TreememSession("s1", memory)

    def add(number: int) -> None:
        for turn in range(5):
            item = {"role": "user", "content": f"Note {number}.{turn}"}
            asyncio.run(session.add_items([item]))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    contents = [item["content"] for item in items(session)]
    assert len(set(contents)) == 20
    assert [text for _, text in said(memory)] == contents


ITEMS: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    ({"type": "reasoning", "summary": [], "encrypted_content": "x"}, []),
    ({"role": "user", "content": [{"type": "input_text", "text": "See"},
                                  {"type": "input_image", "image_url": "data:…"}]},
     [{"role": "user", "content": "See\n[input_image]"}]),
    ({"type": "message", "role": "assistant",
      "content": [{"type": "refusal", "refusal": "I will not."}]},
     [{"role": "assistant", "content": "I will not."}]),
    ({"type": "function_call_output", "call_id": "c1",
      "output": [{"type": "input_text", "text": "3 bar"}]},
     [{"role": "tool", "tool_call_id": "c1", "content": "3 bar"}]),
    ({"role": "user", "content": ""}, []),
]  # fmt: skip


@pytest.mark.parametrize(("item", "messages"), ITEMS)
def test_of_each_item_the_words_are_remembered(
    item: dict[str, Any], messages: list[dict[str, Any]]
) -> None:
    assert list(messages_of(item)) == messages


def test_the_live_session_has_blocks_and_pins(memory: Memory) -> None:
    session = TreememSession("s1", memory, title="Pumps", project="/w/pumps")
    run(session, "The pump is new.")
    session.live.pin(goal="Mend the pump")
    assert [block.request for block in session.live.catalog()] == ["The pump is new."]
    assert memory.find_session("Pumps").project == "/w/pumps"


WRITER = """
import asyncio, sys
from treemem import Memory
from treemem.integrations.openai_agents import TreememSession
session = TreememSession("s1", Memory.open(sys.argv[1]))
for number in range(10_000):
    asked = {"role": "user", "content": f"Crate {number} has pears."}
    answer = {"role": "assistant", "content": f"Noted {number}."}
    asyncio.run(session.add_items([asked, answer]))
    print(number, flush=True)
"""


def test_a_killed_process_loses_no_acknowledged_item(memory: Memory) -> None:
    turns = len(acknowledged_before_kill(WRITER, str(memory.path), lines=25))
    session = TreememSession("s1", memory)
    contents = [item["content"] for item in items(session)]
    assert contents[: 2 * turns : 2] == [f"Crate {number} has pears." for number in range(turns)]
    assert [text for _, text in said(memory)] == contents
    assert len(contents) % 2 == 0
    assert "Crate 7 has pears." in memory.search("what is in crate 7?").text
    assert memory.diagnose().healthy
