"""Clustering: a chat is in one topic, chats about the same subject share it, and leaves stay."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.topics import clustering
from treemem.topics.chapters import LEAVES_MIN
from treemem.topics.clustering import EarlierTopic
from treemem.topics.profiles import profile
from treemem.topics.subjects import Leaf, Rows, Space

UNHURRIED = settings(deadline=None, max_examples=15)
PHRASES = st.dictionaries(
    st.sampled_from([f"noun{n} other{n} third{n}" for n in range(12)]), st.integers(1, 5),
    min_size=1, max_size=6,
)  # fmt: skip
LEAVES = st.lists(st.tuples(PHRASES, st.integers(0, 9)), min_size=1, max_size=40).map(
    lambda drawn: [
        Leaf(10 * at, phrases, f"chat/{source}") for at, (phrases, source) in enumerate(drawn)
    ]
)
BOAT = ("The mast of the boat needs varnish.", "A rigger checked the mast and the keel.",
        "The keel of the boat was scratched.", "The varnish for the mast is here.")  # fmt: skip
BREAD = ("The sourdough starter needs rye flour.", "The crust of the sourdough was dark.",
         "Rye flour makes the crumb dense.", "The starter stood beside the oven.")  # fmt: skip
TAXES = ("The tax return needs the receipts.", "The receipts of the dentist are missing.",
         "The accountant sends the tax return.", "The dentist sent an invoice.")  # fmt: skip


def chat(source: str, texts: Sequence[str], first: int, leaves: int = 4) -> list[Leaf]:
    """Leaves of a chat with these texts, each with three of them."""
    return [
        Leaf(first + at, profile([texts[(at + n) % len(texts)] for n in range(3)]), source)
        for at in range(leaves)
    ]


@UNHURRIED
@given(LEAVES, st.integers(0, 40))
def test_the_same_leaves_get_the_same_topics_and_assigned_leaves_stay(
    leaves: list[Leaf], known: int
) -> None:
    first = clustering.place(leaves[:known], {}).created
    before = {f"t{at}": members for at, members in enumerate(first)}
    placing = clustering.place(leaves, before)
    assert clustering.place(leaves, before) == placing
    groups = [*before.values(), *placing.created]
    for seq in (leaf.seq for leaf in leaves):
        joined = placing.joined.get(seq, ())
        assert not joined or not any(seq in members for members in groups)
        assert len(joined) + sum(seq in members for members in groups) <= 2
    assert all(len(members) >= LEAVES_MIN for members in placing.created)
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


def test_each_chat_is_one_topic_and_chats_about_the_same_subject_share_it() -> None:
    boat, bread, taxes = chat("a", BOAT, 0), chat("b", BREAD, 10), chat("c", TAXES, 20)
    again = chat("d", BOAT[::-1], 30, leaves=2)
    # A chat of a single leaf without a subject of its own waits.
    alone = [Leaf(40, profile(["Fine, thanks.", "See you on Monday."]), "e")]
    placing = clustering.place([*boat, *bread, *taxes, *again, *alone], {})
    assert placing.created == ((0, 1, 2, 3, 30, 31), (10, 11, 12, 13), (20, 21, 22, 23))
    assert placing.joined == {}


WORDS = st.sampled_from("mast keel rigger varnish crust starter rye flour".split())
MIXED = st.lists(
    st.tuples(
        st.dictionaries(st.lists(WORDS, min_size=1, max_size=3).map(" ".join), st.integers(1, 5)),
        st.integers(0, 9), st.sampled_from([None, "p", "q"]), st.integers(0, 3),
    ),
    min_size=1, max_size=40,
)  # fmt: skip


@UNHURRIED
@given(MIXED)
def test_only_topics_that_cannot_be_near_are_passed_over(
    drawn: list[tuple[dict[str, int], int, str | None, int]],
) -> None:
    leaves = [Leaf(at, phrases, f"chat/{source}", home)
              for at, (phrases, source, home, _) in enumerate(drawn)]  # fmt: skip
    topics: dict[str, list[int]] = {}
    for at, (_, _, _, topic) in enumerate(drawn):
        topics.setdefault(f"t{topic}", []).append(at)
    space = Space(leaves, {})
    chapters = [(leaf.seq,) for leaf in leaves]
    homes = clustering._Homes(space, topics, chapters)
    every = Rows([space.centre(members) for members in topics.values()])
    for chapter in chapters:
        subject = space.subject(chapter)
        assert homes._near(subject) == every.near(subject, clustering.LINK_MIN)


def test_the_topics_are_the_same_in_every_order_of_arrival() -> None:
    chats = [chat("a", BOAT, 0), chat("b", BREAD, 10), chat("c", TAXES, 20), chat("d", BOAT, 30),
             chat("e", TAXES, 40, leaves=1)]  # fmt: skip
    placing = clustering.place([leaf for leaves in chats for leaf in leaves], {})
    at_once = {frozenset(members) for members in placing.created}
    for order in ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 3, 1)):
        topics: dict[str, list[int]] = {}
        have: list[Leaf] = []
        for number in order:
            # One leaf after the other.
            for leaf in chats[number]:
                have.append(leaf)
                placing = clustering.place(have, topics)
                for seq, names in placing.joined.items():
                    for name in names:
                        topics[name].append(seq)
                for members in placing.created:
                    topics[f"t{len(topics)}"] = list(members)
        assert {frozenset(members) for members in topics.values()} == at_once


def test_a_chat_that_changes_its_subject_for_several_leaves_is_in_two_topics() -> None:
    first, second = chat("a", BOAT, 0), chat("a", TAXES, 10)
    others = chat("b", BREAD, 20)
    assert clustering.place([*first, *second, *others], {}).created[:2] == (
        (0, 1, 2, 3), (10, 11, 12, 13),
    )  # fmt: skip
    # Leaves that came before the change could be seen are in both.
    topics = {"t1": [0, 1, 2, 3, 10, 11]}
    assert clustering.place([*first, *second, *others], topics).created[0] == (10, 11, 12, 13)
    # A single leaf about something else changes nothing.
    placing = clustering.place([*first, *second[:1], *others], {"t1": [0, 1, 2, 3]})
    assert placing.joined == {10: ("t1",)}


def test_what_all_chats_say_and_single_common_words_link_nothing() -> None:
    greeting = "Good morning, how was the weekend? The weather is nice."
    mixed = [
        Leaf(10 * number + at, profile([greeting, *own, "Thanks, see you soon."]), f"chat/{number}")
        for number, own in enumerate((BOAT, BREAD, TAXES))
        for at in range(3)
    ]
    assert clustering.place(mixed, {}).created == ((0, 1, 2), (10, 11, 12), (20, 21, 22))
    # "mast" alone is a coincidence.
    castle = profile(["A mast fell on the castle.", "The dragon left the castle."])
    tale = [Leaf(50 + number, castle, "x") for number in range(3)]
    assert (50, 51, 52) in clustering.place([*mixed, *tale], {}).created


def test_sessions_of_one_project_need_less_in_common() -> None:
    def sessions(homes: tuple[str, str]) -> list[Leaf]:
        shared = {"export job": 1, "invoice": 1}
        own = ({"parser table": 4, "cursor stack": 4, "grammar": 4, "lexer": 4},
               {"queue lease": 4, "worker pool": 4, "backlog": 4, "retry": 4})  # fmt: skip
        return [Leaf(2 * n + at, own[n] | shared, f"s{n}", homes[n])
                for n in range(2) for at in range(2)]  # fmt: skip

    assert clustering.place(sessions(("/w/shop", "/w/blog")), {}).created == ()
    shared = {"export job": 2, "invoice": 2}
    strong = [Leaf(leaf.seq, dict(leaf.phrases) | shared, leaf.source, leaf.home)
              for leaf in sessions(("/w/shop", "/w/shop"))]  # fmt: skip
    assert clustering.place(strong, {}).created == ((0, 1, 2, 3),)


def test_leaves_with_similar_vectors_share_a_topic_without_a_common_word() -> None:
    draw = np.random.default_rng(1)
    directions = draw.normal(size=(3, 16))
    leaves = [Leaf(n, {f"own{n}": 1}, f"chat/{n}") for n in range(12)]
    vectors = {n: directions[n % 3] + 0.1 * draw.normal(size=16) for n in range(12)}
    assert clustering.place(leaves, {}).created == ()
    topics = clustering.place(leaves, {}, vectors).created
    assert topics == ((0, 3, 6, 9), (1, 4, 7, 10), (2, 5, 8, 11))
    later = {"t1": topics[0], "t2": topics[1]}
    assert clustering.place(leaves, later, vectors).created == (topics[2],)
    # A leaf without a vector is compared by its words alone.
    del vectors[11]
    assert clustering.place(leaves, {}, vectors).created == (*topics[:2], (2, 5, 8))


def test_a_chat_between_two_topics_joins_both() -> None:
    boat, taxes = chat("a", BOAT, 0), chat("b", TAXES, 10)
    both = [Leaf(20, profile([*BOAT, *TAXES]), "c")]
    placing = clustering.place([*boat, *taxes, *both], {"t0": [0, 1, 2, 3], "t1": [10, 11, 12, 13]})
    assert set(placing.joined[20]) == {"t0", "t1"}
