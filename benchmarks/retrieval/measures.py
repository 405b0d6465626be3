"""Measures how much of an answer a returned text contains, without a model and without I/O.

Coverage counts the evidence messages that the text contains; support counts the words of the gold
answer. Nothing of treemem is imported.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.wording import content_stems

# Consecutive words of a message that count for it; a shorter message must be there whole.
EXCERPT_WORDS = 80
# The category of questions about things that were never said.
ADVERSARIAL = "adversarial"


class Returned:
    """A text that a memory returned.

    Example:
        >>> text = Returned("[chat/1] Ana: We ship\\non Friday.")
        >>> text.covers("We ship on  Friday."), text.covers("We ship on Fri")
        (True, False)
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._plain = " ".join(text.split())

    @functools.cached_property
    def stems(self) -> set[str]:
        """The stems of its content words."""
        return set().union(*map(_line_stems, self._text.splitlines()))

    @functools.cached_property
    def _runs(self) -> set[str]:
        return set(_runs(self._plain.split(" ")))

    def covers(self, message: str) -> bool:
        """Whether it contains the message whole, or EXCERPT_WORDS of its words in a row.

        White space is ignored. A word broken by a cut is not a word of the message.
        """
        plain = " ".join(message.split())
        if _contains(self._plain, plain):
            return True
        return any(run in self._runs for run in _runs(plain.split(" ")))


@functools.lru_cache(maxsize=50_000)
def _line_stems(line: str) -> set[str]:
    """The content stems of a line, cached since the same lines are returned again and again."""
    return content_stems(line)


def _runs(words: Sequence[str]) -> Iterator[str]:
    for start in range(len(words) - EXCERPT_WORDS + 1):
        yield " ".join(words[start : start + EXCERPT_WORDS])


def _contains(text: str, plain: str) -> bool:
    """Whether plain occurs in text, and not as a part of longer words."""
    start = text.find(plain)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(plain) :][:1]
        split = (before.isalnum() and plain[:1].isalnum()) or (
            after.isalnum() and plain[-1:].isalnum()
        )
        if not split:
            return True
        start = text.find(plain, start + 1)
    return False


def coverage(text: Returned, evidence: Iterable[str]) -> float | None:
    """The share of the evidence messages that are covered.

    evidence: their texts; those without a word do not count. None where there is no evidence.

    Example:
        >>> coverage(Returned("Ana: yes"), ["yes", "no", ""])
        0.5
    """
    covered = [text.covers(message) for message in evidence if message.strip()]
    return sum(covered) / len(covered) if covered else None


def support(text: Returned, question: str, answer: str, category: str = "") -> float | None:
    """The share of the answer's content words that the text contains, as stems.

    Words of the question do not count. None for adversarial questions and if no word is left.

    Example:
        >>> support(Returned("Ana: We shipped it on Friday."), "When?", "Shipping was Friday noon")
        0.6666666666666666
    """
    wanted = content_stems(answer) - content_stems(question)
    if category == ADVERSARIAL or not wanted:
        return None
    return len(wanted & text.stems) / len(wanted)


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are not None, or None.

    Example:
        >>> mean([1.0, None, 0.0]), mean([None])
        (0.5, None)
    """
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
