"""Cuts conversations into pieces, and packs pieces into a budget, for the baselines.

All baselines return lines "author: text" in order of time, optionally with the time in front.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.data.samples import Conversation
from benchmarks.wording import content_stems
from treemem import Message
from treemem.text.tokens import count_tokens

PIECE_WORDS = 120
# An author, a colon, a word, a line break.
_LINE_TOKENS_MIN = 4
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a message, or a summary.

    place: the number of the message in its conversation, or of the first that a summary cites.
    start, end: offsets of the stretch; both are 0 for a summary. head: author and time.
    """

    place: int
    start: int
    end: int
    text: str
    head: str

    @property
    def line(self) -> str:
        """The piece as it is returned and indexed."""
        return f"{self.head}{self.text}".strip()


# Pieces that are ranked together and returned in order as long as they fit.
Group = Sequence[Piece]


def head(message: Message, *, dated: bool = False) -> str:
    """The author of a message, after the day and the minute if dated.

    Example:
        >>> head(Message(author="Ana", sent_at="2026-03-02T09:30:00"), dated=True)
        '2026-03-02 09:30 Ana: '
    """
    when = str(message.sent_at)[:16].replace("T", " ") + " " if dated and message.sent_at else ""
    return f"{when}{message.speaker}: "


def whole(conversation: Conversation, *, dated: bool = False) -> list[Piece]:
    """Every message that has words, as one piece."""
    return [
        Piece(place, 0, len(message.text), message.text, head(message, dated=dated))
        for place, message in enumerate(conversation.messages)
        if message.text.strip()
    ]


def cut(piece: Piece, words: int = PIECE_WORDS) -> list[Piece]:
    """The piece in stretches of this many words, which join to its text.

    Example:
        >>> [part.text for part in cut(Piece(0, 0, 9, "one two 3", ""), 2)]
        ['one two ', '3']
    """
    starts = [match.start() for match in _WORD.finditer(piece.text)][::words]
    borders = [0, *starts[1:], len(piece.text)]
    return [
        Piece(piece.place, piece.start + start, piece.start + end, piece.text[start:end],
              piece.head)
        for start, end in itertools.pairwise(borders)
    ]  # fmt: skip


def windows(pieces: Iterable[Piece], tokens: int) -> list[Group]:
    """Consecutive pieces in groups of at most this many tokens; a longer piece is alone."""
    groups: list[list[Piece]] = []
    room = 0
    for piece in pieces:
        cost = tokens_of(piece.line)
        if not groups or cost > room:
            groups.append([])
            room = tokens
        groups[-1].append(piece)
        room -= cost
    return list(groups)


@functools.lru_cache(maxsize=20_000)
def excerpt(piece: Piece, question: str, words: int = PIECE_WORDS) -> Piece:
    """The stretch of this many words with most words of the question, centred on them.

    Example:
        >>> excerpt(Piece(0, 0, 17, "one two key four!", ""), "the key?", 2).text
        'two key '
    """
    matches = list(_WORD.finditer(piece.text))
    if len(matches) <= words:
        return piece
    wanted = content_stems(question)
    hits = [int(not wanted.isdisjoint(_stems(word.group()))) for word in matches]
    counts = [sum(hits[:words])]
    for at in range(words, len(matches)):
        counts.append(counts[-1] + hits[at] - hits[at - words])
    first = last = counts.index(max(counts)) if any(hits) else 0
    while any(hits) and last + 1 < len(counts) and counts[last + 1] == counts[first]:
        last += 1
    middle = (first + last) // 2
    start = matches[middle].start() if middle else 0
    end = matches[middle + words].start() if middle + words < len(matches) else len(piece.text)
    return Piece(piece.place, piece.start + start, piece.start + end, piece.text[start:end],
                 piece.head)  # fmt: skip


@functools.lru_cache(maxsize=200_000)
def _stems(word: str) -> set[str]:
    return content_stems(word)


def pack(ranked: Iterable[Group], budget: int) -> str:
    """The best groups that fit into the budget of tokens, as text in order of time.

    Of a group that no longer fits only the beginning is taken.
    """
    chosen: dict[Piece, None] = {}
    left = budget
    for group in ranked:
        for piece in group:
            cost = tokens_of(piece.line) + 1
            if piece in chosen:
                continue
            if cost > left:
                break
            chosen[piece] = None
            left -= cost
        if left < _LINE_TOKENS_MIN:
            break
    text = render(chosen)
    while count_tokens(text) > budget:  # a line break can change how its neighbours count
        chosen.popitem()
        text = render(chosen)
    return text


def render(pieces: Iterable[Piece]) -> str:
    """The pieces in order; adjacent stretches of one message are joined to one line."""
    lines: list[str] = []
    last: Piece | None = None
    for piece in sorted(pieces, key=lambda piece: (piece.place, piece.end > 0, piece.start)):
        if last and (last.place, last.end) == (piece.place, piece.start) and piece.start:
            lines[-1] += piece.text
        else:
            lines.append(piece.head + piece.text)
        last = piece
    return "\n".join(line.strip() for line in lines)


@functools.lru_cache(maxsize=200_000)
def tokens_of(line: str) -> int:
    return count_tokens(line)
