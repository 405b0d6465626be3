"""Splits messages and statements into sentences.

The two splits differ on purpose. A summary shows sentences of messages word for word, so a missed
split does less harm than a wrong one. A check compares clauses, so it splits at every mark that is
not inside a number or a name.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from treemem.origins.spans import origin_of_part, plain_origin
from treemem.patterns import lazy_regex
from treemem.text import prose
from treemem.types import Message, Origin, PartKind

# Characters of a sentence that can be shown. Shorter ones say too little, longer ones are data.
SENTENCE_CHARS_MIN = 12
SENTENCE_CHARS_MAX = 400
# Parts of a message that may be prose.
_SPEECH_PARTS: frozenset[PartKind] = frozenset({"text", "pasted", "agent"})
# After a dot, a small letter mostly goes on: "e.g. this". After a question it begins anew.
# Subtle: it begins with one set of characters, for which re scans a text very fast.
_END = lazy_regex(
    r"[.!?…。！？](?:(?<![。！？])[\"')\]*_]*\s+(?=[A-Z0-9\"'(\[`*_])|(?<=[\w)]\?)\s+(?=[a-z])"
    r"|(?<=[。！？]))"
)
_LEAD = lazy_regex(r"\s*(?:[-*+•>#|]+\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)*")
# What begins an item of a list: a mark, a number, or a bold label.
_LISTED = lazy_regex(r"\s*(?:[-*+•]\s|\d{1,3}[.)]\s|(?:\*\*|__|`)[^*_`\n]+(?:\*\*|__|`)\s*[:–—-])")
# Whose titled lines may be titles: what somebody types in capitals is a sentence all the same.
_TITLING: frozenset[Origin] = frozenset({"assistant", "document", "pasted", "agent", "tool"})
# A quotation within a sentence: in one line, and without another mark of its kind.
_MENTION = lazy_regex(
    r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|`[^`\n]*`|(?<!\w)'[^'\n]{2,}'(?!\w)"
)
_SENTENCE = lazy_regex(r"(?:[^.!?…\n。！？]|[.!?](?=[\w.!?]))+[.!?…。！？]*")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, of any length. A dot inside a number or a name does not end one.

    Example:
        >>> split_sentences("It takes 1.5 s in a.py. Good!")
        ['It takes 1.5 s in a.py.', 'Good!']
    """
    return [found.strip() for found in _SENTENCE.findall(text) if found.strip()]


class SpokenSentence(NamedTuple):
    """A sentence of a message. origin: whose words it is. own: the sentence without the quotations
    in it that are somebody else's; what a sentence asks for is to be judged by these words.
    is_listed: whether its line is an item of a list or has a label."""

    text: str
    origin: Origin
    own: str
    is_listed: bool = False


def spoken_sentences(message: Message, start: int, end: int) -> Iterator[SpokenSentence]:
    """The sentences between start and end that somebody says in prose.

    Code, tool calls and results, thinking, attachments and what a tool added are left out, and so
    are headings, table rows, captions, marks of a transcript (see prose.py), and list marks and
    quotation marks at the head of a line. A sentence around a quotation is whole. message: marked,
    see origins/marking.py.

    Example:
        >>> message = Message(text="- We ship on Friday. Nobody objects to that.")
        >>> [sentence.text for sentence in spoken_sentences(message, 0, len(message.text))]
        ['We ship on Friday.', 'Nobody objects to that.']
    """
    quoted = _mentions(message, start, end)
    for speech_start, speech_end, origin in _speech(message, start, end, frozenset(quoted)):
        for line_start, line_end in _lines(message.text, speech_start, speech_end):
            line = message.text[line_start:line_end]
            if not prose.is_prose(line) or (origin in _TITLING and prose.is_heading(line)):
                continue
            is_listed = _LISTED.match(line) is not None
            for start_, stop_ in prose.pieces(message.text, line_start, line_end):
                for at, stop in _in_line(message.text, start_, stop_):
                    spoken = _spoken(message.text, at, stop, origin, quoted)
                    yield spoken._replace(is_listed=True) if is_listed else spoken


def _spoken(
    text: str, start: int, end: int, origin: Origin, quoted: Sequence[tuple[int, int]]
) -> SpokenSentence:
    """The sentence between start and end. quoted: see _mentions."""
    sentence = text[start:end]
    if not quoted:
        return SpokenSentence(sentence, origin, sentence)
    first = bisect_left(quoted, (start, start))
    last = bisect_left(quoted, (end, end))
    inside = [(a - start, b - start) for a, b in quoted[first:last]]
    if not inside:
        return SpokenSentence(sentence, origin, sentence)
    pieces = []
    at = 0
    for a, b in inside:
        pieces.append(sentence[at:a])
        at = b
    own = '""'.join([*pieces, sentence[at:]])
    # Subtle: marks may pair up otherwise in the sentence alone, with the quotation outside of them.
    is_mixed = {match.span() for match in _MENTION.finditer(sentence)}.issuperset(inside)
    if is_mixed and any(map(str.isalpha, own)):
        return SpokenSentence(sentence, origin, own)
    return SpokenSentence(sentence, "pasted", sentence)


def _mentions(message: Message, start: int, end: int) -> list[tuple[int, int]]:
    """The pasted parts between start and end that are a quotation within a sentence, in order."""
    if plain_origin(message) != "typed":
        return []
    return sorted(
        (part.start, part.end)
        for part in message.parts
        if part.kind == "pasted"
        and start <= part.start
        and part.end <= end
        and part.end - part.start <= SENTENCE_CHARS_MAX
        and _MENTION.fullmatch(message.text, part.start, part.end)
        and not _END.search(message.text, part.start, part.end)
    )


def _speech(
    message: Message, start: int, end: int, quoted: frozenset[tuple[int, int]]
) -> Iterator[tuple[int, int, Origin]]:
    """The stretches between start and end that are speech, with their origins. A quotation within
    a sentence ends no stretch."""
    plain = plain_origin(message)
    at = start
    # A message of megabytes has thousands of parts, and is read in hundreds of stretches.
    inside = [part for part in message.parts if part.start < end and part.end > start]
    for part in sorted(inside, key=lambda part: (part.start, part.end)):
        if (part.start, part.end) in quoted and part.start >= at:
            continue
        if part.start > at:
            yield at, part.start, plain
        if part.kind in _SPEECH_PARTS and part.end > max(at, start):
            yield max(at, part.start), min(part.end, end), origin_of_part(part.kind, plain)
        at = max(at, part.end)
    if at < end:
        yield at, end, plain


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        newline = text.find("\n", start, end)
        stop = end if newline < 0 else newline
        if stop - start >= SENTENCE_CHARS_MIN:
            yield start, stop
        start = stop + 1


def _in_line(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the sentences of a line begin and end."""
    lead = _LEAD.match(text, start, end)
    start = lead.end() if lead else start
    ends = [match.end() for match in _END.finditer(text, start, end)]
    for stop in (*ends, end):
        sentence = text[start:stop].strip()
        if SENTENCE_CHARS_MIN <= len(sentence) <= SENTENCE_CHARS_MAX:
            at = text.index(sentence, start)
            yield at, at + len(sentence)
        start = stop
