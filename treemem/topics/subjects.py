"""Compares leaves, chapters and topics: how much their main phrases, and their vectors, agree.

Pure and deterministic. What something is about is a unit vector of its main phrases, each weighed
by how often it is said and by how few sources say it. Rows are compared by inverted lists, so
memory never holds all pairs.

Tested in tests/topics/test_clustering.py.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from treemem.text.phrases import FAINT_WEIGHT, name_of
from treemem.text.word_classes import FAINT_NOUNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]

# The phrases by which something is compared. With more of them, what all talk has in common counts
# (five chats of friends: 0.23 between the nearest two, 0.10 with 40 phrases).
SUBJECT_PHRASES = 40
# Different words in the phrases that both have; fewer are a coincidence.
WORDS_MIN = 3
# The same two phrases mean more within a project than between projects.
SAME_HOME_FACTOR = 2.0
# Languages, formats and services of all software: they say by what means, not what about.
MEANS = frozenset(
    "api rest http https html css javascript typescript js ts python java json xml yaml csv sql "
    "url git github docker linux windows node react token tokens deployment logic code syntax "
    "interface browser cli terminal bash shell error debugging production backend frontend".split()
)
# Sources that are thought of beside those of a memory, so that in a memory of a few sources a
# phrase of two of them is still rare.
SOURCES_ELSEWHERE = 100
_FAINT = FAINT_NOUNS | MEANS
# Vectors around their mean are slightly similar by chance, phrases are not, so a smaller cosine
# counts as 0.
COSINE_MIN = 0.35
DECIMALS = 4
# Decimals of weights that are compared.
ROUNDED = 9


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf by its row number.

    phrases: the number of its texts with each phrase; see profiles.py. source: the chat that it is
    part of; agents are part of the session that started them. home: the project of its source,
    None without one.
    """

    seq: int
    phrases: Mapping[str, int]
    source: str = ""
    home: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What something is about, as unit vectors. vector: None without an embedding. homes: the
    projects of its leaves."""

    phrases: Mapping[str, float]
    vector: Floats | None
    homes: frozenset[str]


class Said:
    """What leaves and sources say: the names of the phrases of each leaf, those of each source, the
    number of sources that say a phrase, and the number of sources."""

    def __init__(self, leaves: Iterable[Leaf]) -> None:
        self.names: dict[int, list[str]] = {}
        self.by_source: dict[str, set[str]] = {}
        for leaf in leaves:
            names = self.names[leaf.seq] = [*map(name_of, leaf.phrases)]
            self.by_source.setdefault(leaf.source, set()).update(names)
        self.sources: Mapping[str, int]
        self.sources = Counter(chain.from_iterable(self.by_source.values()))
        self.number = len(self.by_source)

    def weigh_as(self, sources: Mapping[str, int], number: int) -> None:
        """Lets phrases weigh as if so many of this number of sources said each of them."""
        self.sources, self.number = sources, number


class Space:
    """All leaves, and the weights of phrases among them. vectors: of leaves, by row number. said:
    what the leaves say, if it is known. Only what is asked for is computed."""

    def __init__(
        self,
        leaves: Sequence[Leaf],
        vectors: Mapping[int, Floats],
        said: Said | None = None,
    ) -> None:
        self.leaves = {leaf.seq: leaf for leaf in leaves}
        self._order = {leaf.seq: at for at, leaf in enumerate(leaves)}
        self._vectors = _centred({seq: vectors[seq] for seq in self._order if seq in vectors})
        self.said = said or Said(leaves)
        self._weights = _Weights(self.said)

    def ordered(self, seqs: Iterable[int]) -> list[int]:
        """The leaves in their original order."""
        return sorted(seqs, key=self._order.__getitem__)

    def place_of(self, seq: int) -> int:
        """The place of a leaf in the original order."""
        return self._order[seq]

    def subject(self, seqs: Iterable[int]) -> Subject:
        """What leaves of one source are about."""
        counts: defaultdict[str, int] = defaultdict(int)
        known: list[Floats] = []
        homes = set()
        for seq in seqs:
            numbers = self.leaves[seq].phrases.values()
            for name, number in zip(self.said.names[seq], numbers, strict=True):
                counts[name] += number
            homes.add(self.leaves[seq].home)
            if seq in self._vectors:
                known.append(self._vectors[seq])
        rarity = self._weights
        weights = {p: math.sqrt(number) * rarity[p] for p, number in counts.items()}
        return Subject(_main(weights), _mean(known), frozenset(home for home in homes if home))

    def centre(self, seqs: Iterable[int]) -> Subject:
        """What leaves of several sources are about; each source counts the same."""
        parts: dict[str, list[int]] = {}
        for seq in seqs:
            if seq in self.leaves:
                parts.setdefault(self.leaves[seq].source, []).append(seq)
        return centre_of([self.subject(part) for part in parts.values()])


def centre_of(subjects: Sequence[Subject]) -> Subject:
    """The mean of several subjects."""
    total: dict[str, float] = {}
    for subject in subjects:
        for phrase, weight in subject.phrases.items():
            total[phrase] = total.get(phrase, 0.0) + weight
    vectors = [subject.vector for subject in subjects if subject.vector is not None]
    homes: frozenset[str] = frozenset().union(*(subject.homes for subject in subjects))
    return Subject(_main(total), _mean(vectors), homes)


def similarity(one: Subject, other: Subject) -> float:
    """How much two subjects agree, from 0 to 1; more within a project."""
    agree = agreement(one, other)
    return min(1.0, round(SAME_HOME_FACTOR * agree, DECIMALS)) if one.homes & other.homes else agree


def may_be_similar(
    one: Subject, shared: Iterable[str], homes: AbstractSet[str], least: float
) -> bool:
    """Whether a subject without a vector may have at least this similarity to one of these homes
    that has no other phrases in common with it. The weights of the other are part of a unit
    vector, so what they add up to is at most the length of this part of the first."""
    if len({word for phrase in shared for word in phrase.split(" ")}) < WORDS_MIN:
        return False
    length = math.sqrt(sum([one.phrases[phrase] ** 2 for phrase in shared]))
    factor = 1.0 if one.homes.isdisjoint(homes) else SAME_HOME_FACTOR
    return bool(factor * length >= least - 10**-DECIMALS)


def agreement(one: Subject, other: Subject) -> float:
    """How much the phrases and vectors of two subjects agree, from 0 to 1."""
    shared = [phrase for phrase in one.phrases if phrase in other.phrases]
    words = {word for phrase in shared for word in phrase.split(" ")}
    agree = 0.0
    if len(words) >= WORDS_MIN:
        agree = sum(one.phrases[phrase] * other.phrases[phrase] for phrase in shared)
    if one.vector is not None and other.vector is not None:
        cosine = float((one.vector * other.vector).sum())
        agree = (agree + max(0.0, (cosine - COSINE_MIN) / (1 - COSINE_MIN))) / 2
    # Subtle: the last digits may differ from one machine to the next.
    return min(1.0, round(agree, DECIMALS))


class Rows:
    """Subjects to find the nearest of."""

    def __init__(self, subjects: Sequence[Subject]) -> None:
        import numpy as np

        self._subjects = subjects
        saying: dict[str, list[tuple[int, float]]] = {}
        for at, subject in enumerate(subjects):
            for phrase, weight in subject.phrases.items():
                saying.setdefault(phrase, []).append((at, weight))
        self._saying = {
            phrase: (np.array([at for at, _ in rows]), np.array([weight for _, weight in rows]))
            for phrase, rows in saying.items()
        }
        self._known = [at for at, subject in enumerate(subjects) if subject.vector is not None]
        known = [s.vector for s in subjects if s.vector is not None]
        self._stacked: Floats | None = np.stack(known) if known else None

    def near(self, subject: Subject, least: float) -> list[tuple[float, int]]:
        """The rows with at least this similarity, and their numbers, the nearest first."""
        import numpy as np

        most = np.zeros(len(self._subjects))
        for phrase, weight in subject.phrases.items():
            if phrase in self._saying:
                at, weights = self._saying[phrase]
                most[at] += weight * weights
        if subject.vector is not None and self._stacked is not None:
            cosines = np.clip(self._stacked @ subject.vector, COSINE_MIN, 1.0)
            most[self._known] += (cosines - COSINE_MIN) / (1 - COSINE_MIN)
        # Most of the rows have nothing in common, and are not compared exactly.
        candidates = (most * SAME_HOME_FACTOR >= least - 10**-DECIMALS).nonzero()[0].tolist()
        found = [(similarity(subject, self._subjects[at]), at) for at in candidates]
        return sorted((pair for pair in found if pair[0] >= least), key=lambda p: (-p[0], p[1]))


class _Weights(dict[str, float]):
    """The weights of phrases, each computed when it is first asked for."""

    def __init__(self, said: Said) -> None:
        self._said = said

    def __missing__(self, phrase: str) -> float:
        said = self._said
        weight = self[phrase] = _rarity(phrase, said.sources[phrase], said.number)
        return weight


def _rarity(phrase: str, count: int, sources: int) -> float:
    """The weight of a phrase that this many of the sources contain."""
    faint = FAINT_WEIGHT if _FAINT.issuperset(phrase.split(" ")) else 1.0
    return (
        faint
        * math.log((sources + SOURCES_ELSEWHERE) / count)
        * min(1.0, 2 - 2 * (count - 1) / sources)
    )


def _main(weights: Mapping[str, float]) -> dict[str, float]:
    """The heaviest phrases, as a unit vector."""
    kept = list(weights.items())
    if len(kept) > SUBJECT_PHRASES:
        least = sorted(weights.values(), reverse=True)[SUBJECT_PHRASES - 1] - 10**-ROUNDED
        kept = [item for item in kept if item[1] >= least]
        # Of phrases that weigh the same, the first ones are kept.
        if len(kept) > SUBJECT_PHRASES:
            kept.sort(key=lambda item: (-round(item[1], ROUNDED), item[0]))
            del kept[SUBJECT_PHRASES:]
    length = math.sqrt(sum([weight * weight for _, weight in kept]))
    return {phrase: weight / length for phrase, weight in kept} if length else {}


def _mean(vectors: Sequence[Floats]) -> Floats | None:
    return _unit(sum(vectors[1:], vectors[0])) if vectors else None


def _centred(vectors: Mapping[int, Floats]) -> dict[int, Floats]:
    """Unit vectors around their mean, so that features common to all leaves do not count."""
    import numpy as np

    if not vectors:
        return {}
    mean = np.mean(np.stack([np.asarray(v, dtype=np.float64) for v in vectors.values()]), axis=0)
    return {seq: _unit(np.asarray(v) - mean) for seq, v in vectors.items()}


def _unit(vector: Floats) -> Floats:
    length = float((vector * vector).sum()) ** 0.5
    return vector / length if length else vector
