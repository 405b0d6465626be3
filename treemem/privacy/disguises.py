"""Removes what interrupts a secret without being part of it: characters without width, colors of
a terminal, and lines that continue on the next one.

Pure.

Tested in tests/privacy/test_disguises.py.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from treemem.patterns import lazy_regex

_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
# A backslash at the end of a line, as it is and in JSON. Only between characters of a value: behind
# a blank it separates words.
_BREAK = lazy_regex(
    rf"[{_INVISIBLE}]+|\x1b\[[0-9;]{{0,16}}m"
    r"|\\(?<=[\w+/=.-]\\)(?:\r?\n|\\\\n)[ \t]{0,64}(?=[\w+/=])"
)
_CONTINUED = lazy_regex(r"\\(?<=[\w+/=.-]\\)(?:\r?\n|\\\\n)[ \t]{0,64}(?=[\w+/=])")


class Joined(NamedTuple):
    """A text without breaks. ends: where each removed stretch was, as an offset in the joined text.
    removed: the characters removed up to there."""

    text: str
    ends: list[int]
    removed: list[int]


def has_breaks(text: str) -> bool:
    """Whether a text has breaks. Quick, since most have none."""
    if "\\" in text and _CONTINUED.search(text) is not None:
        return True
    if "\x1b" in text:
        return True
    return not text.isascii() and any(char in text for char in _INVISIBLE)


def without_breaks(text: str) -> str:
    """The text without its breaks.

    Example:
        >>> without_breaks("one\\u200btwo")
        'onetwo'
    """
    return _BREAK.sub("", text) if has_breaks(text) else text


def joined(text: str) -> Joined | None:
    """The text without its breaks; None if it has none."""
    if not has_breaks(text):
        return None
    pieces: list[str] = []
    ends: list[int] = []
    removed: list[int] = []
    at = length = 0
    for match in _BREAK.finditer(text):
        pieces.append(text[at : match.start()])
        length += match.start() - at
        at = match.end()
        ends.append(length)
        removed.append(at - length)
    return Joined("".join([*pieces, text[at:]]), ends, removed) if ends else None


def span_before(joined_text: Joined, start: int, end: int) -> tuple[int, int]:
    """Maps a range of the joined text to the text that it was made from, without the breaks at its
    edges."""
    first = bisect_right(joined_text.ends, start)
    last = bisect_left(joined_text.ends, end)
    return (
        start + (joined_text.removed[first - 1] if first else 0),
        end + (joined_text.removed[last - 1] if last else 0),
    )
