"""What a topic is called: a few words that its statements say and the rest does not.

Pure. No word is invented: each stands as it was written in a statement.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from treemem.topics.term_vectors import ENTITY_WEIGHT, Found, terms_in

PARTS_MAX = 3
SEPARATOR = " · "
LEAVES_MIN = 2
PHRASE_SHARE = 0.5


def name(leaves: Sequence[Sequence[str]], holders: Mapping[str, int], total: int) -> str:
    """A name of up to PARTS_MAX parts, the most telling first; "" where nothing was said.

    leaves: the statements of each of the topic's leaves. holders: of all leaves, so many hold
    each term; total: how many leaves there are.

    Example:
        >>> said = [["The budget tracker runs on Flask."], ["Flask serves the budget tracker."]]
        >>> name(said, {"flask": 2, "budget": 2, "tracker": 2, "run": 9, "serv": 8}, 20)
        'budget tracker · Flask'
    """
    found = [[list(terms_in(statement)) for statement in statements] for statements in leaves]
    inside = Counter(
        term
        for statements in found
        for term in {each.term for statement in statements for each in statement}
    )
    least = min(LEAVES_MIN, len(leaves))
    words, pairs, names = _surfaces(found)
    weights = {
        term: _telling(count, len(leaves), holders.get(term, count), total)
        * (1 + math.log(words[term].total() / count))
        for term, count in inside.items()
        if count >= least
    }
    for term in names & weights.keys():
        weights[term] *= ENTITY_WEIGHT
    ranked = sorted(weights, key=lambda term: (-round(weights[term], 6), term))
    parts: list[str] = []
    told: set[str] = set()
    for term in ranked:
        if len(parts) == PARTS_MAX:
            break
        if term in told or weights[term] <= 0 or not _is_word(_most(words[term])):
            continue
        phrase = _phrase(term, words, pairs, weights)
        part = " ".join(_most(words[each]) for each in phrase)
        told.update(phrase)
        if part.casefold() not in {each.casefold() for each in parts}:
            parts.append(part)
    return SEPARATOR.join(parts)


def _telling(inside: int, size: int, holders: int, total: int) -> float:
    """The share of the topic's leaves that say it, by how much more that is than elsewhere."""
    share = inside / size
    elsewhere = (max(0, holders - inside) + 0.5) / (max(0, total - size) + 1)
    return share * math.log(share / elsewhere)


def _surfaces(
    found: Sequence[Sequence[Sequence[Found]]],
) -> tuple[dict[str, Counter[str]], Counter[tuple[str, str]], set[str]]:
    """How each term is written, which terms stand side by side, and which are mostly names."""
    words: dict[str, Counter[str]] = {}
    pairs: Counter[tuple[str, str]] = Counter()
    named: Counter[str] = Counter()
    for statements in found:
        for statement in statements:
            for at, each in enumerate(statement):
                words.setdefault(each.term, Counter())[each.word] += 1
                named[each.term] += each.is_entity
                if each.joined and statement[at - 1].term != each.term:
                    pairs[statement[at - 1].term, each.term] += 1
    return words, pairs, {term for term, count in named.items() if 2 * count > words[term].total()}


def _phrase(
    term: str,
    words: Mapping[str, Counter[str]],
    pairs: Mapping[tuple[str, str], int],
    weights: Mapping[str, float],
) -> tuple[str, ...]:
    """The term with the one it mostly stands beside, where that tells something as well."""
    beside = [pair for pair in pairs if term in pair and all(weights.get(t, 0) > 0 for t in pair)]
    best = max(beside, key=lambda pair: (pairs[pair], pair), default=None)
    if best is None or any(pairs[best] < PHRASE_SHARE * words[t].total() for t in best):
        return (term,)
    return best


def _is_word(written: str) -> bool:
    """Two letters are the rest of a word, such as "ve", unless they are an abbreviation."""
    return len(written) > 2 or not written.islower() or not written.isascii()


def _most(written: Counter[str]) -> str:
    return min(written, key=lambda word: (-written[word], word))
