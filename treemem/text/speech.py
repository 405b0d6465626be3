"""Shows a spoken sentence as a reader of minutes expects it: its words, without fillers.

Pure. Only sounds ("um"), "you know" and "I mean" between commas, a function word said twice, and
marks of a transcript are left out, and the spaces of a tokenizer are closed up. All other words
stay in their order; what is stored and given as JSON is never changed.
"""

from __future__ import annotations

import re

from treemem.patterns import lazy_regex
from treemem.text.prose import without_markup
from treemem.text.stop_words import STOP_WORDS
from treemem.types import Origin

# Whose words may be speech.
_SPEAKING: frozenset[Origin] = frozenset({"typed", "person", "document"})
# Code and paths, whose spaces and repetitions mean something.
_CODE = lazy_regex(r"[`{}<>=\\|/$]|\w\(")
_FILLER = lazy_regex(
    r"(?<![\w'’@-])(?:u+h+|u+m+|u+h+m+|e+r+m+|h+m+|mm+|mhm|uh[- ]huh)(?![\w'’@-])", re.IGNORECASE
)
# "you know" with a comma, or the beginning or end of the sentence, on both sides.
_PHRASE = lazy_regex(r"(?P<before>^|,)\s*(?:you know|i mean)\s*(?=,|$)", re.IGNORECASE)
_MARK = lazy_regex(r"\{[a-z]{3,20}\}|@ @")
# A word twice in a row. Repeated negations and numbers may be meant, and so may "that that".
_TWICE = lazy_regex(r"(?<![\w'’-])(\w+)(?:\s*[,-])?\s+\1(?![\w'’-])", re.IGNORECASE)
_MAY_REPEAT = (STOP_WORDS | {"kind", "sort"}) - frozenset(
    "no not never none nothing nobody neither nor without cannot one two once that had very more "
    "so much too yes again her his all you".split()
)
# Spaces that only a tokenizer puts.
_TOKENIZED = lazy_regex(r"\w ['’](?:s|m|re|ve|ll|d|t)\b|\w n['’]t\b|\w [,?!](?=\s|$)|\w \.(?=\s|$)")
_BEFORE_MARK = lazy_regex(r"(?<=[\w\"'’)\]]) +(?=(?:[,?!:;]|\.{1,3})(?:\s|$))")
_CLITIC = lazy_regex(r"(?<=\w) (?=['’](?:s|m|re|ve|ll|d|t)\b|n['’]t\b)")
_HYPHEN = lazy_regex(r"(?<=\w) - (?=\w)")
# Commas around what was left out.
_COMMAS = lazy_regex(r"(?:\s*,)+(?=\s*[,.?!](?:\s|$))")
_SPACES = lazy_regex(r"\s+")


def clean_verbatim(text: str, origin: Origin) -> str:
    """A sentence as it is shown in a digest. Of nothing but fillers, the sentence itself.

    Example:
        >>> clean_verbatim("Um , it 's the the gate , you know , that we do n't open .", "person")
        "it's the gate, that we don't open."
    """
    text = without_markup(text)
    if origin not in _SPEAKING or _CODE.search(_MARK.sub("", text)):
        return text
    short = _tidy(_FILLER.sub(" ", _MARK.sub(" ", text)))
    for shorter in (_PHRASE, _TWICE):
        while (left := _tidy(shorter.sub(_without, short))) != short:
            short = left
    if _TOKENIZED.search(text):
        short = _HYPHEN.sub("-", _CLITIC.sub("", _BEFORE_MARK.sub("", short)))
    is_shorter = len(short) < len(text) and any(map(str.isalnum, short))
    return short if is_shorter else text


def _tidy(text: str) -> str:
    return _COMMAS.sub("", _SPACES.sub(" ", text)).strip(" ,")


def _without(match: re.Match[str]) -> str:
    """What is left of a phrase, or of a word that was said twice."""
    if match.re.pattern == _PHRASE.pattern:
        return match["before"]
    word = match[1]
    return word if word.lower() in _MAY_REPEAT else match[0]
