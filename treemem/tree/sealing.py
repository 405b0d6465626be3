"""Where one leaf ends and the next begins.

Pure. Leaves are cut greedily from the start of the open tail, and a cut depends only on
the messages up to the first one that no longer fits: so it makes no difference when, or in
how many steps, a history is sealed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

LEAF_PIECES_MAX = 1_000
WAITING_PIECES_MAX = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """A message, or a stretch of one too long for a leaf, on its way into a leaf.

    position: of the message in its source. use_ids, result_ids: of the tool calls it makes
    and answers; empty for stretches of a long message.
    """

    position: int
    message_id: str
    start: int
    end: int
    tokens: int
    use_ids: tuple[str, ...] = ()
    result_ids: tuple[str, ...] = ()


def split(
    piece: Piece, text: str, limit: int, cut: Callable[[str, int], list[tuple[int, int]]]
) -> list[Piece]:
    """The piece as stretches of at most limit tokens that join to exactly its text.

    cut(text, limit) returns the end and the tokens of each stretch (see tokens.cut).

    Example:
        >>> whole = Piece(0, "m", 0, 4, 4)
        >>> [(p.start, p.end) for p in split(whole, "abcd", 2, lambda _, n: [(2, n), (4, n)])]
        [(0, 2), (2, 4)]
    """
    stretches = []
    start = 0
    for end, tokens in cut(text, limit):
        stretches.append(Piece(piece.position, piece.message_id, start, end, tokens))
        start = end
    return stretches


def seal(pieces: Iterable[Piece], limit: int) -> Iterator[list[Piece]]:
    """The leaves that are full, in order; what is left over stays open.

    A leaf has at most limit tokens and LEAF_PIECES_MAX pieces, and is full when the next
    piece would not fit. The cut falls before that piece, or earlier where that keeps a tool
    call and its result together.

    Example:
        >>> one = [Piece(i, str(i), 0, 1, 2) for i in range(4)]
        >>> [[p.position for p in leaf] for leaf in seal(one, 4)]
        [[0, 1]]
    """
    leaf: list[Piece] = []
    tokens = 0
    for piece in pieces:
        while leaf and (tokens + piece.tokens > limit or len(leaf) == LEAF_PIECES_MAX):
            at = _cut_index(leaf, piece, limit)
            yield leaf[:at]
            leaf = leaf[at:]
            tokens = sum(rest.tokens for rest in leaf)
        leaf.append(piece)
        tokens += piece.tokens


def _cut_index(leaf: list[Piece], following: Piece, limit: int) -> int:
    """How many pieces of leaf to seal: as many as leave no tool call without its result."""
    pairs = _pairs_that_fit([*leaf, following], limit)
    for at in range(len(leaf), 0, -1):
        if not any(use < at <= result for use, result in pairs):
            return at
    # Interleaved calls that do not all fit in one leaf: one pair has to be parted.
    return len(leaf)


def _pairs_that_fit(pieces: list[Piece], limit: int) -> list[tuple[int, int]]:
    """(index of the call, index of its result) where both could still stand in one leaf.

    A call that has no result yet counts as answered by whatever comes after the last piece,
    but only the latest WAITING_PIECES_MAX pieces with such calls do: calls that are never
    answered must not make every leaf a short one.
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
