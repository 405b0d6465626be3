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
        r"\[ x = \frac{3}{4} \cdot 12 \]",
        r"Area: $$\pi r^2 = 12.6$$",
        r"\( P(A) \)",
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
        r"So the share of rye is \( \frac{3}{4} \) of all sacks",
        r"Copy it to C:\mill\sacks before noon",
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


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**Never** grind on Sundays.", "Never grind on Sundays."),
        ("Stone**: the older of both is worn.", "Stone: the older of both is worn."),
        ("## 1. The mill", "1. The mill"),
        ("*Rye* and 2 * 3 * 4 sacks", "Rye and 2 * 3 * 4 sacks"),
        ("Keep __init__ in `__init__.py`", "Keep init in `__init__.py`"),
        ("See <https://mill.example/plan>.", "See mill.example/plan."),
        ("See <https://mill.example/plan|the plan>.", "See the plan."),
        ("A [plan](https://mill.example/plan)", "A plan"),
        ("It is <b>heavy</b>, 3 < 4 > 2.", "It is heavy, 3 < 4 > 2."),
        (r"So \( x = 3 \) sacks.", "So x = 3 sacks."),
        ("The rye is dry\u30107\u2020source\u3011.", "The rye is dry."),
        ("**\ufffd**", "**\ufffd**"),
        ("snake_case_name and a_b", "snake_case_name and a_b"),
    ],
)
def test_marks_are_taken_out(text: str, plain: str) -> None:
    assert prose.without_markup(text) == plain


@given(st.text("ab *_<>[]()|`\\#-/:.", max_size=60))
def test_nothing_but_marks_is_lost_and_something_is_left(text: str) -> None:
    plain = prose.without_markup(text)
    assert any(map(str.isalnum, plain)) == any(map(str.isalnum, text))
    assert len(plain) <= len(text) + 1
