"""Tests that a history is recognized whatever a client makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.fake_server import FakeServer
from treemem import Memory
from treemem.assistant import chat_model
from treemem.assistant.completions import history, protocol
from treemem.store.database import Database


def place(
    memory: Memory,
    database: Database,
    model: chat_model.ChatModel,
    *said: str,
    header: str | None = None,
) -> history.Placed:
    messages = [{"role": "assistant" if at % 2 else "user", "content": text}
                for at, text in enumerate(said)]  # fmt: skip
    wanted = protocol.wanted({"model": "m", "messages": messages}, header)
    return history.placed(memory, database, model, wanted)


def answered(placed: history.Placed, text: str) -> str:
    placed.conversation.session.append({"role": "assistant", "content": text})
    return placed.conversation.session.id


def opened(memory: Memory, database: Database, server: FakeServer) -> chat_model.ChatModel:
    memory.use_model("chat", server.url)
    return chat_model.of(database)


def test_a_secret_in_a_history_is_recognized_after_it_was_replaced(
    memory: Memory, database: Database
) -> None:
    secret = "My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD."
    with FakeServer() as server:
        model = opened(memory, database, server)
        first = answered(place(memory, database, model, secret), "Keep it.")
        assert answered(place(memory, database, model, secret, "Keep it.", "Why?"), "So.") == first
    assert len(memory.messages(first)) == 4
    assert "sk-proj-abc" not in str(memory.messages(first))


def test_an_answer_that_the_client_cut_or_trimmed_is_the_stored_one(
    memory: Memory, database: Database
) -> None:
    with FakeServer() as server:
        model = opened(memory, database, server)
        first = answered(place(memory, database, model, "Count."), "One two three.\n")
        assert (
            answered(place(memory, database, model, "Count.", "One two", "Go on."), "Four.")
            == first
        )
        again = place(
            memory, database, model, "Count.", "One two three.", "Go on.", "Four.", "Stop."
        )
    assert again.conversation.session.id == first


def test_what_was_not_answered_is_asked_again_without_storing_it_again(
    memory: Memory, database: Database
) -> None:
    with FakeServer() as server:
        model = opened(memory, database, server)
        first = place(memory, database, model, "Hi").conversation.session
        again = place(memory, database, model, "Hi").conversation.session
    assert (again.id, again.turn_count) == (first.id, 1)


def test_a_long_beginning_of_a_branch_is_cut_to_its_share(
    memory: Memory, database: Database
) -> None:
    with FakeServer() as server:
        model = opened(memory, database, server)
        said: list[str] = []
        for number in range(12):
            said.append(f"Request {number}. " + "word " * 800)
            placed = place(memory, database, model, *said, header="talk")
            said.append(f"Answer {number}.")
            answered(placed, said[-1])
        branch = place(memory, database, model, *said[:-2], "Something else.", header="talk")
        assert branch.conversation.session.id == "v1/talk~0002"
        assert 2 < len(branch.before) < 22
        context = branch.conversation.session.context()
        assert context.messages[-1]["content"].startswith("Something else.")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc")), min_size=1, max_size=12))
def test_no_message_of_any_history_is_lost_or_stored_twice_on_a_path(
    steps: list[tuple[int, str]],
) -> None:
    """Goes back any number of turns and on with another word, as a client may."""
    database = Database(Path(":memory:"))
    with FakeServer() as server, Memory(database) as memory:
        model = opened(memory, database, server)
        said: list[str] = []
        for number, (back, word) in enumerate(steps):
            said = said[: max(0, len(said) - 2 * back)]
            said.append(word)
            placed = place(memory, database, model, *said)
            stored = [*placed.before, *placed.conversation.session.messages()]
            assert [_text(one) for one in stored] == said
            said.append(f"answer {number}")
            answered(placed, said[-1])


def _text(message: Any) -> str:
    return chat_model.text_of(message)


@pytest.mark.parametrize("typed", [False, True])
def test_what_a_program_sends_as_the_user_is_a_rule_only_if_the_user_says_that_they_type_it(
    memory: Memory, database: Database, typed: bool
) -> None:
    body = {"model": "m", "messages": [
        {"role": "user", "content": "From now on, always answer in English."},
    ]}  # fmt: skip
    with FakeServer() as server:
        model = opened(memory, database, server)
        history.placed(memory, database, model, protocol.wanted(body, None), typed)
    memory.work(max_calls=0)
    rules = [rule.text for rule in memory.rules()]
    assert rules == (["From now on, always answer in English."] if typed else [])
    assert memory.search("answer in English").passages
