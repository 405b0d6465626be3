"""Measures how often the memory knows that it does not know, and what its extracts are worth.

    python benchmarks/asking.py --data FOLDER [--sets locomo,beam-100k] [--questions 100]

The first questions of each conversation, in an order drawn at random, are asked of it, and half as
many of the next one's: those it cannot know. No model and no embedder is used. Evidence: a message
that the data names is cited. Support: the share of the answer's words that are in the quotations.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import random
from collections import defaultdict
from collections.abc import Sequence
from statistics import mean

from benchmarks.data.samples import Conversation, Question, conversations, store
from treemem import Memory, Reply
from treemem.text import bm25

SEED = 3
FOREIGN = "about another conversation"
ADVERSARIAL = "adversarial"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--sets", default="locomo,beam-100k")
    parser.add_argument("--questions", type=int, default=100)
    options = parser.parse_args()
    print(f"{'set':<12}{'questions':<30}{'n':>5}{'known':>8}{'evidence':>10}{'support':>9}")
    for name in options.sets.split(","):
        asked = measured(list(conversations(options.data, name)), options.questions)
        known = [one for kind, rows in asked.items() if kind not in (FOREIGN, ADVERSARIAL)
                 for one in rows]  # fmt: skip
        for kind, rows in [("all with an answer", known), *sorted(asked.items())]:
            _show(name, kind, rows)


def measured(
    talks: Sequence[Conversation], count: int
) -> dict[str, list[tuple[bool, bool, float]]]:
    """For each category: of each question, whether it was answered, whether a message of its
    evidence is cited, and the support."""
    rows: dict[str, list[tuple[bool, bool, float]]] = defaultdict(list)
    chance = random.Random(SEED)
    for at, talk in enumerate(talks):
        other = talks[(at + 1) % len(talks)]
        foreign = [one for one in other.questions if one.category != ADVERSARIAL]
        with Memory.open(":memory:") as memory:
            store(memory, talk.messages)
            for one in chance.sample(talk.questions, min(count, len(talk.questions))):
                rows[one.category].append(_row(memory.ask(one.text, model=False), one))
            for one in chance.sample(foreign, min(count // 2, len(foreign))):
                rows[FOREIGN].append(_row(memory.ask(one.text, model=False), one))
    return rows


def _row(reply: Reply, question: Question) -> tuple[bool, bool, float]:
    cited = {one.message.external_id for one in reply.citations}
    wanted = set(bm25.content_stems(question.answer)) - set(bm25.content_stems(question.text))
    shown = set(bm25.content_stems(
        " ".join(f"{one.quote} {one.message.sent_at}" for one in reply.citations)
    ))  # fmt: skip
    support = len(wanted & shown) / len(wanted) if wanted else 1.0
    return reply.is_known, not cited.isdisjoint(question.evidence), support


def _show(name: str, kind: str, rows: Sequence[tuple[bool, bool, float]]) -> None:
    known, evidence, support = (100 * mean(column) for column in zip(*rows, strict=True))
    line = f"{name:<12}{kind:<30}{len(rows):>5}{known:>8.1f}"
    print(line if kind == FOREIGN else f"{line}{evidence:>10.1f}{support:>9.1f}")


if __name__ == "__main__":
    main()
