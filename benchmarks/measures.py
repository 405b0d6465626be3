"""How much of what answers a question does a returned text hold? Two measures, no model, no I/O.

Coverage counts the evidence messages that can be read in the text; support counts the words of
the gold answer. Of treemem's own code nothing is used.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.wording import content_stems

# So many consecutive words of a message stand for it; a shorter one has to be there whole.
EXCERPT_WORDS = 80
ADVERSARIAL = "adversarial"  # these ask for what was never said


class Returned:
    """A text that a memory returned, ready to be asked what it holds.

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
        """Whether it holds the message whole, or EXCERPT_WORDS of its words in a row.

        White space counts for nothing. Words that a cut broke, and marks that stand beside
        them, are no words of the message.
        """
        plain = " ".join(message.split())
        if _stands_in(plain, self._plain):
            return True
        return any(run in self._runs for run in _runs(plain.split(" ")))


@functools.lru_cache(maxsize=50_000)
def _line_stems(line: str) -> set[str]:
    """The same lines are returned again and again."""
    return content_stems(line)


def _runs(words: Sequence[str]) -> Iterator[str]:
    for start in range(len(words) - EXCERPT_WORDS + 1):
        yield " ".join(words[start : start + EXCERPT_WORDS])


def _stands_in(plain: str, text: str) -> bool:
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
    """The share of the evidence messages, given as texts, that are covered.

    Messages without a word cannot be found or missed. None where there is no evidence.

    Example:
        >>> coverage(Returned("Ana: yes"), ["yes", "no", ""])
        0.5
    """
    found = [text.covers(message) for message in evidence if message.strip()]
    return sum(found) / len(found) if found else None


def support(text: Returned, question: str, answer: str, category: str = "") -> float | None:
    """The share of the answer's content words that the text holds, as stems.

    Words of the question do not count. None for adversarial questions and where no word of
    the answer is left.

    Example:
        >>> support(Returned("Ana: We shipped it on Friday."), "When?", "Shipping was Friday noon")
        0.6666666666666666
    """
    wanted = content_stems(answer) - content_stems(question)
    if category == ADVERSARIAL or not wanted:
        return None
    return len(wanted & text.stems) / len(wanted)


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are there, or None.

    Example:
        >>> mean([1.0, None, 0.0]), mean([None])
        (0.5, None)
    """
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
