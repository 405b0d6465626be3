"""What a leaf is about: its telling words and its entities, each with a weight.

Pure. Words count by their stems; names, identifiers and file names are entities and weigh more;
what was picked out as a statement counts again. What says when or where is no topic.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from treemem.text.fts import extra_words
from treemem.verify.words import TELLING, stem

TERMS_MAX = 128
ENTITY_WEIGHT = 2.0
ENTITY_CHARS_MAX = 40
TOKEN_CHARS_MAX = 200  # what is longer between two spaces is no path, but data
# A message that goes on for ever, such as a printed table, says no more than its beginning.
TEXT_CHARS_MAX = 20_000

_ENTITY = re.compile(
    r"(?:[\w.-]*/)*(?P<file>[\w-]{2,}\.[a-z]{1,4})\b(?![/.(\w])|\b(?P<name>[A-Za-z]\w*_\w+"
    r"|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)\b"
)
_LINK = re.compile(r"https?://\S+")
_WORD = re.compile(r"[^\W\d_][^\W_]*(?:['’][^\W_]+)*")
# At the head of a sentence anything is written with a capital.
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
_NO_TOPIC = TELLING | _WHEN | _WHERE


def profile(texts: Iterable[str], stated: Iterable[str]) -> dict[str, float]:
    """The weights of at most TERMS_MAX terms of a leaf, the heaviest first.

    texts: what was said. stated: the leaf's statements. A weight grows with the logarithm of
    how often the term occurs.

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
    for found, into in ((words, counts), (names, named)):
        for word, count in found.items():
            if term := term_of(word):
                into[term] += count
    weights = {
        term: round((1 + math.log(count)) * (ENTITY_WEIGHT if 2 * named[term] > count else 1.0), 4)
        for term, count in counts.items()
    }
    ranked = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:TERMS_MAX])


@dataclass(frozen=True, slots=True)
class Found:
    """A term where it stands in a text. word: as it is written there. joined: it follows the
    term before it with nothing but a space or a hyphen in between."""

    term: str
    word: str
    is_entity: bool
    joined: bool = False


def terms_in(text: str) -> Iterator[Found]:
    """The terms of a text: file names and identifiers first, then the words in order.

    Example:
        >>> [each.word for each in terms_in("Then the budget tracker broke in app/main.py")]
        ['main.py', 'budget', 'tracker', 'broke', 'app', 'main', 'py']
    """
    entities, plain = _divided(text)
    for entity in entities:
        yield Found(entity.lower(), entity, is_entity=True)
    names = set(_NAME.findall(plain))
    end = -1
    for match in _WORD.finditer(plain):
        word = match.group()
        if term := term_of(word):
            joined = match.start() == end + 1 and plain[end] in " -"
            yield Found(term, word, word in names, joined)
            end = match.end()


def _divided(text: str) -> tuple[list[str], str]:
    """The file names and identifiers of a text, and the text as its words are found in it."""
    text = _LINK.sub(" ", text)
    # Most of what stands between spaces is a plain word, which takes no expression to see.
    odd = [each for each in text.split() if not (each.isalpha() and each[1:].islower())]
    short = [each for each in odd if len(each) <= TOKEN_CHARS_MAX]
    matches = [match for each in short for match in _ENTITY.finditer(each)]
    found = [(match["file"] or match["name"]).strip("_") for match in matches]
    others = None if text.isascii() else extra_words(text)
    return [e for e in found if len(e) <= ENTITY_CHARS_MAX], f"{text} {others}" if others else text


@functools.lru_cache(maxsize=50_000)
def term_of(word: str) -> str:
    """What a word is compared by, "" for one that tells no topic.

    Example:
        >>> term_of("Invoices"), term_of("said"), term_of("Monday")
        ('invoic', '', '')
    """
    lower = word.lower()
    if len(lower) < 2 or len(lower) > ENTITY_CHARS_MAX or lower in _NO_TOPIC:
        return ""
    found = stem(lower)
    return "" if found.isdigit() else found
