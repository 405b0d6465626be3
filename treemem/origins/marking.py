"""Marks the stretches of a message that its author did not type: code, wrappers, pasted text.

Pure. Runs once for each message, before redaction, whichever way the message arrives; importers
mark what only their formats tell. Marking a marked message again changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from treemem.origins import pasted, wrappers
from treemem.origins.spans import plain_origin
from treemem.types import Message, Part

_FENCE = re.compile(
    r"^[ \t]{0,3}(```+|~~~+).*?(?:^[ \t]{0,3}\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL
)


def mark(message: Message) -> Message:
    """The message with its origin set, and with a part for each stretch that is not plain speech.

    Code between fences becomes a part in every message; elements that a tool adds and pasted text
    only where the user is said to have typed it.

    Example:
        >>> mark(Message(text="Why?\\n> It never works.")).parts
        (Part(kind='pasted', start=5, end=22, name=None),)
    """
    if message.origin is not None:
        return message
    origin = plain_origin(message)
    parts = list(message.parts)
    if origin == "typed":
        parts += [
            Part(element.kind, element.start, element.end, element.name)
            for start, end in _plain(message.text, parts)
            for element in wrappers.elements(message.text, start, end)
        ]
    parts += [
        Part("code", *match.span())
        for start, end in _plain(message.text, parts)
        for match in _fences(message.text, start, end)
    ]
    if origin == "typed":
        parts += [
            Part("pasted", *span)
            for start, end in _plain(message.text, parts)
            for span in pasted.pasted_spans(message.text, start, end)
        ]
    return replace(message, origin=origin, parts=tuple(parts))


def _fences(text: str, start: int, end: int) -> Iterable[re.Match[str]]:
    if "```" not in text and "~~~" not in text:
        return ()
    return _FENCE.finditer(text, start, end)


def _plain(text: str, parts: Iterable[Part]) -> Iterator[tuple[int, int]]:
    """The stretches of a text that no part covers."""
    at = 0
    for start, end in sorted((part.start, part.end) for part in parts):
        if start > at:
            yield at, start
        at = max(at, end)
    if at < len(text):
        yield at, len(text)
