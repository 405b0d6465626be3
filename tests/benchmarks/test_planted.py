"""The planted log is what it claims to be, and nothing that is lost of it goes unnoticed."""

from __future__ import annotations

import doctest
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import planted_words, talk
from benchmarks.planted import PlantedLog, planted_log, survival
from benchmarks.planted_words import CLOSED, OPENED, RULES
from benchmarks.samples import KeptAnswers
from treemem import Statement
from treemem.models.chat import Prompt
from treemem.models.client import Generation
from treemem.types import StatementKind

LOG = planted_log(leaves=4, count=60)


def test_the_wordings_are_many_and_no_two_sentences_are_the_same() -> None:
    assert len(RULES) >= 30
    assert sum(map(len, OPENED.values())) >= 30
    assert sum(map(len, CLOSED.values())) >= 20
    said = [*LOG.constraints, *(p.said for p in LOG.points), *(p.later for p in LOG.points)]
    assert len(said) == len(set(said)) == 180
    assert not [sentence for sentence in said if "{" in sentence or ".." in sentence]


def test_half_is_closed_and_everything_is_said_before_what_follows_it() -> None:
    assert sum(not point.seeming for point in LOG.points) == 30
    whole = "\n".join(message.text for message in LOG.messages)
    assert all(whole.index(p.said) < whole.index(p.later) for p in LOG.points)
    assert all(whole.count(rule) == 1 for rule in LOG.constraints)


def test_the_same_arguments_give_the_same_log() -> None:
    assert planted_log(leaves=4, count=60) == LOG
    assert planted_log(leaves=4, count=60, seed=2) != LOG


def _statements(*said: tuple[StatementKind, str]) -> list[Statement]:
    return [
        Statement(number, kind, text, "extractive/1", "Jure")
        for number, (kind, text) in enumerate(said)
    ]


def _everything(log: PlantedLog) -> list[Statement]:
    rules = _statements(*(("constraint", text) for text in log.constraints))
    return rules + _statements(*(("open", point.said) for point in log.points))


def test_a_root_that_shows_everything_has_lost_nothing_and_closed_nothing() -> None:
    found = survival(LOG, _everything(LOG), _everything(LOG))
    assert found["constraints_lost"] == found["still_open_lost"] == []
    assert len(found["closed_but_listed"]) == found["closed"] == 30


def test_what_the_root_does_not_show_is_missed() -> None:
    everything = _everything(LOG)
    open_point = next(point for point in LOG.points if point.seeming)
    lost = (LOG.constraints[3], open_point.said)
    found = survival(LOG, [s for s in everything if s.text not in lost], everything)
    assert found["constraints_lost"] == [f"{LOG.constraints[3]} (picked in a leaf)"]
    assert [text.split(" (")[0] for text in found["still_open_lost"]] == [open_point.said]


def test_a_point_that_was_never_listed_is_not_counted_as_closed() -> None:
    closed = {point.said for point in LOG.points if not point.seeming}
    shown = [s for s in _everything(LOG) if s.text not in closed]
    found = survival(LOG, shown, [*shown, *_statements(("open", min(closed)))])
    assert (found["closed"], found["closed_but_listed"]) == (1, [])
    assert set(found["closed_never_listed"]) == closed - {min(closed)}


def test_an_answer_is_found_again_only_for_the_very_same_call(tmp_path: Path) -> None:
    answers = KeptAnswers(tmp_path, "small")
    prompt = Prompt("Take notes.", "1. Ana: Hello.", (("1. Ben: Hi.", "Ben greets."),))
    answer = Generation("Ana greets.", 20, 4, 0.5, "eos")
    path = answers.path(prompt, "root ::= .", 64, ())
    assert answers.find(path) is None
    answers.keep(path, answer)
    assert answers.find(answers.path(prompt, "root ::= .", 64, ())) == answer
    others = [
        KeptAnswers(tmp_path, "large").path(prompt, "root ::= .", 64, ()),
        answers.path(replace(prompt, system="Write."), "root ::= .", 64, ()),
        answers.path(replace(prompt, examples=()), "root ::= .", 64, ()),
        answers.path(replace(prompt, question="1. Ana: Bye."), "root ::= .", 64, ()),
        answers.path(prompt, None, 64, ()),
        answers.path(prompt, "root ::= .", 65, ()),
        answers.path(prompt, "root ::= .", 64, ("\n",)),
    ]
    assert len({path, *others}) == 8


@pytest.mark.parametrize("module", [planted_words, talk])
def test_the_examples_run(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0
