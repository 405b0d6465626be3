"""Excerpts of messages, and the passages of a context as text.

Pure. An excerpt is a stretch of the very words, with a mark where something was left out;
parts of one message that touch are one excerpt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from treemem.text.windows import WINDOW_WORDS, WORD, WORD_CHARS_MAX

GAP = "…"
# An excerpt has so many words, and those to the end of the sentence: less says too little by
# itself, and more is better spent on another message. Where nothing stands between spaces, the
# words are those of windows.py, and as many as a window has are enough.
EXCERPT_WORDS = 85
EXCERPT_WORDS_MORE = 10
_SPACED = re.compile(r"\S+")

Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a passage. place: source, position and first character, for the order."""

    place: tuple[int, int, int]
    text: str


def stretches(text: str, wanted: Collection[Stretch]) -> list[Stretch]:
    """The wanted stretches of a message in order, those that touch as one, and one that stands
    alone neither too short nor longer than it needs to be.

    Example:
        >>> stretches("one two", [(0, 3), (3, 7)])
        [(0, 7)]
    """
    whole = _joined(text, wanted)
    windows = set(wanted)
    return _joined(text, (_fitted(text, *each) if each in windows else each for each in whole))


def _joined(text: str, wanted: Iterable[Stretch]) -> list[Stretch]:
    found: list[Stretch] = []
    for start, end in sorted(wanted):
        if found and not text[found[-1][1] : start].strip():
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _fitted(text: str, start: int, end: int) -> Stretch:
    """A window cut to the size of an excerpt, or with what it lacks; more than a window stays."""
    start, end = _begin_of_word(text, start), _end_of_word(text, end)
    words = list(_SPACED.finditer(text, start, end))
    if EXCERPT_WORDS <= len(words) <= WINDOW_WORDS:
        return start, _first_end(text, words[EXCERPT_WORDS - 1 :])
    return _long_enough(text, start, end)


def _long_enough(text: str, start: int, end: int) -> Stretch:
    """The stretch with as many words after it, then before it, as it lacks. No word is cut but
    for a very long one."""
    start, end = _begin_of_word(text, start), _end_of_word(text, end)
    lack = EXCERPT_WORDS - len(_SPACED.findall(text, start, end))
    parts_lack = WINDOW_WORDS - sum(1 for _ in WORD.finditer(text, start, end))
    if lack <= 0 or parts_lack <= 0:
        return start, end
    for part in WORD.finditer(text, end):
        end = part.end()
        lack -= text[part.start() - 1 : part.start()].isspace()
        parts_lack -= 1
        if lack <= 0 or parts_lack <= 0:
            return start, _end_of_word(text, end)
    begin = _begin_of_word(text, max(0, start - parts_lack * (WORD_CHARS_MAX + 1)))
    for part in reversed(list(WORD.finditer(text, begin, start))):
        start = part.start()
        lack -= not start or text[start - 1].isspace()
        parts_lack -= 1
        if lack <= 0 or parts_lack <= 0:
            break
    return _begin_of_word(text, start), end


def _begin_of_word(text: str, at: int) -> int:
    """Where the word begins that a stretch would begin within; at, where that is far."""
    if 0 < at < len(text) and not text[at].isspace():
        for begin in range(at, max(0, at - WORD_CHARS_MAX) - 1, -1):
            if begin == 0 or text[begin - 1].isspace():
                return begin
    return at


def _end_of_word(text: str, at: int) -> int:
    """Where the word ends that a stretch would end within; at, where that is far."""
    if 0 < at < len(text) and not text[at - 1].isspace():
        for end in range(at, min(len(text), at + WORD_CHARS_MAX) + 1):
            if end == len(text) or text[end].isspace():
                return end
    return at


def _first_end(text: str, words: Sequence[re.Match[str]]) -> int:
    """Where the first of the words ends that ends a sentence or a line, or the last one looked
    at."""
    for word in words[:EXCERPT_WORDS_MORE]:
        if word.group()[-1] in ".!?:;" or text[word.end() : word.end() + 1] == "\n":
            return word.end()
    return words[:EXCERPT_WORDS_MORE][-1].end()


def excerpt(text: str, wanted: Collection[Stretch]) -> str:
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
