"""Divides the leaves of a source into chapters, where its subject clearly changes.

Pure. A chat is about one subject unless several leaves in a row say the contrary. Where a chapter
begins depends only on the leaves up to its third, so chapters stay when a source grows.

Tested in tests/topics/test_clustering.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from treemem.topics.subjects import Space, agreement

# The leaves of a chapter, at least.
LEAVES_MIN = 3
# The leaves before a possible new chapter that it is compared with.
RECENT_LEAVES = 8
# A new chapter begins where the next leaves are less similar than this to those before, and more
# than this to one another. Between two chats about different things the similarity is below 0.1,
# and between halves of one chat above 0.2 for three in four.
CHANGED_MAX = 0.04
TOGETHER_MIN = 0.15


def divide(space: Space, seqs: Sequence[int]) -> list[tuple[int, ...]]:
    """The chapters of the source with these leaves, which are in order."""
    found: list[list[int]] = []
    for at, seq in enumerate(seqs):
        if not found or (len(found[-1]) >= LEAVES_MIN and _begins(space, found[-1], seqs[at:])):
            found.append([])
        found[-1].append(seq)
    return [tuple(chapter) for chapter in found]


def _begins(space: Space, before: Sequence[int], following: Sequence[int]) -> bool:
    """Whether the following leaves are about another subject than those before."""
    new = following[:LEAVES_MIN]
    if len(new) < LEAVES_MIN:
        return False
    subject = space.subject(new)
    if agreement(subject, space.subject(before[-RECENT_LEAVES:])) >= CHANGED_MAX:
        return False
    alone = [space.subject([seq]) for seq in new]
    together = [agreement(one, other) for one, other in combinations(alone, 2)]
    return sum(together) / len(together) >= TOGETHER_MIN
