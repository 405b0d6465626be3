"""Groups chapters of sources into topics, and assigns later leaves to them.

Pure and deterministic: the same leaves in the same order, with the same earlier topics, give the
same topics on every machine. What is compared is a chapter, never a single leaf of one, so the
leaves of a chat stay together and a chance resemblance of two leaves links no chats.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treemem.topics.chapters import LEAVES_MIN, divide
from treemem.topics.subjects import (
    SAME_HOME_FACTOR,
    Leaf,
    Rows,
    Said,
    Space,
    Subject,
    centre_of,
    may_be_similar,
    similarity,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]

# Chapters are linked from this similarity on. Among 93 sources (chats, meetings, agents' sessions)
# no two about different things had more than 0.11, and three of four meetings of one series had.
LINK_MIN = 0.12
# A second topic needs this share of the similarity to the nearest one.
SECOND_SHARE = 0.8
TOPICS_OF_A_LEAF = 2
NEIGHBOURS = 8
_NEW = "+"  # begins no topic's id

Chapter = tuple[int, ...]
Near = Callable[[Subject], list[tuple[float, str]]]


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
    said: Said | None = None,
) -> Placing:
    """Assigns the leaves that are in no topic yet.

    leaves: all leaves, in order. topics: the row numbers of their leaves, by id. vectors: of
    leaves, by row number. said: as for Space. A chapter with such leaves joins the topic that has
    its other leaves, or else up to TOPICS_OF_A_LEAF topics that it is near. Chapters near none make
    a new topic where at least LEAVES_MIN leaves belong together, and wait otherwise. Leaves that
    are in a topic stay there.
    """
    return place_in(Space(leaves, vectors or {}, said), topics)


def place_in(
    space: Space, topics: Mapping[str, Sequence[int]], near: Near | None = None
) -> Placing:
    """Like place, for the leaves of a space. near: finds the topics that a subject is near, and how
    near, the nearest first; topics are then those that have a leaf of a chapter."""
    leaves = space.leaves.values()
    placed = {seq for members in topics.values() for seq in members}
    joined: dict[int, tuple[str, ...]] = {}
    left: list[Chapter] = []
    growing = {leaf.source for leaf in leaves if leaf.seq not in placed}
    chapters = [
        (chapter, is_only)
        for chapter, is_only in chapters_of(space, [x.seq for x in leaves if x.source in growing])
        if not placed.issuperset(chapter)
    ]
    homes = _Homes(space, topics, [chapter for chapter, _ in chapters], near)
    for chapter, is_only in chapters:
        waiting = [seq for seq in chapter if seq not in placed]
        if names := homes.of(chapter, is_only):
            joined |= dict.fromkeys(waiting, names)
        else:
            left.append(chapter)
    groups = []
    for group in communities(space, left):
        # Leaves that came before their chapter was known are in the topic of the one before it.
        free = [seq for seq in group if len(homes.having(seq)) < TOPICS_OF_A_LEAF]
        if len(free) >= LEAVES_MIN and not placed.issuperset(free):
            groups.append(tuple(space.ordered(free)))
    return Placing(joined, tuple(sorted(groups, key=lambda members: space.place_of(members[0]))))


class _Homes:
    """Finds the topics that chapters belong to. chapters: those that may be asked for. near: as for
    place_in."""

    def __init__(
        self, space: Space, topics: Mapping[str, Sequence[int]], chapters: Iterable[Chapter],
        near: Near | None = None,
    ) -> None:  # fmt: skip
        self._space = space
        self._near_elsewhere = near
        self._subjects = {chapter: space.subject(chapter) for chapter in chapters}
        self._topics = {name: frozenset(members) for name, members in topics.items() if members}
        self._names = list(self._topics)
        self._centres: dict[int, Subject] = {}
        self._having: dict[int, list[str]] = {}
        for name, members in self._topics.items():
            for seq in members:
                self._having.setdefault(seq, []).append(name)

    def having(self, seq: int) -> Sequence[str]:
        """The topics that have this leaf."""
        return self._having.get(seq, ())

    def of(self, chapter: Chapter, is_only: bool) -> tuple[str, ...]:
        """The topics of a chapter, the nearest first; empty if it is near none.

        is_only: whether its source has no other chapter.
        """
        own = {name for seq in chapter for name in self.having(seq)}
        subject = self._subjects[chapter]
        if own:
            kept = [(-shares[0], -shares[1], name) for name in own
                    if (shares := self._kept(name, chapter, subject, is_only))]  # fmt: skip
            return tuple(name for *_, name in sorted(kept)[:1])
        if self._near_elsewhere is not None:
            near = self._near_elsewhere(subject)
        else:
            near = [(value, self._names[at]) for value, at in self._near(subject)]
        least = SECOND_SHARE * near[0][0] if near else 0.0
        return tuple(name for value, name in near[:TOPICS_OF_A_LEAF] if value >= least)

    def _near(self, subject: Subject) -> list[tuple[float, int]]:
        """The numbers of the topics that are near, and how near, the nearest first. Without
        vectors, only topics that can be near are looked at."""
        import numpy as np

        if subject.vector is not None:
            return self._rows.near(subject, LINK_MIN)
        squares = np.zeros(len(self._names))
        said = [phrase for phrase in subject.phrases if phrase in self._saying]
        for phrase in said:
            squares[self._saying[phrase][1]] += subject.phrases[phrase] ** 2
        # Most topics have too little in common with a chapter to be looked at one by one.
        found = [
            (similarity(subject, self._centre(at)), at)
            for at in (SAME_HOME_FACTOR * squares**0.5 >= 0.99 * LINK_MIN).nonzero()[0].tolist()
            if may_be_similar(
                subject, [phrase for phrase in said if at in self._saying[phrase][0]],
                self._homes[at], LINK_MIN,
            )
        ]  # fmt: skip
        return sorted((pair for pair in found if pair[0] >= LINK_MIN), key=lambda p: (-p[0], p[1]))

    def _centre(self, at: int) -> Subject:
        if at not in self._centres:
            self._centres[at] = self._space.centre(self._topics[self._names[at]])
        return self._centres[at]

    @functools.cached_property
    def _rows(self) -> Rows:
        return Rows([self._centre(at) for at in range(len(self._names))])

    @functools.cached_property
    def _homes(self) -> list[set[str]]:
        """The projects of each topic's leaves."""
        leaves = self._space.leaves
        return [
            {home for seq in self._topics[name] if seq in leaves and (home := leaves[seq].home)}
            for name in self._names
        ]

    @functools.cached_property
    def _saying(self) -> dict[str, tuple[set[int], Floats]]:
        """The numbers of the topics with a source that says a phrase, as a set and as an array, for
        the main phrases of the chapters."""
        import numpy as np

        asked = {phrase for subject in self._subjects.values() for phrase in subject.phrases}
        topics_of: dict[str, set[int]] = {}
        for at, name in enumerate(self._names):
            for seq in self._topics[name]:
                if seq in self._space.leaves:
                    topics_of.setdefault(self._space.leaves[seq].source, set()).add(at)
        saying: dict[str, set[int]] = {}
        for source, topics in topics_of.items():
            for phrase in asked & self._space.said.by_source[source]:
                saying.setdefault(phrase, set()).update(topics)
        return {phrase: (topics, np.array([*topics])) for phrase, topics in saying.items()}

    def _kept(
        self, name: str, chapter: Chapter, subject: Subject, is_only: bool
    ) -> tuple[int, float] | None:
        """How many leaves of a chapter a topic has, and how near it is; None if it is the topic of
        another chapter of the source, about something else."""
        shared = self._topics[name].intersection(chapter)
        others = self._topics[name] - shared
        near = similarity(subject, self._space.centre(others)) if others else 1.0
        if is_only or near >= LINK_MIN or len(shared) > len(others):
            return len(shared), near
        return None


