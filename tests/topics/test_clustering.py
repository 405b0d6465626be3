"""Clustering: similar leaves are in one topic, and stay where they are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.topics import clustering
from treemem.topics.clustering import EarlierTopic, Leaf

UNHURRIED = settings(deadline=None, max_examples=15)
TERMS = st.dictionaries(
    st.sampled_from([f"term{n}" for n in range(24)]), st.floats(1, 8), min_size=1, max_size=8
)
LEAVES = st.lists(TERMS, min_size=1, max_size=40).map(
    lambda leaves: [Leaf(10 * at, terms) for at, terms in enumerate(leaves)]
)


@UNHURRIED
@given(LEAVES, st.integers(0, 40))
def test_the_same_leaves_get_the_same_topics_and_assigned_leaves_stay(
    leaves: list[Leaf], known: int
) -> None:
    first = clustering.place(leaves[:known], {}).created
    before = {f"t{at}": members for at, members in enumerate(first)}
    placing = clustering.place(leaves, before)
    assert clustering.place(leaves, before) == placing
    placed = {seq for members in before.values() for seq in members}
    new = [seq for members in placing.created for seq in members]
    assert not placed & {*placing.joined, *new}
    assert all(len(names) <= clustering.TOPICS_OF_A_LEAF for names in placing.joined.values())
    assert all(new.count(seq) + len(placing.joined.get(seq, ())) <= 2 for seq in new)
    assert all(len(members) >= clustering.LEAVES_MIN for members in placing.created)
    assert all(a < b for members in placing.created for a, b in pairwise(members))


@UNHURRIED
@given(LEAVES, st.data())
def test_a_rebuild_keeps_pinned_and_named_topics_and_puts_no_leaf_in_more_than_two(
    leaves: list[Leaf], data: st.DataObject
) -> None:
    seqs = [leaf.seq for leaf in leaves]
    drawn = data.draw(
        st.lists(st.tuples(st.sets(st.sampled_from(seqs), min_size=1), st.booleans(),
                           st.booleans(), st.booleans()), max_size=2)
    )  # fmt: skip
    before = {
        f"t{at}": EarlierTopic(tuple(sorted(own)), *marks) for at, (own, *marks) in enumerate(drawn)
    }
    continued, new = clustering.rebuild(leaves, before)
    assert (continued, new) == clustering.rebuild(leaves, before)
    for name, topic in before.items():
        if topic.fixed:
            assert continued[name] == topic.leaves
        if topic.named:
            assert name in continued
    for seq in seqs:
        once = sum(seq in members for members in (*continued.values(), *new))
        pinned = sum(seq in topic.leaves for topic in before.values())
        assert once <= max(clustering.TOPICS_OF_A_LEAF, pinned)


def test_leaves_with_similar_vectors_share_a_topic_without_a_common_word() -> None:
    draw = np.random.default_rng(1)
    directions = draw.normal(size=(3, 16))
    leaves = [Leaf(n, {f"own{n}": 1.0}) for n in range(12)]
    vectors = {n: directions[n % 3] + 0.1 * draw.normal(size=16) for n in range(12)}
    assert clustering.place(leaves, {}).created == ()
    topics = clustering.place(leaves, {}, vectors).created
    assert topics == ((0, 3, 6, 9), (1, 4, 7, 10), (2, 5, 8, 11))
    later = {"t1": topics[0], "t2": topics[1]}
    assert clustering.place(leaves, later, vectors).created == (topics[2],)
    # A leaf without a vector is compared by its words alone.
    del vectors[11]
    assert clustering.place(leaves, {}, vectors).created == (*topics[:2], (2, 5, 8))


def test_a_leaf_between_two_topics_joins_both() -> None:
    leaves = [Leaf(n, {f"a{n % 2}": 2.0, f"b{n % 2}": 2.0}) for n in range(8)]
    leaves.append(Leaf(8, {"a0": 2.0, "b0": 2.0, "a1": 2.0, "b1": 2.0}))
    known = {"t0": [0, 2, 4, 6], "t1": [1, 3, 5, 7]}
    assert clustering.place(leaves, known).joined == {8: ("t0", "t1")}
