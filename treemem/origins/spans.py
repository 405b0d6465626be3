"""Splits a message into stretches by origin: whose words they are.

Pure. The message has an origin for the words outside of its parts, and each part has one by its
kind. A statement inherits the weakest origin of the words it cites.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from treemem.types import ORIGINS, Message, MessageKind, Origin, PartKind, Role

_RANK = {origin: rank for rank, origin in enumerate(ORIGINS)}
_OF_ROLE: dict[Role, Origin] = {
    "user": "typed", "assistant": "assistant", "system": "tool", "tool": "result",
    "document": "document", "other": "person",
}  # fmt: skip
_OF_PART: dict[PartKind, Origin] = {
    "thinking": "assistant", "tool_use": "assistant", "tool_result": "result", "marker": "tool",
    "pasted": "pasted", "injected": "tool", "agent": "agent",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OriginSpan:
    """The characters start to end (exclusive) of a message that have one origin."""

    start: int
    end: int
    origin: Origin


def base_origin(role: str, kind: MessageKind) -> Origin:
    """The origin of a message's plain text, by who speaks and in which way.

    Example:
        >>> base_origin("user", "said"), base_origin("user", "injected")
        ('typed', 'tool')
    """
    if role in ("user", "other") and kind != "said":
        return "tool"
    return _OF_ROLE.get(role, "person")  # type: ignore[call-overload,no-any-return]


def plain_origin(message: Message) -> Origin:
    """The origin of a message's words outside of its parts."""
    return message.origin or base_origin(message.role, message.kind)


def weakest(origins: Iterable[Origin]) -> Origin:
    """The origin with the least authority. Raises ValueError if there is none.

    Example:
        >>> weakest(["typed", "pasted"])
        'pasted'
    """
    return max(origins, key=_RANK.__getitem__)


def spans_of(message: Message) -> list[OriginSpan]:
    """The stretches of a message, which cover its whole text. Where parts overlap, the weakest
    origin counts.

    Example:
        >>> spans_of(Message(text="Hello"))
        [OriginSpan(start=0, end=5, origin='typed')]
    """
    plain = plain_origin(message)
    bounded = [(part.start, part.end, origin_of_part(part.kind, plain))
                      for part in message.parts]  # fmt: skip
    edges = sorted({0, len(message.text)}.union(*((start, end) for start, end, _ in bounded)))
    spans: list[OriginSpan] = []
    for start, end, covering in _sweep(edges, bounded):
        origin = weakest(covering) if covering else plain
        if spans and spans[-1].origin == origin:
            spans[-1] = OriginSpan(spans[-1].start, end, origin)
        else:
            spans.append(OriginSpan(start, end, origin))
    return spans


def origins_in(message: Message) -> frozenset[Origin]:
    """The origins of a message's words; that of its plain text if it has no words.

    Example:
        >>> sorted(origins_in(Message("assistant", "Why?")))
        ['assistant']
    """
    found = {span.origin for span in spans_of(message)
             if message.text[span.start : span.end].strip()}  # fmt: skip
    return frozenset(found or {plain_origin(message)})


def origin_of_words(words: str, cited: Iterable[Message]) -> Origin:
    """The origin of a statement: the weakest among the messages it cites.

    In a message that contains the words, the stretch with them counts; in another one, all prose.
    A statement that cites nothing is nobody's: "pasted".
    """
    return weakest([origin for message in cited for origin in _origins_in(message, words)]
                   or ["pasted"])  # fmt: skip


def _origins_in(message: Message, words: str) -> list[Origin]:
    start = message.text.find(words)
    end = len(message.text) if start < 0 else start + len(words)
    return [origin_of_span(message, max(start, 0), end)]


def origin_of_span(message: Message, start: int, end: int) -> Origin:
    """The weakest origin between start and end (exclusive) of a message. What a tool added or
    returned counts only if there is nothing else."""
    inside = [span.origin for span in spans_of(message) if span.start < end and span.end > start]
    said = [origin for origin in inside if origin not in ("tool", "result")]
    return weakest(said or inside or [plain_origin(message)])


def origin_of_part(kind: PartKind, plain: Origin) -> Origin:
    """The origin of a part. Code and attached text in a message of the user's are not typed.

    plain: the origin of the message's plain text.
    """
    if kind in ("code", "text"):
        return "pasted" if plain == "typed" else plain
    return _OF_PART[kind]


def _sweep(
    edges: list[int], parts: list[tuple[int, int, Origin]]
) -> Iterator[tuple[int, int, list[Origin]]]:
    """Yields each stretch between neighbouring edges with the origins of the parts around it."""
    waiting = sorted(parts, reverse=True)
    active: list[tuple[int, Origin]] = []
    for start, end in pairwise(edges):
        while waiting and waiting[-1][0] <= start:
            _, part_end, origin = waiting.pop()
            active.append((part_end, origin))
        active = [(part_end, origin) for part_end, origin in active if part_end > start]
        yield start, end, [origin for _, origin in active]
