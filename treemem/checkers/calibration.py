"""Calibrates a checker on labelled notes, and stores what came out beside the models.

Half of the texts fit the formula and the threshold, the other half measures how often a note that
is accepted is true. Both go through the guards first, as notes do at work, so what the guards
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
from treemem.config import models_folder
from treemem.errors import ModelError
from treemem.proposals import Excerpt
from treemem.reports import StepProgress
from treemem.types import ROLES, Message
from treemem.verify import grading

# Part of a calibration's version: another way to ask makes all calibrations anew.
METHOD = 2
# The most false notes that a checker accepts, as a share of all false ones, and how sure the few
# dozen of the test must make it.
FALSE_ACCEPTED_MAX = 0.05
CONFIDENCE = 0.95
# A checker that does worse on the half that measures is not used.
AUC_MIN = 0.65
PRECISION_MIN = 0.85
KEPT_MIN = 0.1

# What a model says about a note, given lines.
Read = Callable[[Sequence[str], str], Features]


@dataclass(frozen=True, slots=True)
class LabelledNote:
    """A note on a text.

    lines: speaker and words of each message. wrong: the kind of its fault, None for a true note.
    fits: whether it belongs to the half that fits, not to the one that measures.
    """

    lines: tuple[tuple[str, str], ...]
    text: str
    wrong: str | None
    fits: bool


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
    result of another version is ignored. fitted: on the half that the formula was fitted to.
    measured: on the other half.
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
    """The built-in notes; every second text is in the half that fits."""
    notes = []
    for number, text in enumerate(_content()["texts"]):
        lines = tuple((str(speaker), str(words)) for speaker, words in text["lines"])
        notes += [LabelledNote(lines, note, None, number % 2 == 0) for note in text["true"]]
        notes += [LabelledNote(lines, note, kind, number % 2 == 0) for kind, note in text["false"]]
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
    fit = [(note, row) for note, row in read_notes if note.fits]
    rows = [row for _, row in fit if row is not None]
    found = formula.fitted(rows, [note.wrong is None for note, row in fit if row is not None])
    false = sum(note.wrong is not None for note, _ in fit)
    threshold = formula.threshold_for(*_scores(fit, found), accepted_max=accepted_max(false))
    rest = [(note, row) for note, row in read_notes if not note.fits]
    return Calibration(
        model, way, version(), found, threshold, _measured(fit, found, threshold),
        _measured(rest, found, threshold), taken_at,
    )  # fmt: skip


def accepted_max(count: int) -> int:
    """How many of this many false notes may be accepted so that the share of all that would be is
    at most FALSE_ACCEPTED_MAX with CONFIDENCE. None of a few dozen, since even then one in twenty
    may be accepted by chance.

    Example:
        >>> accepted_max(76), accepted_max(200), accepted_max(1000)
        (0, 4, 38)
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


_ReadNotes = Sequence[tuple[LabelledNote, Features | None]]


def _scores(notes: _ReadNotes, found: Formula) -> tuple[list[float], list[float]]:
    """Of the notes that a checker was asked about: the scores of the true and of the false."""
    scored = [(note.wrong is None, found.chance(row)) for note, row in notes if row is not None]
    return [s for label, s in scored if label], [s for label, s in scored if not label]


def _measured(notes: _ReadNotes, found: Formula, threshold: float) -> Measured:
    true, false = _scores(notes, found)
    return Measured(
        true=sum(note.wrong is None for note, _ in notes),
        false=sum(note.wrong is not None for note, _ in notes),
        asked=len(true) + len(false),
        kept=sum(score >= threshold for score in true),
        accepted=sum(score >= threshold for score in false),
        auc=round(formula.auc(true, false), 4),
    )


# -- stored results --------------------------------------------------------------------


def save(result: Calibration, folder: Path | None = None) -> None:
    """Stores a result beside the models, in place of an older one of the same model."""
    from treemem.models.manifests import put_in_place

    target = _path(result.model, folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    temporary.write_text(json.dumps(asdict(result), indent=2) + "\n", "utf-8")
    put_in_place(temporary, target)


def result_of(model: str, folder: Path | None = None) -> Calibration | None:
    """The stored result of a model; None where it has none of this version. Raises ModelError if it
    cannot be read."""
    path = _path(model, folder)
    try:
        fields = json.loads(path.read_text("utf-8"))
        if fields["version"] != version():
            return None
        parts = fields["formula"]
        lists = {name: tuple(parts[name]) for name in ("names", "weights", "means", "scales")}
        result = Calibration(
            **fields
            | {
                "formula": Formula(**parts | lists),
                "fitted": Measured(**fields["fitted"]),
                "measured": Measured(**fields["measured"]),
            }
        )
        result.formula.chance({})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"the calibration {path} cannot be read ({error}): remove it, and calibrate the model "
            "again with `treemem model check`",
            recoverable=False,
        ) from error
    return result


def _path(model: str, folder: Path | None) -> Path:
    safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in model)
    return (folder or models_folder()) / "checkers" / f"{safe}.json"
