"""Text that the user pasted."""

from __future__ import annotations

from treemem.origins.pasted import pasted_spans


def test_lines_behind_an_angle_bracket_are_pasted() -> None:
    text = "He wrote:\n> Never.\n> Always.\nWhat now?"
    assert [text[a:b] for a, b in pasted_spans(text, 0, len(text))] == ["> Never.\n> Always."]
