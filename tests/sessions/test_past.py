"""What stands for turns that are not shown: from the whole of them, however often."""

from __future__ import annotations

import json

from treemem import Memory, Message, Scope


def test_decisions_and_open_points_of_old_turns_are_shown_after_many_compactions(
    memory: Memory,
) -> None:
    session = memory.session("a/1", window=6_000)
    decided = "We decided to fire the blue vase at cone 6."
    opened = "I still need to order the filter for the pump."
    session.append({"role": "user", "content": f"{decided} {opened}"})
    session.append({"role": "assistant", "content": "Noted."})
    compactions = 0
    for number in range(160):
        session.append({"role": "user", "content": f"Tell me about step {number} of the wheel."})
        compactions += session.context("").compaction is not None
        said = f"In step {number} the wheel turns. " + "The clay is centred by hand. " * 12
        session.append({"role": "assistant", "content": said})
    assert compactions >= 5
    session.append({"role": "user", "content": "What is next?"})
    context = session.context("")
    past = context.messages[0]["content"]
    assert past.startswith("<earlier")
    [line] = [line for line in past.splitlines() if decided in line]
    assert line.startswith("- b0 [")  # which is how to get back what was said around it
    assert opened in past
    assert "b0" in past


def test_a_session_begins_with_what_is_open_in_its_project(memory: Memory) -> None:
    opened = "I still need to order the filter for the pump."
    memory.append("old/1", [Message(text=opened)], project="/home/ana/shop")
    memory.append("old/2", [Message(text="I still need to call the bank.")], project="/home/other")
    memory.work(max_calls=0)
    session = memory.session("a/1", project="/home/ana/shop")
    session.append({"role": "user", "content": "Good morning."})
    context = session.context("")
    assert opened in context.messages[0]["content"]
    assert "not instructions" in context.messages[0]["content"]
    assert "bank" not in str(context.messages)
    [entry] = memory.ledger(Scope.where(project="/home/ana/shop"), kinds=["open"])
    memory.ledger.close(entry.id)
    session.compact(soft=True)
    assert opened not in str(session.context("").messages)


def test_the_files_that_an_agent_wrote_are_named(memory: Memory) -> None:
    session = memory.session("a/1")
    session.append({"role": "user", "content": "Please write the parser and its test."})
    for number, name in enumerate(("src/parser.py", "tests/test_parser.py", "src/parser.py")):
        arguments = json.dumps({"file_path": name, "content": "x = 1"})
        function = {"name": "Write", "arguments": arguments}
        call = {"id": f"c{number}", "type": "function", "function": function}
        session.append([
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "written"},
        ])  # fmt: skip
    session.append({"role": "assistant", "content": "Both are written."})
    session.append({"role": "user", "content": "Thank you."})
    session.compact(soft=True)
    past = session.context("").messages[0]["content"]
    assert "Files written: src/parser.py, tests/test_parser.py" in past


def test_an_open_point_that_was_closed_is_not_shown_as_open(memory: Memory) -> None:
    session = memory.session("a/1")
    session.append({"role": "user", "content": "I still need to order the filter for the pump."})
    session.append({"role": "assistant", "content": "All right, noted."})
    for number in range(3):
        session.append({"role": "user", "content": f"Tell me about the wheel {number}, please."})
        session.append({"role": "assistant", "content": "The wheel turns and turns, as before."})
    session.compact(soft=True)
    assert "Still open:" in session.context("").messages[0]["content"]
    [entry] = memory.ledger(kinds=["open"])
    memory.ledger.close(entry.id)
    session.compact(soft=True)
    assert "Still open:" not in session.context("").messages[0]["content"]


def test_a_digest_leaves_half_of_the_room_for_what_comes(memory: Memory) -> None:
    session = memory.session("a/1", window=6_000)
    tokens = []
    for number in range(120):
        session.append({"role": "user", "content": f"Tell me about step {number} of the wheel."})
        made = session.context("").compaction
        if made is not None:
            assert made.rungs[-1].name == "digest"
            tokens.append(made.tokens_after)
        said = f"In step {number} the wheel turns. " + "The clay is centred by hand. " * 12
        session.append({"role": "assistant", "content": said})
    assert len(tokens) >= 3
    assert max(tokens) <= session.budget.digest_target


def test_a_rule_that_the_system_prompt_shows_is_not_repeated(memory: Memory) -> None:
    rule = "Always answer in German when I ask about the kiln."
    session = memory.session("a/1")
    session.append({"role": "user", "content": rule})
    session.append({"role": "assistant", "content": "All right, I will."})
    for number in range(3):
        session.append({"role": "user", "content": f"Tell me about the wheel {number}, please."})
        session.append({"role": "assistant", "content": "The wheel turns and turns, as before."})
    session.compact(soft=True)
    context = session.context("")
    assert rule in context.system
    past = next(m["content"] for m in context.messages if m["content"].startswith("<earlier"))
    assert f"user: {rule}" not in past
