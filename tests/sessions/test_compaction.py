"""A whole compaction: its rungs in order, its boundary, and how it is verified."""

from __future__ import annotations

from typing import Any

import pytest

from treemem import Memory, UsageError
from treemem.sessions.session import Session

LONG = "\n".join(f"line {number} of the file, with some words in it" for number in range(200))


def look(session: Session, number: int, text: str) -> None:
    """Appends a request, a call, its result and an answer."""
    function = {"name": "read_file", "arguments": f'{{"path": "f{number}"}}'}
    call = {"id": f"c{number}", "type": "function", "function": function}
    session.append([
        {"role": "user", "content": f"Read file {number}, please."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text},
        {"role": "assistant", "content": f"File {number} is about lines."},
    ])  # fmt: skip


def test_trimming_is_enough_where_results_are_long(memory: Memory) -> None:
    session = memory.session("a/1", window=12_000)
    for number in range(5):
        look(session, number, LONG + str(number))
    session.append({"role": "user", "content": "What now?"})
    context = session.context("")
    made = context.compaction
    assert made is not None
    assert [rung.name for rung in made.rungs] == ["trim"]
    assert made.boundary == 0
    assert made.tokens_after <= session.budget.target < made.tokens_before
    assert len(context.messages) == 21
    assert session.read("h2.0", limit=10_000).text == LONG + "0"


def test_each_rung_runs_once_and_hands_on(memory: Memory) -> None:
    session = memory.session("a/1", window=4_000)
    for number in range(12):
        look(session, number, f"{number} " + LONG[:1_500])
    session.append({"role": "user", "content": "What now?"})
    made = session.context("").compaction
    assert made is not None
    assert [rung.name for rung in made.rungs] == ["trim", "prune", "digest"]
    assert made.boundary > 0
    assert made.tokens_after <= session.budget.target


def test_below_the_trigger_nothing_is_done(memory: Memory) -> None:
    session = memory.session("a/1", window=32_000)
    look(session, 1, LONG)
    assert session.context("").compaction is None
    assert session.context("").left_out == 0


def test_a_long_request_is_divided_between_calls_and_still_shown(memory: Memory) -> None:
    session = memory.session("a/1", window=3_000)
    session.append({"role": "user", "content": "Please mend the glaze of the vase in room 9."})
    for number in range(40):
        function = {"name": "run", "arguments": f'{{"n": {number}}}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        session.append({"role": "assistant", "content": None, "tool_calls": [call]})
        session.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"step {number} "
                        + "it is going well. " * 15})  # fmt: skip
        context = session.context("")
    assert context.messages[0]["content"].count("Please mend the glaze of the vase") >= 1
    last: dict[str, Any] = context.messages[-1]
    assert last["content"].startswith("step 39")
    assert context.tokens <= session.budget.room


def test_open_points_are_counted_and_restored(memory: Memory) -> None:
    session = memory.session("a/1", window=2_000)
    session.append({"role": "user", "content": "I still need to order the filter for the pump."})
    for number in range(10):
        session.append({"role": "assistant", "content": f"{number}. " + "The wheel turns. " * 30})
        session.append({"role": "user", "content": f"Tell me more about the wheel {number}."})
    made = session.compact()
    assert made.boundary > 0
    assert made.open_before == 1
    assert made.open_shown == 1
    assert made.restored == 1


def test_a_compaction_that_cannot_be_made_leaves_the_session_as_it_was(memory: Memory) -> None:
    session = memory.session("a/1", window=1_000)
    session.append({"role": "user", "content": "Hello there, assistant."})
    before = session.context("")
    session = memory.session("a/1", system="Obey the kiln. " * 400)
    with pytest.raises(UsageError, match="larger window"):
        session.context("")
    session = memory.session("a/1", system="")
    assert session.context("").messages == before.messages
