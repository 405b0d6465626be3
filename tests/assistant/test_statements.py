"""Tests that broad questions are answered from the ledger and the digest, word for word."""

from __future__ import annotations

import pytest

from treemem import Memory, Message, Reply

SAID = [
    ("2026-03-01", "We decided to glaze the cups in blue, since the red one runs."),
    ("2026-03-02", "We decided to fire the kiln on Mondays."),
    ("2026-03-03", "TODO: order new shelves for the kiln."),
    ("2026-03-04", "Never use lead glazes."),
    ("2026-03-05", "The weather is fine today, and the clay is dry."),
]


@pytest.fixture(autouse=True)
def _talk(memory: Memory) -> None:
    memory.append("chat/1", [Message("user", text, sent_at=day) for day, text in SAID])
    memory.work(max_calls=0)


def texts(reply: Reply) -> list[str]:
    assert reply.is_known, reply.reason
    for sentence in reply.sentences:
        (number,) = sentence.citations
        assert sentence.text in reply.citations[number - 1].message.text
    return [one.text for one in reply.sentences]


def test_decisions_open_points_and_rules_come_from_the_ledger(memory: Memory) -> None:
    assert set(texts(memory.ask("What did we decide?"))) == {SAID[0][1], SAID[1][1]}
    assert texts(memory.ask("What is still open?")) == ["TODO: order new shelves for the kiln."]
    assert texts(memory.ask("What must never be done?")) == ["Never use lead glazes."]


def test_a_subject_and_a_time_limit_them(memory: Memory) -> None:
    assert texts(memory.ask("What did we decide about the kiln?")) == [SAID[1][1]]
    assert texts(memory.ask("What did we decide?", until="2026-03-01")) == [SAID[0][1]]
    unknown = memory.ask("What did we decide about the submarine?")
    assert not unknown.is_known
    assert "submarine" in unknown.reason


def test_where_the_ledger_has_nothing_that_is_said() -> None:
    with Memory.open(":memory:") as memory:
        memory.append("chat/1", [Message("user", "The weather is fine today.")])
        reply = memory.ask("What is still open?")
    assert (reply.is_known, reply.reason) == (False, "No open point is known.")


def test_what_it_is_about_comes_from_the_digest(memory: Memory) -> None:
    said = texts(memory.ask("Summarize the session."))
    assert len(said) >= 3
    assert all(any(text in whole for _, whole in SAID) for text in said)
