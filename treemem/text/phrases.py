"""Finds the noun phrases that say what texts are about, without a model.

Pure and deterministic. Words of closed classes divide a sentence into chunks; a chunk ends with a
noun if the words around it show that, such as an article before it. Phrases are counted for each
leaf once, and the counts are added up, so that no text is read twice. A phrase is spelled as it
occurs in a text.

In a language other than English, only names and identifiers are found.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from treemem.text.cache import WORDS_CACHED_MAX
from treemem.text.nouns.chunks import Found
from treemem.text.nouns.words import singular
from treemem.text.stemmers import stemmer
from treemem.text.word_classes import FAINT_NOUNS, GENERIC_NOUNS

# A longer phrase is shown instead of a shorter one within it if it has this share of its places.
LONGER_SHARE = 0.45
# The share of the places of a word, of those that show what it is, at which it must be a noun.
NOUN_SHARE = 0.5
# What the second and the third word of a phrase add to its score.
WORD_BONUS = 0.35
# The phrases that a single leaf is about, and how many times as many phrases as wanted are looked
# at for those that most leaves are about.
MAIN_OF_LEAF = 8
CANDIDATES_RATIO = 2
# Letters of a word of which a longer one with the same beginning is taken for a form.
AKIN_CHARS_MIN = 3
# The weight of a noun that many texts share.
FAINT_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class PhraseCounts:
    """The noun phrases of some leaves. Counts can be added up with merge_counts.

    A phrase is named by its words in lower case, in the singular and with blanks between them.
    texts, places: the number of texts and of leaves with it. weights: the sum, over leaves, of 1 +
    log2 of the texts of that leaf with it, so that a phrase of many leaves counts more than one of
    many texts of one leaf. spellings: how it was written. nouns, verbs: how often the places of a
    word, in the singular, show that it is a noun, or that it is none. leaves, size: the number of
    leaves and of texts.
    """

    texts: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    weights: Counter[str] = field(default_factory=Counter)
    spellings: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    nouns: Counter[str] = field(default_factory=Counter)
    verbs: Counter[str] = field(default_factory=Counter)
    leaves: int = 0
    size: int = 0


def main_phrases(
    texts: Iterable[str],
    background: Mapping[str, int] | None = None,
    limit: int = 5,
    *,
    without: Iterable[str] = (),
) -> list[str]:
    """The noun phrases that texts are mostly about, the best first; see best_phrases.

    Example:
        >>> main_phrases(["The kiln broke.", "Who fixes our kiln?", "A kiln costs a lot."])
        ['kiln']
    """
    return best_phrases(count_phrases(texts), background, limit, without=without)


def best_phrases(
    counts: PhraseCounts,
    background: Mapping[str, int] | None = None,
    limit: int = 5,
    *,
    without: Iterable[str] = (),
    texts_min: int = 2,
    leaves_share: float = 0.0,
) -> list[str]:
    """The phrases that the counted texts are mostly about, the best first; at most limit.

    background: how many of the other sources contain a phrase, as background_of gives it.
    without: names, of which no word is in a phrase, such as those of the speakers. texts_min,
    leaves_share: the texts that a phrase must occur in, and the share of the leaves.
    """
    barred = frozenset(word for name in without for word in name.casefold().split())
    others = max(background.values(), default=0) if background else 0
    scored = []
    for phrase, number in counts.texts.items():
        is_rare = number < texts_min or counts.places[phrase] < leaves_share * counts.leaves
        if is_rare or not _is_subject(phrase, counts, barred):
            continue
        score = counts.weights[phrase] * (1 + WORD_BONUS * phrase.count(" "))
        if FAINT_NOUNS.issuperset(phrase.split(" ")):
            score *= FAINT_WEIGHT
        if background and others:
            score *= math.log((others + 1) / (background.get(phrase, 0) + 0.5))
        scored.append((-round(score, 6), phrase))
    chosen: list[str] = []
    for _, phrase in sorted(scored):
        best = _widened(phrase, counts, barred)
        if not any(_overlap(best, other) for other in chosen):
            chosen.append(best)
        if len(chosen) == limit:
            break
    return [_spelled(counts.spellings[phrase]) for phrase in chosen]


def common_phrases(
    leaves: Sequence[PhraseCounts],
    limit: int = 5,
    *,
    without: Iterable[str] = (),
    leaves_share: float = 0.0,
) -> tuple[list[str], float]:
    """The phrases that most leaves are about, those of most leaves first, and the share of the
    leaves that are about any of them. without, leaves_share: as in best_phrases."""
    names = list(without)
    found = best_phrases(
        merge_counts(leaves), None, CANDIDATES_RATIO * limit, without=names,
        leaves_share=leaves_share,
    )  # fmt: skip
    of_leaves = [
        _words_of(best_phrases(leaf, limit=MAIN_OF_LEAF, without=names)) for leaf in leaves
    ]
    about = {
        phrase: {number for number, words in enumerate(of_leaves) if words & _words_of([phrase])}
        for phrase in found
    }
    chosen = sorted(found, key=lambda phrase: -len(about[phrase]))[:limit]
    chosen = [phrase for phrase in chosen if about[phrase]]
    covered = set().union(*(about[phrase] for phrase in chosen))
    return chosen, len(covered) / len(leaves) if leaves else 0.0


def _words_of(phrases: Iterable[str]) -> set[str]:
    words = {singular(word) for phrase in phrases for word in phrase.lower().split(" ")}
    return words - GENERIC_NOUNS


def count_phrases(texts: Iterable[str]) -> PhraseCounts:
    """The noun phrases of one leaf's texts, such as its messages or its statements."""
    found = Found(texts)
    kept = found.kept
    words = {word for phrase in kept for word in phrase.split(" ")}
    return PhraseCounts(
        Counter({phrase: found.texts[phrase] for phrase in kept}),
        Counter(kept),
        Counter({phrase: leaf_weight(found.texts[phrase]) for phrase in kept}),
        found.spellings(kept),
        Counter({word: found.nouns[word] for word in words if word in found.nouns}),
        Counter({word: found.verbs[word] for word in words if word in found.verbs}),
        1, found.size,
    )  # fmt: skip


