"""Grades a statement: how far it can be proved from the messages it rests on.

Pure but for the checker. What is refused is never stored; see types.GRADES for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from treemem.proposals import Excerpt
from treemem.types import Grade
from treemem.verify import check


class Checker(Protocol):
    """Judges whether lines of a log support a note.

    name: with a version; stored with the statements that it judged. threshold: the score from
    which a note counts as entailed, as calibrated.
    """

    @property
    def name(self) -> str: ...

    @property
    def threshold(self) -> float: ...

    def score(self, lines: Sequence[str], note: str) -> float:
        """How well lines, each "Speaker: words", support a note, from 0 to 1. Raises ModelError."""
        ...


@dataclass(frozen=True, slots=True)
class Graded:
    """The outcome of grading.

    grade: None if the statement is refused. reason: why it is refused or unproven, else "".
    evidence: the excerpts it cites, in order. score, checker: the checker's score and name; None
    if no checker was asked.
    """

    grade: Grade | None
    reason: str = ""
    evidence: tuple[Excerpt, ...] = ()
    score: float | None = None
    checker: str | None = None


def grade(
    text: str, excerpts: Sequence[Excerpt], *, checker: Checker | None = None, prompt: str = ""
) -> Graded:
    """Grades a statement on these excerpts, and finds those that it cites.

    checker: None where none is at hand. prompt: the instructions, which a statement may not
    repeat.
    """
    del checker
    verdict = check.check_statement(text, excerpts, prompt=prompt)
    return Graded(None if verdict.reason else "aligned", verdict.reason, verdict.evidence)
