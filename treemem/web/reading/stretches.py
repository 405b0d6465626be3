"""Cuts a message into stretches by whose words they are, and finds the words that statements cite.

Pure. Tested in tests/web/reading/test_stretches.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from treemem.origins.spans import origin_of_part, plain_origin
from treemem.types import Message, Origin, Part, PartKind, Statement
from treemem.verify.clauses import split_clauses
from treemem.verify.words import stems

# Characters in which the very words of a statement are looked for, and those in which clauses with
# most of its words are, which takes longer.
SEARCHED_CHARS_MAX, COMPARED_CHARS_MAX = 1_000_000, 12_000
# The share of the words of a statement's clause that a clause of a message has, to be what it says.
SHARED_MIN = 0.6
# The fewest words of a clause that is looked for by itself.
CLAUSE_WORDS_MIN = 2
# Parts that a page folds: they are long, and nobody said them.
FOLDED = frozenset({"tool_use", "tool_result", "thinking", "injected"})
# Parts that are folded if they are longer: whole files that were attached.
ATTACHED, ATTACHED_CHARS_MAX = frozenset({"marker", "text"}), 400

StretchKind = Literal["prose"] | PartKind
# Start and end of some characters of a message.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters of a message. cited_by: the statements that they were found to say."""

    text: str
    cited_by: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters of a message of one origin, in pieces.

    kind: "prose" outside of the parts. name: of the part, such as the tool's. start: the first
    character in the message.
    """

    kind: StretchKind
    name: str | None
    origin: Origin
    start: int
    pieces: tuple[Piece, ...]

    @property
    def folds(self) -> bool:
        """Whether a page can fold it."""
        is_long_file = self.kind in ATTACHED and self.chars > ATTACHED_CHARS_MAX
        return self.kind in FOLDED or is_long_file

    @property
    def is_folded(self) -> bool:
        """Whether a page shows it only on request: unless it is cited."""
        return self.folds and not any(piece.cited_by for piece in self.pieces)

    @property
    def chars(self) -> int:
        """Its length."""
        return sum(len(piece.text) for piece in self.pieces)


def stretches_of(
    message: Message, start: int, end: int, cited: Mapping[int, Sequence[Span]] | None = None
) -> list[Stretch]:
    """The stretches between start and end (exclusive) of a message, without blank ones and without
    line breaks around them. cited: the words of statements in it, by the statement.

    Example:
        >>> [(one.kind, one.pieces[0].text) for one in stretches_of(
        ...     Message(text="Look: x = 1", parts=(Part("code", 6, 11),)), 0, 11)]
        [('prose', 'Look: '), ('code', 'x = 1')]
    """
    plain = plain_origin(message)
    found = []
    for part, begin, stop in _tiles(message.parts, start, end):
        words = message.text[begin:stop]
        if not words.strip():
            continue
        first = begin + len(words) - len(words.lstrip("\r\n"))
        last = begin + len(words.rstrip("\r\n"))
        kind: StretchKind = "prose" if part is None else part.kind
        origin = plain if part is None else origin_of_part(part.kind, plain)
        pieces = tuple(_pieces(message.text, first, last, cited or {}))
        found.append(Stretch(kind, part.name if part else None, origin, first, pieces))
    return found


def _tiles(parts: Iterable[Part], start: int, end: int) -> list[tuple[Part | None, int, int]]:
    """The parts between start and end and the stretches between them, in order. Of parts within
    others, the outermost counts."""
    tiles: list[tuple[Part | None, int, int]] = []
    at = start
    for part in sorted(parts, key=lambda one: (one.start, -one.end)):
        first, last = max(part.start, at), min(part.end, end)
        if first >= last:
            continue
        if first > at:
            tiles.append((None, at, first))
        tiles.append((part, first, last))
        at = last
    if at < end:
        tiles.append((None, at, end))
    return tiles


def _pieces(
    text: str, start: int, end: int, cited: Mapping[int, Sequence[Span]]
) -> Iterable[Piece]:
    """The characters from start to end, cut where a citation begins or ends."""
    edges = {start, end}
    for spans in cited.values():
        edges |= {edge for span in spans for edge in span if start < edge < end}
    ordered = sorted(edges)
    for first, last in pairwise(ordered):
        by = tuple(
            statement for statement, spans in cited.items()
            if any(one <= first and last <= other for one, other in spans)
        )  # fmt: skip
        yield Piece(text[first:last], by)


def cited_spans(
    statements: Iterable[Statement], message: Message, start: int = 0, end: int | None = None
) -> dict[int, list[Span]]:
    """Where the words of the statements that cite a message stand between start and end (exclusive)
    of it, by statement; without those that are not found. end: None for that of the message."""
    text = message.text[start:end]
    spans = {
        statement.id: located(statement.text, text)
        for statement in statements
        if any(cited.id == message.id for cited in statement.messages)
    }
    return {
        statement: [(start + first, start + last) for first, last in found]
        for statement, found in spans.items()
        if found
    }


def located(statement: str, text: str) -> list[Span]:
    """Where a text says what a statement says: the same words, else clauses with most of them.

    Example:
        >>> located("ship on Friday.", "We\\nship on  Friday. Nobody objects.")
        [(3, 19)]
        >>> located("The team ships on Friday.", "Well, we ship on Friday. Nobody objects.")
        [(6, 24)]
        >>> located("Nobody knows.", "It rains.")
        []
    """
    if whole := _same_words(statement, text[:SEARCHED_CHARS_MAX]):
        return [whole]
    text = text[:COMPARED_CHARS_MAX]
    clauses = [clause.text for clause in split_clauses(statement)]
    found = [_clause(clause, text) for clause in clauses]
    return _merged(span for span in found if span is not None)


def _clause(clause: str, text: str) -> Span | None:
    if len(clause.split()) >= CLAUSE_WORDS_MIN and (same := _same_words(clause, text)):
        return same
    wanted = stems(clause)
    best, best_share = "", 0.0
    for other in split_clauses(text):
        share = len(wanted & stems(other.text)) / max(1, len(wanted))
        if share > best_share:
            best, best_share = other.text, share
    return _same_words(best, text) if best_share >= SHARED_MIN else None


def _same_words(words: str, text: str) -> Span | None:
    """The first place with these words, however they are spaced and whatever their case."""
    parts = words.strip(" \n\t…").split()
    if not parts:
        return None
    pattern = r"\s+".join(map(re.escape, parts))
    found = re.search(pattern, text, re.IGNORECASE)
    return found.span() if found else None


def _merged(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, those that touch as one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def around(spans: Sequence[Span], length: int, room: int) -> Span:
    """The stretch of a message of so many characters that shows its cited words.

    Example:
        >>> around([(900, 950)], 2_000, 100), around([], 2_000, 100), around([(9, 12)], 50, 100)
        ((875, 975), (0, 100), (0, 50))
    """
    if length <= room:
        return 0, length
    first, last = spans[0] if spans else (0, 0)
    start = max(0, min(first - max(0, room - (last - first)) // 2, length - room))
    return start, start + room
