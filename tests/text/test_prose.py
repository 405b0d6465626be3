"""Prose: lines that may have sentences, apart from code, tables, headings, captions and marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.text import prose
from treemem.text.sentences import spoken_sentences
from treemem.types import Message


@pytest.mark.parametrize(
    "line",
    [
        "return fetch_rows(query)",
        "  const total = items.length;",
        "def mill(sacks: int) -> int:",
        "import json",
        "    'Linz': (48.30, 14.29),",
        '  "name": "mill",',
        "| Column | Meaning |",
        "|--------|---------|",
        "+++ b/mill/grind.py",
        "diff --git a/mill.py b/mill.py",
        'File "mill.py", line 3, in <module>',
        "src/mill.py, src/sack.py",
        "https://example.org/a/b",
        "/compact keep the plan",
        "Copyright (c) 2024 The Mill Authors",
        "THE SOFTWARE IS PROVIDED AS IS, WITHOUT WARRANTY OF ANY KIND.",
        "**Next steps:**",
        "<div class='mill'>",
    ],
)
def test_code_tables_paths_and_licences_are_no_prose(line: str) -> None:
    assert not prose.is_prose(line)


@pytest.mark.parametrize(
    "line",
    [
        "The mill grinds rye on Mondays.",
        "Run `make test` in src/mill before you push.",
        "We return the sacks on Friday (all of them).",
        "if the sluice leaks, call Ana",
        "import the sacks of last week, please",
        "The limit is 3 = one for each stone, see the plan.",
        "**Note**: the sluice is shut at night",
        "{vocalsound} So we meet at noon, I guess.",
    ],
)
def test_sentences_with_odd_signs_are_prose(line: str) -> None:
    assert prose.is_prose(line)


def test_titles_are_headings_and_sentences_are_not() -> None:
    assert prose.is_heading("### Grinding the rye")
    assert prose.is_heading("Update Your Mill Plan")
    assert not prose.is_heading("Anna Maria Lang: Miller of Linz")
    assert not prose.is_heading("We Ship On Friday.")
    assert not prose.is_heading("grind the rye at night")


PARTS = (
    "The mill grinds rye. ", "{pause}", "[laughter]", "(", "<v Ana>", "[shares a photo: a mill]",
    "- ", "x", "\n",
)  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=8))
def test_the_pieces_of_a_text_are_stretches_of_it_without_marks(parts: list[str]) -> None:
    text = "".join(parts)
    spans = list(prose.pieces(text, 0, len(text)))
    assert spans == sorted(spans)
    assert all("{pause}" not in text[a:b] and "photo" not in text[a:b] for a, b in spans)


def test_a_caption_is_cut_off_and_the_sentence_beside_it_stays() -> None:
    text = "I painted the old mill. [shares a photo: a photo of a mill that must never close]"
    spoken = list(spoken_sentences(Message(text=text), 0, len(text)))
    assert [sentence.text for sentence in spoken] == ["I painted the old mill."]


def test_headings_of_an_answer_are_left_out_and_those_of_a_user_are_not() -> None:
    text = "## Mend The Old Sluice\nThe sluice leaks at night."
    said = [s.text for s in spoken_sentences(Message("assistant", text), 0, len(text))]
    assert said == ["The sluice leaks at night."]
    typed = [s.text for s in spoken_sentences(Message("user", text), 0, len(text))]
    assert typed == ["Mend The Old Sluice", "The sluice leaks at night."]
