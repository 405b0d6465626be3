"""Scores how well texts match the words of a query: BM25, with frequencies of the searched scope.

Pure. A word that is common in one scope may be rare in another, so frequencies are counted in the
searched texts, not in the whole file.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treemem.patterns import lazy_regex
from treemem.text import fts
from treemem.text.cache import cached
from treemem.text.stemmers import stemmer
from treemem.text.stop_words import FOREIGN_FUNCTION_WORDS, FUNCTION_WORDS

# The usual constants (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009).
K1 = 1.2
B = 0.75
# Bytes of the cache of stem counts, and of the cache of the stems of statements.
COUNTS_BYTES_MAX = 32_000_000
STATEMENTS_BYTES_MAX = 8_000_000
_OPERATORS = lazy_regex(
    r"""("(?:[^"]|"")*")|\bNOT\s+(?:"(?:[^"]|"")*"|[^\s()"]+)|\b(?:AND|OR|NOT|NEAR)\b
    |,\s*\d+\s*\)|[^\W\d]\w*\s*:""",
    re.VERBOSE,
)
_WORD = lazy_regex(r"[^\W_]+")


def content_words(words: Sequence[str]) -> list[str]:
    """The words without function words of their language, unless there are no others.

    Example:
        >>> content_words("wer hat die Schlüssel in der Küche".split())
        ['Schlüssel', 'Küche']
        >>> content_words("why did they die in the war".split())
        ['die', 'war']
    """
    ignored = FUNCTION_WORDS | _foreign_function_words(words)
    return [word for word in words if word not in ignored] or list(words)


def _foreign_function_words(words: Sequence[str]) -> frozenset[str]:
    """Those of the language of which a query has most, if these are two or more, and more than of
    English; else none."""
    given = frozenset(words)
    most = max(FOREIGN_FUNCTION_WORDS.values(), key=lambda known: len(known & given))
    has_most = len(most & given) > max(1, len(FUNCTION_WORDS & given))
    return most if has_most else frozenset()


@functools.lru_cache(maxsize=fts.STEMS_CACHED_MAX)
def stem(word: str) -> str:
    """The stem of a lower-case word as full text compares it, without accents."""
    if not word.isascii():
        parts = unicodedata.normalize("NFKD", word)
        word = "".join(part for part in parts if not unicodedata.combining(part))
    return stemmer("porter")(word)


def stems(text: str) -> list[str]:
    """The stems of a text's words, in order, then those of its extra words; see fts.py."""
    words = _WORD.findall(text.lower())
    extra = fts.extra_words(text)
    return [stem(word) for word in (words + extra.split() if extra else words)]


def placed_stems(text: str) -> list[tuple[str, int, int]]:
    """The stems of a text's words, each with the first character of its word and the one after it.

    Example:
        >>> placed_stems("Late fees")
        [('late', 0, 4), ('fee', 5, 9)]
    """
    return [
        (stem(match.group().lower()), match.start(), match.end()) for match in _WORD.finditer(text)
    ]


# How often a text contains each of its stems, and the number of all its stems.
StemCounts = tuple[dict[str, int], int]


@cached(COUNTS_BYTES_MAX)
def stem_counts(text: str) -> StemCounts:
    """Counts the stems of a text.

    Example:
        >>> stem_counts("Late, later, late")
        ({'late': 2, 'later': 1}, 3)
    """
    # Subtle: the garbage collector skips plain dictionaries and tuples of strings and numbers, so
    # thousands of them in the cache cost no time.
    all_stems = stems(text)
    return dict(Counter(all_stems)), len(all_stems)


@cached(STATEMENTS_BYTES_MAX)
def content_stems(text: str) -> tuple[str, ...]:
    """The distinct stems of a text, without those of function words.

    Example:
        >>> content_stems("This was what they decided.")
        ('decid',)
    """
    return tuple(dict.fromkeys(one for one in stems(text) if one not in _function_stems()))


@functools.cache
def _function_stems() -> frozenset[str]:
    return frozenset(map(stem, FUNCTION_WORDS))


def query_stems(query: str) -> list[str]:
    """The distinct stems of a query, without function words unless there are no others."""
    return list(dict.fromkeys(stems(" ".join(content_words(fts.terms(query))))))


def expression_words(expression: str) -> str:
    """The words that an FTS5 expression searches for, without operators and excluded words.

    Example:
        >>> expression_words('text : "late fee" AND (cents OR NEAR(euro sum, 5)) NOT draft').split()
        ['late', 'fee', 'cents', 'euro', 'sum']
    """
    plain = _OPERATORS.sub(lambda match: f" {match[1] or ''} ", expression)
    return " ".join(fts.terms(plain))


def matching_words(text: str, query: str, *, fts: bool = False) -> list[tuple[int, int]]:
    """Returns where a text has words of a query, in any inflection: the first character of each and
    the one after it. fts: the query is an FTS5 expression.

    Example:
        >>> matching_words("Late, and a fee.", "the late fees")
        [(0, 4), (12, 15)]
    """
    wanted = set(query_stems(expression_words(query) if fts else query))
    return [(start, end) for form, start, end in placed_stems(text) if form in wanted]


class Matches(NamedTuple):
    """How well each text matches a query.

    scores: BM25. shares: of the query's stems, weighted by their rarity, that the text contains.
    """

    scores: list[float]
    shares: list[float]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How often the words of a query are in the searched texts; of several scopes, they add up.

    size: the number of all texts. matching: those that were counted; the others contain no word of
    the query. length: the words of these. texts_with: the number of texts with each stem.
    """

    size: int
    matching: int
    length: int
    texts_with: Mapping[str, int]

    def __add__(self, other: Frequencies) -> Frequencies:
        both = Counter(self.texts_with)
        both.update(other.texts_with)
        return Frequencies(
            self.size + other.size, self.matching + other.matching, self.length + other.length, both
        )


def frequencies(texts: Sequence[StemCounts], query: Sequence[str], total: int) -> Frequencies:
    """Counts the texts with each word of a query. query: its distinct stems.

    total: the number of all texts; those not in texts contain no word of the query.
    """
    texts_with = Counter(word for counts, _ in texts for word in query if word in counts)
    length = sum(length for _, length in texts)
    return Frequencies(max(total, len(texts)), len(texts), length, texts_with)


def matches(texts: Sequence[StemCounts], query: Sequence[str], among: Frequencies) -> Matches:
    """How well each text matches a query. query: its distinct stems. among: the frequencies in the
    searched texts, which these belong to."""
    average = among.length / among.matching if among.matching else 1.0
    idf = {
        word: max(1e-3, math.log((among.size - n + 0.5) / (n + 0.5)))
        for word in query
        for n in (among.texts_with.get(word, 0),)
    }
    whole = sum(idf.values()) or 1.0
    scores, shares = [], []
    for counts, length in texts:
        match = [(word, counts[word]) for word in query if word in counts]
        norm = K1 * (1 - B + B * length / (average or 1.0))
        scores.append(sum(idf[word] * n * (K1 + 1) / (n + norm) for word, n in match))
        shares.append(sum(idf[word] for word, _ in match) / whole)
    return Matches(scores, shares)
