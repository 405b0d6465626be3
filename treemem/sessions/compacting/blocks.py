"""The catalog of a session: its blocks, each a request with everything that came of it.

A context lists the blocks that it does not show. There may be more than it has room for: then the
oldest are listed together, eight to a line, and eight of such lines to one.

Tested in tests/sessions/test_blocks.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treemem import times
from treemem.errors import Hint, NotFoundError, UsageError
from treemem.patterns import lazy_regex
from treemem.sessions.counting import TokenCounter
from treemem.sessions.values import Block
from treemem.store.database import Database
from treemem.store.live import turns
from treemem.text.labels import clipped

# Characters of each request on a line of several blocks, and blocks of one line.
TOGETHER_CHARS, TOGETHER = 40, 8
# Blocks are listed together up to the first number of tokens, but for one that has the second.
UNIT_TOKENS, UNIT_TOKENS_MAX = 200, 400
# Tokens of a line that says no more of blocks than which they are.
RANGE_TOKENS = 30
_ID = lazy_regex(r"b([0-9]{1,9})(?:-b?([0-9]{1,9}))?")


def blocks_of(database: Database, session_seq: int, turn_count: int, boundary: int) -> list[Block]:
    """The blocks of a session, in order. boundary: the first turn that contexts show."""
    return [
        Block(
            f"b{row.first}", row.request, row.outcome, row.tokens, row.first, row.end,
            times.from_ms(row.sent_at_ms), row.first >= boundary,
        )
        for row in turns.blocks(database, session_seq, turn_count)
    ]  # fmt: skip


def span_of(block_id: str) -> tuple[int, int | None]:
    """The first positions of the blocks that an id names: of one block, or of the first and the
    last of several, such as "b0-b64". Raises UsageError."""
    match = _ID.fullmatch(block_id) if isinstance(block_id, str) else None
    if match is None:
        raise UsageError(f"A block's id is such as b12, or b0-b64 for several, not {block_id!r}.")
    last = int(match[2]) if match[2] else None
    return int(match[1]), last


def lines(found: Sequence[Block], room: int, count: TokenCounter) -> list[str]:
    """The lines of a catalog in at most room tokens: the latest blocks one by one, those before
    them together, the oldest ones by the most. No block is left out, unless room is for no line."""
    tiers: list[list[str]] = []
    groups = _units(found)
    while groups:
        # The last groups that fit half of the room, if not all fit; the rest is for those before.
        limit = min(room // 2, room - RANGE_TOKENS)
        texts: list[str] = []
        used = fitting = of_fitting = 0
        for group in reversed(groups):
            texts.append(_together(group))
            used += count(texts[-1]) + 1
            if used <= limit:
                fitting, of_fitting = len(texts), used
            if used > room:
                break
        else:
            tiers.append(texts[::-1])
            break
        if len(groups) == 1:
            tiers.append([text] if count(text := _range(groups[0])) + 1 <= room else [])
            break
        tiers.append(texts[:fitting][::-1])
        groups = _merged(groups[: len(groups) - fitting])
        room -= of_fitting
    return [text for tier in reversed(tiers) for text in tier]


def _units(found: Sequence[Block]) -> list[Sequence[Block]]:
    """The blocks, small ones together with those before them: a line costs as much as they do."""
    ends: list[int] = []
    tokens = UNIT_TOKENS
    for at in range(len(found) - 1, -1, -1):
        if tokens >= UNIT_TOKENS or tokens + found[at].tokens > UNIT_TOKENS_MAX:
            ends.append(at + 1)
            tokens = 0
        tokens += found[at].tokens
    ends.reverse()
    return [found[at:end] for at, end in zip([0, *ends[:-1]], ends, strict=True)]


def _merged(groups: Sequence[Sequence[Block]]) -> list[Sequence[Block]]:
    """The groups in groups of TOGETHER, the last one whole."""
    first = len(groups) % TOGETHER
    starts = [*([0] if first else []), *range(first, len(groups), TOGETHER)]
    return [
        [block for group in groups[at:end] for block in group]
        for at, end in zip(starts, [*starts[1:], len(groups)], strict=True)
    ]


def line(block: Block) -> str:
    """A block as a line of the catalog."""
    day = f" [{block.sent_at[:10]}]" if block.sent_at else ""
    ending = f" → {block.digest}" if block.digest else ""
    return f"{block.id}{day} {block.request or '(no words)'}{ending} ({block.tokens:,} tokens)"


def _together(group: Sequence[Block]) -> str:
    """Several blocks on a line: the requests that fit, evenly spread."""
    if len(group) == 1:
        return line(group[0])
    step = max(1, len(group) // TOGETHER)
    some = [clipped(block.request, TOGETHER_CHARS) for block in group[::step][:TOGETHER]]
    return _range(group, ": " + "; ".join(filter(None, some)))


def _range(group: Sequence[Block], requests: str = "") -> str:
    """Several blocks as a line. requests: what it says of them."""
    first, last = group[0], group[-1]
    if first is last:
        return f"{first.id} ({first.tokens:,} tokens)"
    day = f" [{first.sent_at[:10]}]" if first.sent_at else ""
    tokens = sum(block.tokens for block in group)
    return f"{first.id}-{last.id}{day} {len(group)} requests{requests} ({tokens:,} tokens)"


def named(block_id: str, found: Sequence[Block], session_id: str) -> Block:
    """The block with this id, or several as one. Raises UsageError, NotFoundError."""
    first, last = span_of(block_id)
    starts = {block.first: block for block in found}
    if first not in starts or (last is not None and last not in starts):
        raise NotFoundError(
            f"No block {block_id} in {session_id}.",
            hint=Hint.see("session.catalog()", f"treemem session show {session_id}"),
        )
    block = starts[first]
    return block if last is None else joined(block, starts[last])


def joined(first: Block, last: Block) -> Block:
    """The blocks from one to another as one block."""
    return replace(first, id=f"{first.id}-{last.id}", end=last.end, is_shown=False)
