"""A finished sub-task is shown as what came of it."""

from __future__ import annotations

import json

import pytest

from treemem import Memory, UsageError


def test_a_fold_stands_for_its_turns_and_they_stay_recallable(memory: Memory) -> None:
    session = memory.session("a/1")
    session.append({"role": "user", "content": "Good morning, let us begin."})
    session.append({"role": "assistant", "content": "Good morning. What shall we do?"})
    session.pin(active_task="Fix the parser")
    session.append({"role": "user", "content": "We decided to use a hand-written parser for it."})
    arguments = json.dumps({"file_path": "src/parser.py", "content": "x = 1"})
    call = {"id": "c1", "type": "function", "function": {"name": "Write", "arguments": arguments}}
    session.append([
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "written"},
        {"role": "assistant", "content": "The parser reads nested lists now. I still need to test "
         "the empty list."},
    ])  # fmt: skip
    before = session.context("")
    fold = session.fold("fixing the parser")
    assert fold.outcome.startswith("The parser reads nested lists now.")
    assert fold.files == ("src/parser.py",)
    assert any("hand-written parser" in text for text in fold.decisions)
    assert fold.block_ids == ("b2",)
    session.append({"role": "user", "content": "What is next?"})
    context = session.context("")
    assert context.messages[: 2 + 1] == before.messages[: 2 + 1]
    assert len(context.messages) == 5
    assert "fixing the parser" in context.messages[3]["content"]
    assert "recall('b2')" in context.messages[3]["content"]
    assert session.recall("b2") == session.messages(2, 6)
    assert context.components["folds"] > 0
    with Memory.open(memory.path) as other:
        assert other.session("a/1").context("").messages == context.messages


def test_there_must_be_turns_to_fold(memory: Memory) -> None:
    session = memory.session("a/1")
    with pytest.raises(UsageError, match="nothing was appended"):
        session.fold("nothing at all")
    session.append({"role": "user", "content": "Begin with the kiln."})
    session.append({"role": "assistant", "content": "The kiln is ready."})
    session.fold("the kiln")
    for since in (None, "b0"):
        with pytest.raises(UsageError):
            session.fold("the kiln again", since=since)


def test_folds_survive_compactions(memory: Memory) -> None:
    session = memory.session("a/1", window=2_000)
    for number in range(8):
        session.append({"role": "user", "content": f"Do task {number}. " + "Please do it. " * 20})
        session.append({"role": "assistant", "content": f"Task {number} is done. " + "Yes. " * 40})
        session.fold(f"task {number}", since=f"b{2 * number}")
        session.append({"role": "user", "content": ""}) if number == 99 else None
        context = session.context("")
        assert context.tokens <= session.budget.room
    assert "task 7" in json.dumps(context.messages)
    assert session.recall("b0") == session.messages(0, 2)
