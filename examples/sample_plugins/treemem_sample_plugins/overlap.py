"""Judges a note by how many of its words the lines have."""

from __future__ import annotations

import re

_WORD = re.compile(r"[\w%]+(?:[.,:]\d+)*")
_COMMON = frozenset(
    "a an and are as at be by for from has have in is it of on or that the they this to was we "
    "were will with".split()
)


def overlap(lines: list[str], note: str) -> float:
    """The share of the note's words, from 0 to 1, that are in the lines; a number that is not there
    counts as five words."""
    said = {_stem(word) for line in lines for word in _WORD.findall(line.lower())}
    words = [word for word in _WORD.findall(note.lower()) if word not in _COMMON]
    weights = [5.0 if word[0].isdigit() else 1.0 for word in words]
    found = sum(weight for word, weight in zip(words, weights, strict=True) if _stem(word) in said)
    return found / sum(weights) if weights else 0.0


def _stem(word: str) -> str:
    return word if word[0].isdigit() else word[:5]