def chapters_of(space: Space, seqs: Iterable[int]) -> list[tuple[Chapter, bool]]:
    """The chapters of all sources with these leaves, and whether each is its source's only one, in
    the order of their first leaves."""
    sources: dict[str, list[int]] = {}
    for seq in seqs:
        sources.setdefault(space.leaves[seq].source, []).append(seq)
    found = []
    for members in sources.values():
        parts = divide(space, members)
        found += [(part, len(parts) == 1) for part in parts]
    return sorted(found, key=lambda pair: space.place_of(pair[0][0]))


# -- communities -----------------------------------------------------------------------


def waiting(space: Space, placed: Collection[int]) -> list[Chapter]:
    """The chapters with a leaf in no topic, in order. placed: the leaves in topics."""
    growing = {leaf.source for leaf in space.leaves.values() if leaf.seq not in placed}
    seqs = [leaf.seq for leaf in space.leaves.values() if leaf.source in growing]
    return [part for part, _ in chapters_of(space, seqs) if not all(x in placed for x in part)]


def communities(space: Space, parts: Sequence[Chapter]) -> list[tuple[int, ...]]:
    """Groups of chapters that are about the same subject, with at least LEAVES_MIN leaves.

    The most similar chapters are joined first; two groups are joined if their centres, too, are
    similar, so that no chain of chapters links what is different.
    """
    subjects = [space.subject(part) for part in parts]
    rows = Rows(subjects)
    edges: set[tuple[float, int, int]] = set()
    for at, subject in enumerate(subjects):
        near = [pair for pair in rows.near(subject, LINK_MIN) if pair[1] != at]
        edges |= {(-value, min(at, other), max(at, other)) for value, other in near[:NEIGHBOURS]}
    group_of = list(range(len(parts)))
    groups = {at: [at] for at in group_of}
    centres = dict(enumerate(subjects))
    for _, one, other in sorted(edges):
        first, second = sorted((group_of[one], group_of[other]))
        if first == second or similarity(centres[first], centres[second]) < LINK_MIN:
            continue
        groups[first] += groups.pop(second)
        del centres[second]
        centres[first] = centre_of([subjects[at] for at in groups[first]])
        for at in groups[first]:
            group_of[at] = first
    whole = [space.ordered(seq for at in group for seq in parts[at]) for group in groups.values()]
    found = [tuple(members) for members in whole if len(members) >= LEAVES_MIN]
    return sorted(found, key=lambda members: space.place_of(members[0]))


