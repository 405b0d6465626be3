"""The maths of calibration: regression, thresholds, and the area under the curve."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.checkers.formula import Features, Formula, auc, fitted, threshold_for

SCORES = st.lists(st.floats(0, 1), max_size=30)


@given(SCORES, SCORES, st.integers(0, 5))
def test_a_threshold_accepts_as_many_false_ones_as_are_allowed(
    true: list[float], false: list[float], most: int
):
    threshold = threshold_for(true, false, most)
    assert sum(score >= threshold for score in false) <= most
    # No lower one would do, but for scores that are equal.
    lower = [score for score in false if score < threshold]
    if lower and len(set(false)) == len(false) and len(false) > most:
        assert sum(score >= max(lower) for score in false) > most


@given(SCORES, SCORES)
def test_the_area_is_that_of_the_reverse_turned_around(true: list[float], false: list[float]):
    assert 0.0 <= auc(true, false) <= 1.0
    assert auc(true, false) == pytest.approx(1.0 - auc(false, true))


def sample(chance: random.Random, count: int) -> tuple[list[Features], list[bool]]:
    rows: list[Features] = []
    labels = []
    for _ in range(count):
        label = chance.random() < 0.5
        useful = chance.gauss(1.5 if label else -1.5, 1.0)
        rare = None if chance.random() < 0.7 else chance.gauss(3.0 if label else -3.0, 1.0)
        rows.append({"useful": useful, "rare": rare, "noise": chance.gauss(0, 5)})
        labels.append(label)
    return rows, labels


def test_a_fit_parts_notes_that_it_has_not_seen():
    chance = random.Random(3)
    formula = fitted(*sample(chance, 120))
    rows, labels = sample(chance, 400)
    true = [formula.chance(row) for row, label in zip(rows, labels, strict=True) if label]
    false = [formula.chance(row) for row, label in zip(rows, labels, strict=True) if not label]
    assert auc(true, false) > 0.95
    weights = dict(zip(formula.names, formula.weights, strict=True))
    assert min(weights["useful"], weights["rare"]) > abs(weights["noise"])


def test_a_fit_does_not_depend_on_the_unit_of_a_feature():
    rows, labels = sample(random.Random(5), 60)
    scaled = [{name: v and v * 1000 for name, v in row.items()} for row in rows]
    one, other = fitted(rows, labels), fitted(scaled, labels)
    for row, large in zip(rows, scaled, strict=True):
        assert one.chance(row) == pytest.approx(other.chance(large), abs=1e-6)


def test_separable_and_constant_features_give_finite_weights():
    rows: list[Features] = [{"same": 1.0, "x": float(number)} for number in range(10)]
    formula = fitted(rows, [number > 4 for number in range(10)], penalty=1e-6)
    assert all(math.isfinite(weight) for weight in (*formula.weights, formula.bias))
    assert formula.chance(rows[9]) > 0.9 > 0.1 > formula.chance(rows[0])


def test_a_missing_feature_counts_as_the_mean():
    formula = Formula(("x",), (2.0,), (5.0,), (1.0,), 0.0)
    assert formula.chance({"x": None}) == formula.chance({}) == formula.chance({"x": 5.0}) == 0.5
    assert formula.chance({"x": 1e9}) == formula.chance({"x": 8.0})
