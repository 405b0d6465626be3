"""Clusters leaves into topics by how similar they are.

Pure and deterministic: the same leaves in the same order, with the same earlier topics, give the
same topics on every machine. Similarity is the cosine of weighted terms, where a term counts for
less the more leaves contain it; with embeddings their cosine is half of it. It is computed leaf
by leaf, so memory never holds all pairs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]

# Chosen on 483 leaves of 80 chats and meetings (LoCoMo, BEAM, QMSum, LongMemEval): between leaves
# of one conversation the median similarity is 0.18, between those of two it is 0.02, and below 0.15
# for 99 pairs in a hundred.
LINK_MIN = 0.12
JOIN_MIN = 0.25
# Vectors around their mean are slightly similar by chance, words are not, so a smaller cosine
# counts as 0 (all-MiniLM-L6-v2, 161 of these leaves: 75 % of a topic's leaves are of one
# conversation; with words alone 66 %, with every cosine 49 %).
COSINE_MIN = 0.35
SECOND_SHARE = 0.8
TOPICS_OF_A_LEAF = 2
LEAVES_MIN = 3
NEIGHBOURS = 8
TERM_LEAVES_MAX = 1_000  # a term in more leaves does not distinguish them
CENTRE_TERMS_MAX = 256
SEED = 20_260_101
DECIMALS = 4
_NEW = "+"  # begins no topic's id


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf by its row number, with the weights of its terms; see term_vectors.py."""

    seq: int
    terms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Placing:
    """The topics that leaves are assigned to.

    joined: by leaf, the ids of the topics it joins, the nearest first. created: the leaves of
    each new topic.
    """

    joined: dict[int, tuple[str, ...]]
    created: tuple[tuple[int, ...], ...]


def place(
    leaves: Sequence[Leaf],
    topics: Mapping[str, Sequence[int]],
    vectors: Mapping[int, Floats] | None = None,
) -> Placing:
    """Assigns the leaves that are in no topic yet.

    leaves: all leaves, in order. topics: the row numbers of their leaves, by id. vectors: of
    leaves, by row number. A leaf joins up to TOPICS_OF_A_LEAF topics whose centres it is near.
    Leaves near none make a new topic where enough of them belong together, and wait otherwise.
    Leaves that are in a topic stay there.
    """
    space = _Space(leaves, vectors or {})
    placed = {seq for members in topics.values() for seq in members}
    waiting = [leaf.seq for leaf in leaves if leaf.seq not in placed]
    joined = _join(space, topics, waiting)
    left = [seq for seq in waiting if seq not in joined]
    groups = communities(space, left)
    taken = {seq for members in groups for seq in members}
    # A leaf in no community may be near one of the new topics.
    new = {str(number): members for number, members in enumerate(groups)}
    late = _join(space, new, [seq for seq in left if seq not in taken])
    grown = [list(members) for members in groups]
    for seq, names in late.items():
        for name in names:
            grown[int(name)].append(seq)
    return Placing(joined, tuple(tuple(space.ordered(members)) for members in grown))


@dataclass(frozen=True, slots=True)
class EarlierTopic:
    """A topic before a rebuild.

    fixed: pinned by the user, so it stays unchanged. named: by the user, so it is not deleted.
    merged: by the user, so communities that lie mostly in it stay together.
    """

    leaves: tuple[int, ...]
    fixed: bool = False
    named: bool = False
    merged: bool = False


def rebuild(
    leaves: Sequence[Leaf],
    topics: Mapping[str, EarlierTopic],
    vectors: Mapping[int, Floats] | None = None,
) -> tuple[dict[str, tuple[int, ...]], tuple[tuple[int, ...], ...]]:
    """Clusters all leaves anew: the leaves of the topics that keep their ids, and of new topics.

    A topic keeps its id if the new one that shares most with it has at least half of its leaves.
    """
    space = _Space(leaves, vectors or {})
    fixed = {name: list(topic.leaves) for name, topic in topics.items() if topic.fixed}
    taken = {seq for members in fixed.values() for seq in members}
    groups = communities(space, [leaf.seq for leaf in leaves if leaf.seq not in taken])
    groups = _with_merged(groups, topics)
    heirs = _heirs(groups, topics)
    lost = [name for name, topic in topics.items() if topic.named and name not in (*heirs, *fixed)]
    taken = {seq for name in lost for seq in topics[name].leaves}
    whole = {name: list(topics[name].leaves) for name in lost}
    names = {at: name for name, at in heirs.items()}
    for at, members in enumerate(groups):
        left = [seq for seq in members if seq not in taken]
        if at in names or len(left) >= LEAVES_MIN:
            whole[names.get(at, f"{_NEW}{at}")] = left
    for seq, near in _join(space, whole, [leaf.seq for leaf in leaves]).items():
        for name in near:
            in_topics = sum(seq in members for members in (*whole.values(), *fixed.values()))
            if seq not in whole[name] and in_topics < TOPICS_OF_A_LEAF:
                whole[name].append(seq)
    ordered = {name: tuple(space.ordered(members)) for name, members in (whole | fixed).items()}
    fresh = tuple(members for name, members in ordered.items() if name.startswith(_NEW))
    return {n: members for n, members in ordered.items() if not n.startswith(_NEW)}, fresh


