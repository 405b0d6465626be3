"""Calibrates a checker on labelled notes, and stores what came out beside the models.

The texts are split into groups. For each group a formula and a threshold are fitted on the others,
and how often a note of the group that they accept is true is measured; the formula that is stored
is fitted on all. All notes go through the guards first, as notes do at work, so what the guards
refuse is no credit of the checker's, and counts among the false notes that were not accepted.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from treemem.checkers import formula
from treemem.checkers.formula import Features, Formula
from treemem.models import results
from treemem.proposals import Excerpt
from treemem.reports import StepProgress
from treemem.types import ROLES, Message
from treemem.verify import grading

# Part of a calibration's version: another way to ask makes all calibrations anew.
METHOD = 3
# The texts are split into so many groups.
GROUPS = 4
# The most false notes that a checker accepts, as a share of all false ones, and how sure the few
# hundred of the test must make it. Of other logs it accepts more, since scores are higher there.
FALSE_ACCEPTED_MAX = 0.02
CONFIDENCE = 0.95
# A checker that does worse where it is measured is not used.
AUC_MIN = 0.65
PRECISION_MIN = 0.85
KEPT_MIN = 0.05

# The folder of the results beside the models.
_FOLDER = "checkers"

# What a model says about a note, given lines.
Read = Callable[[Sequence[str], str], Features]


@dataclass(frozen=True, slots=True)
class LabelledNote:
    """A note on a text.

    lines: speaker and words of each message. wrong: the kind of its fault, None for a true note.
    group: of its text.
    """

    lines: tuple[tuple[str, str], ...]
    text: str
    wrong: str | None
    group: int


@dataclass(frozen=True, slots=True)
class Measured:
    """How a checker did on some of the labelled notes.

    true, false: how many there are. asked: for how many the guards held. kept, accepted: the true
    and the false ones that it accepted. auc: how often a true one scored higher than a false one.
    """

    true: int
    false: int
    asked: int
    kept: int
    accepted: int
    auc: float

    @property
    def precision(self) -> float:
        """The share of true notes among those that it accepted; 0 if there are none."""
        total = self.kept + self.accepted
        return self.kept / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result for one model.

    way: how the model is asked, see opening.ways_of. version: of the labelled set and the method; a
    result of another version is ignored. fitted: on the notes that the formula was fitted to, which
    are all. measured: on each group, by a formula that was fitted to the others.
    """

    model: str
    way: str
    version: str
    formula: Formula
    threshold: float
    fitted: Measured
    measured: Measured
    taken_at: str

    @property
    def usable(self) -> bool:
        """Whether the checker tells true notes from false ones well enough to be used."""
        found = self.measured
        return (
            found.auc >= AUC_MIN
            and found.precision >= PRECISION_MIN
            and found.kept >= KEPT_MIN * found.true
        )


@functools.cache
def labelled() -> tuple[LabelledNote, ...]:
    """The built-in notes."""
    notes = []
    for number, text in enumerate(_content()["texts"]):
        lines = tuple((str(speaker), str(words)) for speaker, words in text["lines"])
        group = number % GROUPS
        notes += [LabelledNote(lines, note, None, group) for note in text["true"]]
        notes += [LabelledNote(lines, note, kind, group) for kind, note in text["false"]]
    return tuple(notes)


def version() -> str:
    """The version of the labelled set and of the method."""
    return f"{_content()['version']}.{METHOD}"


@functools.cache
def _content() -> dict[str, Any]:
    path = resources.files("treemem.checkers").joinpath("labelled.json")
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return content


def calibrate(
    read: Read,
    model: str,
    way: str,
    taken_at: str,
    progress: StepProgress | None = None,
    notes: Sequence[LabelledNote] | None = None,
) -> Calibration:
    """Fits a formula for a model that is asked in a way, and measures it. model: the name under
    which it is stored. notes: the built-in ones by default. Raises ModelError as read does."""
    notes = labelled() if notes is None else notes
    read_notes = []
    for number, note in enumerate(notes, 1):
        shown = shown_to_checker(note)
        read_notes.append((note, read(shown, note.text) if shown else None))
        if progress is not None:
            progress(number, len(notes))
    found, threshold = _fitted(read_notes)
    parts = []
    for group in sorted({note.group for note in notes}):
        rest = [(note, row) for note, row in read_notes if note.group != group]
        own = [(note, row) for note, row in read_notes if note.group == group]
        parts.append(_judged(own, *_fitted(rest)))
    return Calibration(
        model, way, version(), found, threshold, _measured(_judged(read_notes, found, threshold)),
        _measured([judged for part in parts for judged in part]), taken_at,
    )  # fmt: skip


