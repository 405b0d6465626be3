"""Finds what a reader needs around a stretch of Markdown: the heading of its section, the fences of
the code that it cuts, and the head of the table that it cuts.

Pure. What is found is stretches of the same text, which are shown with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from treemem.patterns import lazy_regex
from treemem.text.windows import WORD

# A stretch of fewer words is not worth a frame.
FRAMED_WORDS = 25
# Characters of a heading, of a line with a fence, and of the head of a table.
HEADING_CHARS_MAX = 80
FENCE_CHARS_MAX = 40
TABLE_CHARS_MAX = 200
# Characters of a text that are looked through.
READ_CHARS_MAX = 400_000
_MARKS = lazy_regex(
    rf"""^(?:(?P<fence>[ \t]*(?:```|~~~)[^\n`]{{0,{FENCE_CHARS_MAX}}})
    |(?P<heading>\#{{1,6}}[ ][^\n]{{1,{HEADING_CHARS_MAX}}}))$""",
    re.MULTILINE | re.VERBOSE,
)
_ROW = lazy_regex(r"[ \t]*\|")
_RULE = lazy_regex(r"[ \t]*\|?[ \t]*:?-{2,}")

# Start and end of a part of a message, in characters.
Stretch = tuple[int, int]


def around(text: str, stretch: Stretch) -> list[Stretch]:
    """The stretches of a text that frame another one, in order; none of them overlaps it.

    Example:
        >>> text = "## Cache\\nOld.\\n```sh\\nrm a\\nrm b\\n```\\n" + "More. " * 30
        >>> [text[start:end] for start, end in around(text, (25, len(text)))]
        ['## Cache', '```sh']
    """
    start, end = stretch
    if len(text) > READ_CHARS_MAX or not _has_words(text[start:end], FRAMED_WORDS):
        return []
    marks = list(_MARKS.finditer(text))
    heading, opening = _open(mark for mark in marks if mark.start() < start)
    _, last = _open(mark for mark in marks if mark.start() < end)
    head = None if opening else _head_of_table(text, start)
    frame = [one for one in (heading, opening, head) if one and one[1] <= start]
    if last is not None:
        closing = (mark.span() for mark in marks if mark.start() >= end and mark["fence"])
        frame += islice(closing, 1)
    return frame


def _has_words(text: str, count: int) -> bool:
    return next(islice(WORD.finditer(text), count - 1, None), None) is not None


def _open(marks: Iterable[re.Match[str]]) -> tuple[Stretch | None, Stretch | None]:
    """The last heading, and the fence of code that is not closed, at the end of these marks."""
    heading: Stretch | None = None
    fence: Stretch | None = None
    for mark in marks:
        if mark["fence"]:
            fence = mark.span() if fence is None else None
        elif fence is None:
            heading = mark.span()
    return heading, fence


def _head_of_table(text: str, at: int) -> Stretch | None:
    """The first two lines of the table that a place is in; None if it is in none, or in these."""
    line = text.rfind("\n", 0, at) + 1
    top = line
    while top and _ROW.match(text, top):
        above = text.rfind("\n", 0, top - 1) + 1
        if not _ROW.match(text, above):
            break
        top = above
    rule = text.find("\n", top) + 1
    end = text.find("\n", rule)
    is_table = top < line and 0 < rule < line and _RULE.match(text, rule)
    return (top, end) if is_table and end - top <= TABLE_CHARS_MAX else None
