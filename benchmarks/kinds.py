"""Learns the weights of summarize/kinds/learned.py, and measures them over parts left out.

Usage: python benchmarks/kinds.py [--write]   Prints, over five parts of benchmarks/data/kinds.txt,
each judged by weights of the other four, how many sentences get their kind, and how many without
one get one. With --write, stores weights learned from all.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from treemem.summarize.kinds import learned

SENTENCES = Path(__file__).parent / "data/kinds.txt"
TARGET = Path(learned.__file__).with_name("learned.json")
# Sentences that a word or a feature must be in, and features kept, those that weigh most.
SENTENCES_MIN = 2
FEATURES_MAX = 2_500
# How strongly large weights are held down, and the steps of the descent.
DECAY = 1.0
STEPS = 80
RATE = 0.08

Row = tuple[int, str]
Weights = dict[str, list[float]]


def read(path: Path = SENTENCES) -> list[Row]:
    """The sentences with the numbers of their kinds in learned.KINDS; a line "# kind" begins
    those of a kind."""
    rows, kind = [], 0
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("# "):
            kind = [*learned.KINDS].index(line[2:])  # type: ignore[arg-type]
        elif line:
            rows.append((kind, line))
    return rows


def vocabulary(rows: list[Row]) -> frozenset[str]:
    """The words that are in enough of the sentences."""
    counts = Counter(word for _, text in rows for word in {*map(str.lower, _words(text))})
    return frozenset(word for word, number in counts.items() if number >= SENTENCES_MIN)


def _words(text: str) -> list[str]:
    return [word for word in learned.words_of(text) if word.strip("'").isalpha()]


def learn(rows: list[Row], words: frozenset[str]) -> Weights:
    """The weights of the features that matter most."""
    found = [learned.features(learned.words_of(text), words) for _, text in rows]
    counts = Counter(feature for features in found for feature in features)
    names = sorted(feature for feature, number in counts.items() if number >= SENTENCES_MIN)
    weights = _descend(rows, found, names)
    size = np.abs(weights[:-1]).max(axis=1) * [counts[name] ** 0.5 for name in names]
    kept = sorted(names[at] for at in size.argsort()[::-1][:FEATURES_MAX])
    weights = _descend(rows, found, kept)
    return {name: [round(float(x), 2) for x in row]
            for name, row in zip([*kept, ""], weights, strict=True)}  # fmt: skip


def _descend(rows: list[Row], found: list[set[str]], names: list[str]) -> np.ndarray:
    at = {name: number for number, name in enumerate(names)}
    table = np.zeros((len(rows), len(names) + 1), dtype=np.float32)
    for row, features in enumerate(found):
        table[row, [at[name] for name in features if name in at]] = learned.scale(len(features))
        table[row, -1] = 1
    wanted = np.eye(len(learned.KINDS), dtype=np.float32)[[kind for kind, _ in rows]]
    weights = np.zeros((len(names) + 1, len(learned.KINDS)), dtype=np.float32)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        scores = table @ weights
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        decay = DECAY * weights
        decay[-1] = 0
        slope = table.T @ (chances - wanted) + decay
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope**2
        change = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        weights = weights - RATE * (1 - step / (STEPS + 1)) * change
    return weights


def judged(text: str, words: frozenset[str], weights: Weights) -> int:
    """The number of the kind that a sentence gets."""
    chances = learned.probabilities(learned.features(learned.words_of(text), words), weights)
    best = max(range(len(chances)), key=chances.__getitem__)
    return best if chances[best] >= learned.PROBABILITY_MIN else 0


def measure(rows: list[Row], parts: int = 5) -> tuple[Counter[str], Counter[str]]:
    """The sentences of each kind, and those that get it from weights that never saw them; of those
    without a kind, those that get one."""
    total, right = Counter[str](), Counter[str]()
    rows = random.Random(1).sample(rows, len(rows))
    for part in range(parts):
        seen = [row for at, row in enumerate(rows) if at % parts != part]
        words = vocabulary(seen)
        weights = learn(seen, words)
        for kind, text in rows[part::parts]:
            total[learned.KINDS[kind]] += 1
            right[learned.KINDS[kind]] += judged(text, words, weights) == kind
    return total, right


def write(rows: list[Row]) -> None:
    """Stores weights learned from all rows."""
    words = vocabulary(rows)
    weights = {name: [round(100 * x) for x in row] for name, row in learn(rows, words).items()}
    lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(row, separators=(',', ':'))}"
                       for name, row in sorted(weights.items()))  # fmt: skip
    head = f'{{"vocabulary":{json.dumps(" ".join(sorted(words)))},\n"weights":{{\n'
    TARGET.write_text(f"{head}{lines}}}}}\n", "utf-8")


if __name__ == "__main__":
    sentences = read()
    total, right = measure(sentences)
    for kind in learned.KINDS:
        print(f"{kind}: {right[kind]} of {total[kind]}")
    if "--write" in sys.argv:
        write(sentences)
