"""Weighs the terms of a leaf: its content words by their stems, and its entities.

Pure. Names, identifiers and file names are entities, which weigh more. The statements of a leaf
count in addition to its text. Words for times and places are left out.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from treemem.text.fts import extra_words
from treemem.verify.words import REPORTING_VERBS, stem

TERMS_MAX = 128
ENTITY_WEIGHT = 2.0
ENTITY_CHARS_MAX = 40
TOKEN_CHARS_MAX = 200  # longer strings without a space are data, not paths
# Characters read of a message; a longer one, such as a printed table, only repeats itself.
TEXT_CHARS_MAX = 20_000

_ENTITY = re.compile(
    r"(?:[\w.-]*/)*(?P<file>[\w-]{2,}\.[a-z]{1,4})\b(?![/.(\w])|\b(?P<name>[A-Za-z]\w*_\w+"
    r"|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)\b"
)
_LINK = re.compile(r"https?://\S+")
_WORD = re.compile(r"[^\W\d_][^\W_]*(?:['’][^\W_]+)*")
# Not at the start of a sentence, where every word is capitalized.
_NAME = re.compile(r"(?<=[a-z0-9,;)’'] )[^\W\d_a-z][^\W_]+")
_WHEN = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may "
    "june july august september october november december today yesterday tomorrow tonight "
    "morning evening afternoon week weekend month year day time hour minute".split()
)
_WHERE = frozenset(
    "above across against along among around behind below beneath beside beyond inside near next "
    "onto outside toward towards upon within".split()
)
_NO_TOPIC = REPORTING_VERBS | _WHEN | _WHERE


def profile(texts: Iterable[str], stated: Iterable[str]) -> dict[str, float]:
    """The weights of at most TERMS_MAX terms of a leaf, the heaviest first.

    texts: of the leaf's messages. stated: of its statements. A weight grows with the logarithm of
    the term's count.

    Example:
        >>> list(profile(["we moved the invoices to Graz, see billing/export.py"], []))
        ['export.py', 'graz', 'bill', 'export', 'invoic', 'move', 'py', 'see']
    """
    counts: Counter[str] = Counter()
    named: Counter[str] = Counter()
    words: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for text in (*texts, *stated):
        entities, plain = _divided(text[:TEXT_CHARS_MAX])
        counts.update(entity.lower() for entity in entities)
        named.update(entity.lower() for entity in entities)
        words.update(_WORD.findall(plain))
        names.update(_NAME.findall(plain))
    for spelled, by_stem in ((words, counts), (names, named)):
        for word, count in spelled.items():
            if stemmed := term_of(word):
                by_stem[stemmed] += count
    weights = {
        term: round((1 + math.log(count)) * (ENTITY_WEIGHT if 2 * named[term] > count else 1.0), 4)
        for term, count in counts.items()
    }
    ranked = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:TERMS_MAX])


@dataclass(frozen=True, slots=True)
class Term:
    """An occurrence of a term in a text.

    word: as spelled there. joined: whether only a space or a hyphen separates it from the term
    before it.
    """

    stem: str
    word: str
    is_entity: bool
    joined: bool = False


def terms_in(text: str) -> Iterator[Term]:
    """The terms of a text: file names and identifiers first, then the words in order.

    Example:
        >>> [term.word for term in terms_in("Then the budget tracker broke in app/main.py")]
        ['main.py', 'budget', 'tracker', 'broke', 'app', 'main', 'py']
    """
    entities, plain = _divided(text)
    for entity in entities:
        yield Term(entity.lower(), entity, is_entity=True)
    names = set(_NAME.findall(plain))
    end = -1
    for match in _WORD.finditer(plain):
        word = match.group()
        if stemmed := term_of(word):
            joined = match.start() == end + 1 and plain[end] in " -"
            yield Term(stemmed, word, word in names, joined)
            end = match.end()


def _divided(text: str) -> tuple[list[str], str]:
    """The file names and identifiers of a text, and the text to look for words in."""
    text = _LINK.sub(" ", text)
    # Most tokens are plain words, which need no regular expression.
    odd = [token for token in text.split() if not (token.isalpha() and token[1:].islower())]
    short = [token for token in odd if len(token) <= TOKEN_CHARS_MAX]
    matches = [match for token in short for match in _ENTITY.finditer(token)]
    entities = [(match["file"] or match["name"]).strip("_") for match in matches]
    others = None if text.isascii() else extra_words(text)
    short_entities = [entity for entity in entities if len(entity) <= ENTITY_CHARS_MAX]
    return short_entities, f"{text} {others}" if others else text


@functools.lru_cache(maxsize=50_000)
def term_of(word: str) -> str:
    """The stem used to compare a word, "" for a word that does not indicate a topic.

    Example:
        >>> term_of("Invoices"), term_of("said"), term_of("Monday")
        ('invoic', '', '')
    """
    lower = word.lower()
    if len(lower) < 2 or len(lower) > ENTITY_CHARS_MAX or lower in _NO_TOPIC:
        return ""
    stemmed = stem(lower)
    return "" if stemmed.isdigit() else stemmed
