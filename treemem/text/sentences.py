"""Splits messages and statements into sentences.

The two splits differ on purpose. A summary shows sentences of messages word for word, so a missed
split does less harm than a wrong one. A check compares clauses, so it splits at every mark that is
not inside a number or a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from treemem.types import Message

# Characters of a sentence that can be shown. Shorter ones say too little, longer ones are data.
SENTENCE_CHARS_MIN = 12
SENTENCE_CHARS_MAX = 400
_FENCE = re.compile(r"^(```+|~~~+).*?(?:^\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_END = re.compile(r"[.!?…][\"')\]*_]*\s+(?=[A-Z0-9\"'(\[`*_])|[。！？]")
_LEAD = re.compile(r"\s*(?:[-*+•>#|]+\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)*")
_SENTENCE = re.compile(r"(?:[^.!?…\n。！？]|[.!?](?=[\w.!?]))+[.!?…。！？]*")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, of any length. A dot inside a number or a name does not end one.

    Example:
        >>> split_sentences("It takes 1.5 s in a.py. Good!")
        ['It takes 1.5 s in a.py.', 'Good!']
    """
    return [found.strip() for found in _SENTENCE.findall(text) if found.strip()]


def spoken_sentences(message: Message, start: int, end: int) -> Iterator[str]:
    """The sentences between start and end that a message says in its own voice.

    Code fences, tool calls and results, thinking and attachment markers are left out, and so
    are list marks, heading marks and quotation marks at the head of a line.

    Example:
        >>> message = Message(text="- We ship on Friday. Nobody objects to that.")
        >>> list(spoken_sentences(message, 0, len(message.text)))
        ['We ship on Friday.', 'Nobody objects to that.']
    """
    for speech_start, speech_end in _speech(message, start, end):
        for line_start, line_end in _lines(message.text, speech_start, speech_end):
            yield from _in_line(message.text, line_start, line_end)


def _speech(message: Message, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretches between start and end that are speech."""
    masked = [(part.start, part.end) for part in message.parts if part.kind != "text"]
    if "```" in message.text or "~~~" in message.text:
        masked += [match.span() for match in _FENCE.finditer(message.text)]
    at = start
    for mask_start, mask_end in sorted(masked):
        if mask_start >= end:
            break
        if mask_start > at:
            yield at, mask_start
        at = max(at, mask_end)
    if at < end:
        yield at, end


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        newline = text.find("\n", start, end)
        stop = end if newline < 0 else newline
        if stop - start >= SENTENCE_CHARS_MIN:
            yield start, stop
        start = stop + 1


def _in_line(text: str, start: int, end: int) -> Iterator[str]:
    lead = _LEAD.match(text, start, end)
    start = lead.end() if lead else start
    ends = [match.end() for match in _END.finditer(text, start, end)]
    for stop in (*ends, end):
        sentence = text[start:stop].strip()
        if SENTENCE_CHARS_MIN <= len(sentence) <= SENTENCE_CHARS_MAX:
            yield sentence
        start = stop