def accepted_max(count: int) -> int:
    """How many of this many false notes may be accepted so that the share of all that would be is
    at most FALSE_ACCEPTED_MAX with CONFIDENCE. None of a hundred, since even then one in fifty may
    be accepted by chance.

    Example:
        >>> accepted_max(76), accepted_max(346), accepted_max(1000)
        (0, 2, 12)
    """
    expected = FALSE_ACCEPTED_MAX * count
    chance, total, most = math.exp(-expected), 0.0, -1
    while total + chance <= 1 - CONFIDENCE:
        total += chance
        most += 1
        chance *= expected / (most + 1)
    return max(0, most)


def shown_to_checker(note: LabelledNote) -> tuple[str, ...]:
    """The lines that a checker is shown for a note; none if the guards already decide."""
    excerpts = []
    for number, (speaker, words) in enumerate(note.lines):
        role = speaker if speaker in ROLES else "user"
        message = Message(
            role=role, author=None if speaker in ROLES else speaker, text=words, id=f"{number}"
        )
        excerpts.append(Excerpt(message, 0, len(words)))
    return grading.grade(note.text, excerpts).lines


# A note, and what the model says about it; None where the guards decide.
_ReadNotes = Sequence[tuple[LabelledNote, Features | None]]
# Whether a note is true; its score, None where the guards decide; and whether it is accepted.
_Judged = tuple[bool, float | None, bool]


def _fitted(notes: _ReadNotes) -> tuple[Formula, float]:
    """The formula and the threshold that these notes give."""
    asked = [(note.wrong is None, row) for note, row in notes if row is not None]
    found = formula.fitted([row for _, row in asked], [label for label, _ in asked])
    false = sum(note.wrong is not None for note, _ in notes)
    scores = [(label, found.chance(row)) for label, row in asked]
    return found, formula.threshold_for(
        [score for label, score in scores if label],
        [score for label, score in scores if not label],
        accepted_max(false),
    )


def _judged(notes: _ReadNotes, found: Formula, threshold: float) -> list[_Judged]:
    judged: list[_Judged] = []
    for note, row in notes:
        score = None if row is None else found.chance(row)
        judged.append((note.wrong is None, score, score is not None and score >= threshold))
    return judged


def _measured(judged: Sequence[_Judged]) -> Measured:
    true = [score for label, score, _ in judged if label and score is not None]
    false = [score for label, score, _ in judged if not label and score is not None]
    return Measured(
        true=sum(label for label, _, _ in judged),
        false=sum(not label for label, _, _ in judged),
        asked=len(true) + len(false),
        kept=sum(accepted for label, _, accepted in judged if label),
        accepted=sum(accepted for label, _, accepted in judged if not label),
        auc=round(formula.auc(true, false), 4),
    )


# -- stored results --------------------------------------------------------------------


def save(result: Calibration, folder: Path | None = None) -> None:
    """Stores a result beside the models, in place of an older one of the same model."""
    results.save(asdict(result), _FOLDER, folder)


def result_of(model: str, folder: Path | None = None) -> Calibration | None:
    """The stored result of a model; None where it has none of this version. Raises ModelError if it
    cannot be read."""
    return results.read(model, _FOLDER, version(), _result, folder)


def _result(fields: dict[str, Any]) -> Calibration:
    parts = fields["formula"]
    lists = {name: tuple(parts[name]) for name in ("names", "weights", "means", "scales")}
    found = Formula(**parts | lists)
    found.chance({})  # fails if the lists do not fit together
    fitted, measured = (Measured(**fields[name]) for name in ("fitted", "measured"))
    return Calibration(**fields | {"formula": found, "fitted": fitted, "measured": measured})