def _with_merged(
    groups: Sequence[tuple[int, ...]], topics: Mapping[str, EarlierTopic]
) -> list[tuple[int, ...]]:
    """The groups, with those joined that lie mostly in one topic that the user merged."""
    joined: dict[str, list[int]] = {}
    for at, members in enumerate(groups):
        home = f"{_NEW}{at}"
        for name, topic in topics.items():
            if topic.merged and 2 * len(set(members) & set(topic.leaves)) > len(members):
                home = name
                break
        joined.setdefault(home, []).extend(members)
    return [tuple(members) for members in joined.values()]


def _heirs(groups: Sequence[tuple[int, ...]], topics: Mapping[str, EarlierTopic]) -> dict[str, int]:
    """By the id of an earlier topic, the index of the group that continues it. Topics named by the
    user come first, then those that share more leaves."""
    offers = []
    for order, (name, topic) in enumerate(topics.items()):
        own = set(topic.leaves)
        for at, members in enumerate(() if topic.fixed else groups):
            shared = len(own.intersection(members))
            if 2 * shared >= len(own) > 0:
                offers.append((not topic.named, -shared, order, at, name))
    heirs: dict[str, int] = {}
    for *_, at, name in sorted(offers):
        if name not in heirs and at not in heirs.values():
            heirs[name] = at
    return heirs


# -- near a topic ----------------------------------------------------------------------


def _join(
    space: _Space, topics: Mapping[str, Sequence[int]], seqs: Iterable[int]
) -> dict[int, tuple[str, ...]]:
    """The topics near each leaf, the nearest first; leaves near no topic are left out."""
    names = [name for name, members in topics.items() if members]
    centres = space.centres([topics[name] for name in names])
    joined = {}
    for seq in seqs:
        similarity = space.similarity(seq, centres).tolist()
        ranked = sorted(
            zip(similarity, names, strict=True), key=lambda candidate: (-candidate[0], candidate[1])
        )
        least = max(JOIN_MIN, SECOND_SHARE * ranked[0][0]) if ranked else JOIN_MIN
        near = tuple(name for value, name in ranked[:TOPICS_OF_A_LEAF] if value >= least)
        if near:
            joined[seq] = near
    return joined


# -- communities -----------------------------------------------------------------------


def communities(space: _Space, seqs: Sequence[int]) -> list[tuple[int, ...]]:
    """Groups of at least LEAVES_MIN of these leaves that are more similar to one another than to
    the rest, in the order of their first leaves. Louvain, over the NEIGHBOURS nearest of every
    leaf."""
    import networkx

    if len(seqs) < LEAVES_MIN:
        return []
    graph = networkx.Graph()
    graph.add_nodes_from(range(len(seqs)))
    among = space.rows(seqs)
    for at, seq in enumerate(seqs):
        similarity = space.similarity(seq, among)
        near = [
            (float(similarity[other]), int(other))
            for other in (similarity >= LINK_MIN).nonzero()[0]
        ]
        nearest = sorted((-value, other) for value, other in near if other != at)[:NEIGHBOURS]
        graph.add_weighted_edges_from((at, other, -value) for value, other in nearest)
    partition = networkx.community.louvain_communities(graph, weight="weight", seed=SEED)
    groups = sorted(sorted(group) for group in partition if len(group) >= LEAVES_MIN)
    return [tuple(seqs[at] for at in group) for group in groups]


# -- similarity ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rows:
    """Leaves, or centres of topics, to compare a leaf with.

    postings: by term, the rows that contain it and their weights. vectors: unit vectors by row,
    zeros where known is False; None where no row has one.
    """

    count: int
    postings: Mapping[str, tuple[Floats, Floats]]
    vectors: Floats | None
    known: Floats | None


