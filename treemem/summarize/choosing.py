"""Chooses which statements a node shows, within a ceiling of tokens. Pure.

A node shows a few gists, spread over what is below it, and of each kind the statements that matter
most. What it does not show is in the ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from treemem.summarize.base import KIND_ORDER
from treemem.summarize.detectors import words_of
from treemem.text import word_classes
from treemem.text.nouns.words import singular
from treemem.text.quality import points_elsewhere, quality_of
from treemem.text.stop_words import STOP_WORDS
from treemem.types import Origin, StatementKind

T = TypeVar("T")

# The largest share of the ceiling that gists take, and of what they leave, that each other kind
# takes. What is left in the end goes to what matters most, of any kind.
GIST_SHARE = 0.4
KIND_SHARES: tuple[tuple[StatementKind, float], ...] = (
    ("constraint", 0.3), ("decision", 0.25), ("open", 0.25), ("error", 0.15),
)  # fmt: skip
# The most statements of one kind.
KIND_MAX = 8
# The words that most sentences share, which say what these are about.
MAIN_WORDS = 12
# Characters of a word that may be one, and words that are none.
CONTENT_CHARS_MIN = 3
_UNTELLING = frozenset().union(
    STOP_WORDS, word_classes.ADVERBS, word_classes.BEING, word_classes.CONJUNCTIONS,
    word_classes.DETERMINERS, word_classes.GENERIC_NOUNS, word_classes.MODALS,
    word_classes.OBJECTS, word_classes.PLAIN_ADJECTIVES, word_classes.PREPOSITIONS,
    word_classes.SUBJECTS, word_classes.VERBS,
)  # fmt: skip
# The quality below which a gist, or a fact, is not shown at a root: of what roots show, about four
# in five are good (docs/explanation/decisions.md, D78).
GIST_FLOOR = 0.65
FACT_FLOOR = 0.7
# Of two statements of a kind, the one that matters less repeats the other if the one with fewer
# telling words shares this part of them, and has at least as many.
REPEATED_SHARE, REPEATED_MIN = 0.6, 3


class Offered(NamedTuple, Generic[T]):
    """A statement that may be shown.

    part: the number of the part of the node that it is from. place: in reading order. weight: how
    much it matters.
    """

    item: T
    kind: StatementKind
    tokens: int
    weight: float
    part: int
    place: int


def telling_words(text: str) -> frozenset[str]:
    """The words of a sentence that may say what it is about, in small letters and the singular.

    Example:
        >>> sorted(telling_words("They really want the old kilns again."))
        ['kiln']
    """
    return telling_of(frozenset(map(str.lower, words_of(text))))


def telling_of(lower_words: frozenset[str]) -> frozenset[str]:
    """The telling words among the words of a sentence in small letters."""
    telling = [
        singular(word) if word.endswith("s") else word
        for word in lower_words - _UNTELLING
        if len(word) >= CONTENT_CHARS_MIN and word.isalpha()
    ]
    return frozenset(telling) - _UNTELLING


def main_words(sentences: Iterable[frozenset[str]], speakers: Iterable[str]) -> frozenset[str]:
    """The words that most sentences share, without names of the speakers. sentences: the telling
    words of each.

    Example:
        >>> kiln, clay = frozenset({"kiln", "ida"}), frozenset({"clay"})
        >>> sorted(main_words([kiln, clay, kiln], ["Ida"]))
        ['kiln']
    """
    counts = Counter(word for words in sentences for word in words)
    names = {word for speaker in speakers for word in speaker.lower().split()}
    shared = [word for word, number in counts.items() if number > 1 and word not in names]
    return frozenset(sorted(shared, key=lambda word: (-counts[word], word))[:MAIN_WORDS])


def is_worth_showing(
    kind: StatementKind, text: str, origin: Origin, speaker: str | None, main: frozenset[str]
) -> bool:
    """Whether a statement may be shown at a root: gists and facts that a reader would likely call
    so, and all others but those of talk about what was shown or said before ("I chose this one
    because it's bright"). main: the main words of the root."""
    quality = quality_of(text, origin, speaker, len(main & telling_words(text)))
    if kind == "gist":
        return quality.gist >= GIST_FLOOR
    if kind == "fact":
        return quality.fact >= FACT_FLOOR
    return origin != "person" or not points_elsewhere(text)


def without_repetitions(
    offered: Iterable[Offered[T]], text_of: Callable[[T], str]
) -> list[Offered[T]]:
    """The statements, the weightiest first, without those that mostly repeat a weightier one of
    their kind in other words."""
    kept: list[tuple[Offered[T], frozenset[str]]] = []
    for one in sorted(offered, key=lambda one: (-one.weight, one.place)):
        words = telling_words(text_of(one.item))
        if not any(other.kind == one.kind and _repeats(words, known) for other, known in kept):
            kept.append((one, words))
    return [one for one, _ in kept]


def _repeats(words: frozenset[str], known: frozenset[str]) -> bool:
    fewer = min(len(words), len(known))
    return fewer >= REPEATED_MIN and len(words & known) >= REPEATED_SHARE * fewer


def choose(offered: Sequence[Offered[T]], ceiling: int) -> list[Offered[T]]:
    """The statements to show in at most ceiling tokens, by kind, and within a kind in order."""
    gists = spread([one for one in offered if one.kind == "gist"], int(GIST_SHARE * ceiling))
    left = ceiling - _tokens(gists)
    chosen = list(gists)
    room = left
    for kind, share in KIND_SHARES:
        picked = _best([one for one in offered if one.kind == kind], int(share * room), left)
        chosen += picked
        left -= _tokens(picked)
    counts = Counter(one.kind for one in chosen)
    taken = set(map(id, chosen))
    rest = [one for one in offered if one.kind != "gist" and id(one) not in taken]
    for one in sorted(rest, key=lambda one: (-one.weight, one.place)):
        if one.tokens <= left and counts[one.kind] < KIND_MAX:
            chosen.append(one)
            counts[one.kind] += 1
            left -= one.tokens
    if not chosen and offered:
        # A node with a single long statement shows it rather than nothing.
        smallest = min(offered, key=lambda one: (one.tokens, one.place))
        chosen = [smallest] if smallest.tokens <= ceiling else []
    return sorted(chosen, key=lambda one: (KIND_ORDER[one.kind], one.place))


def spread(offered: Sequence[Offered[T]], room: int) -> list[Offered[T]]:
    """The best statement of each part, then the second ones, while there is room. If there is not
    room for one of each part, the parts whose statement matters most."""
    by_part: dict[int, list[Offered[T]]] = {}
    for one in sorted(offered, key=lambda one: (-one.weight, one.place)):
        by_part.setdefault(one.part, []).append(one)
    chosen: list[Offered[T]] = []
    turn = 0
    while any(turn < len(found) for found in by_part.values()):
        of_turn = [found[turn] for found in by_part.values() if turn < len(found)]
        for one in sorted(of_turn, key=lambda one: (-one.weight, one.place)):
            if one.tokens <= room:
                chosen.append(one)
                room -= one.tokens
        turn += 1
    return sorted(chosen, key=lambda one: one.place)


def _best(offered: Sequence[Offered[T]], room: int, left: int) -> list[Offered[T]]:
    """What matters most and fits. left: the tokens that a single statement may take, so that a
    small ceiling hides no kind."""
    chosen: list[Offered[T]] = []
    for one in sorted(offered, key=lambda one: (-one.weight, one.place)):
        most = min(room, left) if chosen else left
        if one.tokens <= most and len(chosen) < KIND_MAX:
            chosen.append(one)
            room -= one.tokens
            left -= one.tokens
    return chosen


def _tokens(chosen: Sequence[Offered[T]]) -> int:
    return sum(one.tokens for one in chosen)
