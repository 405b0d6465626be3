"""What frames a stretch of Markdown belongs to it, and is shown with it."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.search import snippets
from treemem.search.snippets import READ_CHARS_MAX, around, excerpt
from treemem.text.labels import GAP

MORE = "word " * 40
CODE = "\n".join(f"line({number}) + more" for number in range(60))


def test_the_examples_are_true() -> None:
    assert doctest.testmod(snippets).failed == 0


def shown(text: str, words: str) -> list[str]:
    """The lines of an excerpt from these words on."""
    start = text.index(words)
    return excerpt(text, [(start, start + 150)], [(start, start + 150)], is_framed=True).split("\n")


def test_a_stretch_is_shown_with_the_heading_of_its_section() -> None:
    text = f"# Plan\n\n{MORE}\n\n## Cache\n\n{MORE}\nKeep it small. {MORE}\n\n## Next\n{MORE}"
    assert shown(text, "Keep it small.")[:3] == [GAP, "## Cache", GAP]
    assert shown(text, "Keep it small.")[3].startswith("Keep it small.")
    assert "## Next" not in shown(text, "Keep it small.")


@pytest.mark.parametrize("fence", ["```", "~~~", "  ```"])
def test_code_that_is_cut_keeps_its_fences(fence: str) -> None:
    text = f"Run this:\n\n{fence}sh\n{CODE}\n{fence}\n\n{MORE}"
    lines = [line.strip() for line in shown(text, "line(20)")]
    assert lines[:4] == [GAP, f"{fence}sh".strip(), GAP, "line(20) + more"]
    assert lines[-2:] == [fence.strip(), GAP]


def test_a_comment_in_code_is_no_heading() -> None:
    text = f"## Setup\n{MORE}\n```sh\n# Install everything\n{CODE}\n```\n"
    lines = shown(text, "line(20)")
    assert "## Setup" in lines
    assert "# Install everything" not in lines


def test_a_table_that_is_cut_keeps_its_head() -> None:
    rows = "\n".join(f"| hall {number} | {number} fish and more of it |" for number in range(40))
    text = f"{MORE}\n\n| hall | fish |\n|---|---|\n{rows}\n\nDone."
    lines = shown(text, "| hall 20 |")
    assert lines[1:4] == ["| hall | fish |", "|---|---|", GAP]
    assert lines[4].startswith("| hall 20 |")


def test_a_few_words_and_a_vast_text_have_no_frame() -> None:
    text = f"## Cache\n\n{MORE}"
    assert around(text, (20, 40)) == []
    vast = "## Cache\n" + "word " * (READ_CHARS_MAX // 5)
    assert around(vast, (200, 900)) == []


LINES = ("# Head", "```", "```py", "| a | b |", "|---|---|", "some words of a line", "~~~", "")


@given(st.lists(st.sampled_from(LINES), min_size=30, max_size=60), st.data())
def test_a_frame_never_overlaps_what_it_frames(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    for first, last in around(text, (start, end)):
        assert 0 <= first < last <= len(text)
        assert last <= start or first >= end
