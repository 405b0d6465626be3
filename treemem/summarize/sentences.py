"""Sentences of a message, where each one stands, and which parts of it are speech.

Pure. Code fences, tool calls, tool results, thinking and attachment markers are no speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from treemem.types import Message

SENTENCE_CHARS_MIN = 12
SENTENCE_CHARS_MAX = 400
_FENCE = re.compile(r"^(```+|~~~+).*?(?:^\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_END = re.compile(r"[.!?…][\"')\]*_]*\s+(?=[A-Z0-9\"'(\[`*_])|[。！？]")
_LEAD = re.compile(r"\s*(?:[-*+•>#|]+\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and the offset of its first character in its message."""

    text: str
    start: int


def sentences(message: Message, start: int, end: int) -> Iterator[Sentence]:
    """The sentences that message says in its own voice between start and end.

    List marks, heading marks and quotation marks at a line's head are left out; sentences
    too short to say anything, or too long to be one, are skipped.

    Example:
        >>> talk = Message(text="- We ship on Friday. Nobody objects to that.")
        >>> [s.text for s in sentences(talk, 0, len(talk.text))]
        ['We ship on Friday.', 'Nobody objects to that.']
    """
    for from_, to in _speech(message, start, end):
        for line_start, line_end in _lines(message.text, from_, to):
            yield from _in_line(message.text, line_start, line_end)


def _speech(message: Message, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretches between start and end that are speech."""
    masked = [(part.start, part.end) for part in message.parts if part.kind != "text"]
    if "```" in message.text or "~~~" in message.text:
        masked += [found.span() for found in _FENCE.finditer(message.text)]
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


def _in_line(text: str, start: int, end: int) -> Iterator[Sentence]:
    lead = _LEAD.match(text, start, end)
    start = lead.end() if lead else start
    for found in _END.finditer(text, start, end):
        yield from _sentence(text, start, found.end())
        start = found.end()
    yield from _sentence(text, start, end)


def _sentence(text: str, start: int, end: int) -> Iterator[Sentence]:
    words = text[start:end].strip()
    if SENTENCE_CHARS_MIN <= len(words) <= SENTENCE_CHARS_MAX:
        yield Sentence(words, start + (len(text[start:end]) - len(text[start:end].lstrip())))
