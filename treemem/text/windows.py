"""Cuts the text of a leaf into windows, the pieces that are embedded and excerpted.

Pure and deterministic. A short message is one window; a long one is cut into nearly equal parts at
the ends of sentences or lines, without omissions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treemem.patterns import lazy_regex
from treemem.text.scripts import COUNTED_BY_PAIR

# The most words of a window; a part of a long message has at least half as many.
WINDOW_WORDS = 120
# Neighbouring short messages are merged up to this many words; 0 merges none.
MERGE_WORDS = 0
# The most characters of one word; a longer path or key counts as several.
WORD_CHARS_MAX = 24

# Emoji, and rare scripts, of which each letter costs as much as a word.
_RARE = "\U00010000-\U0001ffff"
# A word, a piece of a long one, or about as much of a script without spaces.
WORD = lazy_regex(
    rf"[{COUNTED_BY_PAIR}]{{1,2}}|[{_RARE}]|[^\s{COUNTED_BY_PAIR}{_RARE}]{{1,{WORD_CHARS_MAX}}}"
)
_SENTENCE_END = lazy_regex(r"[.!?…;][\"'”’»)\]*_`]*\Z|[。！？；]")


@dataclass(frozen=True, slots=True)
class SpanText:
    """A stretch of a message in a leaf. start: its first character in the message."""

    speaker: str
    text: str
    start: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of a leaf, from character start of the message of span number first_span to character
    end (exclusive) of the message of last_span.

    text: a line "speaker: words" for each span, as embedded.
    """

    first_span: int
    start: int
    last_span: int
    end: int
    words: int
    text: str


def cut_windows(spans: Sequence[SpanText]) -> list[Window]:
    """The windows of a leaf, in order. Together they contain every character except whitespace
    exactly once; a leaf of whitespace is one window.

    Example:
        >>> spans = [SpanText("Ana", "We ship."), SpanText("Ben", "")]
        >>> [window.text for window in cut_windows(spans)]
        ['Ana: We ship.']
    """
    merged: list[Window] = []
    for number, span in enumerate(spans):
        for window in _of_span(number, span):
            if merged and merged[-1].words + window.words <= MERGE_WORDS:
                merged[-1] = _merged(merged[-1], window)
            else:
                merged.append(window)
    if not merged and spans:
        first, last = spans[0], spans[-1]
        end = last.start + len(last.text)
        merged.append(Window(0, first.start, len(spans) - 1, end, 0, f"{first.speaker}:"))
    return merged


def _of_span(number: int, span: SpanText) -> Iterator[Window]:
    words = [match.span() for match in WORD.finditer(span.text)]
    done = 0
    while done < len(words):
        count = _next_size(span.text, words, done)
        start, end = words[done][0], words[done + count - 1][1]
        text = f"{span.speaker}: {span.text[start:end]}"
        yield Window(number, span.start + start, number, span.start + end, count, text)
        done += count


def _next_size(text: str, words: Sequence[tuple[int, int]], done: int) -> int:
    """The number of words of the next window. done: words in earlier windows. The window is near an
    equal share of the rest, and ends with a sentence if possible."""
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


def _merged(one: Window, other: Window) -> Window:
    return Window(
        one.first_span, one.start, other.last_span, other.end, one.words + other.words,
        f"{one.text}\n{other.text}",
    )  # fmt: skip
