"""Names a topic by a few words that distinguish its statements from the rest.

Pure. No word is invented: all are spelled as in a statement.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from treemem.topics.term_vectors import ENTITY_WEIGHT, Term, terms_in

# Parts of a name, each of one or two words.
PARTS_MAX = 3
SEPARATOR = " · "
# Leaves of the topic with a word of its name.
LEAVES_MIN = 2
# Two words are named together if they are neighbours in this share of the places of both.
PHRASE_SHARE = 0.5


def name(leaves: Sequence[Sequence[str]], term_leaves: Mapping[str, int], total: int) -> str:
    """A name of up to PARTS_MAX parts, the most distinctive first; "" if no word qualifies.

    leaves: the statements of every leaf of the topic. term_leaves: how many of all leaves
    contain each term. total: the number of all leaves.

    Example:
        >>> leaves = [["The budget tracker runs on Flask."], ["Flask serves the budget tracker."]]
        >>> name(leaves, {"flask": 2, "budget": 2, "tracker": 2, "run": 9, "serv": 8}, 20)
        'budget tracker · Flask'
    """
    terms = [[list(terms_in(statement)) for statement in statements] for statements in leaves]
    inside = Counter(
        stem
        for statements in terms
        for stem in {term.stem for statement in statements for term in statement}
    )
    least = min(LEAVES_MIN, len(leaves))
    words, pairs, names = _surfaces(terms)
    weights = {
        term: _distinctiveness(count, len(leaves), term_leaves.get(term, count), total)
        * (1 + math.log(words[term].total() / count))
        for term, count in inside.items()
        if count >= least
    }
    for term in names & weights.keys():
        weights[term] *= ENTITY_WEIGHT
    ranked = sorted(weights, key=lambda term: (-round(weights[term], 6), term))
    parts: list[str] = []
    used: set[str] = set()
    for term in ranked:
        if len(parts) == PARTS_MAX:
            break
        if term in used or weights[term] <= 0 or not _is_word(_most_common(words[term])):
            continue
        phrase = _phrase(term, words, pairs, weights)
        part = " ".join(_most_common(words[stem]) for stem in phrase)
        used.update(phrase)
        if part.casefold() not in {other.casefold() for other in parts}:
            parts.append(part)
    return SEPARATOR.join(parts)


def _distinctiveness(inside: int, size: int, term_leaves: int, total: int) -> float:
    """The share of the topic's leaves with a term, weighed by its ratio to that of other leaves."""
    share = inside / size
    elsewhere = (max(0, term_leaves - inside) + 0.5) / (max(0, total - size) + 1)
    return share * math.log(share / elsewhere)


def _surfaces(
    leaves: Sequence[Sequence[Sequence[Term]]],
) -> tuple[dict[str, Counter[str]], Counter[tuple[str, str]], set[str]]:
    """The spellings of every stem, the pairs of neighbouring stems, and the stems that are mostly
    names. leaves: the terms of the statements of every leaf."""
    words: dict[str, Counter[str]] = {}
    pairs: Counter[tuple[str, str]] = Counter()
    named: Counter[str] = Counter()
    for statements in leaves:
        for statement in statements:
            for at, term in enumerate(statement):
                words.setdefault(term.stem, Counter())[term.word] += 1
                named[term.stem] += term.is_entity
                if term.joined and statement[at - 1].stem != term.stem:
                    pairs[statement[at - 1].stem, term.stem] += 1
    return words, pairs, {term for term, count in named.items() if 2 * count > words[term].total()}


def _phrase(
    term: str,
    words: Mapping[str, Counter[str]],
    pairs: Mapping[tuple[str, str], int],
    weights: Mapping[str, float],
) -> tuple[str, ...]:
    """A stem with its most common neighbour, if that is distinctive and mostly beside it."""
    beside = [pair for pair in pairs if term in pair and all(weights.get(t, 0) > 0 for t in pair)]
    best = max(beside, key=lambda pair: (pairs[pair], pair), default=None)
    if best is None or any(pairs[best] < PHRASE_SHARE * words[t].total() for t in best):
        return (term,)
    return best


def _is_word(written: str) -> bool:
    """Whether it can be shown: two lower-case letters are the rest of a word, such as "ve"."""
    return len(written) > 2 or not written.islower() or not written.isascii()


def _most_common(spellings: Counter[str]) -> str:
    return min(spellings, key=lambda word: (-spellings[word], word))
