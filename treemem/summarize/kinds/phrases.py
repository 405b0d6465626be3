"""Looks for phrases in sentences, but only where one of their words occurs.

Pure. Most sentences contain none of the words, and a look-up in a set is a hundred times faster
than an expression.

Tested in tests/summarize/test_detectors.py.
"""

from __future__ import annotations

import re

FLAGS = re.IGNORECASE | re.VERBOSE
# What makes a question of a clause.
ASKED = r"(?:which|what|who|whom|whose|whether|when|where|how|why|if)"


class Phrases:
    """Expressions, each behind words without one of which it cannot match.

    Example:
        >>> phrases = Phrases(("waiting", r"waiting\\ for\\ \\w"))
        >>> bool(phrases.find("We are waiting for Lea.", frozenset({"we", "are", "waiting"})))
        True
    """

    def __init__(self, *groups: tuple[str, str]) -> None:
        """groups: the words, in small letters and apart by spaces, and the expression."""
        self._groups = [(frozenset(cues.split()), re.compile(text, FLAGS)) for cues, text in groups]
        self._cues = frozenset(cue for cues, _ in self._groups for cue in cues)

    def find(self, sentence: str, lower_words: frozenset[str]) -> re.Match[str] | None:
        """The first expression's match, in the order of the groups."""
        if self._cues.isdisjoint(lower_words):
            return None
        for cues, pattern in self._groups:
            if not cues.isdisjoint(lower_words) and (match := pattern.search(sentence)):
                return match
        return None