# -- rebuilding ------------------------------------------------------------------------


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
    """Groups all leaves anew: the leaves of the topics that keep their ids, and of new topics.

    A topic keeps its id if the new one that shares most with it has at least half of its leaves.
    """
    space = Space(leaves, vectors or {})
    fixed = {name: list(topic.leaves) for name, topic in topics.items() if topic.fixed}
    taken = {seq for members in fixed.values() for seq in members}
    parts = [part for part, _ in chapters_of(space, (leaf.seq for leaf in leaves))]
    free = [part for part in (_without(part, taken) for part in parts) if part]
    groups = _with_merged(communities(space, free), topics)
    heirs = _heirs(groups, topics)
    lost = [name for name, topic in topics.items() if topic.named and name not in (*heirs, *fixed)]
    taken = {seq for name in lost for seq in topics[name].leaves}
    whole = {name: list(topics[name].leaves) for name in lost}
    names = {at: name for name, at in heirs.items()}
    for at, members in enumerate(groups):
        left = [seq for seq in members if seq not in taken]
        if at in names or len(left) >= LEAVES_MIN:
            whole[names.get(at, f"{_NEW}{at}")] = left
    _join(space, parts, whole, fixed)
    ordered = {name: tuple(space.ordered(members)) for name, members in (whole | fixed).items()}
    fresh = tuple(members for name, members in ordered.items() if name.startswith(_NEW))
    return {n: members for n, members in ordered.items() if not n.startswith(_NEW)}, fresh


def _join(
    space: Space,
    parts: Sequence[Chapter],
    whole: dict[str, list[int]],
    fixed: Mapping[str, Sequence[int]],
) -> None:
    """Adds to each topic of whole the chapters that are near it and in too few topics."""
    homes = _Homes(space, {**whole, **fixed}, parts)
    for part in parts:
        alone = [seq for seq in part if not homes.having(seq)]
        for name in homes.of(part, is_only=False) if alone else ():
            if name in whole:
                whole[name] += alone


def _without(part: Chapter, taken: set[int]) -> Chapter:
    return tuple(seq for seq in part if seq not in taken)


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
