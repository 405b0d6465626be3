"""Cuts excerpts out of messages, and lays out the text of a passage.

Pure. An excerpt is literal text of a message, with marks for omitted text. Adjacent parts of a
message are joined.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice, takewhile

from treemem.patterns import lazy_regex
from treemem.text import bm25
from treemem.text.labels import GAP, clipped, in_quotes
from treemem.text.tokens import count_tokens
from treemem.text.windows import WINDOW_WORDS, WORD, WORD_CHARS_MAX

# Words of an excerpt, and the most further words up to the end of a sentence: a shorter excerpt
# says too little, and the tokens of a longer one are better spent on another message. In text
# without spaces, words are those of windows.py, and an excerpt has as many as a window.
EXCERPT_WORDS = 85
EXCERPT_WORDS_MORE = 10
# Characters before the first word in which the end of a sentence is looked for.
GAP_CHARS = 4
_SPACED = lazy_regex(r"\S+")

# What ends a line, for a terminal, an editor or str.splitlines. A line without text needs no mark.
_LINE_BREAK = lazy_regex("(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])+")

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

# Characters of a source's title in a heading.
TITLE_CHARS_MAX = 48

# Start and end of a part of a message, in characters.
Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a passage. place: source, position and first character, to sort lines by."""

    place: tuple[int, int, int]
    text: str


def stretches(
    text: str,
    wanted: Collection[Stretch],
    exact: Collection[Stretch] = (),
    kept: Collection[Stretch] = (),
) -> list[Stretch]:
    """Merges adjacent stretches of a message, in order, and cuts or extends a single window to the
    length of an excerpt, but not those in exact. kept: what is not cut off.

    Example:
        >>> stretches("one two", [(0, 3), (3, 7)])
        [(0, 7)]
    """
    whole = _joined(text, wanted)
    windows = set(wanted).difference(exact)
    fitted = (_fitted(text, *one, kept) if one in windows else one for one in whole)
    return _joined(text, fitted)


def _joined(text: str, wanted: Iterable[Stretch]) -> list[Stretch]:
    """The stretches in order; those with only whitespace between them are joined."""
    joined: list[Stretch] = []
    for start, end in sorted(wanted):
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _fitted(text: str, start: int, end: int, kept: Collection[Stretch]) -> Stretch:
    """A window, cut or extended to the length of an excerpt; a longer stretch unchanged."""
    start, end = _begin_of_word(text, start), _end_of_word(text, end)
    words = list(_SPACED.finditer(text, start, end))
    if EXCERPT_WORDS <= len(words) <= WINDOW_WORDS:
        inside = [last for first, last in kept if start <= first and last <= end]
        needed = sum(1 for word in words if word.start() < max(inside, default=0))
        first = max(0, needed - EXCERPT_WORDS)
        return words[first].start(), _first_end(text, words[first + EXCERPT_WORDS - 1 :])
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


