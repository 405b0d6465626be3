"""Prefers texts in which words of the question stand close together."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
# Words of a text within which words of the question count as close.
_WINDOW = 20


def proximity(query: str, texts: Sequence[str]) -> list[float]:
    """For each text, the most words of the question within some twenty words of it."""
    wanted = {word[:6] for word in _WORD.findall(query.lower()) if len(word) > 2}
    return [_closest(wanted, text) for text in texts]


def _closest(wanted: set[str], text: str) -> float:
    words = [word[:6] for word in _WORD.findall(text.lower())]
    last: dict[str, int] = {}  # by word of the question, where it stood last
    best = 0
    for at, word in enumerate(words):
        if word in wanted:
            last[word] = at
            best = max(best, sum(at - place < _WINDOW for place in last.values()))
    return float(best)
