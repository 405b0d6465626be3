"""Learned kinds: what the stored weights make of sentences that a user types."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import kinds
from treemem.summarize.detectors import kind_of, words_of
from treemem.summarize.kinds import learned
from treemem.summarize.kinds.place import Place, Turn

TEXT = st.text(max_size=300) | st.text("abN't ,:;?!.9'", max_size=60)


@given(TEXT)
def test_any_text_has_a_kind(text: str) -> None:
    assert learned.kind_of(text) in learned.KINDS


@given(st.sets(st.text("ab _<>~", max_size=4)))
def test_the_kinds_share_the_whole_probability(found: set[str]) -> None:
    weights = {"": [0.1, 0.0, 0.0, 0.0], "a": [1.0, -2.0, 0.5, 0.0], "~ b": [-9.0, 9.0, 0.0, 0.0]}
    assert sum(learned.probabilities(found, weights)) == pytest.approx(1)


@given(TEXT)
def test_words_outside_the_vocabulary_count_by_their_form_alone(text: str) -> None:
    found = learned.features(learned.words_of(text), frozenset())
    assert all(not any(map(str.isalpha, one.replace("length", ""))) for one in found)


def test_the_stored_weights_were_learned_from_the_sentences() -> None:
    right: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for number, text in kinds.read():
        total[number] += 1
        right[number] += learned.kind_of(text) == learned.KINDS[number]
    assert right[0] / total[0] > 0.98
    assert all(right[number] / total[number] > 0.75 for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("place", "is_judged"),
    [
        (Place("typed", Turn("assisted")), True),
        (Place("typed", Turn("people")), False),
        (Place("assistant", Turn("assisted")), False),
        (Place("typed", Turn("assisted"), is_listed=True), False),
    ],
)
def test_only_what_a_user_types_is_judged(place: Place, *, is_judged: bool) -> None:
    sentence = "Helpers belong in the util module, not in the views."
    lower = frozenset(map(str.lower, words_of(sentence)))
    assert (kind_of(sentence, lower, place)[0] == "constraint") == is_judged


WORDS = st.lists(st.sampled_from(sorted(learned._model()[0] | {",", "?", "Ana", "12"})))


@given(TEXT | WORDS.map(" ".join) | st.sampled_from([text for _, text in kinds.read()]))
def test_a_sentence_that_is_a_fact_at_a_quick_look_is_one(text: str) -> None:
    vocabulary, weights = learned._model()
    words = learned.words_of(text)
    if not learned._may_be_other(learned._forms(words, vocabulary)):
        fact, *others = learned.probabilities(learned.features(words, vocabulary), weights)
        assert max(others) < learned.PROBABILITY_MIN or fact > max(others)


def test_the_quick_look_spares_most_facts() -> None:
    vocabulary, _ = learned._model()
    facts = [learned._forms(learned.words_of(text), vocabulary)
             for kind, text in kinds.read() if kind == 0]  # fmt: skip
    assert sum(map(learned._may_be_other, facts)) < 0.2 * len(facts)


@given(TEXT)
def test_words_without_apostrophes_are_found_by_the_same_rule(text: str) -> None:
    words = learned._WORD.findall(text.strip().rstrip("."))[: learned._WORDS_MAX]
    assert learned.words_of(text) == words
