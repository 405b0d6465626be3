"""Tests treemem.verify.assertion."""

from __future__ import annotations

import pytest

from treemem.verify.assertion import Heard, difference


@pytest.mark.parametrize(
    ("clause", "source", "asks", "reason"),
    [
        ("Clara called the shelter.", "I have not called the shelter.", False, "negation"),
        ("Clara has not called it.", "I called the shelter on Monday.", False, "negation"),
        ("Clara went to the fair.", "I missed the fair.", False, "negation"),
        ("Clara missed the fair.", "I couldn't go to the fair.", False, ""),
        ("Clara rents a cabin.", "Maybe I rent a cabin.", False, "certainty"),
        ("Clara is thinking of renting a cabin.", "Maybe I rent a cabin.", False, ""),
        ("Clara bought the boat.", "I nearly bought the boat.", False, "certainty"),
        ("Dogs are welcome.", "Dogs are forbidden.", False, "negation"),
        ("Clara raised the limit.", "I will raise the limit.", False, "a plan"),
        ("Clara wants to raise the limit.", "I will raise the limit.", False, ""),
        ("Clara will raise the limit.", "I raised the limit.", False, "done"),
        ("The import is finished.", "Is the import finished?", True, "a question"),
        ("Clara asks about the import.", "Is the import finished?", True, ""),
        ("The worker restarts.", "If the run fails, the worker restarts.", False, "a condition"),
        ("All tests hang.", "Some tests hang.", False, "amount"),
        ("All six tests hang.", "Six tests hang.", False, ""),
        ("The cache is enabled.", "The cache is disabled.", False, "turned"),
    ],
)
def test_what_is_asserted_differently(clause: str, source: str, asks: bool, reason: str) -> None:
    found = difference(clause, clause, Heard(source, source, asks=asks))
    assert found.startswith(reason) if reason else not found


@pytest.mark.parametrize(
    ("around", "reason"),
    [("", "negation"), ("The divers are there.", "negation"), ("It is forbidden.", ""),
     ("But the divers are there.", "")],
)  # fmt: skip
def test_a_denial_may_stand_around_a_sentence(around: str, reason: str) -> None:
    clause, source = "Ana cannot have the pool on Friday.", "I asked for the pool on Friday."
    found = difference(clause, clause, Heard(source, source, around=around))
    assert found.startswith(reason) if reason else not found
