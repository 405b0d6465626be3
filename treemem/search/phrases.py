"""Measures how much of a query a text contains as it was asked: in a row, or nearly all its words.

Pure. BM25 counts words wherever they are, so that a long text of the same subject can score above
the very sentence that was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from treemem.text import bm25

# The share of a query's words, weighted by their rarity, above which a text counts as containing
# it; and the fewest distinct words of a query of which a share says something.
COVERED_SHARE_MIN = 0.5
COVERED_STEMS_MIN = 4
# How much all words of a query in any order count, in comparison with all of them in a row.
ANY_ORDER = 0.85
# The strength that a text approaches which lacks little of a query: a sentence may be asked for
# word for word, a question is not, so only the whole of a query outweighs all neighbours.
WITHOUT_ALL = 0.5


class Run(NamedTuple):
    """A stretch of a text that has words of the query in the same order, without others between
    them. words: how many. start, end: characters; both are 0 if there is no such word."""

    words: int
    start: int
    end: int


def longest_run(query: Sequence[str], text: str) -> Run:
    """The longest run of a query's stems in a text; of equal ones the first.

    Example:
        >>> longest_run(bm25.stems("who pays the late fee"), "The fee? They pay the late fees.")
        Run(words=4, start=14, end=31)
    """
    places: dict[str, list[int]] = {}
    for at, one in enumerate(query):
        places.setdefault(one, []).append(at)
    best = Run(0, 0, 0)
    # By the place in the query of its last word: how many words a run has, and where it starts.
    before: dict[int, tuple[int, int]] = {}
    for one, start, end in bm25.placed_stems(text):
        runs: dict[int, tuple[int, int]] = {}
        for at in places.get(one, ()):
            words, first = before.get(at - 1, (0, start))
            runs[at] = words + 1, first
            if words >= best.words:
                best = Run(words + 1, first, end)
        before = runs
    return best


def strength(run_words: int, query_words: int, covered: float, query_stems: int) -> float:
    """From 0 to 1, how much of a query a text contains as it was asked: 1 if all of it, and else
    less than WITHOUT_ALL. Grows faster than its words: some of them in a row are chance.

    covered: the share of the query's distinct stems that the text has, weighted by rarity.

    Example:
        >>> strength(6, 6, 1.0, 4), strength(1, 6, 0.4, 4), round(strength(3, 6, 0.4, 4), 2)
        (1.0, 0.0, 0.03)
    """
    if 1 < query_words <= run_words:
        return 1.0
    in_row = (run_words - 1) / (query_words - 1) if query_words > 1 else 0.0
    share = (covered - COVERED_SHARE_MIN) / (1 - COVERED_SHARE_MIN)
    by_words = ANY_ORDER * share if query_stems >= COVERED_STEMS_MIN else 0.0
    return float(WITHOUT_ALL * max(0.0, in_row, by_words) ** 3)
