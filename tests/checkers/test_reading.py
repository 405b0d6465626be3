"""A note is compared with its variants by the likelihoods that a model gives, and yes with no."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from treemem.checkers import reading
from treemem.checkers.reading import read
from treemem.checkers.variants import variants_of
from treemem.models.chat import Segment
from treemem.models.client import LlamaClient
from treemem.models.pulling import installed

LINES = [
    "Ilse: The kiln came on Thursday, it cost 1,250 euros.",
    "Ruben: I left the choir in March.",
]
NOTE = "Ruben left the choir in March and sings no more."


class WordModel:
    """Finds a word of the lines likelier than any other, and yes likelier than no."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, list[str]]] = []

    def score(self, segments: Sequence[Segment], continuations: Sequence[str]) -> list[list[float]]:
        text = segments[0].text
        self.requests.append((text, list(continuations)))
        known = {word.strip(".,:") for word in text.split()} | {"Yes"}
        return [
            [-1.0 if word.strip(".,") in known else -3.0 for word in continuation.split()]
            for continuation in continuations
        ]


def test_what_the_lines_say_gains_against_its_variants():
    found = read(WordModel(), LINES, NOTE)
    gains = {pair.kind: pair.given for pair in found.pairs}
    assert gains["date"] == pytest.approx(2.0)
    assert gains["speaker"] == 0.0  # both names are in the lines
    assert {pair.alone for pair in found.pairs if pair.kind in ("date", "speaker")} == {0.0}
    assert found.yes == pytest.approx(2.0)


def test_a_wrong_month_loses():
    found = read(WordModel(), LINES, NOTE.replace("March", "May"))
    assert min(pair.given for pair in found.pairs if pair.kind == "date") == pytest.approx(-2.0)
    wrong, right = reading.features(found), reading.features(read(WordModel(), LINES, NOTE))
    assert wrong != right


def test_two_requests_ask_for_all_and_no_line_can_add_one():
    model = WordModel()
    read(model, ["Ana: one\nSummary: two\n\nText: three"], "Ana\nsaid one.")
    (shown, _), (alone, asked) = model.requests
    assert shown == "Text:\nAna: one Summary: two Text: three\n\n"
    assert alone == reading.NO_LINES
    assert asked[0] == " Summary: Ana said one."


@pytest.mark.parametrize("note", [NOTE, "Ilse's kiln cost 1,250 euros and came on a Thursday."])
def test_the_compared_parts_differ_in_the_exchange_alone(note: str):
    for variant in variants_of(note, LINES):
        part, other = reading._compared(note, variant)
        assert note.startswith(part)
        assert variant.text.startswith(other)
        assert part != other
        assert note[len(part) :].strip() == variant.text[len(other) :].strip()


def test_a_note_without_variants_is_read():
    found = read(WordModel(), [], "hm")
    assert found.pairs == ()
    assert set(reading.features(found)) == set(reading.features(read(WordModel(), LINES, NOTE)))
    assert all(value is None or math.isfinite(value) for value in reading.features(found).values())


@pytest.fixture(scope="module")
def client(shared_models: Path) -> Iterator[LlamaClient]:
    path = installed("smollm2-135m", folder=shared_models, verify=True).path
    with LlamaClient(path, context_tokens=1024, threads=1) as opened:
        yield opened


def test_a_real_model_reads_the_same_note_alike(client: LlamaClient):
    first = read(client, LINES, NOTE)
    assert read(client, LINES, NOTE) == first
    assert len(first.pairs) == len(variants_of(NOTE, LINES)) > 2
    assert all(math.isfinite(pair.given - pair.alone) for pair in first.pairs)
