"""Where the text of a leaf is cut into windows, the pieces that are embedded and excerpted.

Pure, and the same for the same leaf always. A message stands alone; a long one is cut into
near-equal parts at the ends of sentences or lines, and nothing of it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treemem.text.scripts import COUNTED_BY_PAIR

# At most so many words a window; a part of a long message has at least half as many.
WINDOW_WORDS = 120
# Neighbouring short messages are put together up to so many words; 0: each stands alone.
MERGE_WORDS = 0
# What is longer between two spaces, such as a path or a key, counts as several words.
WORD_CHARS_MAX = 24

# Emoji, and scripts so rare that each of their letters costs as much as a word.
_RARE = "\U00010000-\U0001ffff"
# A word, or a piece of a long one, or about as much of a script without spaces.
WORD = re.compile(
    rf"[{COUNTED_BY_PAIR}]{{1,2}}|[{_RARE}]|[^\s{COUNTED_BY_PAIR}{_RARE}]{{1,{WORD_CHARS_MAX}}}"
)
_SENTENCE_END = re.compile(r"[.!?…;][\"'”’»)\]*_`]*\Z|[。！？；]")


@dataclass(frozen=True, slots=True)
class SpanText:
    """A stretch of a message in a leaf. start: of the stretch, in the message's characters."""

    speaker: str
    text: str
    start: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """From character start of the message in the leaf's span number first_span to character
    end (exclusive) of the one in last_span; characters count from the message's beginning.

    text: what is embedded, a line "speaker: words" for each span.
    """

    first_span: int
    start: int
    last_span: int
    end: int
    words: int
    text: str


def windows(spans: Sequence[SpanText]) -> list[Window]:
    """The windows of a leaf in order. Together they hold each character that is no whitespace
    exactly once; a leaf of nothing but whitespace is one window.

    Example:
        >>> [window.text for window in windows([SpanText("Ana", "We ship."), SpanText("Ben", "")])]
        ['Ana: We ship.']
    """
    found: list[Window] = []
    for number, span in enumerate(spans):
        for window in _of_span(number, span):
            if found and found[-1].words + window.words <= MERGE_WORDS:
                found[-1] = _together(found[-1], window)
            else:
                found.append(window)
    if not found and spans:
        first, last = spans[0], spans[-1]
        end = last.start + len(last.text)
        found.append(Window(0, first.start, len(spans) - 1, end, 0, f"{first.speaker}:"))
    return found


def _of_span(number: int, span: SpanText) -> Iterator[Window]:
    found = [match.span() for match in WORD.finditer(span.text)]
    done = 0
    while done < len(found):
        count = _next_size(span.text, found, done)
        start, end = found[done][0], found[done + count - 1][1]
        text = f"{span.speaker}: {span.text[start:end]}"
        yield Window(number, span.start + start, number, span.start + end, count, text)
        done += count


def _next_size(text: str, words: Sequence[tuple[int, int]], done: int) -> int:
    """How many of the words after done the next window takes: as near to an equal share of
    what is left as the end of a sentence allows."""
    left = len(words) - done
    if left <= WINDOW_WORDS:
        return left
    share = left / -(-left // WINDOW_WORDS)
    least, most = WINDOW_WORDS // 2, min(WINDOW_WORDS, left - WINDOW_WORDS // 2)
    ends = (size for size in range(least, most + 1) if _ends_sentence(text, words, done + size - 1))
    return min(ends, key=lambda size: abs(size - share), default=int(share))


def _ends_sentence(text: str, words: Sequence[tuple[int, int]], index: int) -> bool:
    start, end = words[index]
    gap = text[end : words[index + 1][0]]
    if "\n" in gap:
        return True
    mark = _SENTENCE_END.search(text[start:end])
    return mark is not None and (bool(gap) or mark.group() in "。！？；")


def _together(one: Window, other: Window) -> Window:
    return Window(
        one.first_span, one.start, other.last_span, other.end, one.words + other.words,
        f"{one.text}\n{other.text}",
    )  # fmt: skip
