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
from collections.abc import Iterable, Mapping, Sequence
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
# The longest sentence, in words, with each bucket of lengths.
_LENGTHS = (3, 7, 12, 19)
_WORD = lazy_regex(r"[a-z]+(?=n't)|n't|'?[a-z]+|\d[\d.,:]*|[,:;?!]|[^\sa-z\d]", re.IGNORECASE)
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
    chances = probabilities(features(words_of(sentence), vocabulary), weights)
    best = max(range(len(KINDS)), key=chances.__getitem__)
    return KINDS[best] if chances[best] >= PROBABILITY_MIN else "fact"


def words_of(sentence: str) -> list[str]:
    """The words and marks of a sentence in order, without its full stop.

    Example:
        >>> words_of("Don't ask, it's 9:40.")
        ['Do', "n't", 'ask', ',', 'it', "'s", '9:40']
    """
    return _WORD.findall(sentence.strip().rstrip("."))[:_WORDS_MAX]


def features(words: Sequence[str], vocabulary: frozenset[str]) -> set[str]:
    """Single words, and two and three that follow each other, of which one is in the vocabulary.
    Words outside of it are replaced by their form: "~ing", "~s", "^" for a name, "#" for a number.
    """
    forms = [_form(word, vocabulary, is_first=at == 0) for at, word in enumerate(words)]
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


def _form(word: str, vocabulary: frozenset[str], *, is_first: bool) -> str:
    lower = word.lower()
    if lower in vocabulary or lower in _MARKS:
        return lower
    if word[0].isdigit():
        return "#"
    if not word.strip("'").isalpha():
        return "~."
    if word[0].isupper() and not is_first:
        return "^"
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


@functools.cache
def _model() -> tuple[frozenset[str], dict[str, list[float]]]:
    """The vocabulary, and the weights by feature; "" is that of every sentence."""
    content = json.loads(
        resources.files("treemem.summarize.kinds").joinpath("learned.json").read_text("utf-8")
    )
    weights = {key: [value / 100 for value in row] for key, row in content["weights"].items()}
    return frozenset(content["vocabulary"].split()), weights
