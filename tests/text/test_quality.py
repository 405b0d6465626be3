"""Tests treemem.text.quality."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.patterns import folded
from treemem.text import quality as module
from treemem.text.quality import FEATURES, Quality, features, goes_on, is_unclear, quality_of
from treemem.types import ORIGINS

WHOLE = "The harbour office in Turku moved its 40 cranes to the north quay in March."


def judge(text: str, speaker: str = "Ida") -> Quality:
    return quality_of(text, "typed", speaker)


@pytest.mark.parametrize(
    "poor",
    [
        "and then the harbour office moved to the north quay in March",
        "It moved them there in that month, which is the thing they do.",
        "Um , the har - harbour uh uh office you know moved its cranes ,",
        "Could you move your cranes to your north quay, or would you not?",
        "{'office': 'Turku', 'cranes': 40, 'quay': '/north/', 'month': 3}",
        "Oh nice!",
    ],
)
def test_a_scrap_of_speech_is_worse_than_a_whole_sentence(poor: str) -> None:
    assert judge(poor).gist < judge(WHOLE).gist
    assert judge(poor).fact < judge(WHOLE).fact


def test_a_sentence_about_what_its_source_is_about_is_a_better_gist() -> None:
    gists = [quality_of(WHOLE, "typed", "Ida", about).gist for about in range(4)]
    assert gists == sorted(set(gists))


def test_what_is_asked_of_an_assistant_says_what_a_chat_is_about_and_is_no_fact() -> None:
    question = "How do I move the 40 cranes of the Turku harbour office to the north quay?"
    assert judge(question, "user").gist > judge(question, "Ida").gist
    assert judge(question, "user").fact < judge(WHOLE, "user").fact


def test_a_sentence_of_links_says_nothing() -> None:
    link = "<https://forge.example/harbour/turku/commit/09109c965c772c7bce00a550|09109c9>"
    assert judge(f"{link}: Move the 40 cranes to the north quay.") == Quality(0.0, 0.0)
    assert judge(f"{WHOLE} See https://forge.example.").fact > 0


@pytest.mark.parametrize(
    ("whole", "scrap"),
    [
        ("港の事務所は三月に四十台のクレーンを北の岸壁へ移しました。", "はい。"),
        ("Das Hafenamt in Turku hat im März 40 Kräne an den Nordkai verlegt.", "und dann so"),
        ("Портовая контора в Турку перевела 40 кранов на северный причал.", "ну да"),
    ],
)
def test_other_languages_are_judged_by_the_same_features(whole: str, scrap: str) -> None:
    assert judge(whole).fact > judge(scrap).fact
    assert judge(whole).gist > judge(scrap).gist


@given(
    st.text(max_size=300),
    st.sampled_from(ORIGINS),
    st.none() | st.text(max_size=8),
    st.integers(0, 30),
)
def test_any_text_has_a_quality(text: str, origin: str, speaker: str | None, about: int) -> None:
    values = features(text, origin, speaker, about)  # type: ignore[arg-type]
    assert len(values) == len(FEATURES)
    assert all(0 <= value < 20 for value in values)
    quality = quality_of(text, origin, speaker, about)  # type: ignore[arg-type]
    assert 0 <= quality.gist <= 1
    assert 0 <= quality.fact <= 1
    assert is_unclear(text) or not goes_on(text)


PIECES = "um uhh the The a I b and because you know . , - … \u2003 \n ) ” @ … x-y".split(" ")
SPOKEN = st.lists(st.sampled_from(PIECES)).map(" ".join)


@given(SPOKEN | st.text(max_size=60))
def test_the_quick_looks_find_what_the_expressions_say(text: str) -> None:
    low = folded(text)
    assert module._ends_open(low) == (module._OPEN_END.search(low) is not None)
    assert module._hesitations(low) == len(module._FILLER.findall(low))
    stopped = re.search(r"[.!?…。！？][\"')\]*_`”’]*\s*$", text)
    assert features(text, "typed", None)[FEATURES.index("stops")] == (stopped is not None)


@given(SPOKEN | st.text("ab A.,?!'()-\"", max_size=60))
def test_prose_without_odd_characters_is_read_like_any_other(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ODD", re.compile(""))
        carefully = features(text, "typed", "user")
    assert features(text, "typed", "user") == carefully
