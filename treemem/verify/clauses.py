"""A text in sentences and clauses, and the runs of clauses that may bear out what is said of it.

Pure.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from treemem.text.sentences import sentences
from treemem.verify import lexicon
from treemem.verify.words import TELLING, Word, stems, words

RUN_CLAUSES_MAX = 6


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause with its sentence; message: the index of what it was said in."""

    text: str
    sentence: str
    message: int
    closes: bool  # it ends its sentence


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring clauses of one message. author: who said them. heard: their words, each as
    its stem and as the name that it would be."""

    clauses: tuple[Clause, ...]
    author: str
    heard: frozenset[str]

    @property
    def message(self) -> int:
        return self.clauses[0].message

    @property
    def text(self) -> str:
        return " ".join(clause.text for clause in self.clauses)

    @property
    def sentences(self) -> str:
        return " ".join(dict.fromkeys(clause.sentence for clause in self.clauses))

    @property
    def asks(self) -> bool:
        return any(
            (clause.closes or words(clause.text)[0].lower in lexicon.INVERTED)
            and clause.sentence.rstrip(" \"')*").endswith("?")
            for clause in self.clauses
        )

    def holds(self, other: Run) -> bool:
        """Whether all clauses of another run are among these."""
        return other.message == self.message and all(each in self.clauses for each in other.clauses)


@functools.lru_cache(maxsize=4_000)
def clauses(text: str, message: int = 0) -> tuple[Clause, ...]:
    """A text's clauses in order.

    Example:
        >>> [clause.text for clause in clauses("It broke, so we stopped. Nobody knew.")]
        ['It broke,', 'so we stopped.', 'Nobody knew.']
    """
    found = []
    for sentence in sentences(text):
        parts = [
            part.strip() for part in lexicon.CLAUSE_END.split(sentence) if part and words(part)
        ]
        for index, part in enumerate(parts):
            found.append(Clause(part, sentence, message, index == len(parts) - 1))
    return tuple(found)


def runs(clauses_of: Sequence[Clause], authors: Sequence[str]) -> list[Run]:
    """All runs of neighbouring clauses of one message, short ones first."""
    found: list[list[Run]] = [[] for _ in range(RUN_CLAUSES_MAX)]
    for start, first in enumerate(clauses_of):
        heard: frozenset[str] = frozenset()
        for length, last in enumerate(clauses_of[start : start + RUN_CLAUSES_MAX]):
            if last.message != first.message:
                break
            heard |= _heard(last.text)
            run = tuple(clauses_of[start : start + length + 1])
            found[length].append(Run(run, authors[first.message], heard))
    return [run for same_length in found for run in same_length]


@functools.lru_cache(maxsize=8_000)
def _heard(text: str) -> frozenset[str]:
    return stems(text) | {word.name for word in words(text)}


def inherits(clause: str) -> bool:
    """Whether a clause without a name in front goes on telling of the one before it.

    Example:
        >>> inherits("and stored them"), inherits("because the disk was full")
        (True, False)
    """
    first = words(clause)[:2]
    heads = [word.lower for word in first]
    if len(first) == 2 and heads[0] in lexicon.LINKS and first[1].text[0].isupper():
        return heads[1] in lexicon.PRONOUNS
    return (
        not heads
        or lexicon.PRONOUNS.get(heads[-1]) == "he"
        or not (
            heads[0] in lexicon.SUBORDINATE
            or heads[0] in lexicon.DETERMINERS
            or heads[-1] in lexicon.DETERMINERS
        )
    )


def statement_clauses(text: str) -> list[tuple[str, bool]]:
    """A statement in the clauses that are checked one by one, and whether each begins a
    sentence; a scrap joins the one before.

    Example:
        >>> statement_clauses("Ana sent files and folders, and Ben stored them on the server.")
        [('Ana sent files and folders,', True), ('and Ben stored them on the server.', False)]
    """
    found: list[tuple[str, bool]] = []
    for sentence in sentences(text):
        first = True
        for clause in clauses(sentence):
            scrap = _size(clause.text) < 2 or (not first and _size(found[-1][0]) < 2)
            if not first and scrap:
                found[-1] = (f"{found[-1][0]} {clause.text}", found[-1][1])
            else:
                found.append((clause.text, first))
            first = False
    return found


def _size(text: str) -> int:
    return sum(map(counts, words(text)))


def counts(word: Word) -> bool:
    return bool(word.stem) and word.lower not in TELLING
