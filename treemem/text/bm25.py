"""How well the words of a query match a text: BM25 over windows, counted within the scope.

Pure. A common word of one scope may be a rare one elsewhere; so the frequencies are those
of what is searched, not of the whole file.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from treemem.text import fts
from treemem.text.cache import kept
from treemem.text.stemmers import stemmer
from treemem.text.stop_words import FUNCTION_WORDS

K1 = 1.2
# The usual constants (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009).
B = 0.75
STEMS_KEPT = 50_000
HELD_BYTES_MAX = 32_000_000
# Of what is kept of the texts, and of the statements, that were searched last.
STATED_BYTES_MAX = 8_000_000
_OPERATORS = re.compile(
    r"""("(?:[^"]|"")*")|\bNOT\s+(?:"(?:[^"]|"")*"|[^\s()"]+)|\b(?:AND|OR|NOT|NEAR)\b
    |,\s*\d+\s*\)|[^\W\d]\w*\s*:""",
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W_]+")


def telling(words: Sequence[str]) -> list[str]:
    """The words without the very common ones, unless there are no others."""
    return [word for word in words if word not in FUNCTION_WORDS] or list(words)


@functools.lru_cache(maxsize=STEMS_KEPT)
def stem(word: str) -> str:
    """A word as full text compares it: without accents and endings."""
    if not word.isascii():
        parts = unicodedata.normalize("NFKD", word)
        word = "".join(part for part in parts if not unicodedata.combining(part))
    return stemmer("porter")(word)


def stems(text: str) -> list[str]:
    """The stems of a text's words, in order, and after them those of its other forms."""
    words = _WORD.findall(text.lower())
    extra = fts.extra_words(text)
    return [stem(word) for word in (words + extra.split() if extra else words)]


# The stems of a text: how often it holds each, and how many it has in all.
Held = tuple[dict[str, int], int]


@kept(HELD_BYTES_MAX)
def held(text: str) -> Held:
    """The stems of a text as bm25 wants them.

    Example:
        >>> held("Late, later, late")
        ({'late': 2, 'later': 1}, 3)
    """
    # Subtle: plain dictionaries and tuples of strings and numbers are nothing that the garbage
    # collector has to walk through, so keeping thousands of them costs no time.
    found = stems(text)
    return dict(Counter(found)), len(found)


@kept(STATED_BYTES_MAX)
def telling_stems(text: str) -> tuple[str, ...]:
    """The distinct stems of a text without those of the very common words.

    Example:
        >>> telling_stems("This was what they decided.")
        ('decid',)
    """
    return tuple(dict.fromkeys(each for each in stems(text) if each not in _common_stems()))


@functools.cache
def _common_stems() -> frozenset[str]:
    return frozenset(map(stem, FUNCTION_WORDS))


def query_stems(query: str) -> list[str]:
    """The distinct stems of a query without the very common words, unless there are no others."""
    return list(dict.fromkeys(stems(" ".join(telling(fts.terms(query))))))


def expression_words(expression: str) -> str:
    """The words that an FTS5 expression looks for, without its operators and what it excludes.

    Example:
        >>> expression_words('text : "late fee" AND (cents OR NEAR(euro sum, 5)) NOT draft').split()
        ['late', 'fee', 'cents', 'euro', 'sum']
    """
    told = _OPERATORS.sub(lambda found: f" {found[1] or ''} ", expression)
    return " ".join(fts.terms(told))


def bm25(texts: Sequence[Held], query: Sequence[str], total: int) -> list[float]:
    """The BM25 of each text with a query, given as its distinct stems.

    total: how many texts there are in all; those that are not given hold no word of the query.
    """
    counts = [[(word, found[word]) for word in query if word in found] for found, _ in texts]
    having = Counter(word for count in counts for word, _ in count)
    average = sum(length for _, length in texts) / len(texts) if texts else 1.0
    size = max(total, len(texts))
    idf = {word: max(1e-3, math.log((size - n + 0.5) / (n + 0.5))) for word, n in having.items()}
    found = []
    for (_, length), count in zip(texts, counts, strict=True):
        norm = K1 * (1 - B + B * length / (average or 1.0))
        found.append(sum(idf[word] * n * (K1 + 1) / (n + norm) for word, n in count))
    return found
