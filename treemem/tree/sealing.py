"""Decides where one leaf ends and the next begins.

Pure. Leaves are cut greedily from the start of the open tail. A cut depends only on the messages up
to the first one that does not fit, so the leaves are the same whenever, and in however many steps,
a history is sealed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

LEAF_PIECES_MAX = 1_000
# A cut is moved for at most this many pieces whose tool calls have no result yet.
WAITING_PIECES_MAX = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """A message, or a part of one that is too long for a leaf.

    position: that of the message in its source. start, end: character offsets into the message.
    use_ids, result_ids: the ids of the tool calls it makes and answers; empty for parts of a long
    message.
    """

    position: int
    message_id: str
    start: int
    end: int
    tokens: int
    use_ids: tuple[str, ...] = ()
    result_ids: tuple[str, ...] = ()


def split(
    piece: Piece, text: str, limit: int, cut: Callable[[str, int, int], list[tuple[int, int]]]
) -> list[Piece]:
    """Splits a piece into parts of at most limit tokens, whose concatenation is exactly its text
    from its start on.

    cut(text, limit, start) returns the end and the token count of each part (see tokens.cut).

    Example:
        >>> whole = Piece(0, "m", 0, 4, 4)
        >>> [(p.start, p.end) for p in split(whole, "abcd", 2, lambda _, n, __: [(2, n), (4, n)])]
        [(0, 2), (2, 4)]
    """
    stretches = []
    start = piece.start
    for end, tokens in cut(text, limit, start):
        stretches.append(Piece(piece.position, piece.message_id, start, end, tokens))
        start = end
    return stretches


def seal(pieces: Iterable[Piece], limit: int) -> Iterator[list[Piece]]:
    """Yields the full leaves in order; the pieces after the last one stay open.

    A leaf has at most limit tokens and LEAF_PIECES_MAX pieces, and is full when the next piece
    does not fit. The cut is before that piece, or earlier if that keeps a tool call and its
    result together.

    Example:
        >>> one = [Piece(i, str(i), 0, 1, 2) for i in range(4)]
        >>> [[p.position for p in leaf] for leaf in seal(one, 4)]
        [[0, 1]]
    """
    leaf: list[Piece] = []
    tokens = 0
    for piece in pieces:
        while leaf and (tokens + piece.tokens > limit or len(leaf) == LEAF_PIECES_MAX):
            cut = _cut_index(leaf, piece, limit)
            yield leaf[:cut]
            leaf = leaf[cut:]
            tokens = sum(rest.tokens for rest in leaf)
        leaf.append(piece)
        tokens += piece.tokens


def _cut_index(leaf: list[Piece], following: Piece, limit: int) -> int:
    """The number of pieces to seal: the largest that separates no tool call from its result."""
    pairs = _pairs_that_fit([*leaf, following], limit)
    for cut in range(len(leaf), 0, -1):
        if not any(use < cut <= result for use, result in pairs):
            return cut
    # Interleaved calls do not all fit into one leaf, so one pair must be separated.
    return len(leaf)


def _pairs_that_fit(pieces: list[Piece], limit: int) -> list[tuple[int, int]]:
    """(index of a call, index of its result) for each pair that fits into one leaf.

    A call without a result counts as answered after the last piece, but only in the last
    WAITING_PIECES_MAX pieces with such calls, so that calls never answered do not shorten every
    leaf.
    """
    answered = {
        result_id: index for index, piece in enumerate(pieces) for result_id in piece.result_ids
    }
    before = [0, *itertools.accumulate(piece.tokens for piece in pieces)]
    after = len(pieces)
    pairs = {
        (index, answered.get(use_id, after))
        for index, piece in enumerate(pieces)
        for use_id in piece.use_ids
    }
    waiting = sorted(index for index, result in pairs if result == after)[-WAITING_PIECES_MAX:]
    return [
        (index, result)
        for index, result in pairs
        if before[min(result + 1, after)] - before[index] <= limit
        and (result < after or index in waiting)
    ]
