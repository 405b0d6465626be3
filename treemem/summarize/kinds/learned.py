"""Judges from weights what kind a user's sentence is, in wordings that no list of phrases has.

Pure. A logistic regression over words and their order: words that matter little are replaced by
their form, so the weights say how people word rules, decisions and open points, not what about.
benchmarks/kinds.py learns the weights in learned.json from benchmarks/data/kinds.txt.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from importlib import resources

from treemem.patterns import lazy_regex
from treemem.types import StatementKind

# The order of a feature's weights. A sentence of no kind is a fact.
KINDS: tuple[StatementKind, ...] = ("fact", "constraint", "decision", "open")
# The probability from which a kind is taken: at 0.5, one in 300 sentences of ordinary requests to
# assistants gets one.
PROBABILITY_MIN = 0.55
# Words of a sentence that are read, and features from which on each counts less.
_WORDS_MAX = 60
_FEATURES_MIN = 25
_SCALE = 5.0
# Weights are stored as integers of this part. Of a sentence, they add up to less than the bits.
_UNIT = 100
_BITS = 20
_FIELDS = range(0, _BITS * (len(KINDS) - 1), _BITS)
_HIGHEST = sum(1 << field + _BITS - 1 for field in _FIELDS)
# Added to packed gains, it sets the highest bit of those with which a kind is likely enough.
_LEAST = math.ceil(math.log(PROBABILITY_MIN / (1 - PROBABILITY_MIN)) * _UNIT)
_BELOW = _HIGHEST - sum(_LEAST << field for field in _FIELDS)
# The longest sentence, in words, with each bucket of lengths.
_LENGTHS = (3, 7, 12, 19)
_WORD = lazy_regex(r"[a-z]+(?=n't)|n't|'?[a-z]+|\d[\d.,:]*|[,:;?!]|[^\sa-z\d]", re.IGNORECASE)
# The same for an ASCII text without apostrophes.
_PLAIN_WORD = lazy_regex(r"[A-Za-z]+|\d[\d.,:]*|[^\sA-Za-z\d]")
_MARKS = frozenset(",:;?!")
_ENDINGS = ("ing", "ed", "ly")


def kind_of(sentence: str) -> StatementKind:
    """The kind of a sentence that a user types, "fact" in doubt. sentence: with plain apostrophes.

    Example:
        >>> kind_of("Helpers belong in the util module, not in the views.")
        'constraint'
        >>> kind_of("We went to the lake with the kids.")
        'fact'
    """
    vocabulary, weights = _model()
    words = words_of(sentence)
    if not _may_be_other(_forms(words, vocabulary)):
        return "fact"
    chances = probabilities(features(words, vocabulary), weights)
    best = max(range(len(KINDS)), key=chances.__getitem__)
    return KINDS[best] if chances[best] >= PROBABILITY_MIN else "fact"


def words_of(sentence: str) -> list[str]:
    """The words and marks of a sentence in order, without its full stop.

    Example:
        >>> words_of("Don't ask, it's 9:40.")
        ['Do', "n't", 'ask', ',', 'it', "'s", '9:40']
    """
    pattern = _PLAIN_WORD if sentence.isascii() and "'" not in sentence else _WORD
    return pattern.findall(sentence.strip().rstrip("."))[:_WORDS_MAX]


def features(words: Sequence[str], vocabulary: frozenset[str]) -> set[str]:
    """Single words, and two and three that follow each other, of which one is in the vocabulary.
    Words outside of it are replaced by their form: "~ing", "~s", "^" for a name, "#" for a number.
    """
    forms = _forms(words, vocabulary)
    bound = ["<", *forms, ">"]
    pairs = itertools.pairwise(bound)
    threes = zip(bound, bound[1:], bound[2:], strict=False)
    around = ((one, "_", other) for one, other in zip(bound, bound[2:], strict=False))
    groups = itertools.chain(((form,) for form in forms), pairs, threes, around)
    known = _with_marks(vocabulary)
    found = {" ".join(group) for group in groups if not known.isdisjoint(group)}
    found.add(f"length {sum(len(words) > most for most in _LENGTHS)}")
    return found


@functools.lru_cache(maxsize=2)
def _with_marks(vocabulary: frozenset[str]) -> frozenset[str]:
    return vocabulary | _MARKS


def _forms(words: Sequence[str], vocabulary: frozenset[str]) -> list[str]:
    """The words in small letters, and for those outside of the vocabulary their forms."""
    known = _with_marks(vocabulary)
    lower = list(map(str.lower, words))
    return [
        small if small in known else _form(word, small, is_first=at == 0)
        for at, (word, small) in enumerate(zip(words, lower, strict=True))
    ]


def _form(word: str, lower: str, *, is_first: bool) -> str:
    if word[0].isdigit():
        return "#"
    if not word.strip("'").isalpha():
        return "~."
    if word[0].isupper() and not is_first:
        return "^"
    if lower.endswith(_ENDINGS):
        for ending in _ENDINGS:
            if lower.endswith(ending) and len(lower) > len(ending) + 2:
                return f"~{ending}"
    return "~s" if lower.endswith("s") and len(lower) > 3 else "~"


def scale(count: int) -> float:
    """How much each feature of a sentence counts that has so many: a long sentence is not surer."""
    return _SCALE / math.sqrt(max(count, _FEATURES_MIN))


def probabilities(found: Iterable[str], weights: Mapping[str, Sequence[float]]) -> list[float]:
    """How likely each of KINDS is."""
    present = set(found)
    each = scale(len(present))
    totals = list(weights[""])
    for feature in present:
        for at, weight in enumerate(weights.get(feature, ())):
            totals[at] += each * weight
    top = max(totals)
    powers = [math.exp(total - top) for total in totals]
    return [power / sum(powers) for power in powers]


def _may_be_other(forms: Sequence[str]) -> bool:
    """Whether a kind other than "fact" may be as likely as kind_of wants, if each feature counts as
    much as it can. Most sentences are facts at this look, which neither joins nor counts them."""
    always, lengths, ones, pairs, threes, around = _gains()
    bound = ("<", *forms, ">")
    packed = (
        always
        + lengths[bisect_left(_LENGTHS, len(forms))]
        + sum(ones.of(forms))
        + sum(pairs.of(itertools.pairwise(bound)))
        + sum(threes.of(zip(bound, bound[1:], bound[2:], strict=False)))
        + sum(around.of(zip(bound, bound[2:], strict=False)))
    )
    return bool((packed + _BELOW) & _HIGHEST)


class _Table:
    """The packed gains of the features of one form."""

    def __init__(self, gains: dict[Hashable, int]) -> None:
        self._gains = gains
        self._keys = frozenset(gains)  # whose intersection is much faster than the dictionary's

    def of(self, found: Iterable[Hashable]) -> Iterator[int]:
        """The gain of each feature found, once."""
        return map(self._gains.__getitem__, self._keys.intersection(found))


@functools.cache
def _gains() -> tuple[int, list[int], _Table, _Table, _Table, _Table]:
    """By how much a feature is for each kind other than "fact" rather than for that, packed: of
    every sentence, of the lengths in order, of single words, of two, of three, and of two around a
    third."""
    _, weights = _model()
    lengths = [weights.get(f"length {at}", [0] * len(KINDS)) for at in range(len(_LENGTHS) + 1)]
    tables: list[dict[Hashable, int]] = [{}, {}, {}, {}]
    for feature, row in weights.items():
        words = feature.split()
        if len(words) == 1:
            tables[0][feature] = _packed(row)
        elif len(words) == 2 and words[0] != "length":
            tables[1][tuple(words)] = _packed(row)
        elif words[1:2] == ["_"]:
            tables[3][words[0], words[2]] = _packed(row)
        elif len(words) == 3:
            tables[2][tuple(words)] = _packed(row)
    ones, pairs, threes, around = map(_Table, tables)
    return _packed(weights[""]), list(map(_packed, lengths)), ones, pairs, threes, around


def _packed(row: Sequence[float]) -> int:
    """The gains of a feature with these weights in one integer, so that one sum adds all three."""
    fact, *others = row
    gains = (round((weight - fact) * _UNIT) for weight in others)
    return sum(gain << field for gain, field in zip(gains, _FIELDS, strict=True))


@functools.cache
def _model() -> tuple[frozenset[str], dict[str, list[float]]]:
    """The vocabulary, and the weights by feature; "" is that of every sentence."""
    content = json.loads(
        resources.files("treemem.summarize.kinds").joinpath("learned.json").read_text("utf-8")
    )
    weights = {key: [value / _UNIT for value in row] for key, row in content["weights"].items()}
    return frozenset(content["vocabulary"].split()), weights
