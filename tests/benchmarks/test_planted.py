"""The planted log contains what it says, and everything lost or left open is counted."""

from __future__ import annotations

import doctest

import pytest

from benchmarks.data import talk
from benchmarks.trust import planted_words
from benchmarks.trust.planted import PlantedLog, planted_log, survival
from benchmarks.trust.planted_words import CLOSED, OPENED, RULES
from treemem import Statement
from treemem.types import StatementKind

LOG = planted_log(leaves=4, count=60)


def test_the_log_has_many_wordings_and_no_sentence_twice() -> None:
    assert len(RULES) >= 30
    assert sum(map(len, OPENED.values())) >= 30
    assert sum(map(len, CLOSED.values())) >= 20
    sentences = [*LOG.constraints, *(p.text for p in LOG.points), *(p.later for p in LOG.points)]
    assert len(sentences) == len(set(sentences)) == 180
    assert not [sentence for sentence in sentences if "{" in sentence or ".." in sentence]


def test_half_of_the_points_are_closed_after_they_were_opened() -> None:
    assert sum(not point.seeming for point in LOG.points) == 30
    whole = "\n".join(message.text for message in LOG.messages)
    assert all(whole.index(p.text) < whole.index(p.later) for p in LOG.points)
    assert all(whole.count(rule) == 1 for rule in LOG.constraints)


def test_the_same_arguments_give_the_same_log() -> None:
    assert planted_log(leaves=4, count=60) == LOG
    assert planted_log(leaves=4, count=60, seed=2) != LOG


def _statements(*rows: tuple[StatementKind, str]) -> list[Statement]:
    return [
        Statement(number, kind, text, "extractive/1", "Jure")
        for number, (kind, text) in enumerate(rows)
    ]


def _everything(log: PlantedLog) -> list[Statement]:
    rules = _statements(*(("constraint", text) for text in log.constraints))
    return rules + _statements(*(("open", point.text) for point in log.points))


def test_a_root_with_every_statement_has_lost_nothing_and_closed_nothing() -> None:
    result = survival(LOG, _everything(LOG), _everything(LOG))
    assert result["constraints_lost"] == result["still_open_lost"] == []
    assert len(result["closed_but_listed"]) == result["closed"] == 30


def test_a_statement_missing_from_the_root_is_counted_as_lost() -> None:
    everything = _everything(LOG)
    open_point = next(point for point in LOG.points if point.seeming)
    lost = (LOG.constraints[3], open_point.text)
    result = survival(LOG, [s for s in everything if s.text not in lost], everything)
    assert result["constraints_lost"] == [f"{LOG.constraints[3]} (picked in a leaf)"]
    assert [text.split(" (")[0] for text in result["still_open_lost"]] == [open_point.text]


def test_a_point_that_no_leaf_listed_does_not_count_as_closed() -> None:
    closed = {point.text for point in LOG.points if not point.seeming}
    shown = [s for s in _everything(LOG) if s.text not in closed]
    result = survival(LOG, shown, [*shown, *_statements(("open", min(closed)))])
    assert (result["closed"], result["closed_but_listed"]) == (1, [])
    assert set(result["closed_never_listed"]) == closed - {min(closed)}


def test_a_point_that_is_gone_but_not_closed_is_counted_as_not_closed() -> None:
    everything = _everything(LOG)
    closed = {point.text for point in LOG.points if not point.seeming}
    ended = [s for s in everything if s.text in closed]
    holding = [s for s in everything if s.text not in closed]
    assert survival(LOG, holding, everything, ended)["closed_but_listed"] == []
    missed = survival(LOG, holding, everything, ended[1:])["closed_but_listed"]
    assert [text.split(" [")[0] for text in missed] == [ended[0].text]


@pytest.mark.parametrize("module", [planted_words, talk])
def test_the_examples_run(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0
