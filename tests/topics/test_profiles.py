"""Profiles: the noun phrases of a leaf, whatever the language."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treemem.text.phrases import name_of
from treemem.topics.profiles import PHRASES_MAX, counts_of, profile


@given(st.lists(st.text(), max_size=5))
def test_a_profile_of_any_text_is_bounded_and_counts_texts(texts: list[str]) -> None:
    found = profile(texts)
    assert len(found) <= PHRASES_MAX
    assert all(1 <= number <= len(texts) for number in found.values())
    assert found == profile(texts)


def test_fillers_speakers_and_verbs_are_in_no_profile() -> None:
    texts = ["Um, yeah, I think so, Ada.", "Ada will probably go and see the glacier tomorrow.",
             "Okay, thanks! That sounds great."]  # fmt: skip
    assert profile(texts, ["Ada Lovelace"]) == {"glacier": 1}


def test_other_languages_have_their_longer_words_or_pairs_of_characters() -> None:
    spanish = "el presupuesto para la cocina nueva llega con la factura de los azulejos y la mesa"
    assert {"presupuesto", "azulejos", "factura"} <= profile([spanish]).keys()
    chinese = "我们昨天讨论了预算追踪器的登录页面 预算 追踪 登录 页面 数据 今天 明天 后天 大"
    assert "预算" in profile([chinese])


def test_counts_of_leaves_add_up_under_one_name() -> None:
    counts = counts_of([{"budget tracker": 2}, {"Budget trackers": 1}])
    assert counts.texts == {name_of("Budget trackers"): 3}
    assert (counts.leaves, counts.nouns["tracker"]) == (2, 2)
