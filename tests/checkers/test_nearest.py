"""The lines nearest to a note are picked in order, and long ones are cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treemem.checkers.nearest import LINE_CHARS_MAX, LINES_MAX, nearest_lines

LINES = [
    "Ana: Good morning.",
    "Tom: The bridge at Varna stays closed until Friday.",
    "Ana: I had porridge.",
    "Tom: Then we take the ferry.",
    "Ana: The ferry costs twelve euros.",
    "Tom: So be it.",
    "Ana: Bring sunglasses.",
]


@given(st.lists(st.text(max_size=900), max_size=9), st.text(max_size=60))
def test_few_short_lines_are_shown_in_their_order(lines: list[str], note: str):
    shown = nearest_lines(lines, note)
    assert len(shown) == min(LINES_MAX, len(lines))
    assert all(len(line) <= LINE_CHARS_MAX and "\n" not in line for line in shown)
    firsts = [" ".join(line.split())[:30] for line in lines]
    places = [[n for n, first in enumerate(firsts) if line[:20] == first[:20]] for line in shown]
    assert all(places)


def test_the_lines_that_share_most_are_chosen():
    shown = nearest_lines(LINES, "They take the ferry, as the bridge is closed.", 2)
    assert shown == [LINES[1], LINES[3]]
    assert LINES[4] in nearest_lines(LINES, "The ferry costs twelve euros.", 1)


def test_a_long_line_keeps_its_speaker_and_what_is_shared():
    long = "Tom: First of all, hello. " + "Nothing of interest here. " * 40 + "The ferry costs 12."
    (shown,) = nearest_lines([long], "The ferry costs 12.")
    assert shown.startswith("Tom: First of all, hello. ")
    assert shown.endswith(" … The ferry costs 12.")
    assert len(shown) <= LINE_CHARS_MAX
