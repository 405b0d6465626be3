"""Splits texts into clauses, and lists the runs of clauses that may support a statement.

Pure.

Tested in tests/verify/test_check.py.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from treemem.text.cache import SENTENCES_CACHED_MAX
from treemem.text.sentences import split_sentences
from treemem.verify import lexicon
from treemem.verify.words import REPORTING_VERBS, Word, split_words, stems

# The most clauses in a run.
RUN_CLAUSES_MAX = 6


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause with its sentence.

    message: the index of its message. closes: whether it ends its sentence.
    """

    text: str
    sentence: str
    message: int
    closes: bool


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring clauses of one message.

    author: of the message. heard: the stems of their words, and the words as names.
    """

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
        """Whether the run is part of a question."""
        return any(
            (clause.closes or split_words(clause.text)[0].lower in lexicon.INVERTED)
            and clause.sentence.rstrip(" \"')*").endswith("?")
            for clause in self.clauses
        )

    def holds(self, other: Run) -> bool:
        """Whether this run contains all clauses of another."""
        return other.message == self.message and all(
            clause in self.clauses for clause in other.clauses
        )


@functools.lru_cache(maxsize=4_000)
def split_clauses(text: str, message: int = 0) -> tuple[Clause, ...]:
    """The clauses of a text, in order.

    Example:
        >>> [clause.text for clause in split_clauses("It broke, so we stopped. Nobody knew.")]
        ['It broke,', 'so we stopped.', 'Nobody knew.']
    """
    split: list[Clause] = []
    for sentence in split_sentences(text):
        parts = [
            part.strip()
            for part in lexicon.CLAUSE_END.split(sentence)
            if part and split_words(part)
        ]
        for index, part in enumerate(parts):
            split.append(Clause(part, sentence, message, index == len(parts) - 1))
    return tuple(split)


def runs(all_clauses: Sequence[Clause], authors: Sequence[str]) -> list[Run]:
    """All runs of neighbouring clauses of one message, short ones first. authors: of messages."""
    by_length: list[list[Run]] = [[] for _ in range(RUN_CLAUSES_MAX)]
    for start, first in enumerate(all_clauses):
        heard: frozenset[str] = frozenset()
        for length, last in enumerate(all_clauses[start : start + RUN_CLAUSES_MAX]):
            if last.message != first.message:
                break
            heard |= _heard(last.text)
            run = tuple(all_clauses[start : start + length + 1])
            by_length[length].append(Run(run, authors[first.message], heard))
    return [run for same_length in by_length for run in same_length]


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def _heard(text: str) -> frozenset[str]:
    return stems(text) | {word.name for word in split_words(text)}


def inherits(clause: str) -> bool:
    """Whether a clause that does not begin with a name has the subject of the clause before it.

    Example:
        >>> inherits("and stored them"), inherits("because the disk was full")
        (True, False)
    """
    first = split_words(clause)[:2]
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
    """The clauses of a statement to check separately, each with whether it begins a sentence. A
    clause with fewer than two content words is joined to its neighbour.

    Example:
        >>> statement_clauses("Ana sent files and folders, and Ben stored them on the server.")
        [('Ana sent files and folders,', True), ('and Ben stored them on the server.', False)]
    """
    checked: list[tuple[str, bool]] = []
    for sentence in split_sentences(text):
        first = True
        for clause in split_clauses(sentence):
            is_short = _size(clause.text) < 2 or (not first and _size(checked[-1][0]) < 2)
            if not first and is_short:
                checked[-1] = (f"{checked[-1][0]} {clause.text}", checked[-1][1])
            else:
                checked.append((clause.text, first))
            first = False
    return checked


def _size(text: str) -> int:
    return sum(map(counts, split_words(text)))


def counts(word: Word) -> bool:
    """Whether a source must contain the word: verbs such as "says" or "wants" may be added."""
    return bool(word.stem) and word.lower not in REPORTING_VERBS