def leaf_weight(texts: int) -> float:
    """What a phrase counts for in a leaf, given the texts of the leaf that contain it."""
    return 1 + math.log2(texts)


def merge_counts(many: Iterable[PhraseCounts]) -> PhraseCounts:
    """The counts of all leaves together."""
    texts: Counter[str] = Counter()
    places: Counter[str] = Counter()
    weights: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = {}
    nouns: Counter[str] = Counter()
    verbs: Counter[str] = Counter()
    leaves = size = 0
    for counts in many:
        texts.update(counts.texts)
        places.update(counts.places)
        weights.update(counts.weights)
        nouns.update(counts.nouns)
        verbs.update(counts.verbs)
        for phrase, written in counts.spellings.items():
            spellings.setdefault(phrase, Counter()).update(written)
        leaves += counts.leaves
        size += counts.size
    return PhraseCounts(texts, places, weights, spellings, nouns, verbs, leaves, size)


def background_of(sources: Iterable[PhraseCounts]) -> Counter[str]:
    """How many of the sources contain each phrase."""
    return Counter(phrase for counts in sources for phrase in counts.texts)


def subjects(texts: Iterable[str], without: Iterable[str] = ()) -> dict[str, int]:
    """The phrases that can say what one leaf's texts are about, by their usual spellings, with the
    number of texts with each. without: as for best_phrases.

    Example:
        >>> subjects(["The kiln broke.", "Who fixes our kiln?"])
        {'kiln': 2}
    """
    found = Found(texts)
    barred = frozenset(word for name in without for word in name.casefold().split())
    is_noun = {word: _is_noun(nouns, found.verbs[word]) for word, nouns in found.nouns.items()}
    chosen = [phrase for phrase in found.kept if is_noun.get(phrase[phrase.rfind(" ") + 1 :])]
    if barred:
        words = {word for phrase in chosen for word in phrase.split(" ")}
        barred = frozenset(word for word in words if _is_barred(word, barred))
        chosen = [phrase for phrase in chosen if barred.isdisjoint(phrase.split(" "))]
    spellings = found.spellings(chosen)
    return {_spelled(spellings[phrase]): found.texts[phrase] for phrase in chosen}


def name_of(spelling: str) -> str:
    """The name of a phrase that is spelled so; see PhraseCounts.

    Example:
        >>> name_of("Budget Trackers")
        'budget tracker'
    """
    lower = spelling.lower()
    if not lower.endswith("s"):
        return lower
    before, blank, last = lower.rpartition(" ")
    return before + blank + singular(last)


# -- choice -----------------------------------------------------------------------------


def _is_subject(phrase: str, counts: PhraseCounts, barred: frozenset[str]) -> bool:
    """Whether a phrase can say what something is about: its last word is a noun, and none is
    barred."""
    words = phrase.split(" ")
    if any(_is_barred(word, barred) for word in words):
        return False
    return _is_noun(counts.nouns[words[-1]], counts.verbs[words[-1]])


def _is_noun(nouns: int, verbs: int) -> bool:
    return nouns > 0 and nouns >= NOUN_SHARE * (nouns + verbs)


def _is_barred(word: str, barred: frozenset[str]) -> bool:
    """Whether it is part of a barred name, or a short form of one, such as "Mel" for "Melanie"."""
    return word in barred or (len(word) >= 3 and any(name.startswith(word) for name in barred))


def _widened(phrase: str, counts: PhraseCounts, barred: frozenset[str]) -> str:
    """The longer phrase that a phrase mostly is a part of, or the phrase itself."""
    longer = [
        other
        for other, number in counts.texts.items()
        if phrase in other  # quick, and rarely true
        and len(other) > len(phrase)
        and f" {phrase} " in f" {other} "
        and number >= max(2, LONGER_SHARE * counts.texts[phrase])
        and _is_subject(other, counts, barred)
    ]
    return max(longer, key=lambda other: (counts.texts[other], len(other), other), default=phrase)


def _overlap(one: str, other: str) -> bool:
    """Whether two phrases share a word that is not generic, in any form, so that one is enough."""
    mine = {singular(word) for word in one.split(" ")}
    theirs = {singular(word) for word in other.split(" ")}
    if mine == theirs:
        return True
    return any(
        _akin(word, another) for word in mine - GENERIC_NOUNS for another in theirs - GENERIC_NOUNS
    )


def _akin(word: str, other: str) -> bool:
    """Whether two words are forms of one: "game" and "gaming", "app" and "application"."""
    short, long = sorted((word, other), key=len)
    if len(short) >= AKIN_CHARS_MIN and long.startswith(short):
        return True
    return _stem(word) == _stem(other)


@functools.lru_cache(maxsize=WORDS_CACHED_MAX)
def _stem(word: str) -> str:
    return stemmer("english")(word)


def _spelled(written: Mapping[str, int]) -> str:
    """The usual spelling, of two the one in small letters: any word may begin a sentence."""
    if len(written) == 1:
        return next(iter(written))
    return min(written, key=lambda text: (-written[text] - (text.islower() and 0.5), text))
