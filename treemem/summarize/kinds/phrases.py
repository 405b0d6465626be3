"""Looks for phrases in sentences, but only where one of their words occurs.

Pure. Most sentences contain none of the words, and a look-up in a set is a hundred times faster
than an expression.

Tested in tests/summarize/test_detectors.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from treemem.patterns import folded, folded_regex, lazy_regex

FLAGS = re.IGNORECASE | re.VERBOSE
# What makes a question of a clause.
ASKED = r"(?:which|what|who|whom|whose|whether|when|where|how|why|if)"

# Begins a part of an expression that minds case.
_MINDS_CASE = "(?-i:"


class Sentence(NamedTuple):
    """A sentence to look at. text: with plain apostrophes. low: the text, folded. words: its words
    in small letters."""

    text: str
    low: str
    words: frozenset[str]

    @classmethod
    def of(cls, text: str, words: Iterable[str]) -> Sentence:
        return cls(text, folded(text), frozenset(words))


class Phrases:
    """Expressions that ignore case, each behind words without one of which it cannot match.

    Example:
        >>> phrases = Phrases(("waiting", r"waiting\\ for\\ \\w"))
        >>> said = Sentence.of("We are waiting for Lea.", {"we", "are", "waiting"})
        >>> phrases.find(said).group()
        'waiting for l'
    """

    def __init__(self, *groups: tuple[str, str]) -> None:
        """groups: the words, in small letters and apart by spaces, and the expression."""
        self._groups = [
            (
                frozenset(cues.split()),
                lazy_regex(text, FLAGS) if _MINDS_CASE in text else folded_regex(text, FLAGS),
                _MINDS_CASE in text,
            )
            for cues, text in groups
        ]
        self._cues = frozenset(cue for cues, _, _ in self._groups for cue in cues)

    def find(self, said: Sentence) -> re.Match[str] | None:
        """The first expression's match, in the order of the groups; in the text or in its folded
        form, which has the same places."""
        if self._cues.isdisjoint(said.words):
            return None
        for cues, pattern, minds_case in self._groups:
            if not cues.isdisjoint(said.words):
                match = pattern.search(said.text if minds_case else said.low)
                if match:
                    return match
        return None