def shortened(
    text: str, part: Stretch, stems: Collection[str], tokens: int, kept: Stretch | None = None
) -> Stretch:
    """The piece of a part of a message that has at most so many tokens and as many of the query's
    stems as possible, but at least one word or the beginning of one. kept: contained in the piece,
    or the other way round.

    Example:
        >>> shortened("one two three", (0, 13), {"three"}, 2)
        (4, 13)
    """
    words = [match.span() for match in WORD.finditer(text, *part)]
    if not words:
        return part
    hits = _hits(text, words, frozenset(stems))
    count = max(1, min(len(words), tokens))
    inside = [at for at, word in enumerate(words) if kept and _overlap(word, kept)]
    begins = _begins(text, words)
    while True:
        first = _densest(hits, count, inside, begins)
        start, end = words[first][0], words[first + count - 1][1]
        used = count_tokens(text[start:end])
        if used <= tokens or count == 1:
            return start, end
        count = max(1, min(count - 1, count * tokens // used))


def _hits(text: str, words: Sequence[Stretch], stems: frozenset[str]) -> list[frozenset[str]]:
    """The stems of the query in each word; if there are none in any, those that begin a word."""
    whole = [
        # A piece of a long word, or of text without spaces, is read with the piece after it.
        text[start : after[1] if end == after[0] else end]
        for (start, end), after in zip(words, [*words[1:], (-1, -1)], strict=True)
    ]
    hits = [stems.intersection(bm25.stems(word)) for word in whole]
    if any(hits):
        return hits
    return [frozenset(stem for stem in stems if word.lower().startswith(stem)) for word in whole]


def _overlap(one: Stretch, other: Stretch) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _begins(text: str, words: Sequence[Stretch]) -> frozenset[int]:
    """The numbers of the words that begin the text, a line or a sentence."""
    begins = set()
    before = max(0, words[0][0] - GAP_CHARS)
    for number, (start, end) in enumerate(words):
        between = text[before:start].rstrip(" \t")
        if (before == 0 and not between.strip()) or between.endswith(("\n", *".!?:")):
            begins.add(number)
        before = end - 1
    return frozenset(begins)


def _densest(
    hits: Sequence[frozenset[str]], count: int, kept: Sequence[int], begins: Container[int]
) -> int:
    """The first word of the run of count words with the most distinct hits; of equally good runs
    that follow each other, the first one of begins, else the middle one, which has its hits in the
    middle. kept: numbers of words, in order; the run contains them, or lies within them."""
    inside = Counter(chain.from_iterable(hits[:count]))
    distinct = [len(inside)]
    for before, after in zip(hits, hits[count:], strict=False):
        inside.update(after)
        inside.subtract(before)
        distinct.append(sum(number > 0 for number in inside.values()))
    least, largest = 0, len(distinct) - 1
    if kept:
        edges = kept[0], kept[-1] - count + 1
        least, largest = max(0, min(edges)), min(largest, max(edges))
    allowed = distinct[least : largest + 1]
    most = max(allowed)
    first = least + allowed.index(most)
    equal = sum(1 for _ in takewhile(most.__eq__, distinct[first : largest + 1]))
    if not most:
        return least
    clean = (number for number in range(first, first + equal) if number in begins)
    return next(clean, first + equal // 2)


def excerpt(
    text: str,
    wanted: Collection[Stretch],
    exact: Collection[Stretch] = (),
    kept: Collection[Stretch] = (),
    *,
    is_framed: bool = False,
) -> str:
    """The stretches as one text, with marks for omitted text. exact: those of the stretches that
    are neither cut nor extended. kept: see stretches. is_framed: show with each the heading, the
    fences and the head of the table that it belongs to.

    Example:
        >>> excerpt("short", [(0, 5)])
        'short'
    """
    parts = stretches(text, wanted, exact, kept)
    if not parts:
        return ""
    if is_framed:
        frames_of = (around(text, part) for part in parts)
        parts = _joined(text, {*parts, *chain.from_iterable(frames_of)})
    excerpted = ""
    done = 0
    for start, end in parts:
        excerpted += _mark(text, done, start) + text[start:end].strip()
        done = end
    return excerpted + _mark(text, done, len(text))


def _mark(text: str, start: int, end: int) -> str:
    """What stands for an omitted stretch: a mark, in a line of its own if whole lines are omitted,
    so that a fence or a heading beside it stays one.

    Example:
        >>> _mark("a b c", 1, 4), _mark("a\\nb\\nc", 1, 4), _mark("a c", 1, 2)
        (' … ', '\\n…\\n', '')
    """
    if not text[start:end].strip():
        return ""
    before = "\n" if text[start : start + 1] == "\n" else " "
    after = "\n" if text[end - 1 : end] == "\n" else " "
    return f"{before if start else ''}{GAP}{after if end < len(text) else ''}"


# -- what frames a stretch of Markdown -------------------------------------------------


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


# -- passages --------------------------------------------------------------------------


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


def header(number: int, day: str | None, title: str = "") -> str:
    """The first line of a passage. It is short because it costs tokens. title: of the source; it is
    quoted, since it is text of a log or of a caller.

    Example:
        >>> header(2, "2026-11-27"), header(1, None), header(3, None, "Late fees")
        ('[2 2026-11-27]', '[1]', '[3 "Late fees"]')
    """
    quoted = in_quotes(clipped(title, TITLE_CHARS_MAX)) if title else ""
    return f"[{' '.join(filter(None, [str(number), day, quoted]))}]"