class _Space:
    """All leaves as unit vectors of weighted terms, and of embeddings where there are any."""

    def __init__(self, leaves: Sequence[Leaf], vectors: Mapping[int, Floats]) -> None:
        term_leaves = Counter(term for leaf in leaves for term in leaf.terms)
        self._weight = {
            term: math.log(len(leaves) / count)
            for term, count in term_leaves.items()
            if 1 < count <= TERM_LEAVES_MAX and count < len(leaves)
        }
        self._order = {leaf.seq: at for at, leaf in enumerate(leaves)}
        self._terms = {leaf.seq: self._weighed(leaf.terms) for leaf in leaves}
        self._vectors = _centred({seq: vectors[seq] for seq in self._order if seq in vectors})

    def ordered(self, seqs: Iterable[int]) -> list[int]:
        """The leaves in their original order."""
        return sorted(seqs, key=self._order.__getitem__)

    def _weighed(self, terms: Mapping[str, float]) -> dict[str, float]:
        return _unit({t: w * self._weight[t] for t, w in terms.items() if t in self._weight})

    def rows(self, seqs: Sequence[int]) -> _Rows:
        return _rows([self._terms[seq] for seq in seqs], [self._vectors.get(seq) for seq in seqs])

    def centres(self, groups: Sequence[Sequence[int]]) -> _Rows:
        """The mean of every group, cut to its CENTRE_TERMS_MAX weightiest terms."""
        terms, vectors = [], []
        for members in groups:
            total: dict[str, float] = {}
            for seq in members:
                for term, weight in self._terms[seq].items():
                    total[term] = total.get(term, 0.0) + weight
            ranked = sorted(total.items(), key=lambda item: (-item[1], item[0]))
            terms.append(_unit(dict(ranked[:CENTRE_TERMS_MAX])))
            known = [self._vectors[seq] for seq in members if seq in self._vectors]
            vectors.append(_unit_vector(sum(known[1:], known[0])) if known else None)
        return _rows(terms, vectors)

    def similarity(self, seq: int, rows: _Rows) -> Floats:
        """How similar a leaf is to every row, from 0 to 1."""
        import numpy as np

        similarity = np.zeros(rows.count)
        for term, weight in self._terms[seq].items():
            if term in rows.postings:
                at, weights = rows.postings[term]
                similarity[at] += weight * weights
        own = self._vectors.get(seq)
        if own is not None and rows.vectors is not None and rows.known is not None:
            above = np.clip((rows.vectors @ own - COSINE_MIN) / (1 - COSINE_MIN), 0.0, 1.0)
            similarity = np.where(rows.known, (similarity + above) / 2, similarity)
        # Subtle: the last digits may differ from one machine to the next.
        return np.round(similarity, DECIMALS)


def _rows(terms: Sequence[Mapping[str, float]], vectors: Sequence[Floats | None]) -> _Rows:
    import numpy as np

    by_term: dict[str, tuple[list[int], list[float]]] = {}
    for at, weights in enumerate(terms):
        for term, weight in weights.items():
            rows, values = by_term.setdefault(term, ([], []))
            rows.append(at)
            values.append(weight)
    postings = {
        term: (np.array(rows), np.array(values)) for term, (rows, values) in by_term.items()
    }
    present = [vector for vector in vectors if vector is not None]
    if not present:
        return _Rows(len(terms), postings, None, None)
    blank = np.zeros_like(present[0])
    stacked = np.stack([blank if vector is None else vector for vector in vectors])
    return _Rows(len(terms), postings, stacked, np.array([v is not None for v in vectors]))


def _unit(terms: Mapping[str, float]) -> dict[str, float]:
    length = math.sqrt(sum(weight * weight for weight in terms.values()))
    return {term: weight / length for term, weight in terms.items()} if length else {}


def _centred(vectors: Mapping[int, Floats]) -> dict[int, Floats]:
    """Unit vectors around their mean, so that features common to all leaves do not count."""
    import numpy as np

    if not vectors:
        return {}
    mean = np.mean(np.stack([np.asarray(v, dtype=np.float64) for v in vectors.values()]), axis=0)
    return {seq: _unit_vector(np.asarray(v) - mean) for seq, v in vectors.items()}


def _unit_vector(vector: Floats) -> Floats:
    length = float((vector * vector).sum()) ** 0.5
    return vector / length if length else vector
