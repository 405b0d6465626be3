"""Learning kinds: the weights tell apart what the sentences tell apart."""

from __future__ import annotations

from pathlib import Path

from benchmarks import kinds

ROWS = [
    *((1, f"Never open the {noun} at night.") for noun in ("gate", "door", "shop", "box")),
    *((0, f"I opened the {noun} last night.") for noun in ("gate", "door", "shop", "box")),
]


def test_sentences_are_read_with_their_kinds(tmp_path: Path) -> None:
    path = tmp_path / "kinds.txt"
    path.write_text("# fact\nIt rains.\n# open\n\nWho pays is open.\n", "utf-8")
    assert kinds.read(path) == [(0, "It rains."), (3, "Who pays is open.")]


def test_the_stored_sentences_have_one_kind_each() -> None:
    texts = [text for _, text in kinds.read()]
    assert len(texts) == len(set(texts))


def test_what_differs_between_kinds_is_learned() -> None:
    words = kinds.vocabulary(ROWS)
    weights = kinds.learn(ROWS, words)
    assert kinds.judged("Never open the attic at night.", words, weights) == 1
    assert kinds.judged("I opened the attic last night.", words, weights) == 0


def test_sentences_are_measured_by_weights_that_never_saw_them() -> None:
    total, right = kinds.measure(ROWS, parts=4)
    assert total == {"constraint": 4, "fact": 4}
    assert right == total
