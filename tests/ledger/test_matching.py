"""Tests treemem.ledger.matching."""

from __future__ import annotations

import itertools
import random

import pytest

from treemem.ledger.matching import (
    comes_later,
    effect,
    entry_id,
    entry_kind,
    may_be_like,
    perhaps_related,
    subjects,
    words_of,
)
from treemem.store.entries import Placed
from treemem.types import EntryKind, Origin
from treemem.verify import relations


def placed(
    text: str,
    kind: EntryKind = "fact",
    position: int = 0,
    *,
    origin: Origin = "typed",
    source: int = 1,
    ms: int | None = None,
    home: int = 0,
) -> Placed:
    settles = kind != "open" and relations.settles(text)
    return Placed(
        position + 1, kind, home, ms, source, position, 1, 1, text, origin, settles, 1.0
    )  # fmt: skip


def test_almost_the_same_words_are_one_entry_in_one_project() -> None:
    ours = entry_id("We ship the crates on Friday.", "shop")
    assert ours == entry_id("we  are shipping the crates on friday", "shop")
    assert ours != entry_id("We ship the crates on Friday.", "farm")
    assert ours != entry_id("We don't ship the crates on Friday.", "shop")
    # Two words say something else in each place.
    assert entry_id("That makes sense.", "shop") != entry_id("It makes sense to me.", "shop")
    assert entry_id("That makes sense.", "shop") == entry_id("that  makes sense.", "shop")


def test_what_is_to_be_done_and_that_it_is_done_are_two_entries() -> None:
    asked, done = "Someone has to index the claims table.", "I've just indexed the claims table."
    assert relations.key(asked) == relations.key(done)
    assert entry_id(asked, "shop") != entry_id(done, "shop")


@pytest.mark.parametrize(
    ("earlier", "later", "expected"),
    [
        (
            ("I still need to order the filter for the pump.", "open"),
            ("The filter for the pump is ordered now.", "fact"),
            "closed",
        ),
        (
            ("The upload limit is 20 MB.", "fact"),
            ("The upload limit is 50 MB now.", "fact"),
            "superseded",
        ),
        (
            ("Always answer me in German.", "constraint"),
            ("Answer in English from now on.", "constraint"),
            "superseded",
        ),
        (
            ("Always use tabs in the tables.", "constraint"),
            ("You don't have to use tabs in the tables any more.", "fact"),
            "withdrawn",
        ),
        (
            ("The mill in the valley needs a new wheel.", "fact"),
            ("The wheel of the mill in the valley turned all night.", "fact"),
            "returns",
        ),
        (("The goats are in the barn.", "fact"), ("Ana bought a red car.", "fact"), None),
    ],
)
def test_what_a_later_entry_does(
    earlier: tuple[str, EntryKind], later: tuple[str, EntryKind], expected: str | None
) -> None:
    first, second = placed(*earlier), placed(*later, 1)
    assert effect(first, second) == expected
    pairs = [(first.seq, second.seq), (second.seq, first.seq)]
    known = {first.seq: first, second.seq: second}
    assert list(perhaps_related(known, pairs)) == (pairs if expected else [])


def test_entries_that_may_be_related_are_told_by_their_subjects() -> None:
    words = "crate harbour lantern ferry walnut 1840 1912 77".split()
    choose = random.Random(5)
    texts = {" ".join(choose.sample(words, choose.randint(2, 6))) for _ in range(60)}
    known = {at: placed(text, position=at - 1) for at, text in enumerate(sorted(texts), 1)}
    pairs = list(itertools.permutations(known, 2))
    about = {seq: subjects("fact", entry.text, "typed") for seq, entry in known.items()}
    like = {(one, other) for one, other in pairs
            if may_be_like(words_of(known[one].text), about[other])}  # fmt: skip
    assert set(perhaps_related(known, pairs)) <= like
    assert len(like) < len(pairs)


def test_nobody_but_the_user_takes_back_a_rule() -> None:
    rule = placed("Always answer me in German.", "constraint")
    for origin in ("assistant", "pasted", "tool", "result", "agent"):
        said = placed("Answer in English from now on.", "constraint", 1, origin=origin)
        assert effect(rule, said) not in ("superseded", "withdrawn", "closed")


def test_a_sentence_that_only_takes_a_rule_back_is_no_rule() -> None:
    taken_back = "You don't have to use tabs in the tables any more."
    assert entry_kind("constraint", taken_back, "typed") == "fact"
    assert entry_kind("constraint", "Always use tabs in the tables.", "typed") == "constraint"
    assert entry_kind("gist", "The mill turned.", "person") == "fact"


def test_entries_of_two_sources_are_in_order_only_if_both_have_times() -> None:
    first, second = placed("a", ms=1, position=9), placed("b", source=2, ms=2)
    assert comes_later(second, first)
    assert not comes_later(first, second)
    untimed = placed("c", source=3)
    assert not comes_later(untimed, first)
    assert not comes_later(first, untimed)
    assert comes_later(placed("d", position=2), placed("e", position=1))


def test_entries_about_the_same_share_subjects() -> None:
    ours = subjects("open", "I still need to order the filter for the pump.", "typed")
    theirs = subjects("fact", "The filter for the pump is ordered now.", "typed")
    assert len(ours & theirs) >= 2


@pytest.mark.parametrize("origin", ["pasted", "tool", "result"])
def test_what_nobody_in_the_history_says_ends_nothing(origin: Origin) -> None:
    point = placed("I still need to order the filter for the pump.", "open")
    done = placed("The filter for the pump is ordered now.", "fact", 1, origin=origin)
    assert effect(point, done) not in ("closed", "superseded")
    newer = placed("The upload limit is 50 MB now.", "fact", 1, origin=origin)
    assert effect(placed("The upload limit is 20 MB."), newer) not in ("closed", "superseded")


@pytest.mark.parametrize(
    ("origin", "home", "expected"),
    [
        ("typed", 0, True), ("person", 0, False), ("person", 3, False), ("document", 3, False),
        ("assistant", 0, False), ("assistant", 3, True), ("agent", 3, True),
    ],
)  # fmt: skip
def test_a_stranger_in_another_source_closes_nothing_of_the_users(
    origin: Origin, home: int, expected: bool
) -> None:
    point = placed("I still need to order the filter for the pump.", "open", ms=1, home=home)
    done = "The filter for the pump is ordered now."
    elsewhere = placed(done, origin=origin, source=2, ms=2, home=home)
    assert (effect(point, elsewhere) == "closed") == expected
    assert effect(point, placed(done, origin=origin, position=2, home=home)) == "closed"


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        ('Ben says "the lid of the vat is repaired".', False),
        ("The `lid` of the vat is repaired.", True),
        ("I repaired the lid of the vat, and the label reads “dry”.", True),
    ],
)
def test_what_a_sentence_only_quotes_closes_nothing(done: str, expected: bool) -> None:
    point = placed("I still need to repair the lid of the vat.", "open")
    assert (effect(point, placed(done, position=1)) == "closed") == expected


def test_what_was_tried_in_vain_closes_nothing() -> None:
    point = placed("We still need to rotate the staging key.", "open")
    assert (
        effect(point, placed("I rotated the staging key, but it failed.", position=1)) != "closed"
    )
    assert effect(point, placed("I rotated the staging key.", position=1)) == "closed"
