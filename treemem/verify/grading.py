"""Grades a statement: how far it can be proved from the messages it rests on.

Pure but for the checker. What is refused is never stored; see types.GRADES for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol

from treemem.patterns import lazy_regex
from treemem.proposals import ChildStatement, Excerpt
from treemem.text.sentences import split_sentences
from treemem.types import Grade, StatementKind
from treemem.verify import check, guards
from treemem.verify.alignment import speaks
from treemem.verify.clauses import split_clauses
from treemem.verify.evidence import Similar


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


# Rules, open points and decisions are followed, so they need the words of a message: no checker's
# judgement is enough for them.
WORD_FOR_WORD_KINDS: frozenset[StatementKind] = frozenset({"constraint", "open", "decision"})
# The most sentences in a row that a verbatim note repeats.
_VERBATIM_SENTENCES_MAX = 4
_SPACES = lazy_regex(r"\s+")


@dataclass(frozen=True, slots=True)
class Graded:
    """The outcome of grading.

    grade: None if the statement is refused. reason: why it is refused or unproven, else "".
    evidence: the excerpts it cites, in order. score, checker: the checker's score and name; None
    if no checker was asked. lines: what a checker reads, each "Speaker: words"; empty if a guard
    keeps the statement from being judged.
    """

    grade: Grade | None
    reason: str = ""
    evidence: tuple[Excerpt, ...] = ()
    score: float | None = None
    checker: str | None = None
    lines: tuple[str, ...] = ()


def may_be_entailed(kind: StatementKind) -> bool:
    """Whether a checker's judgement is enough for a statement of a kind.

    Example:
        >>> may_be_entailed("gist"), may_be_entailed("constraint")
        (True, False)
    """
    return kind not in WORD_FOR_WORD_KINDS


def grade(
    text: str,
    excerpts: Sequence[Excerpt],
    *,
    checker: Checker | None = None,
    prompt: str = "",
    kind: StatementKind | None = None,
    similar: Similar | None = None,
) -> Graded:
    """Grades a statement on these excerpts, and finds those that it cites.

    checker: None where none is at hand. prompt: the instructions, which a statement may not
    repeat. kind: a statement of a kind that may not be entailed is not shown to the checker.
    similar: the similarity of sentences to a clause by vectors, where there are any. Raises
    ModelError if the checker does.
    """
    reason = check.not_a_statement(text, prompt)
    if reason:
        return Graded(None, reason)
    verdict = check.check_statement(text, excerpts, prompt=prompt)
    copied = _copied_from(text, excerpts, whole=bool(verdict.reason))
    if copied is not None:
        return Graded("verbatim", evidence=(copied,))
    if verdict.reason and speaks(text):
        return Graded(None, "pronoun without its person")
    traced = guards.trace(
        text,
        [(excerpt.message.speaker, excerpt.text) for excerpt in excerpts],
        sent=[_day(excerpt.message.sent_at) for excerpt in excerpts],
        similar=similar,
    )
    evidence = tuple(excerpts[number] for number in traced.messages)
    if not verdict.reason:
        if traced.reason:
            return Graded("unproven", traced.reason, verdict.evidence)
        return Graded("aligned", evidence=verdict.evidence)
    if traced.refused:
        return Graded(None, traced.reason)
    if traced.reason:
        return Graded("unproven", traced.reason, evidence)
    return _judged(text, evidence, traced.lines, checker, kind)


def _judged(
    text: str,
    evidence: tuple[Excerpt, ...],
    lines: tuple[str, ...],
    checker: Checker | None,
    kind: StatementKind | None,
) -> Graded:
    """The grade of a statement for which all guards hold."""
    if kind is not None and not may_be_entailed(kind):
        return Graded("unproven", f"a {kind} needs the words of a message", evidence)
    if checker is None:
        return Graded("unproven", "not judged by a checker", evidence, lines=lines)
    score = checker.score(lines, text)
    if score < checker.threshold:
        return Graded("unproven", "a checker doubts it", evidence, score, checker.name, lines)
    return Graded("entailed", "", evidence, score, checker.name, lines)


def grade_over(
    text: str,
    statements: Sequence[ChildStatement],
    excerpts: Sequence[Excerpt],
    *,
    checker: Checker | None = None,
    prompt: str = "",
    kind: StatementKind | None = None,
    similar: Similar | None = None,
) -> Graded:
    """Grades a statement about several nodes on the statements of these nodes and the messages
    that they cite; its evidence is messages.

    excerpts: of the messages that the statements cite, in order. The statements only lead to their
    messages: what a message does not say is not proved by a statement that says so.
    """
    near = guards.nearest(text, [(s.speaker or "", s.text) for s in statements], similar=similar)
    ids = {message_id for number in near for message_id in statements[number].message_ids}
    cited = [excerpt for excerpt in excerpts if excerpt.message.id in ids]
    return grade(text, cited, checker=checker, prompt=prompt, kind=kind, similar=similar)


def _day(sent_at: str | datetime | None) -> date | None:
    """The day of a message as its log has it; None if that has none."""
    if isinstance(sent_at, datetime):
        return sent_at.date()
    try:
        return date.fromisoformat((sent_at or "")[:10])
    except ValueError:
        return None


def _copied_from(text: str, excerpts: Sequence[Excerpt], *, whole: bool) -> Excerpt | None:
    """The excerpt of which a text is a sentence or several in a row, word for word; or a clause,
    unless only whole sentences count, since a clause alone may say what its sentence does not."""
    wanted = _folded(text)
    count = len(split_sentences(text))
    for excerpt in excerpts:
        if wanted not in _folded(excerpt.text):
            continue
        for pieces in _pieces(excerpt.text, whole=whole):
            for length in range(1, max(count, 1) + 1 if count <= _VERBATIM_SENTENCES_MAX else 1):
                for start in range(len(pieces) - length + 1):
                    if _folded(" ".join(pieces[start : start + length])) == wanted:
                        return excerpt
    return None


def _pieces(text: str, *, whole: bool) -> list[list[str]]:
    pieces = [split_sentences(text)]
    return pieces if whole else [*pieces, [clause.text for clause in split_clauses(text)]]


def _folded(text: str) -> str:
    """A text without case, spacing and final punctuation; a question mark is kept."""
    return _SPACES.sub(" ", text).strip(" \"'*_-").rstrip(".!,;:… ").casefold()
