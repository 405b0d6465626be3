"""Reads a text as comparable terms: stems, and the numbers, months, days and names in it.

Pure. Numbers are compared by value, however they are written; common synonyms share a key.
Tested in tests/verify/test_terms.py.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from treemem.patterns import lazy_regex
from treemem.text.cache import SENTENCES_CACHED_MAX, WORDS_CACHED_MAX
from treemem.text.counting import DAYS, MONTHS, TENS, UNITS
from treemem.verify import synonyms
from treemem.verify.clauses import split_clauses
from treemem.verify.words import REPORTING_VERBS, Word, split_words, stem

# What an exact term is; "" for a plain word. Exact terms must be in a source as they are.
Sort = Literal["", "number", "month", "day", "when", "name"]

_UNITS = {word: number for number, word in enumerate(UNITS)}
_TENS = {word: 10 * number for number, word in enumerate(TENS, start=2)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_SUFFIXES = {"k": 1_000, "m": 1_000_000, "bn": 1_000_000_000}
_DIGITS = lazy_regex(r"(\d[\d.,:]*)(st|nd|rd|th|[a-z]{1,3})?", re.IGNORECASE)
# Letters that a transcript spells: "T_V_", "V_C_R_".
_SPELLED_OUT = lazy_regex(r"\b(?:[A-Za-z]_){2,}(?:[A-Za-z]\b)?|\b(?:[A-Z]\.){2,}(?=\s)")
_MARKS = lazy_regex(r"\{[a-z]{3,20}\}|[*`#]+|^[^\S\n]*[-•>]+\s+", re.MULTILINE)
_CALENDAR = {
    **{month[:3]: month for month in MONTHS},
    **{month: month for month in MONTHS},
    "sept": "september",
}
_DAYS = {
    **{f"{day}s": day for day in DAYS},
    **{day: day for day in DAYS},
}


_RELATIVE = frozenset("last next this past previous coming".split())
_PERIODS = frozenset("week weekend month year spring summer autumn fall winter night time".split())
_WHEN = frozenset(
    "yesterday today tomorrow tonight spring summer autumn winter noon midnight easter "
    "christmas".split()
)


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a number of a text.

    key: by which it is compared, "" for a stop word. clause: the number of its clause in the text.
    """

    key: str
    sort: Sort
    word: Word
    clause: int

    @property
    def start(self) -> int:
        return self.word.start


def plain(text: str) -> str:
    """A text without marks of transcription and layout, and with spelled letters joined.

    Example:
        >>> plain("{vocalsound} My *old* T_V_ has a V_C_R_ .")
        'My old TV has a VCR .'
    """
    joined = _SPELLED_OUT.sub(lambda m: m.group().replace("_", "").replace(".", ""), text)
    return " ".join(_MARKS.sub(" ", joined).split())


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def read_terms(text: str) -> tuple[Term, ...]:
    """The terms of a text, in order; a spelled number is one term.

    Example:
        >>> [term.key for term in read_terms("Ninety one point two percent paid 1,500 in Oct.")]
        ['91.2', 'percent', 'pay', '1500', '', 'october']
    """
    read: list[Term] = []
    starts = _clause_starts(text)
    clause = 0
    words = split_words(text)
    at = 0
    while at < len(words):
        word = words[at]
        while clause + 1 < len(starts) and starts[clause + 1] <= word.start:
            clause += 1
        value, count = _spelled(words, at)
        if count and not (count == 1 and word.lower in ("one", "zero")):
            read.append(Term(value, "number", word, clause))
            at += count
            continue
        follows = words[at + 1].name if at + 1 < len(words) else ""
        if word.lower in _RELATIVE and follows in _PERIODS:
            read.append(Term(f"{word.lower} {follows}", "when", word, clause))
            at += 2
            continue
        read += _of_word(word, clause, _opens(text, word))
        at += 1
    return tuple(read)


