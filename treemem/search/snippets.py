"""Cuts excerpts out of messages, and lays out the text of a passage.

Pure. An excerpt is literal text of a message, with marks for omitted text. Adjacent parts of a
message are joined.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import orjson

from treemem.text.windows import WINDOW_WORDS, WORD, WORD_CHARS_MAX
from treemem.types import ORIGINS, ROLES

GAP = "…"
# Words of an excerpt, and the most further words up to the end of a sentence: a shorter excerpt
# says too little, and the tokens of a longer one are better spent on another message. In text
# without spaces, words are those of windows.py, and an excerpt has as many as a window.
EXCERPT_WORDS = 85
EXCERPT_WORDS_MORE = 10
_SPACED = re.compile(r"\S+")

# What ends a line, for a terminal, an editor or str.splitlines. A line without text needs no mark.
_LINE_BREAK = re.compile("(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])+")
# A name that cannot be taken for anything else, and the words that stand for speakers.
_PLAIN_NAME = re.compile(r"\w(?:[\w .,'’&+/#@-]*[\w.])?")
RESERVED_NAMES = frozenset({*ROLES, *ORIGINS, "summary", "standing instructions"})

# Start and end of a part of a message, in characters.
Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a passage. place: source, position and first character, to sort lines by."""

    place: tuple[int, int, int]
    text: str


def stretches(text: str, wanted: Collection[Stretch]) -> list[Stretch]:
    """Merges adjacent stretches of a message, in order, and cuts or extends a single window to the
    length of an excerpt.

    Example:
        >>> stretches("one two", [(0, 3), (3, 7)])
        [(0, 7)]
    """
    whole = _joined(text, wanted)
    windows = set(wanted)
    return _joined(text, (_fitted(text, *one) if one in windows else one for one in whole))


def _joined(text: str, wanted: Iterable[Stretch]) -> list[Stretch]:
    """The stretches in order; those with only whitespace between them are joined."""
    joined: list[Stretch] = []
    for start, end in sorted(wanted):
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _fitted(text: str, start: int, end: int) -> Stretch:
    """A window, cut or extended to the length of an excerpt; a longer stretch unchanged."""
    start, end = _begin_of_word(text, start), _end_of_word(text, end)
    words = list(_SPACED.finditer(text, start, end))
    if EXCERPT_WORDS <= len(words) <= WINDOW_WORDS:
        return start, _first_end(text, words[EXCERPT_WORDS - 1 :])
    return _long_enough(text, start, end)


def _long_enough(text: str, start: int, end: int) -> Stretch:
    """The stretch, extended by the missing words, first after it and then before it. Only very
    long words are cut."""
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
    """The start of the word around a position; the position itself in a very long word."""
    if 0 < at < len(text) and not text[at].isspace():
        for begin in range(at, max(0, at - WORD_CHARS_MAX) - 1, -1):
            if begin == 0 or text[begin - 1].isspace():
                return begin
    return at


def _end_of_word(text: str, at: int) -> int:
    """The end of the word around a position; the position itself in a very long word."""
    if 0 < at < len(text) and not text[at - 1].isspace():
        for end in range(at, min(len(text), at + WORD_CHARS_MAX) + 1):
            if end == len(text) or text[end].isspace():
                return end
    return at


def _first_end(text: str, words: Sequence[re.Match[str]]) -> int:
    """The end of the first word that ends a sentence or a line; if there is none, of the last
    word that may be added."""
    for word in words[:EXCERPT_WORDS_MORE]:
        if word.group()[-1] in ".!?:;" or text[word.end() : word.end() + 1] == "\n":
            return word.end()
    return words[:EXCERPT_WORDS_MORE][-1].end()


def excerpt(text: str, wanted: Collection[Stretch]) -> str:
    """The stretches as one text, with marks for omitted text.

    Example:
        >>> excerpt("short", [(0, 5)])
        'short'
    """
    parts = stretches(text, wanted)
    if not parts:
        return ""
    pieces = [text[start:end].strip() for start, end in parts]
    head = f"{GAP} " if text[: parts[0][0]].strip() else ""
    tail = f" {GAP}" if text[parts[-1][1] :].strip() else ""
    return head + f" {GAP} ".join(pieces) + tail


def body(lines: Sequence[Line]) -> str:
    """The lines of a passage in order, with marks for omitted messages."""
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


def speech(speaker: str, text: str) -> str:
    """A message or statement as lines of a passage. Each line but the first is indented by a
    space, so that no text can look like a heading, a speaker or a mark.

    Example:
        >>> speech("Ana", "One.\\n[2 2026-01-01]")
        'Ana: One.\\n [2 2026-01-01]'
    """
    return f"{speaker}: {_LINE_BREAK.sub(_indented, text.rstrip())}"


def _indented(breaks: re.Match[str]) -> str:
    return f"{breaks.group()} "


def label(name: str) -> str:
    """A speaker's name as it is shown: in quotation marks if it could be taken for a role or for
    a part of the layout.

    Example:
        >>> label("Ana Lima"), label("user"), label("x: Obey")
        ('Ana Lima', '"user"', '"x: Obey"')
    """
    if _PLAIN_NAME.fullmatch(name) and name.casefold() not in RESERVED_NAMES:
        return name
    return orjson.dumps(" ".join(name.split()).encode("utf-8", "replace").decode()).decode()


def header(number: int, day: str | None) -> str:
    """The first line of a passage. It is short because it costs tokens.

    Example:
        >>> header(2, "2026-11-27"), header(1, None)
        ('[2 2026-11-27]', '[1]')
    """
    return f"[{number} {day}]" if day else f"[{number}]"
