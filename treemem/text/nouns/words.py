"""Says of each word and mark what it is, for finding noun phrases.

Pure. Tested in tests/text/test_phrases.py.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TypeAlias

from treemem.patterns import lazy_regex
from treemem.text.cache import WORDS_CACHED_MAX
from treemem.text.word_classes import (
    ADVERBS,
    BEING,
    CONJUNCTIONS,
    DETERMINERS,
    GENERIC_NOUNS,
    GERUNDS,
    HEADS_OF_PHRASES,
    IMPERATIVES,
    MODALS,
    OBJECTS,
    PLAIN_ADJECTIVES,
    PREPOSITIONS,
    SUBJECTS,
    VERBS,
)  # fmt: skip

# Characters of a word of a phrase.
WORD_CHARS_MAX = 30

_CLITIC = lazy_regex(r"(?:['’](?:s|m|re|ve|ll|d|t|S))$")
_FUNCTION_WORDS = frozenset().union(
    DETERMINERS, PREPOSITIONS, SUBJECTS, OBJECTS, BEING, MODALS, CONJUNCTIONS, ADVERBS
)
# Subjects that follow the object of a verb, rather than begin a clause about a noun.
_SUBJECTS_AFTER = SUBJECTS - {"there", "who", "that"}
_NOT_LY = frozenset(
    "family reply supply assembly anomaly ally belly july italy fly butterfly bully jelly "
    "lily rally monopoly ply".split()
)
_NOT_ED = frozenset("bed seed feed speed weed shed hundred breed embed sled creed greed".split())
# The endings of adjectives, and nouns that end so.
_ADJECTIVE = lazy_regex(
    r".{2,}(?:ful|ous|able|ible|less|iest|ical|[tnrui]al|[ts]ive|ic|-(?:free|friendly|based|like|style"
    r"|specific|related|oriented|level|only|wide|long|old|time|made|term|end))$"
)
_NOT_ADJECTIVE = frozenset(
    "handful table cable variable vegetable constable bible spoonful mouthful proposal "
    "hospital animal journal signal material capital manual tutorial trial portal rental "
    "terminal mineral cathedral general funeral mural coral referral metal petal medal "
    "crystal canal criminal professional individual official ritual serial aerial burial "
    "denial dial memorial editorial commercial principal recital drive archive native "
    "motive hive olive dive detective perspective initiative alternative objective "
    "narrative executive incentive relative representative directive collective "
    "locomotive adjective music topic logic public traffic fabric clinic picnic comic "
    "critic mechanic metric plastic magic panic republic epic relic garlic attic ceramic "
    "graphic lyric medic arithmetic heuristic statistic characteristic mosaic tunic "
    "rhetoric arctic automatic classic nostalgic fanatic skeptic academic pandemic "
    "epidemic diagnostic analytic credential interval integral spiral neutral".split()
)
_VOWEL = lazy_regex(r"[aeiouy\d_]")
_PLURAL = lazy_regex(r".{2,}[^s'’i]s$")

# What a token is, in bits. A text is read as a string with one character a token, of this number,
# so that its runs of words are found by one expression.
_BITS: Sequence[tuple[int, frozenset[str]]] = [
    (1 << at, words)
    for at, words in enumerate((
        SUBJECTS, MODALS, BEING, OBJECTS, DETERMINERS, PREPOSITIONS, ADVERBS, _SUBJECTS_AFTER,
        _FUNCTION_WORDS,
    ))
]  # fmt: skip
SUBJECT, MODAL, FORM_OF_BE, OBJECT, DETERMINER, PREPOSITION, ADVERB, SUBJECT_AFTER, FUNCTION = (
    bit for bit, _ in _BITS
)
ALPHABETIC, GOES_ON, WORD = 1 << 9, 1 << 10, 1 << 11
BEFORE_VERB = SUBJECT | MODAL
BEFORE_NOUN = DETERMINER | PREPOSITION
AFTER_VERB = OBJECT | DETERMINER | SUBJECT_AFTER
RUN = lazy_regex(f"{chr(WORD | ALPHABETIC | GOES_ON)}+")
END = chr(0)

# What a word that may be in a noun phrase is.
(
    IS_ING, IS_IMPERATIVE, IS_UPPER, IS_PLURAL, IS_GENERIC,
    IS_FAINT,  # begins no phrase
    IS_ADJECTIVE,  # looks like one
    IS_HEAD,  # may be the last word of a phrase
    IS_HEAD_AFTER,  # may be it after another word that is not generic
) = (1 << at for at in range(9))  # fmt: skip


# A word that may be in a noun phrase: as it is written; in lower case, without a possessive ending;
# that in the singular; and its bits.
Word: TypeAlias = tuple[str, str, str, int]


@functools.lru_cache(maxsize=WORDS_CACHED_MAX)
def word_of(token: str) -> Word | None:
    """The token as a word that may be in a noun phrase, or None."""
    if not token[0].isalpha() or len(token) > WORD_CHARS_MAX:
        return None
    if token.isalpha():
        plain = token
    else:
        plain = _CLITIC.sub("", token).strip("_")
        if plain != token and not token.endswith(("'s", "’s")):
            return None
    lower = plain.lower()
    if len(plain) < 2 or (len(plain) == 2 and not (plain.isupper() or not plain.isascii())):
        return None
    if _lower(token) in _FUNCTION_WORDS or lower in VERBS or _lower(plain) in _FUNCTION_WORDS:
        return None
    if plain.islower() and plain.isascii() and not _VOWEL.search(plain):
        return None
    if lower.endswith("ly") and lower not in _NOT_LY and len(lower) > 4:
        return None
    if lower.endswith("ed") and lower not in _NOT_ED and len(lower) > 3:
        return None
    return plain, lower, singular(lower), _traits(plain, lower)


def _traits(plain: str, lower: str) -> int:
    traits = 0
    if lower.endswith("ing"):
        traits |= IS_ING
    if lower in IMPERATIVES:
        traits |= IS_IMPERATIVE
    if plain[0].isupper():
        traits |= IS_UPPER
    if lower[-1] == "s" and _PLURAL.match(lower):
        traits |= IS_PLURAL
    if lower in PLAIN_ADJECTIVES or lower in GERUNDS:
        traits |= IS_FAINT
    if lower not in _NOT_ADJECTIVE and _ADJECTIVE.match(lower):
        traits |= IS_ADJECTIVE
    is_generic = lower in GENERIC_NOUNS
    if is_generic:
        traits |= IS_GENERIC
    if lower in PLAIN_ADJECTIVES or traits & IS_ADJECTIVE:
        return traits
    if is_generic:
        return traits | (IS_HEAD_AFTER if lower in HEADS_OF_PHRASES else 0)
    return traits if lower in GERUNDS else traits | IS_HEAD


class _Codes(dict[str, str]):
    """The characters for tokens; see _BITS."""

    def __missing__(self, token: str) -> str:
        if len(self) >= WORDS_CACHED_MAX:
            self.clear()
        is_alphabetic = token[0].isalpha()
        bits = ALPHABETIC if is_alphabetic else 0
        if token[0].isalnum() or token[0] in ",'’-":
            bits |= GOES_ON
        if word_of(token) is not None:
            bits |= WORD
        elif is_alphabetic:
            lower = _lower(token)
            bits |= sum(bit for bit, words in _BITS if lower in words)
        code = self[token] = chr(bits)
        return code


CODES = _Codes()


def _lower(token: str) -> str:
    return token.lower().replace("’", "'")


def singular(lower: str) -> str:
    """A word in lower case without a plural ending.

    Example:
        >>> singular("stories"), singular("classes"), singular("glass"), singular("shows")
        ('story', 'class', 'glass', 'show')
    """
    if len(lower) < 4 or not lower.endswith("s") or lower.endswith(("ss", "us", "is", "'s")):
        return lower
    if lower.endswith("ies") and len(lower) > 4:
        return lower[:-3] + "y"
    if lower.endswith(("sses", "shes", "ches", "xes", "zes")):
        return lower[:-2]
    return lower[:-1]
