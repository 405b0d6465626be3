"""Provides the stemmers: Porter's for search, the English Snowball stemmer for statements, and
those of languages with a script of their own.

Search stems words as FTS5 does, so that both match the same words. Statements are compared with
the newer stemmer, which conflates fewer words. snowballstemmer uses the compiled PyStemmer where
that is installed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal

Algorithm = Literal["porter", "english", "russian", "greek", "arabic"]


@functools.cache
def stemmer(algorithm: Algorithm) -> Callable[[str], str]:
    """A function from a lower-case word to its stem.

    Example:
        >>> stemmer("porter")("generously"), stemmer("english")("generously")
        ('gener', 'generous')
    """
    import snowballstemmer

    stem: Callable[[str], str] = snowballstemmer.stemmer(algorithm).stemWord
    return stem
