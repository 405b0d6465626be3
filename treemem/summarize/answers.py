"""Reads the answers of a model, and grades every statement in them.

A statement of an answer becomes a draft with the grade that it reaches, or a rejection with the
reason. What is only unproven is kept apart. Neither a model nor a text that addresses it decides
what is a rule.

Tested in tests/summarize/test_model_summarizer.py.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treemem.origins.spans import origin_of_span, weakest
from treemem.proposals import ChildStatement, Draft, Excerpt, View
from treemem.summarize import extractive, prompts
from treemem.summarize.base import BINDING
from treemem.summarize.calls import Call
from treemem.summarize.detectors import kind_of, words_of
from treemem.text.tokens import count_many
from treemem.types import Grade, Rejection, StatementKind
from treemem.verify import grading
from treemem.verify.grading import Checker, Graded

if TYPE_CHECKING:
    from treemem.models.client import Generation

# The least number of statements that must pass for a view to be shown.
PASSED_MIN = 1
# What the words of a message prove. Only such statements are rules, decisions and open points.
PROVEN: tuple[Grade, ...] = ("verbatim", "aligned")
_MARKS = " \"'*_-.!?,;:…"
_KIND_WEIGHT: dict[StatementKind, float] = {
    "gist": 1.0, "decision": 2.5, "constraint": 3.0, "open": 2.5, "error": 2.0, "fact": 1.0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Note:
    """A statement that passed. evidence: the excerpts that it cites."""

    draft: Draft
    call: Call
    evidence: tuple[Excerpt, ...]


class GradedAnswers:
    """The statements of answers: those that passed, those that are unproven, and the rejections.
    offered: the number of all.

    binding: the kinds and message ids of the rules and open points that were picked without a
    model. A statement becomes a rule or an open point only if it cites one of these messages, so
    a text that addresses the model adds none. checker: judges what the words alone do not prove;
    None where none is at hand.
    """

    def __init__(
        self,
        binding: Container[tuple[StatementKind, str]] = (),
        checker: Checker | None = None,
    ) -> None:
        self._binding = binding
        self._checker = checker
        self.passed: list[Note] = []
        self.unproven: list[Note] = []
        self._rejections: list[Rejection] = []
        self.offered = 0
        self._seen: set[str] = set()

    def read(self, call: Call, answer: Generation) -> None:
        """Adds the statements of an answer. Raises the checker's ModelError."""
        if call.original is not None:
            offered = list(filter(None, [prompts.read_retelling(answer.text)]))
        else:
            offered = prompts.read_notes(answer.text, call.count)
        self.offered += max(1, len(offered))
        if not offered:
            refused = Rejection("", prompts.clean(answer.text)[:200], "no statement in the answer")
            self._rejections.append(refused)
        for number, text in enumerate(offered, 1):
            unfinished = answer.stopped == "length" and number == len(offered)
            self.add(call, text, is_first=number == 1, unfinished=unfinished)

    def add(self, call: Call, text: str, *, is_first: bool, unfinished: bool = False) -> None:
        """Adds a statement. unfinished: its end may be missing. Raises the checker's ModelError."""
        outcome = self._graded(call, text, is_first=is_first, unfinished=unfinished)
        if isinstance(outcome, Rejection):
            self.refuse(outcome)
            return
        self._seen.add(text.casefold())
        is_unproven = outcome.draft.grade == "unproven"
        (self.unproven if is_unproven else self.passed).append(outcome)

    def refuse(self, rejection: Rejection) -> None:
        """Adds a statement that was refused elsewhere."""
        self._rejections.append(rejection)

    def view(self, items: Sequence[Draft | ChildStatement], answers: Sequence[Generation]) -> View:
        """The view of these statements, unusable where too few of the model's passed. The unproven
        ones are stored with it, but not shown."""
        usable = len(self.passed) >= PASSED_MIN
        return View(
            items if usable else (),
            self.offered,
            tuple(self._rejections),
            usable=usable,
            tokens_in=sum(answer.tokens_in for answer in answers),
            tokens_out=sum(answer.tokens_out for answer in answers),
            seconds=sum(answer.seconds for answer in answers),
            kept_back=[note.draft for note in self.unproven],
        )

    def _graded(
        self, call: Call, text: str, *, is_first: bool, unfinished: bool
    ) -> Note | Rejection:
        original = call.original
        kind = _kind(text) if original is None else original.kind
        if unfinished and not text.endswith((".", "!", "?")):
            return Rejection(kind, text, "broken off")
        if text.casefold() in self._seen:
            return Rejection(kind, text, "said twice")
        graded = self._grade(call, text)
        if graded.grade is None or not graded.evidence:
            return Rejection(kind, text, graded.reason or "cites no message that supports it")
        if original is None:
            if graded.grade == "verbatim":
                text = _quoted(text, graded.evidence[0].text)
            return Note(self._noted(call, text, kind, graded, is_first), call, graded.evidence)
        outcome = _retold(text, original, graded)
        return outcome if isinstance(outcome, Rejection) else Note(outcome, call, graded.evidence)

    def _grade(self, call: Call, text: str) -> Graded:
        checker = self._checker if call.original is None else None
        if call.statements:
            return grading.grade_over(
                text, call.statements, call.excerpts, checker=checker, prompt=prompts.INSTRUCTIONS
            )
        return grading.grade(text, call.excerpts, checker=checker, prompt=prompts.INSTRUCTIONS)

    def _noted(
        self, call: Call, text: str, kind: StatementKind, graded: Graded, is_first: bool
    ) -> Draft:
        (tokens,) = count_many([text])
        ids = tuple(dict.fromkeys(excerpt.message.id or "" for excerpt in graded.evidence))
        origin = weakest(
            origin_of_span(excerpt.message, excerpt.start, excerpt.end)
            for excerpt in graded.evidence
        )
        if self._is_barred(kind, ids, graded.grade) or kind in extractive.KINDS_BARRED.get(
            origin, ()
        ):
            kind = "fact"
        is_own = graded.grade != "verbatim"
        if call.statements or (is_first and is_own and kind == "fact"):
            kind = "gist"
        speakers = {extractive.speaker_of(e.message, origin) for e in graded.evidence}
        is_retold = is_own and (bool(call.statements) or graded.grade not in PROVEN)
        is_everyones = len(speakers) > 1 or is_retold
        return Draft(
            kind, text, None if is_everyones else min(speakers), ids,
            round(_KIND_WEIGHT[kind] * extractive.density(text), 4), tokens, origin=origin,
            grade=graded.grade or "unproven", score=graded.score, checker=graded.checker,
        )  # fmt: skip

    def _is_barred(self, kind: StatementKind, ids: Sequence[str], grade: Grade | None) -> bool:
        """Whether a statement may not be of the kind that its words suggest."""
        if not grading.may_be_entailed(kind) and grade not in PROVEN:
            return True
        return kind in BINDING and not any((kind, i) in self._binding for i in ids)


def _retold(text: str, original: ChildStatement, graded: Graded) -> Draft | Rejection:
    """The draft of a retelling, in the place of its original."""
    if graded.grade not in PROVEN:
        return Rejection(original.kind, text, graded.reason or "not proven by its words")
    (tokens,) = count_many([text])
    if tokens >= original.tokens:
        return Rejection(original.kind, text, "no shorter than what it retells")
    # As in the extractive summary, the same in fewer words counts more.
    gain = ((8 + len(original.text.split())) / (8 + len(text.split()))) ** 0.5
    return Draft(
        original.kind, text, original.speaker, original.message_ids,
        round(original.importance * gain, 4), tokens, origin=original.origin, grade=graded.grade,
    )  # fmt: skip


def _quoted(text: str, source: str) -> str:
    """The words of the source that a note repeats but for case and the marks around it."""
    found = re.search(re.escape(text.strip(_MARKS)), source, re.IGNORECASE)
    if found is None:
        return text
    end = found.end()
    while end < len(source) and source[end] in ".!?":
        end += 1
    return source[found.start() : end]


def _kind(text: str) -> StatementKind:
    """The kind of a statement by its words alone."""
    kind, _ = kind_of(text, frozenset(word.lower() for word in words_of(text)))
    return kind
