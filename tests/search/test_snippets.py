"""An excerpt is literal, long enough to be understood, and marked where text is left out."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.search.snippets import (
    EXCERPT_WORDS,
    Line,
    body,
    excerpt,
    header,
    shortened,
    stretches,
)
from treemem.text.labels import GAP
from treemem.text.tokens import count_tokens
from treemem.text.windows import WINDOW_WORDS, WORD_CHARS_MAX

FEW = settings(max_examples=25)
LONG = " ".join(f"word{number}" for number in range(1_000))
PIECES = st.lists(st.sampled_from(["ab ", "缓存", "\n", "🎂", "x" * 60, " ", "one two three. "]),
                  max_size=120).map("".join)  # fmt: skip


@st.composite
def wishes(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    text = draw(PIECES)
    places = st.integers(0, len(text))
    wanted = draw(st.lists(st.tuples(places, places), min_size=1, max_size=5))
    return text, [(min(place), max(place)) for place in wanted]


@FEW
@given(wishes())
def test_stretches_contain_the_wanted_ones_in_order_and_do_not_touch(
    wish: tuple[str, list[tuple[int, int]]],
) -> None:
    text, wanted = wish
    found = stretches(text, wanted)
    for start, end in wanted:
        assert any(first <= start and end <= last for first, last in found)
    for (_, end), (start, _) in pairwise(found):
        assert end < start
        assert text[end:start].strip()
    assert all(0 <= start <= end <= len(text) for start, end in found)


@FEW
@given(wishes())
def test_an_excerpt_is_literal(wish: tuple[str, list[tuple[int, int]]]) -> None:
    text, wanted = wish
    for piece in excerpt(text, wanted).split(GAP):
        assert piece.strip() in text


def test_a_whole_message_has_no_marks() -> None:
    assert excerpt(LONG, [(0, len(LONG))]) == LONG
    assert excerpt("", [(0, 0)]) == ""
    assert excerpt("short", []) == ""


def test_marks_show_where_text_is_left_out() -> None:
    start = LONG.index("word500")
    told = excerpt(LONG, [(start, start + 900)])
    assert told.startswith(f"{GAP} word500 ")
    assert told.endswith(f" {GAP}")
    both = excerpt(LONG, [(0, 900), (start, start + 900)])
    assert both.startswith("word0 ")
    assert both.count(GAP) == 2


def test_a_short_stretch_is_extended_after_it_and_then_before_it() -> None:
    (first,) = stretches(LONG, [(0, 5)])
    assert LONG[slice(*first)].split() == LONG.split()[:EXCERPT_WORDS]
    (last,) = stretches(LONG, [(len(LONG) - 7, len(LONG))])
    assert LONG[slice(*last)].split() == LONG.split()[-EXCERPT_WORDS:]


def test_no_word_is_cut() -> None:
    middle = LONG.index("word500") + 3
    (found,) = stretches(LONG, [(middle, middle + 1_000)])
    assert LONG[slice(*found)].split()[0] == "word500"
    assert set(LONG[slice(*found)].split()) <= set(LONG.split())


def test_a_line_without_spaces_is_cut() -> None:
    for text in ("缓存" * 20_000, "x" * 100_000, "🎂" * 50_000):
        (found,) = stretches(text, [(40_000, 40_010)])
        assert found[1] - found[0] <= (WINDOW_WORDS + 2) * WORD_CHARS_MAX


def test_lines_are_in_order_with_a_mark_for_messages_between_them() -> None:
    said = {5: "Ana: later", 2: "Ben: first", 3: "Ana: so"}
    lines = [Line((1, position, 0), text) for position, text in said.items()]
    assert body(lines) == f"Ben: first\nAna: so\n{GAP}\nAna: later"
    assert body([]) == ""
    assert body([Line((1, 2, 1), "a"), Line((1, 2, 0), "b")]) == "b\na"


def test_a_header_has_number_and_day() -> None:
    assert (header(3, "2026-11-27"), header(1, None)) == ("[3 2026-11-27]", "[1]")


# -- shortened -------------------------------------------------------------------------


SOME_WORDS = st.sampled_from(["oat", "walrus", "缓存使用", "a" * 60, "x.", "🎂", "\n"])


@FEW
@given(st.lists(SOME_WORDS, min_size=1), st.sampled_from([" ", ""]), st.integers(1, 60))
def test_a_shortened_part_fits_its_tokens_and_shows_a_match(
    words: list[str], between: str, tokens: int
) -> None:
    text = between.join(words)
    start, end = shortened(text, (0, len(text)), {"walru"}, tokens)
    assert 0 <= start <= end <= len(text)
    if text.strip():
        assert text[start:end].strip()
    assert count_tokens(text[start:end]) <= max(tokens, 20)
    if "walrus" in words and between and tokens > 3:
        assert "walrus" in text[start:end]


def test_a_match_is_shown_in_the_middle_of_a_shortened_part() -> None:
    text = "oat " * 300 + "the walrus sleeps " + "tin " * 300
    start, end = shortened(text, (0, len(text)), {"walru"}, 21)
    before, after = text[start:end].split("walrus")
    assert abs(len(before) - len(after)) < 20
    assert text[start:end] == text[start:end].strip()


def test_of_equally_good_pieces_the_one_that_begins_a_sentence_is_shown() -> None:
    text = "To make it quick, you can keep the walrus in a cache. " + "It is very small. " * 30
    start, end = shortened(text, (0, len(text)), {"walru"}, 30)
    assert text[start:end].startswith("To make it quick")
    later = "It is very small. " * 30 + "So keep the walrus in a cache. " + "It is small. " * 30
    start, end = shortened(later, (0, len(later)), {"walru"}, 12)
    assert later[start:end].startswith(("So keep the walrus", "It is very small. So keep"))


def test_a_part_without_a_match_is_shortened_to_its_beginning() -> None:
    assert shortened("one two three four", (4, 18), {"walru"}, 1) == (4, 7)
    assert shortened("see a1b2c3d4e5 there", (0, 20), {"a1b2c3"}, 6)[0] <= 4
