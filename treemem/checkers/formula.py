"""Weighs what a model says about a note: logistic regression, thresholds, and how well they part
true notes from false ones. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# What is known of a note by name. None where a note has nothing of this kind.
Features = Mapping[str, float | None]

# The penalty on squared weights, for features of mean 0 and variance 1. A few dozen notes must not
# make any weight large.
PENALTY = 3.0
_STEPS = 40
# Outliers count no more than this many standard deviations.
_DEVIATIONS_MAX = 3.0


@dataclass(frozen=True, slots=True)
class Formula:
    """A logistic regression: a chance from features.

    means, scales: of each feature in the notes that it was fitted to; a missing one counts as the
    mean.
    """

    names: tuple[str, ...]
    weights: tuple[float, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    bias: float

    def chance(self, features: Features) -> float:
        """How likely a note with these features is true, from 0 to 1."""
        terms = zip(self.names, self.weights, self.means, self.scales, strict=True)
        total = self.bias + math.fsum(
            weight * _standard(features.get(name), mean, scale)
            for name, weight, mean, scale in terms
        )
        return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, total))))


def fitted(rows: Sequence[Features], labels: Sequence[bool], penalty: float = PENALTY) -> Formula:
    """The formula with the most likely weights under a penalty. Needs notes of both labels.

    Example:
        >>> formula = fitted([{"x": 0.0}, {"x": 1.0}, {"x": 4.0}, {"x": 5.0}], [False, False, 1, 1])
        >>> formula.chance({"x": 5.0}) > 0.6 > formula.chance({"x": 2.5}) > formula.chance({"x": 0})
        True
    """
    names = tuple(sorted({name for row in rows for name in row}))
    known = [[row[name] for row in rows if row.get(name) is not None] for name in names]
    means = tuple(float(np.mean(values)) if values else 0.0 for values in known)  # type: ignore[arg-type]
    scales = tuple(float(np.std(values)) or 1.0 if values else 1.0 for values in known)  # type: ignore[arg-type]
    table = np.array(
        [
            [_standard(row.get(n), m, s) for n, m, s in zip(names, means, scales, strict=True)]
            for row in rows
        ]
    ).reshape(len(rows), len(names))
    weights = _newton(table, np.array(labels, dtype=float), penalty)
    return Formula(names, tuple(map(float, weights[1:])), means, scales, float(weights[0]))


def _standard(value: float | None, mean: float, scale: float) -> float:
    if value is None:
        return 0.0
    return max(-_DEVIATIONS_MAX, min(_DEVIATIONS_MAX, (value - mean) / scale))


def _newton(
    table: NDArray[np.float64], labels: NDArray[np.float64], penalty: float
) -> NDArray[np.float64]:
    """The bias, which is not penalized, and the weights."""
    columns = np.hstack([np.ones((len(table), 1)), table])
    ridge = np.diag([1e-6, *[penalty] * table.shape[1]])
    weights = np.zeros(columns.shape[1])
    for _ in range(_STEPS):
        chances = 1.0 / (1.0 + np.exp(-np.clip(columns @ weights, -30, 30)))
        slope = columns.T @ (chances - labels) + ridge @ weights
        curve = (columns * (chances * (1 - chances))[:, None]).T @ columns + ridge
        step = np.linalg.solve(curve, slope)
        # A damped step cannot run away on separable data.
        weights = weights - step * min(1.0, 4.0 / (float(np.abs(step).max()) or 1.0))
        if float(np.abs(step).max()) < 1e-8:
            break
    return weights


def threshold_for(true: Sequence[float], false: Sequence[float], accepted_max: int) -> float:
    """The lowest threshold at which at most this many of the false scores are accepted.

    It is in the middle between the last score that is accepted and the next false one.

    Example:
        >>> threshold_for([0.9, 0.8], [0.7, 0.3], 0), threshold_for([0.9, 0.8], [0.7, 0.3], 2)
        (0.75, 0.0)
    """
    if len(false) <= accepted_max:
        return 0.0
    refused = sorted(false, reverse=True)[accepted_max]
    above = [score for score in (*true, *false) if score > refused]
    return (refused + min(above)) / 2 if above else math.nextafter(refused, math.inf)


def auc(true: Sequence[float], false: Sequence[float]) -> float:
    """How often a true note scores higher than a false one; 0.5 is chance, also where there is
    nothing to compare.

    Example:
        >>> auc([0.9, 0.4], [0.5, 0.1])
        0.75
    """
    if not true or not false:
        return 0.5
    wins = sum((one > other) + 0.5 * (one == other) for one in true for other in false)
    return wins / (len(true) * len(false))
