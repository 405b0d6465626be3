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
from treemem.patterns import lazy_regex
from treemem.types import Message, Part

# A longer text was not typed. Its beginning still is examined, for a request above a pasted file.
TYPED_CHARS_MAX = 100_000
_BEGINNING_CHARS = 20_000
_FENCE = lazy_regex(
    r"^[ \t]{0,3}(```+|~~~+).*?(?:^[ \t]{0,3}\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL
)
# What Claude writes for its interface, not for the reader: its thoughts, and files of code.
_FOR_INTERFACE = lazy_regex(
    r"<ant(?:(?P<thinking>Thinking)|Artifact(?![^>]{0,400}text/markdown))\b[^>]{0,400}>"
    r".*?(?:</ant(?(thinking)Thinking|Artifact)>|\Z)",
    re.DOTALL,
)


def mark(message: Message) -> Message:
    """The message with its origin set, and with a part for each stretch that is not plain speech.

    Code between fences becomes a part in every message, and so do an assistant's artifacts;
    elements that a tool adds and pasted text only where the user is said to have typed it. A
    message that consists of such elements alone is no turn of the user's: it becomes another
    agent's, or "injected", or a "summary".

    Example:
        >>> mark(Message(text="Why?\\n> It never works.")).parts
        (Part(kind='pasted', start=5, end=22, name=None),)
    """
    if message.origin is not None:
        return message
    origin = plain_origin(message)
    parts = list(message.parts)
    if origin == "typed":
        parts += _beyond_typing(message.text, parts)
        parts += [
            Part(*stretch)
            for start, end in _plain(message.text, parts)
            for stretch in wrappers.stretches(message.text, start, end)
        ]
        message = _without_user(message, parts)
        origin = plain_origin(message)
    if origin == "assistant":
        parts += list(_for_interface(message.text, parts))
    if "```" in message.text or "~~~" in message.text:
        parts += [
            Part("code", *span)
            for start, end in _plain(message.text, parts)
            for span in _fences(message.text, start, end, is_typed=origin == "typed")
        ]
    if origin == "typed":
        parts += [
            Part("pasted", *span)
            for span in pasted.pasted_spans(message.text, taken=_covered(parts))
        ]
    return replace(message, origin=origin, parts=tuple(parts))


def _for_interface(text: str, parts: list[Part]) -> Iterator[Part]:
    """An assistant's artifacts of code, and its thoughts."""
    if "<ant" in text:
        for start, end in list(_plain(text, parts)):
            for found in _FOR_INTERFACE.finditer(text, start, end):
                yield Part("thinking" if found["thinking"] else "code", *found.span())


def _beyond_typing(text: str, parts: list[Part]) -> Iterator[Part]:
    """The parts of a very long text that nobody can have typed: all but its beginning."""
    if len(text) - sum(end - start for start, end in _covered(parts)) <= TYPED_CHARS_MAX:
        return
    line_end = text.rfind("\n", 0, _BEGINNING_CHARS)
    cut = line_end + 1 if line_end >= 0 else _BEGINNING_CHARS
    for start, end in list(_plain(text, parts)):
        if end > cut:
            yield Part("pasted", max(start, cut), end)


def _without_user(message: Message, parts: list[Part]) -> Message:
    """The message as its real author's, if the user typed nothing of it. parts: all its parts."""
    if not parts or any(
        not message.text[start:end].isspace() for start, end in _plain(message.text, parts)
    ):
        return message
    agents = [part.name for part in parts if part.kind == "agent"]
    if agents and all(part.kind in ("agent", "injected") for part in parts):
        return replace(message, role="other", author=agents[0], origin="agent")
    if not message.parts and wrappers.is_injected([message.text]):
        is_summary = wrappers.is_continuation([message.text])
        return replace(message, kind="summary" if is_summary else "injected")
    return message


def _fences(text: str, start: int, end: int, *, is_typed: bool) -> list[tuple[int, int]]:
    """The blocks of code between start and end.

    is_typed: whether the text may be the user's. Then a last block that is not closed may mean that
    a block contains a fence, and nobody can tell which is which: all from the first is code.
    """
    matches = list(_FENCE.finditer(text, start, end))
    spans = [match.span() for match in matches]
    if is_typed and len(spans) > 1 and not _is_closed(matches[-1]):
        return [(spans[0][0], spans[-1][1])]
    return spans


def _is_closed(fence: re.Match[str]) -> bool:
    lines = fence.group().split("\n")
    return len(lines) > 1 and lines[-1].lstrip(" \t").startswith(fence[1])


def _plain(text: str, parts: Iterable[Part]) -> Iterator[tuple[int, int]]:
    """The stretches of a text that no part covers."""
    at = 0
    for start, end in _covered(parts):
        if start > at:
            yield at, start
        at = end
    if at < len(text):
        yield at, len(text)


def _covered(parts: Iterable[Part]) -> list[tuple[int, int]]:
    """The stretches that parts cover, in order and disjoint."""
    covered: list[tuple[int, int]] = []
    for start, end in sorted((part.start, part.end) for part in parts):
        if covered and start < covered[-1][1]:
            covered[-1] = (covered[-1][0], max(end, covered[-1][1]))
        else:
            covered.append((start, end))
    return covered
