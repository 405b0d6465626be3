"""A small real model scores continuations, with properties that hold for any model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from treemem.errors import ModelError
from treemem.models.client import LlamaClient, Segment
from treemem.models.pulling import installed

TEXT = "Priya: the export failed at 02:14.\nTom: then we move the backup to 04:00.\n" * 5
NOTES = [
    " Tom wants to move the backup.",
    " Tom wants to move the export.",
    " Priya wants to move the backup.",
    " Nobody",
]


@pytest.fixture(scope="module")
def client(shared_models: Path) -> Iterator[LlamaClient]:
    path = installed("smollm2-135m", folder=shared_models, verify=True).path
    with LlamaClient(path, context_tokens=1024, threads=1) as opened:
        yield opened


def text(words: str = TEXT) -> list[Segment]:
    return [Segment(words)]


def test_every_token_of_a_continuation_gets_a_log_likelihood(client: LlamaClient):
    rows = client.score(text(), NOTES)
    assert [len(row) for row in rows] == [client.count_tokens(note) for note in NOTES]
    assert all(number <= 0.0 for row in rows for number in row)
    assert all(math.isfinite(number) for row in rows for number in row)


def test_the_same_request_gives_the_same_numbers_whatever_came_before(client: LlamaClient):
    first = client.score(text(), NOTES)
    assert client.score(text(), NOTES) == first
    client.generate([Segment("Something else.")], max_tokens=3)
    assert client.score(text(), NOTES) == first
    client.close()
    assert client.score(text(), NOTES) == first


def test_an_answer_after_scores_is_the_answer_before_them(client: LlamaClient):
    before = client.generate(text(), max_tokens=8, ignore_eos=True).text
    client.score(text(), NOTES)
    assert client.generate(text(), max_tokens=8, ignore_eos=True).text == before


def test_a_continuation_scores_alike_alone_and_after_others(client: LlamaClient):
    together = client.score(text(), [*NOTES, *NOTES[:2]])
    alone = [client.score(text(), [note])[0] for note in NOTES]
    for row, other in zip(together, alone, strict=False):
        assert row == pytest.approx(other, abs=0.1)
    assert together[4] == pytest.approx(together[0], abs=0.1)


def test_a_start_and_its_rest_score_as_the_whole(client: LlamaClient):
    start, rest = " Tom wants to move", " the backup."
    (whole,) = client.score(text(), [start + rest])
    (head,) = client.score(text(), [start])
    (tail,) = client.score(text(TEXT + start), [rest])
    assert whole == pytest.approx([*head, *tail], abs=0.1)


def test_the_probabilities_of_all_tokens_add_up_to_one(client: LlamaClient):
    llama = pytest.importorskip("llama_cpp.llama_cpp")
    from treemem.models.llama import LoadedModel
    from treemem.models.operations import scoring

    assert llama is not None
    loaded = LoadedModel(str(client._fields["path"]), 256, 1, False, None)
    loaded.prefill(loaded.tokenize("The sky is", special=False))
    row = scoring.Row.at(loaded, -1)
    chances = [math.exp(row.log_likelihood(token)) for token in range(loaded.token_count)]
    assert math.fsum(chances) == pytest.approx(1.0, abs=1e-4)


def test_an_empty_continuation_has_no_scores(client: LlamaClient):
    assert client.score(text(), []) == []
    assert client.score(text(), ["", " Yes"])[0] == []


def test_a_continuation_is_longer_than_a_piece(client: LlamaClient):
    long = " and so on" * 60
    (row,) = client.score(text("It began,"), [long])
    assert len(row) == client.count_tokens(long) > 128


def test_what_does_not_fit_the_context_is_refused_with_both_numbers(client: LlamaClient):
    with pytest.raises(ModelError, match=r"have 1,\d\d\d tokens, the context holds 1,024"):
        client.score(text("word " * 900), [" word" * 200])
    with pytest.raises(ModelError, match="the prompt is empty"):
        client.score(text(""), NOTES)


def test_the_fixed_beginning_is_computed_once_and_changes_nothing(client: LlamaClient):
    segments = [Segment(TEXT), Segment("Priya: And the lock?\n")]
    client.close()
    first = client.score(segments, NOTES, fixed=1)
    client.score([Segment(TEXT), Segment("Tom: Good night.\n")], NOTES, fixed=1)
    assert client.score(segments, NOTES, fixed=1) == first
