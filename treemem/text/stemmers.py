"""Provides the two stemmers: Porter's for search, the English Snowball stemmer for statements.

Search stems as FTS5 does, so that both rank the same words; statements are compared by the
newer stemmer, which keeps more words apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal


@functools.cache
def stemmer(algorithm: Literal["porter", "english"]) -> Callable[[str], str]:
    """A function from a lower-case word to its stem.

    Example:
        >>> stemmer("porter")("generously"), stemmer("english")("generously")
        ('gener', 'generous')
    """
    import snowballstemmer

    stem: Callable[[str], str] = snowballstemmer.stemmer(algorithm).stemWord
    return stem
