"""Noun phrases: what texts are about, found without a model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treemem.text import word_classes
from treemem.text.nouns import marks
from treemem.text.nouns.chunks import TEXT_CHARS_MAX
from treemem.text.nouns.words import singular
from treemem.text.phrases import (
    background_of,
    best_phrases,
    count_phrases,
    main_phrases,
    merge_counts,
)  # fmt: skip

CHAT = [
    "I went to the harvest market with the kids yesterday!",
    "Wow, how was the harvest market? Did you sell your candles?",
    "I sold most of the candles. The beeswax candles went first.",
    "That's amazing, Ruth! I still want to learn how you make candles.",
    "Come over on Sunday, then. We can pour candles after the harvest market.",
]
WORK = [
    "The invoice export fails when a customer has no address.",
    "I looked at the invoice export. The address is optional in the schema.",
    "Let me rewrite the invoice export so that it skips the address.",
]


def test_phrases_say_what_a_chat_is_about() -> None:
    assert main_phrases(CHAT, limit=2) == ["harvest market", "candles"]


def test_phrases_say_what_work_is_about() -> None:
    assert main_phrases(WORK, limit=2) == ["invoice export", "address"]


def test_a_longer_phrase_stands_before_the_shorter_one_within_it() -> None:
    texts = ["The camping trip was wet.", "We loved the camping trip.", "Camping is for ducks."]
    assert main_phrases(texts) == ["camping trip"]


def test_a_phrase_is_in_the_singular_and_the_plural_one() -> None:
    assert main_phrases(["We have a beehive.", "The beehives are full."]) == ["beehive"]


def test_forms_of_one_word_are_one_phrase() -> None:
    texts = ["The app and my application.", "Our app is an application. The gaming of a game."] * 2
    assert len(main_phrases(texts, limit=9)) == 2


def test_a_verb_is_no_phrase() -> None:
    texts = ["I garden every day.", "They garden a lot.", "We garden the whole year."]
    assert main_phrases(texts) == []
    assert main_phrases(["The garden is wet.", "I dug up our garden."]) == ["garden"]


def test_an_order_is_no_part_of_a_phrase() -> None:
    texts = ["Update loft plans for us.", "Update loft plans for me."]
    assert main_phrases(texts) == ["loft plans"]


def test_greetings_and_generic_nouns_are_no_phrases() -> None:
    texts = ["Hey! Thanks for the nice time.", "Hi! It was a great time, thanks. Good thing!"] * 3
    assert main_phrases(texts) == []


def test_transcription_marks_code_links_and_paths_are_no_phrases() -> None:
    texts = [
        "Uh {vocalsound} the {disfmarker} the hinge [laughter] is <loud/> stuck.",
        "See https://example.org/manual/rivets or src/rivets/main.py for the hinge.",
        "```\nimport rivets\nrivets.run()\n```\nThe hinge. [shares a photo: rivets]",
    ]
    assert main_phrases(texts) == ["hinge"]


def test_a_stammered_word_counts_once() -> None:
    assert main_phrases(["So the the the ladder ladder.", "A ladder, a ladder."]) == ["ladder"]


def test_names_of_speakers_and_short_forms_of_them_are_left_out() -> None:
    texts = ["We met with Katharina at the quarry.", "And Kath likes the quarry."]
    assert main_phrases(texts, without=["Katharina Berg"]) == ["quarry"]


def test_identifiers_are_phrases() -> None:
    texts = ["What is in v_milk_day?", "The view v_milk_day joins both."]
    assert "v_milk_day" in main_phrases(texts)


def test_what_the_other_sources_say_too_comes_later() -> None:
    mine = count_phrases(["The budget of the orchard.", "An orchard with a budget."])
    others = [count_phrases(["Our budget."]), count_phrases(["The budget is small."])]
    assert best_phrases(mine, background_of(others)) == ["orchard", "budget"]


def test_a_phrase_said_once_is_no_phrase_of_a_text() -> None:
    counts = count_phrases(["The orchard is far.", "We drove for hours."])
    assert best_phrases(counts) == []
    assert best_phrases(counts, texts_min=1) == ["orchard"]


def test_a_phrase_of_many_leaves_comes_before_one_that_fills_a_single_leaf() -> None:
    leaves = [["The orchard is far."], ["The orchard again."], ["My orchard."]]
    filled = ["The parrot is loud."] * 5
    counts = merge_counts(map(count_phrases, [*leaves, filled]))
    assert best_phrases(counts)[:2] == ["parrot", "orchard"]
    counts = merge_counts(map(count_phrases, [*leaves, *leaves, filled]))
    assert best_phrases(counts)[:2] == ["orchard", "parrot"]


def test_counts_of_leaves_add_up_in_any_order() -> None:
    leaves = [count_phrases(CHAT[:2]), count_phrases(CHAT[2:]), count_phrases(WORK)]
    whole = merge_counts(leaves)
    assert merge_counts([merge_counts(leaves[:2]), leaves[2]]) == whole
    assert best_phrases(merge_counts(reversed(leaves))) == best_phrases(whole)


def test_in_another_language_names_and_capitalized_nouns_are_found() -> None:
    german = ["Wer hat die Leiter?", "Die Leiter steht in Graz.", "In der Halle in Graz."]
    assert main_phrases(german) == ["Graz", "Leiter"]
    assert main_phrases(["来週の会議で予算を決めます。"] * 3) == []


def test_verbs_have_their_forms() -> None:
    assert {"keep", "keeps", "kept", "relies", "relied", "catches"} <= word_classes.VERBS
    assert {"getting", "making", "relying"} <= word_classes.GERUNDS
    assert "hope" not in word_classes.VERBS


def test_singular_keeps_words_that_only_end_like_a_plural() -> None:
    words = ["glass", "bus", "analysis", "candles", "ladies", "boxes", "is"]
    assert [singular(word) for word in words] == [
        "glass", "bus", "analysis", "candle", "lady", "box", "is",
    ]  # fmt: skip


@given(st.lists(st.text(max_size=200), max_size=8), st.integers(1, 5))
def test_phrases_are_spelled_as_in_the_texts(texts: list[str], limit: int) -> None:
    found = main_phrases(texts * 2, limit=limit)
    assert len(found) <= limit
    words = {word for phrase in found for word in phrase.split(" ")}
    assert all(any(word in text for text in texts) for word in words)
    assert found == main_phrases(texts * 2, limit=limit)


def test_odd_text_takes_no_long_time() -> None:
    for odd in (
        "-.",
        "@",
        "a@",
        "a-",
        "/a",
        "[",
        "{",
        "<a",
        "`",
        "a ",
        "~",
        "&a",
        "\\",
        "A_",
        "['",
    ):
        assert len(main_phrases([odd * TEXT_CHARS_MAX] * 2)) <= 1


_PIECES = st.sampled_from([
    "a", "kiln", " ", "\n", ".", ",", "/", "\\", "src/kiln.py", "kiln.py", "www.", "www.-", "https://",
    "@", "[", "]", "(", ")", "(laugh)", "{", "}", "<b>", "<", "&amp;", "&", "``", "`", "**", "=",
    "deadbeef", "DEADBEEF", "12345678", "-", "\t", "\u00a0", "Kiln", "_", "é",
])  # fmt: skip


@given(st.lists(_PIECES, max_size=25).map("".join))
def test_noise_is_looked_for_only_where_something_hints_at_it(text: str) -> None:
    found = marks._without_noise(text)
    assert found == marks._NOISE.sub(" . ", text)
    assert found == text or marks._HINT.search(text)


@given(st.lists(st.sampled_from(["kiln", "Kiln", ",", "5", ".", "’s", "oven’s", "oven's"])))
def test_a_word_said_twice_in_a_row_is_read_once(words: list[str]) -> None:
    expected: list[str] = []
    for word in marks._TOKEN.findall(" ".join(words)):
        said = [one for one in expected if one != ","]
        is_again = word[0].isalpha() and said and _form(said[-1]) == _form(word)
        while is_again and expected[-1] == ",":
            expected.pop()
        expected += [] if is_again else [word]
    assert marks.tokens_of(" ".join(words)) == expected


def _form(word: str) -> str:
    return word.lower().replace("’", "'")
