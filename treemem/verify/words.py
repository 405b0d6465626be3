"""Splits texts into words, and compares words by their stems.

Pure. Scripts without spaces (Chinese, Japanese, Thai, …) are split into characters.

Tested in tests/verify/test_check.py.
"""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import NamedTuple

from treemem.patterns import lazy_regex
from treemem.text.cache import SENTENCES_CACHED_MAX, WORDS_CACHED_MAX, remembered
from treemem.text.counting import UNITS
from treemem.text.scripts import COMPARED_BY_CHARACTER as _UNSPACED
from treemem.text.stemmers import stemmer
from treemem.text.stop_words import STOP_WORDS

_LETTER = rf"[^\W_{_UNSPACED}]"
_WORD = lazy_regex(rf"[{_UNSPACED}]|\d+(?:[.,:]\d+)+(?!{_LETTER})|{_LETTER}+(?:['’]{_LETTER}+)*")
_NUMBER = lazy_regex(r"\d+(?:[.,:]\d+)*")

# Verbs of speech, which a statement may add to its speaker's words.
SPEECH_VERBS = frozenset(
    "say says said saying tell tells told telling ask asks asked asking mention mentions "
    "mentioned explain explains explained wonder wonders wondered".split()
)
# Verbs of intention; any of them in the source supports any other.
WISH_VERBS = frozenset(
    "want wants wanted need needs needed plan plans planned hope hopes hoped wish wishes suggest "
    "suggests suggested".split()
)
REPORTING_VERBS = SPEECH_VERBS | WISH_VERBS
IRREGULAR = {
    "went": "go", "gone": "go", "goes": "go", "took": "take", "taken": "take", "gave": "give",
    "given": "give", "made": "make", "found": "find", "bought": "buy", "brought": "bring",
    "came": "come", "chose": "choose", "chosen": "choose", "ate": "eat", "eaten": "eat",
    "ran": "run", "saw": "see", "seen": "see", "sent": "send", "kept": "keep", "lost": "lose",
    "left": "leave", "met": "meet", "paid": "pay", "sold": "sell", "wrote": "write",
    "written": "write", "broke": "break", "broken": "break", "began": "begin", "begun": "begin",
    "built": "build", "drove": "drive", "driven": "drive", "grew": "grow", "grown": "grow",
    "held": "hold", "knew": "know", "known": "know", "led": "lead", "spoke": "speak",
    "spoken": "speak", "spent": "spend", "taught": "teach", "won": "win", "children": "child",
    "decision": "decid", "fell": "fall", "fallen": "fall", "threw": "throw", "got": "get",
    "slept": "sleep", "stood": "stand", "understood": "understand",
    "drew": "draw", "drawn": "draw", "flew": "fly", "forgot": "forget", "hid": "hide",
}  # fmt: skip
_PREPOSITIONS = frozenset(
    "at by for from in into of off on onto over than through to toward under until with".split()
)
# "One" is more often a pronoun.
_SMALL_NUMBERS = {word: str(at) for at, word in enumerate(UNITS[:13]) if word != "one"}


class Word(NamedTuple):
    """A word of a text.

    stem: the form used for comparison, "" for a stop word. start: its offset in characters.
    """

    text: str
    lower: str
    stem: str
    start: int

    @property
    def name(self) -> str:
        """The word as a name: in lower case, without a possessive ending."""
        return self.lower.replace("’", "'").removesuffix("'s")


@functools.lru_cache(maxsize=WORDS_CACHED_MAX)
def stem(word: str) -> str:
    """The stem of a lower-case word, "" for a stop word.

    Example:
        >>> stem("shipped"), stem("ships"), stem("the")
        ('ship', 'ship', '')
    """
    plain = word.replace("’", "'").removesuffix("'s")
    if plain in STOP_WORDS or (len(plain) < 2 and plain.isascii() and not plain.isdigit()):
        return ""
    if plain[0].isdigit():
        return plain.replace(",", "")
    plain = _SMALL_NUMBERS.get(plain, plain)
    if plain in IRREGULAR:
        return IRREGULAR[plain]
    return stemmer("english")(plain) if plain.isascii() else plain


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX // 4)  # each takes kilobytes
def split_words(text: str) -> tuple[Word, ...]:
    """The words of a text, in order.

    Example:
        >>> [word.stem for word in split_words("The exports were running")]
        ['', 'export', '', 'run']
    """
    split = []
    for match in _WORD.finditer(text):
        lower = match.group().lower()
        split.append(Word(match.group(), lower, stem(lower), match.start()))
    return tuple(split)


@remembered(maxsize=SENTENCES_CACHED_MAX)
def stems_in_order(text: str) -> tuple[str, ...]:
    """The stems of the words of a text, without stop words. Much faster than split_words.

    Example:
        >>> stems_in_order("The exports were running")
        ('export', 'run')
    """
    return tuple(filter(None, [stem(word.lower()) for word in _WORD.findall(text)]))


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def stems(text: str) -> frozenset[str]:
    """The stems of the words of a text, without stop words.

    Example:
        >>> sorted(stems("The exports were running"))
        ['export', 'run']
    """
    return frozenset(stems_in_order(text))


def numbers(text: str) -> set[str]:
    """The numbers of a text, without thousands separators.

    Example:
        >>> sorted(numbers("1,000 of 2.50"))
        ['1000', '2.50']
    """
    return {number.replace(",", "") for number in _NUMBER.findall(text)}


def names_by_role(text: str) -> dict[str, str]:
    """The preposition before each name and number, by the stem of the latter; "" without one.

    Example:
        >>> names_by_role("Anton moved from Graz to Wels.")
        {'anton': '', 'graz': 'from', 'wel': 'to'}
    """
    roles = {}
    for before, word in pairwise((Word("", "", "", 0), *split_words(text))):
        if word.stem and (word.text[0].isupper() or word.text[0].isdigit()):
            roles[word.stem] = before.lower if before.lower in _PREPOSITIONS else ""
    return roles


def misplaced_number(statement: str, source: str) -> bool:
    """Whether a number is next to other words than in the source. Units that several numbers of the
    source share, such as euros, are ignored.

    Example:
        >>> source = "I paid 40 euros for the lamp and 15 euros for the bulb."
        >>> misplaced_number("Ana paid 15 euros for the bulb.", source)
        False
        >>> misplaced_number("Ana paid 15 euros for the lamp.", source)
        True
    """
    heard = stems_in_order(source)
    if sum(stemmed[0].isdigit() for stemmed in heard) < 2:
        return False
    units = [after for number, after in pairwise(heard) if number[0].isdigit()]
    shared = {unit for unit in units if units.count(unit) > 1}
    stated = [stem for stem in stems_in_order(statement) if stem not in shared]
    for index, number in enumerate(stated):
        before, after = {*stated[:index][-1:]}, {*stated[index + 1 :][:1]}
        places = [at for at, stemmed in enumerate(heard) if stemmed == number]
        fits = [before & {*heard[:at][-3:]} or after & {*heard[at + 1 :][:3]} for at in places]
        if number[0].isdigit() and places and (before or after) and not any(fits):
            return True
    return False
