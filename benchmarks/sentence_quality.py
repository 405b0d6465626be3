"""Trains and measures the weights by which sentences are judged (treemem/text/quality.py).

    python benchmarks/sentence_quality.py LABELS [--held LABELS] [--write]

LABELS is a file of JSON lines, each a sentence that somebody labelled: text, origin and speaker (as
of a Statement), about (how many of the main words of its source are in it, see
summarize/choosing.py), source and group (any names), and gist and fact, true or false. A gist is
good if it says something of what the source is about, a fact is real if it states something that
happened or holds; both must be understandable to a reader who sees nothing else but the source's
headline. The labels that the package's weights were trained on are of others' conversations, so
they are not part of the project; with the same labels the training gives the same weights.

Without --held, sources take turns in being held back; so no source is judged by weights that saw
it. --write stores the weights of all of LABELS.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import json
from typing import Any

import numpy as np

from treemem.text import quality

Row = dict[str, Any]
Array = np.ndarray[Any, np.dtype[np.float64]]
KINDS = ("gist", "fact")
# The weight of the squares of the weights, over features of equal variance.
PENALTY = 6.0
STEPS = 40
FOLDS = 8
FLOORS = (0.5, 0.6, 0.7, 0.8)
FILE = Path(quality.__file__).with_suffix(".json")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("labels", type=Path)
    parser.add_argument("--held", type=Path, help="labels of sources that are held back")
    parser.add_argument("--write", action="store_true", help="store the weights")
    options = parser.parse_args()
    rows = read(options.labels)
    held = read(options.held) if options.held else None
    weights = {kind: train(rows, kind) for kind in KINDS}
    for kind in KINDS:
        if held is None:
            _show(kind, rows, cross_validated(rows, kind))
        else:
            _show(kind, held, [probability(weights[kind], row) for row in held])
    if options.write:
        named = {kind: dict(zip(("always", *quality.FEATURES), weights[kind].round(3).tolist(),
                                strict=True)) for kind in KINDS}  # fmt: skip
        FILE.write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {FILE}")


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def train(rows: list[Row], kind: str) -> Array:
    """The weights for a kind, first the constant one, by Newton's method."""
    values = np.array([_features(row) for row in rows])
    mean, spread = values.mean(axis=0), values.std(axis=0) + 1e-9
    x = np.column_stack([np.ones(len(rows)), (values - mean) / spread])
    y = np.array([float(row[kind]) for row in rows])
    penalty = np.diag([1e-6] + [PENALTY] * len(mean))
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (p - y) + penalty @ weights
        curve = (x * (p * (1 - p))[:, None]).T @ x + penalty
        weights -= np.linalg.solve(curve, slope)
    plain = weights[1:] / spread
    return np.concatenate([[weights[0] - plain @ mean], plain])


def _features(row: Row) -> tuple[float, ...]:
    return quality.features(row["text"], row["origin"], row["speaker"], row["about"])


def probability(weights: Array, row: Row) -> float:
    values = np.array(_features(row))
    return float(1 / (1 + np.exp(-(weights[0] + weights[1:] @ values))))


def cross_validated(rows: list[Row], kind: str) -> list[float]:
    """The probability of each row by weights that saw none of its source."""
    sources = sorted({row["source"] for row in rows})
    fold = {source: number % FOLDS for number, source in enumerate(sources)}
    weights = [
        train([row for row in rows if fold[row["source"]] != number], kind)
        for number in range(FOLDS)
    ]
    return [probability(weights[fold[row["source"]]], row) for row in rows]


def _show(kind: str, rows: list[Row], scores: list[float]) -> None:
    """Prints how well scores tell the good from the others, by group, and above floors."""
    right = [bool(row[kind]) for row in rows]
    print(f"{kind}: {sum(right)} of {len(rows)} are good; AUC {auc(scores, right):.3f}")
    for group in sorted({row["group"] for row in rows}):
        of_group = [at for at, row in enumerate(rows) if row["group"] == group]
        found = auc([scores[at] for at in of_group], [right[at] for at in of_group])
        line = f"  {group:12} AUC {found:.2f}, above"
        for floor in FLOORS:
            above = [right[at] for at in of_group if scores[at] >= floor]
            line += f"  {floor}: {sum(above)}/{len(above)}"
        print(line)


def auc(scores: list[float], right: list[bool]) -> float:
    """How often a good one has a higher score than another one."""
    good = np.array([s for s, is_good in zip(scores, right, strict=True) if is_good])
    poor = np.array([s for s, is_good in zip(scores, right, strict=True) if not is_good])
    if not len(good) or not len(poor):
        return float("nan")
    return float((good[:, None] > poor).mean() + 0.5 * (good[:, None] == poor).mean())


if __name__ == "__main__":
    main()