def _clause_starts(text: str) -> list[int]:
    starts = []
    at = 0
    for clause in split_clauses(text):
        at = max(text.find(clause.text, at), at)
        starts.append(at)
        at += len(clause.text)
    return starts or [0]


def _opens(text: str, word: Word) -> bool:
    """Whether a word is the first of its sentence or quotation, where any word has a capital."""
    before = text[: word.start].rstrip(" \"'“‘(")
    return not before or before[-1] in ".!?:;\n—–-"


def _of_word(word: Word, clause: int, opens: bool) -> list[Term]:
    digits = _DIGITS.fullmatch(word.text)
    if digits:
        value, suffix = canonical(digits[1]), (digits[2] or "").lower()
        if suffix in _SUFFIXES and value.replace(".", "", 1).isdigit():
            value = canonical(f"{float(value) * _SUFFIXES[suffix]:.6f}")
            suffix = ""
        found = [Term(value, "number", word, clause)]
        if suffix and suffix not in ("st", "nd", "rd", "th"):
            found.append(Term(suffix, "", word, clause))
        return found
    name = word.name
    is_capital = word.text[0].isupper()
    if name in _DAYS:
        return [Term(_DAYS[name], "day", word, clause)]
    if word.lower in _WHEN:
        return [Term(word.lower, "when", word, clause)]
    if name in _CALENDAR and is_capital and (name != "may" or not opens):
        return [Term(_CALENDAR[name], "month", word, clause)]
    key = key_of(name)
    is_name = is_capital and bool(key) and not opens and word.lower not in _NO_NAMES
    return [Term(key, "name" if is_name else "", word, clause)]


_NO_NAMES = frozenset("i i'm i've i'll i'd ok okay oh".split())


# Verbs that say how certain or how urgent something is, and no content; see assertion.py.
_MODAL = frozenset("may might must shall ought going gonna able has had been".split())


@functools.lru_cache(maxsize=WORDS_CACHED_MAX)
def key_of(word: str) -> str:
    """The key of a lower-case word: its stem, or that of its group of synonyms; "" if it is a
    stop word, or a verb of speech or of obligation."""
    if word in REPORTING_VERBS or word in _MODAL:
        return ""
    stemmed = stem(word)
    return synonyms.GROUPS.get(stemmed, stemmed)


def canonical(number: str) -> str:
    """A number without thousands separators, trailing marks and trailing zeros.

    Example:
        >>> canonical("1,500.50"), canonical("0417"), canonical("20.")
        ('1500.5', '0417', '20')
    """
    bare = number.rstrip(".,:").replace(",", "")
    return bare.rstrip("0").rstrip(".") if bare.count(".") == 1 else bare


def _spelled(words: Sequence[Word], start: int) -> tuple[str, int]:
    """The value of the number that is spelled from a word on, and how many words it takes."""
    total, current, at, point = 0, 0, start, ""
    last = 0
    while at < len(words):
        lower = words[at].lower
        if lower in _UNITS and (last in (0, 100) or (last == 20 and _UNITS[lower] < 10)):
            current, last = current + _UNITS[lower], 1
        elif lower in _TENS and last in (0, 100):
            current, last = current + _TENS[lower], 20
        elif lower in _SCALES:
            scale = _SCALES[lower]
            if scale == 100:
                current, last = max(current, 1) * 100, 100
            else:
                total, current, last = total + max(current, 1) * scale, 0, 100
        elif lower == "and" and last == 100 and at + 1 < len(words):
            if words[at + 1].lower not in _UNITS and words[at + 1].lower not in _TENS:
                break
        elif lower == "point" and at > start and at + 1 < len(words):
            decimals = [_UNITS[w.lower] for w in words[at + 1 : at + 4] if w.lower in _UNITS]
            if decimals and words[at + 1].lower in _UNITS:
                point = "." + "".join(str(digit) for digit in decimals[:1])
                at += 2
            break
        else:
            break
        at += 1
    return (f"{total + current}{point}", at - start) if at > start else ("", 0)
