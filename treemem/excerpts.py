"""Excerpts of messages, and the passages of a context as text.

Pure. An excerpt is a stretch of the very words, with a mark where something was left out;
parts of one message that touch are one excerpt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

GAP = "…"
EXCERPT_WORDS_MIN = 85
"""A shorter stretch of a long message says too little by itself."""
_WORD = re.compile(r"\S+")

Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a passage. place: source, position and first character, for the order.

    follows: the position before it is a line of the same passage, so nothing lies between.
    """

    place: tuple[int, int, int]
    text: str


def stretches(text: str, wanted: Iterable[Stretch]) -> list[Stretch]:
    """The wanted stretches of a message, none too short, in order, those that touch as one.

    Example:
        >>> stretches("one two", [(0, 3), (3, 7)])
        [(0, 7)]
    """
    found: list[Stretch] = []
    for start, end in sorted(_long_enough(text, start, end) for start, end in wanted):
        if found and not text[found[-1][1] : start].strip():
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _long_enough(text: str, start: int, end: int) -> Stretch:
    """The stretch with as many words after it, then before it, as it lacks."""
    lack = EXCERPT_WORDS_MIN - len(_WORD.findall(text, start, end))
    if lack <= 0:
        return start, end
    after = [found.end() for _, found in zip(range(lack), _WORD.finditer(text, end), strict=False)]
    end = after[-1] if after else end
    lack -= len(after)
    if lack > 0:
        before = _WORD.finditer(text[max(0, start - 40 * lack) : start])
        starts = [found.start() for found in before]
        if starts:
            start = max(0, start - 40 * lack) + starts[max(0, len(starts) - lack)]
    return start, end


def excerpt(text: str, wanted: Iterable[Stretch]) -> str:
    """The stretches as one text with marks where something of the message was left out.

    Example:
        >>> excerpt("short", [(0, 5)])
        'short'
    """
    found = stretches(text, wanted)
    if not found:
        return ""
    pieces = [text[start:end].strip() for start, end in found]
    head = f"{GAP} " if text[: found[0][0]].strip() else ""
    tail = f" {GAP}" if text[found[-1][1] :].strip() else ""
    return head + f" {GAP} ".join(pieces) + tail


def body(lines: Sequence[Line]) -> str:
    """A passage's lines in order, with a mark where messages between them were left out."""
    ordered = sorted(lines, key=lambda line: line.place)
    parts: list[str] = []
    last: int | None = None
    for line in ordered:
        position = line.place[1]
        if last is not None and position > last + 1:
            parts.append(GAP)
        parts.append(line.text)
        last = position
    return "\n".join(parts)


def header(number: int, day: str | None) -> str:
    """What a passage begins with. It costs tokens, so the rest is in the passage's fields.

    Example:
        >>> header(2, "2026-11-27"), header(1, None)
        ('[2 2026-11-27]', '[1]')
    """
    return f"[{number} {day}]" if day else f"[{number}]"
