"""Tests treemem.verify.guards."""

from __future__ import annotations

import pytest

from tests.helpers.spoken import LOGS, excerpts
from treemem.verify import guards
from treemem.verify.guards import MESSAGES_MAX, nearest, trace

FRIENDS = [(e.message.speaker, e.text) for e in excerpts(LOGS["friends"])]
WORK = [(e.message.speaker, e.text) for e in excerpts(LOGS["work"])]


@pytest.mark.parametrize(
    ("note", "cited"),
    [
        ("A meeting of young parents encouraged Clara.", {0}),
        ("Clara was a nurse before she turned to law.", {10}),
        ("Marlene completed a course in pottery and got a blue bowl from Clara.", {11}),
        ("Clara hopes to adopt a dog, but her landlord has to agree.", {4}),
        ("Clara's mother visited Lisbon, and Marlene earned forty euros with the lake.", {2, 7}),
        ("Clara did not call the shelter, since puppies were coughing.", {6}),
    ],
)
def test_a_note_in_other_words_cites_what_it_rests_on(note: str, cited: set[int]) -> None:
    traced = trace(note, FRIENDS)
    assert not traced.reason
    assert cited <= set(traced.messages)
    assert len(traced.lines) >= len(cited)


@pytest.mark.parametrize(
    ("log", "note", "reason"),
    [
        (FRIENDS, "Clara painted a sunrise at the lake.", "told of the wrong speaker"),
        (FRIENDS, "Marlene was a nurse before she turned to law.", "told of the wrong speaker"),
        (FRIENDS, "The visitor of Lisbon was Marlene's mother.", "told of the wrong speaker"),
        (FRIENDS, "Clara was encouraged by the mayor Feldmann.", "name not in its source"),
        (FRIENDS, "Marlene earned 55 euros with the painting of a lake.", "number not"),
        (FRIENDS, "Clara's mother visited Lisbon in June.", "date not in its source"),
        (FRIENDS, "Clara called the shelter about the puppies.", "negation differs"),
        (FRIENDS, "Clara has adopted a dog.", "a condition is left out"),
        (WORK, "The import has finished with the price list.", "a question told as a fact"),
        (WORK, "The assistant raised the worker's timeout to 90 seconds.", "a plan told as done"),
        (WORK, "All of the nightly tests hang.", "amount not in its source"),
        (WORK, "The assistant moved the backup in ops/hourly.yaml.", "identifier or path"),
    ],
)
def test_a_false_note_is_not_judged(log: list[tuple[str, str]], note: str, reason: str) -> None:
    traced = trace(note, log)
    assert traced.reason.startswith(reason)
    assert not traced.lines


@pytest.mark.parametrize(
    ("note", "reason"),
    [
        ("The shed is painted red.", "denied afterwards"),
        ("Ana bought the tools.", "a question told as a fact"),
        ("The tools are kept in the shed.", ""),
        ("Ana has the key to the gate.", ""),
        ("Ben has the key to the gate.", "a question told as a fact"),
    ],
)
def test_what_others_say_to_it_counts(note: str, reason: str) -> None:
    log = [
        ("Ana", "The shed is painted red."), ("Ben", "No, not red, it is painted green."),
        ("Ben", "Ana, did you buy the tools?"), ("Ana", "The shop is closed on Mondays."),
        ("Ben", "Are the tools kept in the shed?"), ("Ana", "Yes, on the left."),
        ("Ben", "Who has the key to the gate?"), ("Ana", "I do, since Monday."),
    ]  # fmt: skip
    assert trace(note, log).reason == reason


def test_at_most_six_messages_are_cited() -> None:
    things = "sheds barns boats mills wells roads walls tents".split()
    log = [("Ana", f"We painted all the {thing} in spring.") for thing in things]
    note = " and ".join(f"the {thing} were painted" for thing in things)
    assert len(trace(f"It is said that {note}.", log).messages) == MESSAGES_MAX


def test_evidence_is_limited_in_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "EVIDENCE_TOKENS_MAX", 20)
    note = "Clara's mother visited Lisbon, and Marlene earned forty euros with the lake."
    assert len(trace(note, FRIENDS).messages) == 1


def test_a_line_has_its_speaker_and_the_sentence_before() -> None:
    log = [("Ana", "The shed leaks. It needs a new roof. We paint on Friday.")]
    assert trace("A new roof is needed.", log).lines == (
        "Ana: The shed leaks. It needs a new roof.",
    )


def test_the_nearest_statements_of_a_parent_note() -> None:
    statements = [("Ana", "Ana sails."), ("", "The shed leaks."), ("Ben", "Ben cooks soup.")]
    assert nearest("The shed is leaking, and Ben cooks.", statements) == [1, 2]
