"""Words of a text: which of them say something, and what they have in common.

Pure. Words are compared by their stems, so that endings do not matter; writing without
spaces (Chinese, Japanese, Thai, …) is compared character by character.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from itertools import pairwise

from treemem.text.scripts import COMPARED_BY_CHARACTER as _UNSPACED
from treemem.text.stemmers import stemmer
from treemem.text.stop_words import STOP_WORDS

_LETTER = rf"[^\W_{_UNSPACED}]"
_WORD = re.compile(rf"[{_UNSPACED}]|\d+(?:[.,:]\d+)+(?!{_LETTER})|{_LETTER}+(?:['’]{_LETTER}+)*")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")

# Verbs that a retelling needs and that add nothing to what its speaker said.
SAYING = frozenset(
    "say says said saying tell tells told telling ask asks asked asking mention mentions "
    "mentioned explain explains explained wonder wonders wondered".split()
)
# Verbs that tell what somebody is after; they are borne out by each other.
WANTING = frozenset(
    "want wants wanted need needs needed plan plans planned hope hopes hoped wish wishes suggest "
    "suggests suggested".split()
)
TELLING = SAYING | WANTING
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
_SMALL_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
    if word != "one"
}


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it stands in a text. stem: what it is compared by, "" where it says nothing.

    start: its offset.
    """

    text: str
    lower: str
    stem: str
    start: int

    @property
    def name(self) -> str:
        """What it would be as a name: in lower case, without a possessive ending."""
        return self.lower.replace("’", "'").removesuffix("'s")


@functools.lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of a lower-case word; "" for one that says nothing by itself.

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


@functools.lru_cache(maxsize=20_000)
def words(text: str) -> tuple[Word, ...]:
    """The words of a text in order.

    Example:
        >>> [word.stem for word in words("The exports were running")]
        ['', 'export', '', 'run']
    """
    found = []
    for match in _WORD.finditer(text):
        lower = match.group().lower()
        found.append(Word(match.group(), lower, stem(lower), match.start()))
    return tuple(found)


def stems(text: str) -> frozenset[str]:
    """The stems of the words that say something.

    Example:
        >>> sorted(stems("The exports were running"))
        ['export', 'run']
    """
    return frozenset(word.stem for word in words(text) if word.stem)


def numbers(text: str) -> set[str]:
    """The numbers of a text, without the commas of thousands.

    Example:
        >>> sorted(numbers("1,000 of 2.50"))
        ['1000', '2.50']
    """
    return {number.replace(",", "") for number in _NUMBER.findall(text)}


def names_by_role(text: str) -> dict[str, str]:
    """The stems of names and numbers, each with the preposition before it, "" without one.

    Example:
        >>> names_by_role("Anton moved from Graz to Wels.")
        {'anton': '', 'graz': 'from', 'wel': 'to'}
    """
    found = {}
    for before, word in pairwise((Word("", "", "", 0), *words(text))):
        if word.stem and (word.text[0].isupper() or word.text[0].isdigit()):
            found[word.stem] = before.lower if before.lower in _PREPOSITIONS else ""
    return found


def misplaced_number(told: str, said: str) -> bool:
    """Whether a number stands by another thing than in what was said; what several numbers
    there count, such as euros, tells none of them from the others.

    Example:
        >>> said = "I paid 40 euros for the lamp and 15 euros for the bulb."
        >>> misplaced_number("Ana paid 15 euros for the bulb.", said)
        False
        >>> misplaced_number("Ana paid 15 euros for the lamp.", said)
        True
    """
    heard = [word.stem for word in words(said) if word.stem]
    if sum(each[0].isdigit() for each in heard) < 2:
        return False
    counted = [after for number, after in pairwise(heard) if number[0].isdigit()]
    shared = {each for each in counted if counted.count(each) > 1}
    stated = [word.stem for word in words(told) if word.stem and word.stem not in shared]
    for index, number in enumerate(stated):
        before, after = {*stated[:index][-1:]}, {*stated[index + 1 :][:1]}
        places = [at for at, each in enumerate(heard) if each == number]
        fits = [before & {*heard[:at][-3:]} or after & {*heard[at + 1 :][:3]} for at in places]
        if number[0].isdigit() and places and (before or after) and not any(fits):
            return True
    return False
