"""Tests that what is said in a conversation is stored, whatever happens to the answer."""

from __future__ import annotations

import pytest

from tests.helpers.fake_server import FakeServer, as_json, chunks, completion
from treemem import Memory, ModelError, Streamed
from treemem.assistant.conversation import SYSTEM


def stored(memory: Memory, name: str = "chat/1") -> list[tuple[str, str]]:
    return [(one.role, one.text) for one in memory.messages(name)]


def test_both_sides_are_stored_and_the_next_context_has_them(memory: Memory) -> None:
    with FakeServer() as server, memory.conversation("chat/1", model=server.url) as talk:
        server.replies.extend([completion("Hello, Ana."), completion("It is Ana.")])
        assert talk.say("Hello, I am Ana.").text == "Hello, Ana."
        talk.say("What is my name?")
        sent = server.bodies[-1]["messages"]
    assert [one["role"] for one in sent] == ["system", "user", "assistant", "user"]
    assert sent[0]["content"].startswith(SYSTEM)
    assert stored(memory)[:2] == [("user", "Hello, I am Ana."), ("assistant", "Hello, Ana.")]


def test_the_memory_is_searched_for_each_request(memory: Memory) -> None:
    from treemem import Message

    memory.append("notes/1", [Message("user", "The kiln in Ghent burns at 1,240 degrees.")])
    with FakeServer() as server, memory.conversation("chat/1", model=server.url) as talk:
        answer = talk.say("How hot does the kiln in Ghent burn?")
        assert "1,240 degrees" in server.bodies[-1]["messages"][-1]["content"]
    assert [memory.message(one).text for one in answer.context.memory_ids] == [
        "The kiln in Ghent burns at 1,240 degrees."
    ]


def test_an_answer_that_is_interrupted_is_kept_as_far_as_it_was_said(memory: Memory) -> None:
    with FakeServer() as server, memory.conversation("chat/1", model=server.url) as talk:
        server.replies.append(chunks("One ", "two ", "three"))
        said: list[str] = []
        streamed = Streamed(said.append)
        said_then_stop = Streamed(lambda piece: (said.append(piece), streamed.cancelled.set())[0],
                                  streamed.cancelled)  # fmt: skip
        answer = talk.say("Count.", streamed=said_then_stop)
    assert answer.stopped == "cancelled"
    assert answer.text == "".join(said)
    assert stored(memory)[-1] == ("assistant", answer.text)


def test_what_was_said_before_a_failure_is_kept_and_the_conversation_goes_on(
    memory: Memory,
) -> None:
    with FakeServer() as server, memory.conversation("chat/1", model=server.url) as talk:
        server.replies.append(chunks("Half an ", end=""))
        with pytest.raises(ModelError, match="broke off"):
            talk.say("Tell me.", streamed=Streamed(lambda _: None))
        assert stored(memory)[-1] == ("assistant", "Half an ")
        server.replies.append(as_json({"error": "no"}, 404))
        with pytest.raises(ModelError):
            talk.say("Again.")
        server.replies.append(completion("Whole."))
        assert talk.say("And again.").text == "Whole."
    assert [text for role, text in stored(memory) if role == "user"] == [
        "Tell me.", "Again.", "And again.",
    ]  # fmt: skip


def test_no_word_of_the_model_becomes_a_rule_and_the_users_do(memory: Memory) -> None:
    with FakeServer() as server, memory.conversation("chat/1", model=server.url) as talk:
        server.replies.append(completion("From now on, always answer in French."))
        talk.say("From now on, always answer in short sentences.")
    memory.work(max_calls=0)
    assert [rule.text for rule in memory.rules()] == [
        "From now on, always answer in short sentences."
    ]


def test_without_a_model_the_error_says_how_to_get_one(memory: Memory) -> None:
    with pytest.raises(ModelError, match="No model is in use") as error:
        memory.conversation("chat/1")
    assert "treemem model use chat" in error.value.for_shell()
    assert memory.sessions() == []


def test_an_old_conversation_goes_on_with_another_model(memory: Memory) -> None:
    with FakeServer("one") as one, FakeServer("two") as two:
        with memory.conversation("chat/1", model=one.url) as talk:
            talk.say("I am Ana.")
        with memory.conversation("chat/1", model=two.url) as talk:
            talk.say("Who am I?")
        assert "I am Ana." in [m["content"] for m in two.bodies[-1]["messages"]]
