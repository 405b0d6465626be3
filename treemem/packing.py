"""From scored messages to a context of at most so many tokens.

Pure. Whole messages where they fit, an excerpt around the query's words where one is long,
calls together with their results, and everything in the order in which it was said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treemem import search_text
from treemem.model import Message

EXCERPT_CHARS = 900
LONG_SHARE = 0.4
HEADER_TOKENS = 24
GAP_TOKENS = 3
GAP = " […] "

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A message that may be returned, where it stands, and its score."""

    message: Message
    source_id: str
    source_order: int
    position: int
    score: float
    leaf: int | None = None

    @property
    def place(self) -> tuple[int, int]:
        """What shares a place shares a header: one leaf of one source, or its open tail."""
        return self.source_order, -1 if self.leaf is None else self.leaf


@dataclass(frozen=True, slots=True)
class Chosen:
    """A message as it is returned: whole, or an excerpt of it."""

    candidate: Candidate
    text: str
    tokens: int


def choose(
    candidates: Sequence[Candidate], query: str, budget_tokens: int, count: Count
) -> list[Chosen]:
    """The best candidates that fit the budget, headers included, in the order of the sources.

    candidates: best first. A message over LONG_SHARE of the budget is cut to an excerpt.
    """
    words = search_text.terms(query)
    chosen: dict[tuple[int, int], Chosen] = {}
    places: set[tuple[int, int]] = set()
    left = budget_tokens
    for candidate in candidates:
        key = (candidate.source_order, candidate.position)
        if key in chosen or left <= 0:
            continue
        taken = _as_returned(candidate, words, budget_tokens, count)
        cost = taken.tokens + (GAP_TOKENS if candidate.place in places else HEADER_TOKENS)
        if cost <= left:
            chosen[key] = taken
            places.add(candidate.place)
            left -= cost
    return [chosen[key] for key in sorted(chosen)]


def _as_returned(
    candidate: Candidate, words: Sequence[str], budget_tokens: int, count: Count
) -> Chosen:
    message = candidate.message
    text = f"{message.speaker}: {message.text}"
    tokens = (message.tokens or 0) + 4
    if tokens > budget_tokens * LONG_SHARE or tokens > 1_500:
        text = f"{message.speaker}: {excerpt(message.text, words)}"
        tokens = count(text) + 1
    return Chosen(candidate, text, tokens)


def excerpt(text: str, words: Sequence[str], chars: int = EXCERPT_CHARS) -> str:
    """The stretch of about chars characters that holds most of the words, cut at line ends or
    spaces, with marks where something was left out.

    Example:
        >>> excerpt("one two three four five six", ["four"], chars=11)
        ' […] four […] '
    """
    if len(text) <= chars:
        return text
    start = _densest(text, words, chars)
    end = min(len(text), start + chars)
    if start > 0:
        start = _next_break(text, start, end)
    if end < len(text):
        end = _last_break(text, start, end)
    head = GAP if start > 0 else ""
    tail = GAP if end < len(text) else ""
    return f"{head}{text[start:end].strip()}{tail}"


def _densest(text: str, words: Sequence[str], chars: int) -> int:
    """Where a stretch of chars holds the most different words."""
    if not words:
        return 0
    pattern = re.compile("|".join(re.escape(word) for word in words), re.IGNORECASE)
    places = [(found.start(), found.group().lower()) for found in pattern.finditer(text)]
    best, best_start, last = 0, 0, 0
    inside: Counter[str] = Counter()
    for start, word in places:
        while last < len(places) and places[last][0] < start + chars * 2 // 3:
            inside[places[last][1]] += 1
            last += 1
        if len(inside) > best:
            best, best_start = len(inside), start
        inside[word] -= 1
        if not inside[word]:
            del inside[word]
    return max(0, min(best_start - chars // 3, len(text) - chars))


def _next_break(text: str, start: int, end: int) -> int:
    found = [at for mark in ("\n", " ") if 0 <= (at := text.find(mark, start, start + 80)) < end]
    return min(found) + 1 if found else start


def _last_break(text: str, start: int, end: int) -> int:
    found = max(text.rfind(mark, max(start, end - 80), end) for mark in ("\n", " "))
    return found if found > start else end


def by_place(chosen: Sequence[Chosen]) -> list[list[Chosen]]:
    """The messages of one leaf as one passage, in order."""
    found: dict[tuple[int, int], list[Chosen]] = {}
    for item in chosen:
        found.setdefault(item.candidate.place, []).append(item)
    return list(found.values())


def body(passage: Sequence[Chosen]) -> str:
    """A passage's messages, with a mark where something between them was left out."""
    lines: list[str] = []
    last: int | None = None
    for item in passage:
        if last is not None and item.candidate.position != last + 1:
            lines.append(GAP.strip())
        lines.append(item.text)
        last = item.candidate.position
    return "\n".join(lines)
