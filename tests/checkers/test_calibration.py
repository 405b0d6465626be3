"""A checker is calibrated on labelled notes, and the result is stored beside the models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.checkers import calibration
from treemem.checkers.calibration import Calibration, LabelledNote, Measured
from treemem.checkers.formula import Features, Formula
from treemem.errors import ModelError

RESULT = Calibration(
    "tiny-Q4_0@01234567", "claims", calibration.version(),
    Formula(("x",), (1.5,), (0.0,), (2.0,), -0.25), 0.625, Measured(60, 60, 70, 31, 2, 0.9),
    Measured(60, 60, 70, 30, 1, 0.875), "2026-01-02T03:04:05+00:00",
)  # fmt: skip


def knowing(lines: Sequence[str], note: str) -> Features:
    """Knows the labels."""
    assert lines
    wrong = {labelled.text: labelled.wrong for labelled in calibration.labelled()}[note]
    return {"x": 1.0 if wrong is None else -1.0}


def blind(lines: Sequence[str], note: str) -> Features:
    return {"x": float(len(note) % 7)}


def test_the_labelled_set_is_large_balanced_and_of_all_kinds():
    notes = calibration.labelled()
    for group in range(calibration.GROUPS):
        own = [note for note in notes if note.group == group]
        assert sum(note.wrong is None for note in own) >= 30
        assert sum(note.wrong is not None for note in own) >= 60
    passing = [note for note in notes if note.wrong and calibration.shown_to_checker(note)]
    assert len(passing) >= 120
    kinds = Counter(note.wrong for note in notes if note.wrong)
    assert {"speaker", "number", "time", "name", "negation", "plan", "perhaps", "question",
            "merged", "opposite", "invented", "third party"} <= set(kinds)  # fmt: skip
    assert len({note.text for note in notes}) == len(notes)
    # No text is in two groups.
    groups = {note.lines: note.group for note in notes}
    assert all(groups[note.lines] == note.group for note in notes)


def test_a_checker_that_knows_is_usable_and_accepts_no_false_note():
    steps: list[tuple[int, int]] = []
    result = calibration.calibrate(
        knowing, "knowing", "pairs", "2026-01-01", lambda done, total: steps.append((done, total))
    )
    assert result.usable
    assert (result.measured.accepted, result.measured.auc) == (0, 1.0)
    assert 0 < result.measured.kept <= result.measured.asked
    assert steps[-1] == (len(calibration.labelled()), len(calibration.labelled()))


def test_a_checker_that_guesses_is_not_usable():
    assert not calibration.calibrate(blind, "blind", "pairs", "2026-01-01").usable


def test_notes_that_the_guards_refuse_are_not_asked_about_and_count_as_not_accepted():
    lines = (("Ana", "I bought 12 apple trees in Varna, and Tom paid for them."),)
    notes = []
    for group in (0, 1):
        notes += [
            LabelledNote(lines, "Tom paid for the apple trees that Ana got.", None, group),
            LabelledNote(lines, "Ana bought 13 apple trees in Varna.", "number", group),
            LabelledNote(lines, "Varna paid for the trees that Ana got.", "name", group),
        ]
    asked: list[str] = []

    def read(shown: Sequence[str], note: str) -> Features:
        asked.append(note)
        return {"x": 1.0 if note.startswith("Tom") else 0.0}

    result = calibration.calibrate(read, "few", "pairs", "2026-01-01", notes=notes)
    assert "Ana bought 13 apple trees in Varna." not in asked
    assert result.measured.true == 2
    assert result.measured.false == 4
    assert result.measured.asked == len(asked)


def test_the_guards_decide_what_a_checker_is_shown():
    lines = (("Ana", "The kiln came on Thursday."), ("Tom", "I sing in a choir."))
    note = LabelledNote(lines, "Ana's kiln was delivered on Thursday.", None, 0)
    shown = calibration.shown_to_checker(note)
    assert all(line.split(":")[0] in ("Ana", "Tom") for line in shown)


def test_a_saved_calibration_is_read_back(tmp_path: Path):
    calibration.save(RESULT, tmp_path)
    assert calibration.result_of(RESULT.model, tmp_path) == RESULT
    assert calibration.result_of("another", tmp_path) is None
    changed = replace(RESULT, threshold=0.5)
    calibration.save(changed, tmp_path)
    assert calibration.result_of(RESULT.model, tmp_path) == changed


def test_a_calibration_of_another_version_is_ignored(tmp_path: Path):
    calibration.save(replace(RESULT, version="0.0"), tmp_path)
    assert calibration.result_of(RESULT.model, tmp_path) is None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"formula": {}}', "null", '{"version": 1'])
def test_a_damaged_file_is_an_error_that_says_how_to_go_on(tmp_path: Path, damage: str):
    calibration.save(RESULT, tmp_path)
    (file,) = (tmp_path / "checkers").iterdir()
    file.write_text(damage)
    with pytest.raises(ModelError, match="remove it, and test the model again"):
        calibration.result_of(RESULT.model, tmp_path)


def test_a_file_with_a_formula_that_does_not_fit_is_damaged(tmp_path: Path):
    calibration.save(RESULT, tmp_path)
    (file,) = (tmp_path / "checkers").iterdir()
    fields = json.loads(file.read_text())
    fields["formula"]["weights"] = [1.0, 2.0]
    file.write_text(json.dumps(fields))
    with pytest.raises(ModelError, match="cannot be read"):
        calibration.result_of(RESULT.model, tmp_path)


@pytest.mark.parametrize(
    ("measured", "usable"),
    [
        (Measured(60, 60, 70, 30, 1, 0.9), True),
        (Measured(60, 60, 70, 30, 30, 0.9), False),
        (Measured(60, 60, 70, 30, 1, 0.5), False),
        (Measured(60, 60, 70, 2, 0, 0.9), False),
        (Measured(60, 60, 70, 0, 0, 0.9), False),
    ],
)
def test_usable_needs_precision_and_enough_kept(measured: Measured, usable: bool):
    assert replace(RESULT, measured=measured).usable is usable


@given(st.integers(0, 3000))
def test_as_many_false_notes_may_be_accepted_as_the_confidence_allows(count: int):
    most = calibration.accepted_max(count)
    assert 0 <= most <= count * calibration.FALSE_ACCEPTED_MAX
    assert most <= calibration.accepted_max(count + 1)


def test_no_more_false_notes_are_accepted_than_may_be():
    result = calibration.calibrate(blind, "blind", "pairs", "2026-01-01")
    assert result.fitted.accepted <= calibration.accepted_max(result.fitted.false)


def test_what_is_measured_on_a_group_was_fitted_to_the_others():
    lines = (("Ana", "I bought 12 apple trees in Varna, and Tom paid for them."),)
    note = LabelledNote(lines, "Tom paid for the apple trees that Ana got.", None, 0)
    assert calibration.shown_to_checker(note)
    notes = [replace(note, wrong=wrong, group=group)
             for group in (0, 1) for wrong in (None, "speaker")]  # fmt: skip
    # The feature means the opposite in the two groups, so each is judged wrong by the other.
    numbers = iter([1.0, -1.0, -1.0, 1.0])

    def read(shown: Sequence[str], text: str) -> Features:
        return {"x": next(numbers)}

    result = calibration.calibrate(read, "m", "pairs", "2026-01-01", notes=notes)
    assert (result.fitted.auc, result.measured.auc) == (0.5, 0.0)
