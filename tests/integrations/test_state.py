"""What an integration keeps is JSON without secrets, stored with its words or not at all."""

from __future__ import annotations

import math

import pytest

from tests.helpers.secret_samples import ALNUM
from treemem import Memory, Message, UsageError
from treemem.integrations.state import State

TOKEN = "ghp_" + ALNUM


def test_every_text_of_a_value_is_redacted_however_deep(memory: Memory) -> None:
    state = State(memory, "test")
    value: object = TOKEN
    for _ in range(200):
        value = [value]
    state.put("a", "k", {"deep": value, "note": f"use {TOKEN}", "n": 3})
    assert TOKEN.encode() not in memory.path.read_bytes()
    kept = state.get("a", "k")
    assert kept is not None
    assert kept.value["note"].startswith("use [redacted: github-token")
    assert kept.value["n"] == 3


def test_a_value_that_is_nested_too_deeply_is_refused(memory: Memory) -> None:
    value: object = TOKEN
    for _ in range(5_000):
        value = [value]
    with pytest.raises(UsageError, match="too deeply"):
        State(memory, "test").put("a", "k", value)


def test_a_rule_that_is_new_holds_for_a_text_that_was_stored_before(memory: Memory) -> None:
    state = State(memory, "test")
    state.put("a", "k1", "the code is Zebra-77")
    memory.redactions.deny("Zebra-77")
    state.put("a", "k2", "the code is Zebra-77")
    first, second = state.of_place("a")
    assert "Zebra-77" in first.value
    assert "Zebra-77" not in second.value


def test_nothing_is_redacted_if_the_caller_wants_it_so(memory: Memory) -> None:
    state = State(memory, "test", redact=False)
    state.put("a", "k", TOKEN)
    kept = state.get("a", "k")
    assert kept is not None
    assert kept.value == TOKEN


@pytest.mark.parametrize("value", [{1, 2}, math.nan, b"raw"])
def test_what_is_no_json_is_refused(memory: Memory, value: object) -> None:
    state = State(memory, "test")
    with pytest.raises(UsageError, match="no JSON"):
        state.put("a", "k", value)
    assert state.keys("a") == []


def test_a_lone_surrogate_is_stored_as_a_replacement(memory: Memory) -> None:
    state = State(memory, "test")
    state.put("a", "k", "half \ud83d")
    kept = state.get("a", "k")
    assert kept is not None
    assert kept.value == "half \ufffd"


def test_words_and_state_of_a_failed_step_are_stored_neither(memory: Memory) -> None:
    state = State(memory, "test")

    def step() -> None:
        with state.transaction():
            memory.append("a", [Message(text="The pump is broken.")])
            state.put("a", "k", 1)
            state.put("a", "k", object())

    with pytest.raises(UsageError):
        step()
    assert state.keys("a") == []
    assert memory.is_empty
