"""The trainer of sentence quality gives the same weights again, and they tell what it learned."""

from __future__ import annotations

from benchmarks import sentence_quality as trainer

GOOD = "The office of {0} moved its {1} cranes to the north quay in May."
POOR = "and so it was like that , you know , with {0} and"
NAMES = ("Turku", "Split", "Lund", "Graz", "Brno", "Riga", "Pula", "Bern", "Kiel")


def rows() -> list[trainer.Row]:
    return [
        {
            "text": text.format(name, number + 10), "origin": "typed", "speaker": "Ida",
            "about": 1, "source": name, "group": "own", "gist": text is GOOD, "fact": text is GOOD,
        }
        for number, name in enumerate(NAMES)
        for text in (GOOD, POOR)
    ]  # fmt: skip


def test_training_again_gives_the_same_weights() -> None:
    assert trainer.train(rows(), "gist").tolist() == trainer.train(rows(), "gist").tolist()


def test_sources_that_were_held_back_are_told_apart() -> None:
    labelled = rows()
    scores = trainer.cross_validated(labelled, "fact")
    assert trainer.auc(scores, [bool(row["fact"]) for row in labelled]) == 1.0
