"""Splits texts into words, stems and sentences, for the benchmarks that compare texts.

Pure, and imports nothing of treemem, whose faults a measure may not share.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|\n+")
_ENDINGS = ("ingly", "edly", "ings", "ing", "ies", "ied", "ed", "es", "ly", "s")
_STEM_CHARS_MIN = 3
_SIGN = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|weekend|week|month|year|morning|evening"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|april|june|july|august"
    r"|september|october|november|december)s?\b|\d+(?:[.,:]\d+)*",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w'-]+")
STOP_WORDS = frozenset(
    "a an the and or but nor so if then than that this these those there here of in on at to for "
    "from by with without into onto over under about after before between through during as is "
    "are was were be been being am do does did done doing have has had having will would can "
    "could shall should may might must i me my mine we us our ours you your yours he him his she "
    "her hers it its they them their theirs who whom whose which what when where why how all any "
    "both each few more most some such no not only own same too very just also now out up down "
    "off again once because while until i'm i've i'd i'll it's that's don't didn't".split()
)


def folded(text: str) -> str:
    """Lower case, straight quotes and hyphens, single spaces.

    Example:
        >>> folded("It’s  10 – 12")
        "it's 10 - 12"
    """
    return " ".join(straight(text).casefold().split())


def straight(text: str) -> str:
    """The text with one kind of quotes, hyphens and spaces, in its own case."""
    plain = unicodedata.normalize("NFKC", text)
    return plain.translate(str.maketrans("‘’“”„«»‐‑‒–—−", '\'\'"""""------'))


def stem(word: str) -> str:
    """A lower-case word without the most common endings.

    Example:
        >>> [stem(word) for word in ("running", "stories", "moved", "move", "bus")]
        ['run', 'stor', 'mov', 'mov', 'bus']
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM_CHARS_MIN:
            word = word[: -len(ending)]
            break
    if len(word) > _STEM_CHARS_MIN and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if word[-1] in "ey" and len(word) > _STEM_CHARS_MIN else word


def content_stems(text: str) -> set[str]:
    """The stems of all words except stop words."""
    words = (word.removesuffix("'s") for word in WORD.findall(folded(text)))
    return {stem(word) for word in words if word not in STOP_WORDS}


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text, in order."""
    for piece in _SENTENCE_END.split(text):
        if piece and not piece.isspace():
            yield piece.strip()


def telling_signs(text: str) -> int:
    """The number of names inside sentences, numbers and time words in a text.

    Example:
        >>> telling_signs("On Friday we met Ana at 10:30.")
        3
    """
    names = set(_NAME.findall(text))
    signs = set(_SIGN.findall(text))
    return len(names | signs)
